//! A scheduler's beginning and end: `scx_root_enable_workfn()` and `scx_root_disable()`.
//!
//! The machine boots with one task, the parent of all others, and with the scheduler's companions. They are there when the
//! scheduler is enabled; the workload's tasks come later, as forks. When the scheduler ends, every task leaves
//! it, `ops.exit` runs, and the run is over.

use crate::actor::process::Birth;
use crate::cgroup::CgroupFrame;
use crate::cpu::Irq;
use crate::cpus::BOOT_CPU;
use crate::frame::Frame;
use crate::layout;
use crate::scx::Phase;
use crate::setup::timer_number;
use crate::sim::Sim;
use crate::task::{Member, State};
use keel_abi::bpf::{Ea, Engine, World};
use keel_abi::scx::{ExitKind, Op, deq};
use keel_abi::{CpuId, Instant, Span, TaskId};

/// Bytes for the longest argument struct with its strings.
const SCRATCH_BYTES: u64 = 4096;
/// Bytes for the arguments of a callback that may be held up, a CPU.
const ARGS_BYTES: u64 = 64;

impl super::Scx {
    /// Where `c` keeps the arguments of a callback that others' callbacks may overlap.
    pub(crate) fn args_at(&self, c: CpuId) -> Ea {
        self.scratch.offset(SCRATCH_BYTES + ARGS_BYTES * u64::from(c.0))
    }
}

impl<E: Engine> Sim<E> {
    /// Boots: the first task is made, and all online CPUs count as idle.
    pub(crate) fn make_first_task(&mut self) {
        let world = self.vm.world();
        let bytes = SCRATCH_BYTES + ARGS_BYTES * self.k.cpus.len() as u64;
        self.k.scx.scratch = world.alloc(bytes).expect("a new world has room");
        self.k.idle.set_all(true);
        let first = self.k.make_task(world, None, BOOT_CPU, TaskId::IDLE, Birth::Start);
        self.k.task(first).state = State::Blocked;
    }

    /// The boot CPU begins to enable the scheduler.
    pub(crate) fn begin_enable(&mut self) {
        self.k.scx.phase = Phase::Enabling;
        let cpu = self.k.cpu(BOOT_CPU);
        cpu.in_user = false;
        cpu.stack.push(Frame::Inited);
        self.k.queue.set_cpu(BOOT_CPU, Instant::ZERO);
        self.start(BOOT_CPU, Op::Init, TaskId::IDLE, &[]);
    }

    /// [`Frame::Inited`]: an error from `ops.init` ends it; else it is told of every cgroup, then of every task.
    pub(crate) fn inited(&mut self, c: CpuId) {
        let answer = self.k.me().returned as i32;
        let answer = self.k.sane_errno(c, "init", answer);
        if answer != 0 {
            self.k.error(c, format!("ops.init() failed ({answer})"));
            return;
        }
        if self.k.is_stale(c) {
            return;
        }
        self.k.me().stack.push(Frame::Cgroup(CgroupFrame::Enable { place: 0 }));
    }

    /// [`Frame::EnableTask`].
    pub(crate) fn enable_task(&mut self, c: CpuId, task: TaskId) {
        self.k.me().stack.push(Frame::EnableInited { task });
        self.init_task(c, task, false);
    }

    /// [`Frame::EnableInited`].
    pub(crate) fn enable_inited(&mut self, c: CpuId, task: TaskId) {
        let answer = self.k.me().returned as i32;
        let answer = self.k.sane_errno(c, "init_task", answer);
        if answer != 0 {
            let who = self.k.name_of(task);
            self.k.error(c, format!("ops.init_task() failed ({answer}) for {who}"));
            return;
        }
        // Whoever else is there already.
        let next = TaskId(task.0 + 1);
        let next = match next.index() < self.k.tasks.len() {
            true => Frame::EnableTask { task: next },
            false => Frame::EnableDone,
        };
        self.k.me().stack.extend([next, Frame::EnableCpus { task }, Frame::EnableWeight { task }]);
        self.enable_member(c, task);
    }

    /// [`Frame::EnableWeight`].
    pub(crate) fn enable_weight(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        let args = [t.ea.0, u64::from(t.weight)];
        self.start(c, Op::SetWeight, task, &args);
    }

    /// [`Frame::EnableCpus`]: a class that takes a task over is told its CPUs; for a new task it
    /// isn't (`switching_to_scx()`).
    pub(crate) fn enable_cpus(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        let mask = self.vm.world().u64_at(ea.offset(layout::task::CPUS_PTR));
        self.start(c, Op::SetCpumask, task, &[ea.0, mask]);
    }

