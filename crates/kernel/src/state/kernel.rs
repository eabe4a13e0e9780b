//! The state of the simulated kernel, and the small operations that all paths share: charging costs, taking a
//! runqueue's lock, emitting events, ending the scheduler.

use crate::state::bpf::functions::AllTerms;
use crate::state::bpf::iter::Cursors;
use crate::state::bpf::res_spin::ResLocks;
use crate::state::bpf::spin::SpinLocks;
use crate::state::bpf::timer::Timers;
use crate::state::callback::Caller;
use crate::state::cgroup::Cgroups;
use crate::state::cost::{Bus, KernelLines, Turns};
use crate::state::cpu::{Cpu, Irq};
use crate::state::cpus::Cpus;
use crate::state::domains::Domains;
use crate::state::event::EventQueue;
use crate::state::exit::Exit;
use crate::state::fair::Fair;
use crate::state::hooks::Hooks;
use crate::state::idle::IdleMasks;
use crate::state::jiffies::Jiffies;
use crate::state::log::Log;
use crate::state::machine::Machine;
use crate::state::noise::NoiseState;
use crate::state::objects::Objects;
use crate::state::out::Out;
use crate::state::outside::Outside;
use crate::state::rng::Rng;
use crate::state::rt::overload::Overload;
use crate::state::rt::throttle::RtPeriod;
use crate::state::scx::Scx;
use crate::state::scx::cids::Cids;
use crate::state::scx::queues::Queues;
use crate::state::scx::restart::Restart;
use crate::state::sessions::Sessions;
use crate::state::setup::{ProgramFailure, UserProgram};
use crate::state::starts::Starts;
use crate::state::steps::Steps;
use crate::state::task::{Task, Tasks};
use crate::state::waits::WaitLog;
use keel_abi::bpf::{Ea, MapId};
use keel_abi::clocks::Clocks;
use keel_abi::order::Order;
use keel_abi::scx::{ExitKind, Op};
use keel_abi::task::Workload;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Class, Lock, Request, What};

/// How long a waker spins before it checks again whether its wakee has left its CPU.
pub(crate) const SPIN_NS: u64 = 100;

/// What a run counts, with or without listeners for its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// How often a CPU switched from one task to another, including the idle task.
    pub switches: u64,
    /// How often a blocked task became runnable.
    pub wakeups: u64,
    /// Callbacks of the scheduler.
    pub callbacks: u64,
    /// Time waiting for locks.
    pub lock_wait: Span,
    /// BPF instructions.
    pub insns: u64,
    /// Callbacks that were suspended for an earlier event on another CPU.
    pub suspensions: u64,
    /// Time in callbacks.
    pub callback_time: Span,
    /// How often a task continued its program: a run may be long without a single event.
    pub programs_went_on: u64,
    /// Tasks created.
    pub forks: u64,
    /// CPU time that tasks spent on their own work, without the kernel's.
    pub user_time: Span,
    /// Tasks put into queues by the scheduler: directly, or from `ops.dispatch`.
    pub scheduler_inserts: u64,
    /// Tasks put into queues by the kernel itself, without the scheduler or in bypass mode.
    pub kernel_inserts: u64,
    /// Time in bypass mode with a scheduler attached, not counting the first attaching, when there are no tasks yet.
    pub bypass_time: Span,
    /// Points at which the run's order could delay a callback; 0 without an order.
    pub order_points: u64,
}

