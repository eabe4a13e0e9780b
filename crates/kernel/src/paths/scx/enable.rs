//! Enables a scheduler: `scx_root_enable_workfn()`.
//!
//! The machine boots with one task, which is the parent of all others, the scheduler's companions, and sleeping tasks.
//! These exist when the scheduler is first enabled; the workload's tasks are forked later.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::companion::task_of;
use crate::state::cpus::BOOT_CPU;
use crate::state::frame::Frame;
use crate::state::frame::cgroup::CgroupFrame;
use crate::state::objects::process::Birth;
use crate::state::scx::Phase;
use crate::state::scx::events::ScxEvent;
use crate::state::task::State;
use crate::state::{layout, timer_number};
use keel_abi::bpf::{Ea, Engine, World};
use keel_abi::scx::{Op, wake};
use keel_abi::task::Policy;
use keel_abi::{CpuId, Instant, Span, TaskId};

/// The size in bytes of the longest argument struct with its strings.
const SCRATCH_BYTES: u64 = 4096;

/// Bytes per CPU for the arguments of a callback that can be suspended.
const ARGS_BYTES: u64 = 64;

impl crate::state::scx::Scx {
    /// Returns where `c` keeps the arguments of a callback that can overlap with callbacks on other CPUs.
    pub(crate) fn args_at(&self, c: CpuId) -> Ea {
        self.scratch.offset(SCRATCH_BYTES + ARGS_BYTES * u64::from(c.0))
    }
}

impl<E: Engine> Sim<E> {
    /// Boots the machine: creates the first task, and marks all online CPUs as idle.
    pub(crate) fn make_first_task(&mut self) {
        let world = self.vm.world();
        let bytes = SCRATCH_BYTES + ARGS_BYTES * self.k.cpus.len() as u64;
        self.k.scx.scratch = world.alloc(bytes).expect("a new world has room");
        self.k.idle.set_all(true);
        let first = self.k.make_task(world, None, BOOT_CPU, TaskId::IDLE, Birth::Start);
        self.k.task(first).state = State::Blocked;
    }

    /// Begins to enable the scheduler, on the boot CPU.
    pub(crate) fn begin_enable(&mut self) {
        self.k.scx.phase = Phase::Enabling;
        // No task exists yet that would have to be scheduled in bypass mode.
        self.k.scx.events.count(ScxEvent::BypassActivate);
        self.k.give_cids();
        let cpu = self.k.cpu(BOOT_CPU);
        cpu.in_user = false;
        cpu.stack.push(Frame::Inited);
        self.k.queue.set_cpu(BOOT_CPU, Instant::ZERO);
        self.start(BOOT_CPU, Op::Init, TaskId::IDLE, &[]);
        // It goes on at the moment that the call has reached.
        let at = self.k.cpu(BOOT_CPU).clock;
        self.k.queue.set_cpu(BOOT_CPU, at);
    }

