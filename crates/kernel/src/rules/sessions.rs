//! Sessions and autogroups, to the extent that schedulers can read them: `p->signal->autogroup` and the session's
//! `struct pid`.
//!
//! A process is in its parent's session until it calls `setsid()`. Each session that begins this way has an autogroup
//! with its own number (`sched_autogroup_create_attach()`). Session 0 belongs to the kernel's first task: its
//! `struct pid` has number 0, and so does its autogroup, which represents the root cgroup. Without autogroups, all
//! sessions use that one. An autogroup only counts for tasks in the root cgroup; checking this is left to schedulers,
//! as the kernel leaves it to its classes.

use crate::state::kernel::Kernel;
use crate::state::layout::{autogroup, task as field};
use crate::state::objects::process::Birth;
use crate::state::sessions::{Number, Session, write_signal};
use keel_abi::TaskId;
use keel_abi::bpf::World;

impl Kernel {
    /// Puts a new task in its session, once its process is known.
    pub(crate) fn join_session<W: World>(
        &mut self,
        world: &mut W,
        task: TaskId,
        spec: Option<u32>,
        parent: TaskId,
        birth: Birth,
    ) {
        let leader = self.leader_of(task);
        let wanted = spec.map_or(0, |spec| self.workload.tasks[spec as usize].session);
        let is_new = leader == task;
        let number = match birth {
            _ if !is_new => self.sessions.of_task[leader.index()],
            _ if self.is_kthread(task) => Number::ROOT,
            Birth::Start if wanted != 0 => self.start_in_session(world, task, wanted),
            Birth::Start => Number::ROOT,
            Birth::Thread | Birth::Process => self.sessions.of_task[self.leader_of(parent).index()],
        };
        debug_assert_eq!(self.sessions.of_task.len(), task.index(), "tasks are placed as they are made");
        self.sessions.of_task.push(number);
        let at = self.sessions.signal_of(leader);
        if is_new {
            let session = self.sessions.all[number.0 as usize];
            write_signal(world, at, session, self.sessions.pid_of(task), session.leader == Some(task));
        }
        world.put(self.tasks[task].ea.offset(field::SIGNAL), &at.0.to_le_bytes());
    }

    /// Returns the session with this number in the workload. The first task that starts in it creates it.
    fn start_in_session<W: World>(&mut self, world: &mut W, task: TaskId, wanted: u32) -> Number {
        if let Some(&number) = self.sessions.started.get(&wanted) {
            return number;
        }
        let Some(number) = self.begin_session(world, task) else { return Number::ROOT };
        self.sessions.started.insert(wanted, number);
        number
    }

    /// Creates a session that this process leads. Returns `None` if memory runs out.
    fn begin_session<W: World>(&mut self, world: &mut W, leader: TaskId) -> Option<Number> {
        let number = Number(self.sessions.all.len() as u32);
        let mut shown = self.sessions.show(world, self.tasks[leader].pid.0, number.0.into())?;
        if !self.machine.autogroup {
            shown.autogroup = self.sessions.all[0].autogroup;
        }
        self.sessions.all.push(Session { leader: Some(leader), ..shown });
        Some(number)
    }

    /// `ksys_setsid()`: moves the task's whole process to a new session. Does nothing for a session leader (`-EPERM`).
    pub(crate) fn setsid<W: World>(&mut self, world: &mut W, task: TaskId) {
        let leader = self.leader_of(task);
        let Number(now) = self.sessions.of_task[leader.index()];
        if self.sessions.all[now as usize].leader == Some(leader) {
            return;
        }
        let Some(number) = self.begin_session(world, leader) else { return };
        self.sessions.of_task[leader.index()] = number;
        let session = self.sessions.all[number.0 as usize];
        let own = self.sessions.pid_of(leader);
        write_signal(world, self.sessions.signal_of(leader), session, own, true);
        self.regroup_process(leader);
        self.emit_priority(task);
    }

    /// Sets the nice value of the autogroup of the task's session (`proc_sched_autogroup_set_nice()`). Does nothing for
    /// the root's autogroup, or if there are no autogroups (`-EINVAL`).
    pub(crate) fn set_autogroup_nice<W: World>(&mut self, world: &mut W, task: TaskId, nice: i8) {
        let number = self.session_of(task);
        if number == Number::ROOT.0 || !self.machine.autogroup {
            return;
        }
        let session = &mut self.sessions.all[number as usize];
        session.nice = nice;
        let at = session.autogroup.offset(autogroup::NICE);
        world.put(at, &i32::from(nice).to_le_bytes());
        self.autogroup_changed_fair(number);
    }

    /// Returns the nice value of a session's autogroup.
    pub(crate) fn autogroup_nice(&self, session: u32) -> i8 {
        self.sessions.all[session as usize].nice
    }

    /// Returns the number of the session that the task's process is in. The root's session is 0.
    pub(crate) fn session_of(&self, task: TaskId) -> u32 {
        self.sessions.of_task[self.leader_of(task).index()].0
    }

    /// Returns whether the task's process is in a session other than the root's, with an autogroup that counts.
    pub(crate) fn has_autogroup(&self, task: TaskId) -> bool {
        self.machine.autogroup && self.session_of(task) != Number::ROOT.0
    }
}