/// The simulated kernel. The state of its lines comes first: each charge for a line needs its address, for a line that
/// another CPU had last, which is then the kernel's own.
#[repr(C)]
pub(crate) struct Kernel {
    pub(crate) lines: KernelLines,
    pub(crate) machine: Machine,
    /// The cost of a callback's instruction ([`Machine::policy_insn_ps`]): read at each call, and constant.
    pub(crate) insn_ps: u64,
    /// The cost of a callback's entry (`callback_ns`).
    pub(crate) entry_ps: u64,
    /// What is certain of the cost of `__schedule()` before the next task is known, and all of it for an idle CPU.
    pub(crate) schedule_ps: [u64; 2],
    pub(crate) queue: EventQueue,
    /// The latest moment at which anything has been done; never goes back.
    pub(crate) now: Instant,
    /// What the clocks that schedulers read show when the run begins.
    pub(crate) uptime: Span,
    pub(crate) cpus: Cpus,
    pub(crate) tasks: Tasks,
    pub(crate) queues: Queues,
    pub(crate) idle: IdleMasks,
    pub(crate) fair: Fair,
    pub(crate) bus: Bus,
    pub(crate) scx: Scx,
    /// The CPUs' topological ids.
    pub(crate) cids: Cids,
    pub(crate) workload: Workload,
    /// The programs of the workload's tasks.
    pub(crate) steps: Steps,
    pub(crate) objects: Objects,
    /// Why a switch may have more to do than usual: the tasks that wait for a mutex without giving up their CPU, and
    /// one more if a switch to the idle task has costs of its own.
    pub(crate) odd_switches: u32,
    pub(crate) cgroups: Cgroups,
    /// The object's types that it allocates by number: number and size in bytes.
    pub(crate) local_types: Vec<(u32, u32)>,
    /// The ring buffer in which the scheduler reports its decisions.
    pub(crate) decisions: Option<MapId>,
    pub(crate) spins: SpinLocks,
    pub(crate) res_spins: ResLocks,
    pub(crate) timers: Timers,
    pub(crate) out: Out,
    pub(crate) counters: Counters,
    /// How the scheduler ended, if it has. Boxed, because nearly every step checks whether it is there.
    pub(crate) exit: Option<Box<Exit>>,
    /// The caller of the kernel function that ended the scheduler, if there was one.
    pub(crate) blamed: Option<Caller>,
    /// Tasks of the workload whose creation waits until the scheduler is enabled.
    pub(crate) waiting_starts: Vec<u32>,
    /// Tasks that already exist and sleep, but whose first sleep has not begun.
    pub(crate) asleep_at_boot: Vec<TaskId>,
    /// When the workload's tasks were due.
    pub(crate) starts: Starts,
    /// The part of the current step's charges that is not the task's own time: scheduling would charge it otherwise.
    pub(crate) not_own_ps: u64,
    /// The change that the task's current step has asked for, if listeners are to know.
    pub(crate) asked: Option<Request>,
    /// The programs that the scheduler's user-space half runs.
    pub(crate) programs: Vec<UserProgram>,
    /// Its tracing programs.
    pub(crate) hooks: Hooks,
    /// The first of the user-space half's programs that failed, which ends the run.
    pub(crate) failed_program: Option<ProgramFailure>,
    pub(crate) seed: u64,
    /// Address of the first `task_struct`, and the distance to the next.
    pub(crate) task_base: Ea,
    pub(crate) next_pid: u32,
    pub(crate) tick: Span,
    pub(crate) jiffies: Jiffies,
    /// The workload has cgroups or policies.
    pub(crate) has_groups_or_policies: bool,
    /// Whose turn it is, if an emulator executes one CPU after the other.
    pub(crate) turns: Option<Turns>,
    /// The terms of each function, by [`crate::state::bpf::functions::F`].
    pub(crate) terms: AllTerms,
    /// DSQ iterations in progress.
    pub(crate) cursors: Cursors,
    /// The address at which BPF sees the mask of online CPUs.
    pub(crate) online_mask: Ea,
    /// Decides which callbacks let others run first, if set.
    pub(crate) order: Option<Box<dyn Order>>,
    /// Masks of single CPUs, once they are needed.
    pub(crate) single_masks: Ea,
    /// The address at which BPF sees the mask of all CPUs.
    pub(crate) possible_mask: Ea,
    /// The address of the first CPU's copy of the per-CPU variables, once they are used.
    pub(crate) per_cpu: Ea,
    /// The scheduling domains that schedulers read.
    pub(crate) domains: Domains,
    /// Sessions and their autogroups.
    pub(crate) sessions: Sessions,
    /// CPUs with waiting real-time tasks that may run elsewhere.
    pub(crate) overload: Overload,
    /// The periods of real-time throttling.
    pub(crate) rt_period: RtPeriod,
    /// Whether a scheduler that ends is loaded again.
    pub(crate) again: Restart,
    /// Events from outside: the timeline and hotplug.
    pub(crate) outside: Outside,
    /// The scheduler's random numbers.
    pub(crate) rng: Rng,
    /// The activity besides the workload.
    pub(crate) noise: NoiseState,
    /// What the scheduler printed.
    pub(crate) log: Log,
    /// Who waits for whose lock, if a profile is recorded.
    pub(crate) waits: Option<Box<WaitLog>>,
    /// The happens-before order, if data races are being looked for.
    pub(crate) clocks: Option<Box<Clocks>>,
}