    /// [`Frame::EnableDone`]: the watchdog begins, and tasks that wait to be made are.
    pub(crate) fn enable_done(&mut self) {
        if self.k.scx.phase != Phase::Enabling {
            return;
        }
        self.k.scx.phase = Phase::Enabled;
        let half = Span::from_ns(self.k.scx.timeout.as_ns() / 2);
        let first = self.k.me().clock + half;
        self.k.queue.push(first, timer_number::WATCHDOG);
        self.k.arm_programs();
        self.k.release_happenings();
        self.wake_companions();
        let now = self.k.me().clock;
        for start in std::mem::take(&mut self.k.waiting_starts) {
            self.k.queue.push(now, timer_number::FIRST_START + start);
        }
    }

    /// The scheduler has failed or asked to go: whatever it is still owed on this CPU is done, and
    /// now every cgroup and every task leaves it.
    pub(crate) fn begin_disable(&mut self) {
        self.k.scx.phase = Phase::Disabling;
        self.k.scx.bypassing = true;
        let cgroups = Frame::Cgroup(CgroupFrame::Disable { place: 0 });
        self.k.me().stack.extend([Frame::DisableTask { task: TaskId(0) }, cgroups]);
    }

    /// [`Frame::DisableTask`]: `ops.disable` and `ops.exit_task`, task by task.
    pub(crate) fn disable_task(&mut self, c: CpuId, task: TaskId) {
        if task.index() >= self.k.tasks.len() {
            return self.k.me().stack.push(Frame::DisableExit);
        }
        let next = TaskId(task.0 + 1);
        self.k.me().stack.push(Frame::DisableTask { task: next });
        if self.k.is_dead(task) {
            return;
        }
        let t = &self.k.tasks[task];
        let (ea, queued, runs, member) = (t.ea, t.queued, t.on_cpu, t.member);
        match member {
            Member::No => return,
            Member::Ready => return self.k.me().stack.push(Frame::ReapExit { task }),
            Member::Enabled => self.k.me().stack.push(Frame::DisableMember { task }),
        }
        if !queued {
            return;
        }
        self.k.leave_custody(task, deq::SCHED_CHANGE);
        self.k.me().stack.push(Frame::DisableQuiesce { task });
        if runs {
            self.start(c, Op::Stopping, task, &[ea.0, 0]);
        }
    }

    /// [`Frame::DisableQuiesce`].
    pub(crate) fn disable_quiesce(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Quiescent, task, &[ea.0, deq::SCHED_CHANGE]);
    }

    /// [`Frame::DisableMember`].
    pub(crate) fn disable_member(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.k.me().stack.push(Frame::ReapExit { task });
        self.start(c, Op::Disable, task, &[ea.0]);
    }

    /// [`Frame::DisableExit`]: `ops.exit` with the kernel's report.
    pub(crate) fn disable_exit(&mut self, c: CpuId) {
        let exit = self.k.exit.clone().expect("a scheduler is disabled because it ended");
        let at = self.k.scx.scratch;
        let (reason_at, message_at, dump_at) = (at.offset(256), at.offset(512), at.offset(4088));
        let world = self.vm.world();
        put_text(world, reason_at, exit.kind.reason(), 255);
        put_text(world, message_at, &exit.message, 1023);
        world.put(at.offset(layout::exit_info::KIND), &(exit.kind as u32).to_le_bytes());
        world.put(at.offset(layout::exit_info::EXIT_CODE), &exit.code.to_le_bytes());
        world.put(at.offset(layout::exit_info::EXIT_CPU), &exit.cpu.0.to_le_bytes());
        world.put(at.offset(layout::exit_info::REASON), &reason_at.0.to_le_bytes());
        world.put(at.offset(layout::exit_info::MSG), &message_at.0.to_le_bytes());
        world.put(at.offset(layout::exit_info::DUMP), &dump_at.0.to_le_bytes());
        self.k.me().stack.push(Frame::Disabled);
        self.start(c, Op::Exit, TaskId::IDLE, &[at.0]);
    }

    /// Detaches the scheduler as a user would, and runs on until it is gone.
    pub fn detach(&mut self, sink: &mut dyn keel_trace::Sink) {
        if self.k.exit.is_none() {
            self.k.end_scheduler(BOOT_CPU, ExitKind::Unreg, 0, String::new());
            self.k.interrupt(BOOT_CPU, self.k.now, Irq::Watchdog);
        }
        while !self.k.scx.is_gone()
            && self.run_until(self.k.now + Span::from_ms(100), sink) == crate::State::Running
        {}
    }
}

/// A NUL-terminated string of at most `most` bytes.
fn put_text<W: World>(world: &mut W, at: Ea, text: &str, most: usize) {
    let mut bytes = text.as_bytes()[..text.len().min(most)].to_vec();
    bytes.push(0);
    world.put(at, &bytes);
}
