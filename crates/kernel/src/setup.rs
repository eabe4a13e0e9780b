//! Booting: from a machine, a workload and a scheduler's callbacks to a kernel at time zero.

use crate::cgroup::Cgroups;
use crate::cost::{Bus, KernelLines};
use crate::cpus::Cpus;
use crate::domains::Domains;
use crate::event::EventQueue;
use crate::external_events::Outside;
use crate::fair::{Fair, FairSettings};
use crate::hooks::Hooks;
use crate::idle::IdleMasks;
use crate::kernel::{AfterSteps, Counters, Kernel};
use crate::kfuncs::iter::Cursors;
use crate::kfuncs::res_spin::ResLocks;
use crate::kfuncs::spin::SpinLocks;
use crate::kfuncs::timer::Timers;
use crate::layout::TASK_STRIDE;
use crate::log::Log;
use crate::machine::Machine;
use crate::noise::NoiseState;
use crate::out::Out;
use crate::rng::Rng;
use crate::rt::{Overload, RtPeriod};
use crate::scx::Scx;
use crate::scx::queues::Queues;
use crate::sessions::Sessions;
use crate::task::Tasks;
use crate::task_program::sync::Objects;
use keel_abi::bpf::{Ea, Entry, MapId, World};
use keel_abi::scx::{self, Op, ops_flags};
use keel_abi::task::Workload;
use keel_abi::{CpuId, DsqId, Instant, Noise, Span, UPTIME};
use keel_trace::{Class, Meta};

/// Numbers of the queue's timers: sleeping tasks have their own ids, the others are above.
pub(crate) mod timer_number {
    /// The servers of CPUs whose tasks of sched_ext starve.
    pub(crate) const FIRST_SERVER: u32 = 1 << 25;
    /// The servers of CPUs whose fair tasks starve.
    pub(crate) const FIRST_FAIR_SERVER: u32 = 1 << 26;
    /// Limits of cgroups: two of each group that fair tasks are in, up to [`FIRST_START`].
    pub(crate) const FIRST_BUDGET: u32 = 1 << 27;
    /// Devices that interrupt CPUs.
    pub(crate) const FIRST_INTERRUPT: u32 = 1 << 26 | 1 << 25;
    /// Starting tasks of the workload.
    pub(crate) const FIRST_START: u32 = 1 << 28;
    /// CPUs that come to a new frequency.
    pub(crate) const FIRST_FREQUENCY: u32 = FIRST_HAPPENING | 1 << 26;
    /// What happens from outside.
    pub(crate) const FIRST_HAPPENING: u32 = 1 << 28 | 1 << 27;
    /// Programs that user space runs again and again.
    pub(crate) const FIRST_PROGRAM: u32 = 1 << 29;
    /// BPF timers.
    pub(crate) const FIRST_BPF: u32 = 1 << 30;
    /// The period of real-time tasks' time is over.
    pub(crate) const RT_PERIOD: u32 = u32::MAX - 2;
    /// The scheduler is loaded again.
    pub(crate) const RESTART: u32 = u32::MAX - 1;
    /// The stall watchdog.
    pub(crate) const WATCHDOG: u32 = u32::MAX;

    /// The numbers of so many CPUs' frequencies.
    pub(crate) const fn frequencies(cpus: usize) -> std::ops::Range<u32> {
        FIRST_FREQUENCY..FIRST_FREQUENCY + cpus as u32
    }
}

/// The first task's pid.
pub(crate) const FIRST_PID: u32 = 1;

/// Tasks that one run can make.
pub(crate) const MAX_TASKS: u64 = 1 << 20;

/// A scheduler as attached: which programs serve which callbacks, and its settings.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// Its name (`.name`).
    pub name: String,
    /// The program of each callback that it has.
    pub callbacks: Vec<(Op, Entry)>,
    /// `SCX_OPS_*`.
    pub flags: u64,
    /// `.timeout_ms`; 0 for the default of 30 s.
    pub timeout_ms: u32,
    /// `.dispatch_max_batch`; 0 for the default of 32.
    pub dispatch_max_batch: u32,
    /// `.hotplug_seq`: how many times CPUs had come and gone when its user-space half was made; 0 where it does
    /// not mind.
    pub hotplug_seq: u64,
    /// Its task storage map `hints`, where it has one: a task's [`keel_abi::task::Hint`] is put there as two
    /// 32-bit words, priority and policy.
    pub hints: Option<MapId>,
    /// Its ring buffer `policy_events` ([`keel_trace::policy`]), where it has one: what it reports there becomes
    /// [`Meta::Policy`].
    pub decisions: Option<MapId>,
    /// What its own queues are called.
    pub queues: Vec<(DsqId, String)>,
    /// The object's types that it makes by their BTF number (`bpf_obj_new`): number, and bytes.
    pub local_types: Vec<(u32, u32)>,
}