impl Kernel {
    /// Something has happened after which the run may stop: its loop looks before this CPU or another one goes on.
    pub(crate) fn let_halt(&mut self) {
        self.out.let_halt();
        self.queue.bar();
    }

    /// The CPU that takes a step.
    #[inline]
    pub(crate) fn this_cpu(&mut self) -> &mut Cpu {
        &mut self.cpus.this_cpu
    }

    #[inline]
    pub(crate) fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        &mut self.cpus[cpu]
    }

    #[inline]
    pub(crate) fn task(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[task]
    }

    /// Charges a step of `c` `ns` nanoseconds.
    #[inline]
    pub(crate) fn charge_ns(&mut self, c: CpuId, ns: u64) {
        self.charge_ps(c, ns * 1000);
    }

    /// Charges a step of `c` `ps` picoseconds.
    #[inline]
    pub(crate) fn charge_ps(&mut self, c: CpuId, ps: u64) {
        debug_assert!(self.cpus.is_running(c), "only the running CPU takes steps");
        self.cpus.this_cpu.spent_ps += ps;
    }

    /// Charges a step of `c` for a lock wait. Unlike work, a wait takes no longer if CPUs take turns.
    pub(crate) fn charge_wait(&mut self, c: CpuId, waited: Span) {
        self.charge_ns(c, waited.as_ns());
        self.cpus.this_cpu.waited_ps += waited.as_ns() * 1000;
    }

    /// Emits an event at the current moment.
    #[inline]
    pub(crate) fn tell(&mut self, class: Class, c: CpuId, what: What) {
        self.out.tell(class, self.now, c, what);
    }

    /// The current moment of the running CPU: its clock plus the cost of its step so far.
    #[inline]
    pub(crate) fn moment(&self) -> Instant {
        self.cpus.this_cpu.moment()
    }

    #[inline]
    pub(crate) fn waited_for(&mut self, c: CpuId, lock: Lock, waited: Span) {
        self.counters.lock_wait += waited;
        self.note_wait(c, lock, waited);
        self.out.tell_lock_wait(self.now, c, lock, waited);
    }

    /// Asks `target` to reschedule, by an interrupt if it is another CPU (`resched_curr()`).
    #[inline]
    pub(crate) fn resched(&mut self, c: CpuId, target: CpuId) {
        let at = self.moment();
        let to = &mut self.cpus[target];
        let is_asked = to.need_resched && to.resched_at != Instant::NEVER;
        if is_asked || !to.alive {
            return;
        }
        to.need_resched = true;
        if target == c {
            to.resched_at = at;
            return;
        }
        to.resched_at = at + Span::from_ns(self.machine.costs.ipi_ns);
        if to.in_user {
            let at = to.resched_at.min(self.queue.cpu_at(target));
            self.queue.set_cpu(target, at);
        }
        let send_ns = self.machine.costs.ipi_send_ns;
        self.charge_ns(c, send_ns);
    }

    /// The CPU that takes a step reschedules when it has done that.
    #[inline]
    pub(crate) fn resched_here(&mut self) {
        let cpu = self.this_cpu();
        let is_asked = cpu.need_resched && cpu.resched_at != Instant::NEVER;
        if !is_asked && cpu.alive {
            cpu.need_resched = true;
            cpu.resched_at = cpu.clock;
        }
    }

    /// `c` interrupts `target`, which may be itself; another CPU is interrupted after the IPI's latency.
    pub(crate) fn send_irq(&mut self, c: CpuId, target: CpuId, irq: Irq) {
        self.send_irq_for(c, target, irq, true);
    }

    /// Like `send_irq`; `is_first` is false if an IPI that covers this is already on its way.
    pub(crate) fn send_irq_for(&mut self, c: CpuId, target: CpuId, irq: Irq, is_first: bool) {
        let costs = &self.machine.costs;
        let (send_ns, ipi_ns) = (costs.ipi_send_ns, if target == c { 0 } else { costs.ipi_ns });
        self.interrupt(target, self.moment() + Span::from_ns(ipi_ns), irq);
        if is_first {
            self.charge_ns(c, send_ns);
        }
    }

    /// Interrupts `c` at `at`, or as soon as it leaves the kernel.
    #[inline]
    pub(crate) fn interrupt(&mut self, c: CpuId, at: Instant, irq: Irq) {
        let c = self.alive_or_boot(c);
        let cpu = self.cpu(c);
        cpu.errands.add_irq(irq);
        if cpu.in_user {
            let at = at.min(self.queue.cpu_at(c));
            self.queue.set_cpu(c, at);
        }
    }

    /// Returns whether the scheduler has this callback.
    #[inline]
    pub(crate) fn has(&self, op: Op) -> bool {
        self.scx.entries.has(op)
    }

    /// Ends the scheduler; only the first call counts (`scx_claim_exit()`).
    pub(crate) fn end_scheduler(&mut self, c: CpuId, kind: ExitKind, code: i64, message: String) {
        if self.exit.is_none() {
            self.exit = Some(Box::new(Exit { kind, code, message, cpu: c, at: self.now }));
            self.post_end(true);
            self.watch_calls();
        }
    }

    /// Tells CPUs whether each call of a callback is to be looked at; called when what decides that has changed.
    pub(crate) fn watch_calls(&mut self) {
        let is_watched = self.order.is_some() || self.exit.is_some() || self.clocks.is_some();
        for cpu in self.machine.topology.iter() {
            self.cpus[cpu].watch(is_watched);
        }
    }

    /// The scheduler has ended, or is being disabled because it has: the first CPU on its way out of the kernel begins.
    pub(crate) fn post_end(&mut self, ends: bool) {
        for cpu in self.machine.topology.iter() {
            self.cpus[cpu].errands.set_ends(ends);
        }
    }

    /// Records the caller that caused the end, if known; only the first one counts.
    #[cold]
    pub(crate) fn blame(&mut self, caller: Option<Caller>) {
        self.blamed = self.blamed.or(caller);
    }

    /// A runtime error (`scx_error()`).
    pub(crate) fn error(&mut self, c: CpuId, message: String) {
        self.end_scheduler(c, ExitKind::Error, 0, message);
    }

    /// Turns a return value of `ops.what` into an error number; an invalid one is itself an error
    /// (`ops_sanitize_err()`).
    pub(crate) fn sane_errno(&mut self, c: CpuId, what: &str, answer: i32) -> i32 {
        const EPROTO: i32 = 71;
        if (-4095..=0).contains(&answer) {
            return answer;
        }
        self.error(c, format!("ops.{what}() returned an invalid errno {answer}"));
        -EPROTO
    }
}
