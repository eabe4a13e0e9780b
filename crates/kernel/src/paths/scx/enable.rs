//! Enabling a scheduler: `scx_root_enable_workfn()`.
//!
//! The machine boots with one task, the parent of all others, with the scheduler's companions and with sleeping tasks.
//! They exist when the scheduler is first enabled; the workload's tasks come later, as forks.

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

/// Bytes for the longest argument struct with its strings.
const SCRATCH_BYTES: u64 = 4096;

/// Bytes per CPU for the arguments of a callback that may be suspended.
const ARGS_BYTES: u64 = 64;

impl crate::state::scx::Scx {
    /// Where `c` keeps the arguments of a callback that may overlap with callbacks on other CPUs.
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
        // There is no task yet that the kernel would have to schedule in bypass mode.
        self.k.scx.events.count(ScxEvent::BypassActivate);
        self.k.give_cids();
        let cpu = self.k.cpu(BOOT_CPU);
        cpu.in_user = false;
        cpu.stack.push(Frame::Inited);
        self.k.queue.set_cpu(BOOT_CPU, Instant::ZERO);
        self.start(BOOT_CPU, Op::Init, TaskId::IDLE, &[]);
    }

    /// [`Frame::Inited`]: an error from `ops.init` ends it. Otherwise every cgroup is initialized, then every task.
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
        if self.k.is_stale(c) {
            return;
        }
        self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Enable { place: 0 }));
    }

    /// [`Frame::EnableTask`]: `ops.init_task` of every task, whatever its class; then those that the scheduler takes
    /// change class.
    pub(crate) fn enable_task(&mut self, c: CpuId, task: TaskId) {
        if self.k.scx.phase != Phase::Enabling {
            // Another CPU has begun to disable it: no more tasks are taken over.
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

    /// [`Frame::EnableInited`].
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

    /// [`Frame::EnableSwitch`].
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

    /// [`Frame::EnableWeight`].
    pub(crate) fn enable_weight(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        let args = [t.ea.0, u64::from(t.weight)];
        self.start(c, Op::SetWeight, task, &args);
    }

    /// [`Frame::EnableCpus`]: a class that takes over a task is notified of the task's CPUs; for a new
    /// task it isn't (`switching_to_scx()`).
    pub(crate) fn enable_cpus(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        let mask = self.vm.world().u64_at(ea.offset(layout::task::CPUS_PTR));
        let cpus = self.k.cpus_argument(self.vm.world(), c, mask);
        self.start(c, Op::SetCpumask, task, &[ea.0, cpus]);
    }

    /// [`Frame::EnableDone`]: starts the watchdog, and creates the tasks that wait to be created.
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

    /// The scheduler is attached, so its companions continue.
    pub(crate) fn wake_companions(&mut self) {
        for number in (0..self.companions.len() as u32).rev() {
            let wake = Frame::Wake { task: task_of(number), flags: wake::TTWU, waker: TaskId::IDLE };
            self.k.this_cpu().stack.push(wake);
        }
    }
}