/// A `SEC("syscall")` program that the scheduler's user-space half runs (`BPF_PROG_TEST_RUN`).
#[derive(Clone, Debug)]
pub struct UserProgram {
    /// Its name.
    pub name: String,
    /// The program.
    pub entry: Entry,
    /// Its context; what it writes there is lost.
    pub args: Vec<u64>,
    /// The time from one run to the next while the scheduler is attached; `None` for once, before.
    pub every: Option<Span>,
}

/// All that a run is made of, apart from the engine.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine.
    pub machine: Machine,
    /// What its tasks do.
    pub workload: Workload,
    /// Who schedules them; `None` for the kernel's own fair class, with no sched_ext scheduler loaded.
    pub scheduler: Option<Scheduler>,
    /// What its user-space half runs, in this order.
    pub programs: Vec<UserProgram>,
    /// Settings of the kernel's own fair class.
    pub fair: FairSettings,
    /// Where all random numbers come from.
    pub seed: u64,
    /// What goes on beside the workload. [`Noise::None`] keeps a run exact.
    pub noise: Noise,
}

/// Why a run cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The kernel refuses to attach the scheduler, in its own words.
    #[error("the kernel refuses the scheduler: {0}")]
    Refused(String),
    /// The world has no room for the tasks.
    #[error("there is no room for {0} tasks; ask for fewer")]
    NoRoom(u64),
    /// The world has no room for the cgroups.
    #[error("there is no room for {0} cgroups; ask for fewer")]
    NoRoomForCgroups(usize),
    /// A program that was run before attaching failed.
    #[error("{0}")]
    Program(ProgramFailure),
}

/// A [`UserProgram`] that did not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("program {program} failed: {why}")]
pub struct ProgramFailure {
    /// Its name.
    pub program: String,
    /// What it returned, or why it was stopped and where.
    pub why: String,
}

impl Kernel {
    pub(crate) fn boot<W: World>(world: &mut W, setup: Setup, wants: Class) -> Result<Self, SetupError> {
        let scheduler = setup
            .scheduler
            .unwrap_or_else(|| Scheduler { name: crate::fair::NAME.to_owned(), ..Scheduler::default() });
        refuse(&scheduler)?;
        let topology = &setup.machine.topology;
        let cpus = Cpus::new(topology.iter().map(|c| siblings(&setup.machine, c)));
        let task_base = world.reserve(TASK_STRIDE * (MAX_TASKS + u64::from(topology.cpus())));
        let task_base = task_base.ok_or(SetupError::NoRoom(MAX_TASKS))?;
        let sessions = Sessions::new(world).ok_or(SetupError::NoRoom(MAX_TASKS))?;
        let mut kernel = Self {
            queue: EventQueue::new(topology.cpus()),
            now: Instant::ZERO,
            uptime: UPTIME,
            cpus,
            tasks: Tasks::default(),
            queues: Queues::new(topology),
            idle: IdleMasks::new(topology),
            fair: Fair::new(topology, setup.fair, setup.seed),
            lines: KernelLines::new(topology, setup.machine.lines),
            bus: Bus::new(topology, &setup.machine.costs),
            scx: Scx::new(&scheduler),
            objects: Objects::new(&setup.workload, &setup.machine),
            cgroups: Cgroups::default(),
            decisions: scheduler.decisions,
            local_types: scheduler.local_types.clone(),
            spins: SpinLocks::default(),
            res_spins: ResLocks::default(),
            timers: Timers::default(),
            out: Out::new(wants),
            counters: Counters::default(),
            exit: None,
            blamed: None,
            waiting_starts: Vec::new(),
            starts: Default::default(),
            not_own_ps: 0,
            programs: setup.programs,
            hooks: Hooks::default(),
            failed_program: None,
            seed: setup.seed,
            task_base,
            next_pid: FIRST_PID,
            tick: Span::from_ns(1_000_000_000 / u64::from(setup.machine.hz)),
            after_steps: match setup.machine.costs.turn_ns {
                0 => AfterSteps::Nothing,
                _ => AfterSteps::Turns,
            },
            terms: terms(setup.machine.costs.insn_ps, topology.cpus()),
            cursors: Cursors::default(),
            queue_locks: Vec::new(),
            online_mask: Ea::NULL,
            single_masks: Ea::NULL,
            possible_mask: Ea::NULL,
            per_cpu: Ea::NULL,
            domains: Domains::new(topology),
            sessions,
            overload: Overload::default(),
            rt_period: RtPeriod::default(),
            spinners: 0,
            again: crate::scx::Restart::default(),
            outside: Outside::new(
                topology.cpus(),
                setup.machine.timeline.iter().chain(&setup.workload.timeline).cloned(),
            ),
            rng: Rng::new(setup.seed, u64::MAX),
            noise: NoiseState::new(setup.noise, &setup.machine, setup.seed),
            log: Log::default(),
            machine: setup.machine,
            workload: setup.workload,
        };
        kernel.objects.processes.hints = scheduler.hints;
        kernel.idle.set_per_node(scheduler.flags & ops_flags::BUILTIN_IDLE_PER_NODE != 0);
        kernel.lines.set_idle_per_node(kernel.idle.per_node());
        if !kernel.make_first_cgroups(world) {
            return Err(SetupError::NoRoomForCgroups(kernel.workload.cgroups.len()));
        }
        kernel.mirror_idle_tasks(world);
        kernel.tell_start(&scheduler.name, &scheduler.queues, setup.noise);
        for c in kernel.machine.topology.iter() {
            kernel.cpu(c).speed_per_mille = kernel.speed_of(c);
        }
        kernel.arm_starts();
        kernel.arm_interrupts();
        kernel.arm_timeline();
        Ok(kernel)
    }