    /// Runs [`Frame::Inited`]. An error from `ops.init` ends the scheduler. Otherwise every cgroup is initialized, then
    /// every task.
    pub(crate) fn inited(&mut self, c: CpuId) {
        let answer = self.k.this_cpu().returned as i32;
        let answer = self.k.sane_errno(c, "init", answer);
        if answer != 0 {
            self.k.error(c, format!("ops.init() failed ({answer})"));
            return;
        }
        if let Err(errno) = self.k.make_cmasks(self.vm.world()) {
            self.k.error(c, format!("scx_root_enable() failed (-{})", errno.0));
            return;
        }
        if self.k.end_if_stale(c) {
            return;
        }
        self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Enable { place: 0 }));
    }

    /// Runs [`Frame::EnableTask`]: calls `ops.init_task` for every task of any class. After that, the tasks that the
    /// scheduler takes over change class.
    pub(crate) fn enable_task(&mut self, c: CpuId, task: TaskId) {
        if self.k.scx.phase != Phase::Enabling {
            // Another CPU has begun to disable the scheduler: no more tasks are taken over.
            return;
        }
        if task.index() >= self.k.tasks.len() {
            self.k.scx.begin_taking();
            return self.k.this_cpu().stack.push(Frame::EnableSwitch { task: TaskId(0) });
        }
        if self.k.is_dead(task) {
            return self.k.this_cpu().stack.push(Frame::EnableTask { task: TaskId(task.0 + 1) });
        }
        if !self.k.scx.at_boot {
            self.k.deliver_hint(self.vm.world(), task);
        }
        self.k.this_cpu().stack.push(Frame::EnableInited { task });
        self.init_task(c, task, false);
    }

    /// Runs [`Frame::EnableInited`].
    pub(crate) fn enable_inited(&mut self, c: CpuId, task: TaskId) {
        let answer = self.k.this_cpu().returned as i32;
        let answer = self.k.sane_errno(c, "init_task", answer);
        if answer != 0 {
            let who = self.k.name_of(task);
            self.k.error(c, format!("ops.init_task() failed ({answer}) for {who}"));
            return;
        }
        self.k.this_cpu().stack.push(Frame::EnableTask { task: TaskId(task.0 + 1) });
        self.k.mark_ready(self.vm.world(), task);
        if self.k.tasks[task].policy == Policy::Ext && self.k.is_disallowed(self.vm.world(), task) {
            self.k.give_policy(self.vm.world(), task, Policy::Other);
        }
    }

    /// Runs [`Frame::EnableSwitch`].
    pub(crate) fn enable_switch(&mut self, c: CpuId, task: TaskId) {
        if self.k.scx.phase != Phase::Enabling {
            return;
        }
        if task.index() >= self.k.tasks.len() {
            self.k.this_cpu().stack.push(Frame::EnableDone);
            if !self.k.scx.at_boot {
                self.k.this_cpu().stack.push(Frame::Bypass { cpu: BOOT_CPU, on: false });
            }
            return;
        }
        let t = &self.k.tasks[task];
        let next = Frame::EnableSwitch { task: TaskId(task.0 + 1) };
        if self.k.is_dead(task) || self.k.class_of_urgency(t.urgency()) != SchedClass::Ext {
            return self.k.this_cpu().stack.push(next);
        }
        let policy = t.policy;
        self.k.set_slice(self.vm.world(), task, self.k.scx.slice_dfl_ns);
        if self.k.scx.at_boot {
            self.k.this_cpu().stack.push(next);
            return self.join_asleep(c, task, policy);
        }
        if self.lock_task(c, task, Frame::EnableSwitch { task }).is_some() {
            self.k.this_cpu().stack.push(next);
            self.join_scheduler(c, task, policy);
        }
    }

    /// Runs [`Frame::EnableWeight`].
    pub(crate) fn enable_weight(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        let args = [t.ea.0, u64::from(t.weight)];
        self.start(c, Op::SetWeight, task, &args);
    }

    /// Runs [`Frame::EnableCpus`]: tells the scheduler the CPUs of a task that it takes over. For a new task this does
    /// not happen (`switching_to_scx()`).
    pub(crate) fn enable_cpus(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        let mask = self.vm.world().u64_at(ea.offset(layout::task::CPUS_PTR));
        let cpus = self.k.cpus_argument(self.vm.world(), c, mask);
        self.start(c, Op::SetCpumask, task, &[ea.0, cpus]);
    }

    /// Runs [`Frame::EnableDone`]: starts the watchdog, and forks the tasks that wait for this.
    pub(crate) fn enable_done(&mut self) {
        if self.k.scx.phase != Phase::Enabling {
            return;
        }
        self.k.scx.phase = Phase::Enabled;
        let half = Span::from_ns(self.k.scx.timeout.as_ns() / 2);
        let first = self.k.this_cpu().clock + half;
        self.k.scx.watchdog_at = first;
        self.k.queue.push(first, timer_number::WATCHDOG);
        self.k.arm_programs();
        self.k.release_happenings();
        self.wake_companions();
        let now = self.k.this_cpu().clock;
        for start in std::mem::take(&mut self.k.waiting_starts) {
            self.k.queue.push(now, timer_number::FIRST_START + start);
        }
    }

    /// Lets the companions continue, because the scheduler is attached.
    pub(crate) fn wake_companions(&mut self) {
        for number in (0..self.companions.len() as u32).rev() {
            let wake = Frame::Wake { task: task_of(number), flags: wake::TTWU, waker: TaskId::IDLE };
            self.k.this_cpu().stack.push(wake);
        }
    }
}
