//! The start and the end of tasks: `sched_fork()`, `wake_up_new_task()`, `sched_ext_dead()`.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::layout::{init_task_args, task as field};
use crate::state::objects::process::Birth;
use crate::state::scx::Phase;
use crate::state::setup::MAX_TASKS;
use crate::state::task::{Member, State};
use keel_abi::bpf::{Engine, Owner, World};
use keel_abi::scx::{Op, wake};
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Creates an instance of a task of the workload, and begins its fork path.
    pub(crate) fn fork(&mut self, c: CpuId, spec: u32, parent: TaskId, birth: Birth) {
        if self.k.tasks.len() as u64 >= MAX_TASKS {
            return self.k.error(c, format!("fork: no more than {MAX_TASKS} tasks"));
        }
        let costs = &self.k.machine.costs;
        let fork_ns = if birth == Birth::Process { costs.fork_process_ns } else { costs.fork_ns };
        self.k.charge_ns(c, fork_ns);
        let child = self.k.make_task(self.vm.world(), Some(spec), c, parent, birth);
        self.k.deliver_hint(self.vm.world(), child);
        self.k.this_cpu().stack.push(Frame::ForkInit { child, parent });
    }

    /// Runs [`Frame::ForkInit`].
    pub(crate) fn fork_init(&mut self, c: CpuId, child: TaskId, parent: TaskId) {
        if !matches!(self.k.scx.phase, Phase::Enabled | Phase::Disabling) {
            // No scheduler has the task, or the CPU that is enabling one will add it.
            return self.k.this_cpu().stack.push(Frame::ForkWake { child, parent });
        }
        self.k.this_cpu().stack.push(Frame::ForkInited { child, parent });
        self.init_task(c, child, true);
    }

    /// Calls `ops.init_task`.
    pub(crate) fn init_task(&mut self, c: CpuId, task: TaskId, fork: bool) {
        let ea = self.k.tasks[task].ea;
        let (args, cgroup) = (self.k.scx.args_at(c), self.k.cgroups.ea_of(task));
        let world = self.vm.world();
        world.put(args, &[0; init_task_args::SIZE as usize]);
        world.put(args.offset(init_task_args::FORK), &[u8::from(fork)]);
        world.put(args.offset(init_task_args::CGROUP), &cgroup.0.to_le_bytes());
        world.put(ea.offset(field::SCX_DISALLOW), &[0]);
        self.start(c, Op::InitTask, task, &[ea.0, args.0]);
    }

    /// Runs [`Frame::ForkInited`]. An error aborts the fork; otherwise `ops.enable` follows.
    pub(crate) fn fork_inited(&mut self, c: CpuId, child: TaskId, parent: TaskId) {
        let answer = self.k.this_cpu().returned as i32;
        if self.k.sane_errno(c, "init_task", answer) != 0 {
            self.k.task(child).state = State::Dead;
            return self.k.cgroups.remove_task(child);
        }
        if self.k.scx.is_disabling() {
            return self.k.this_cpu().stack.push(Frame::ForkWake { child, parent });
        }
        if self.k.is_disallowed(self.vm.world(), child) {
            let who = self.k.name_of(child);
            self.k.error(c, format!("ops.init_task() set task->scx.disallow for {who} during fork"));
        }
        if self.k.tasks[child].class != SchedClass::Ext {
            self.k.mark_ready(self.vm.world(), child);
            return self.k.this_cpu().stack.push(Frame::ForkWake { child, parent });
        }
        self.k.this_cpu().stack.push(Frame::ForkWeight { child, parent });
        self.enable_member(c, child);
    }

    /// Calls `ops.enable`.
    pub(crate) fn enable_member(&mut self, c: CpuId, task: TaskId) {
        self.k.task(task).member = Member::Enabled;
        self.k.mirror_enabled(self.vm.world(), task);
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Enable, task, &[ea.0]);
    }

    /// Runs [`Frame::ForkWeight`].
    pub(crate) fn fork_weight(&mut self, c: CpuId, child: TaskId, parent: TaskId) {
        let (ea, weight) = (self.k.tasks[child].ea, self.k.tasks[child].weight);
        self.k.this_cpu().stack.push(Frame::ForkWake { child, parent });
        self.start(c, Op::SetWeight, child, &[ea.0, u64::from(weight)]);
    }

    /// Runs [`Frame::ForkWake`].
    pub(crate) fn fork_wake(&mut self, child: TaskId, parent: TaskId) {
        self.k.this_cpu().stack.push(Frame::Wake { task: child, flags: wake::FORK, waker: parent });
    }

    /// Runs [`Frame::Reap`]: a dead task leaves the scheduler. `ops.disable` is called if the scheduler had it, then
    /// `ops.exit_task`.
    pub(crate) fn reap(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.k.this_cpu().stack.push(Frame::ReapExit { task });
        if self.k.tasks[task].member == Member::Enabled {
            self.start(c, Op::Disable, task, &[ea.0]);
        }
    }

    /// Runs [`Frame::ReapExit`].
    pub(crate) fn reap_exit(&mut self, c: CpuId, task: TaskId) {
        if self.k.tasks[task].member == Member::No {
            return;
        }
        let ea = self.k.tasks[task].ea;
        let args = self.k.scx.scratch;
        self.vm.world().put(args, &[0; 8]);
        self.k.task(task).member = Member::Ready;
        self.k.this_cpu().stack.push(Frame::Reaped { task });
        self.start(c, Op::ExitTask, task, &[ea.0, args.0]);
    }

    /// Runs [`Frame::Reaped`].
    pub(crate) fn reaped(&mut self, _c: CpuId, task: TaskId) {
        self.vm.world().storage_forget(Owner::Task(task.0));
        if self.k.is_dead(task) {
            // A task that outlives the scheduler keeps its cgroup.
            self.k.cgroups.remove_task(task);
        }
        let t = self.k.task(task);
        t.member = Member::No;
        t.loops = Vec::new();
        t.timers = Vec::new();
    }
}