    fn tell_start(&mut self, scheduler: &str, queues: &[(DsqId, String)], noise: Noise) {
        let meta = Meta::Start {
            topology: self.machine.topology.clone(),
            scheduler: scheduler.to_owned(),
            workload: self.workload.name.clone(),
            unit: self.workload.unit.clone(),
        };
        self.out.tell_meta(Instant::ZERO, meta);
        if noise != Noise::None {
            self.out.tell_meta(Instant::ZERO, Meta::Chance { seed: self.seed, noise });
        }
        for (id, name) in queues {
            self.out.tell_meta(Instant::ZERO, Meta::Queue { id: *id, name: name.clone() });
        }
    }
}

fn siblings(machine: &Machine, c: CpuId) -> keel_abi::CpuSet {
    let core = machine.topology.place(c).core;
    let mut set = machine.topology.cpus_where(|p| p.core == core);
    set.remove(c);
    set
}

/// On what terms each helper and kfunc is called on a machine.
fn terms(insn_ps: u64, cpus: u32) -> Vec<crate::kfuncs::Terms> {
    let words = u64::from(cpus.div_ceil(64));
    let price = |f: crate::kfuncs::F| crate::cost::kfunc::price(f.name()).over(words) * insn_ps;
    crate::kfuncs::F::all().iter().map(|&f| crate::kfuncs::Terms::new(f, price(f))).collect()
}

/// What `validate_ops()` refuses.
pub(crate) fn refuse(scheduler: &Scheduler) -> Result<(), SetupError> {
    let has = |op| scheduler.callbacks.iter().any(|&(o, _)| o == op);
    if scheduler.flags & ops_flags::ENQ_LAST != 0 && !has(Op::Enqueue) {
        return Err(SetupError::Refused("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented".into()));
    }
    if scheduler.flags & ops_flags::BUILTIN_IDLE_PER_NODE != 0
        && scheduler.flags & ops_flags::KEEP_BUILTIN_IDLE == 0
        && has(Op::UpdateIdle)
    {
        return Err(SetupError::Refused(
            "SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled".into(),
        ));
    }
    if scheduler.timeout_ms > scx::WATCHDOG_MAX_TIMEOUT_MS {
        return Err(SetupError::Refused(format!(
            "timeout_ms {} is above {} (-E2BIG)",
            scheduler.timeout_ms,
            scx::WATCHDOG_MAX_TIMEOUT_MS
        )));
    }
    Ok(())
}
