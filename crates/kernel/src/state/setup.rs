//! The parts of a run apart from the engine, and the setups that a kernel refuses.

use crate::state::fair::settings::FairSettings;
use crate::state::machine::Machine;
use keel_abi::bpf::{Entry, MapId};
use keel_abi::scx::{Op, ops_flags};
use keel_abi::task::Workload;
use keel_abi::{DsqId, Noise, Span, scx};

/// The first task's pid.
pub(crate) const FIRST_PID: u32 = 1;

/// The most tasks that one run can create.
pub(crate) const MAX_TASKS: u64 = 1 << 20;

/// A scheduler as attached: its callbacks' programs and its settings.
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
    /// `.hotplug_seq`: the number of hotplug changes when its user-space half was created; 0 if it does not care.
    pub hotplug_seq: u64,
    /// Its task storage map `hints`, if it has one: a task's [`keel_abi::task::Hint`] is put there as two 32-bit words,
    /// priority and policy.
    pub hints: Option<MapId>,
    /// Its ring buffer `policy_events` ([`keel_trace::policy`]), if it has one: its reports there become
    /// [`Meta::Policy`](keel_trace::Meta::Policy).
    pub decisions: Option<MapId>,
    /// The names of its own queues.
    pub queues: Vec<(DsqId, String)>,
    /// The arenas that its callbacks use, if it is a `struct sched_ext_ops_cid`, which refers to CPUs by cids. The
    /// kernel requires exactly one.
    pub arenas: Option<Vec<MapId>>,
    /// Whether it supports child schedulers (`.sub_attach`, `.sub_detach`).
    pub wants_subs: bool,
    /// The object's types that it allocates by their BTF number (`bpf_obj_new`): number and size in bytes.
    pub local_types: Vec<(u32, u32)>,
}

/// A `SEC("syscall")` program that the scheduler's user-space half runs (`BPF_PROG_TEST_RUN`).
#[derive(Clone, Debug)]
pub struct UserProgram {
    /// Its name.
    pub name: String,
    /// The program.
    pub entry: Entry,
    /// Its context; anything that it writes there is lost.
    pub args: Vec<u64>,
    /// The time from one run to the next while the scheduler is attached; `None` to run it once, before attaching.
    pub every: Option<Span>,
}

/// Everything that a run needs apart from the engine.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine.
    pub machine: Machine,
    /// The workload.
    pub workload: Workload,
    /// The scheduler; `None` for the kernel's own fair class, with no sched_ext scheduler loaded.
    pub scheduler: Option<Scheduler>,
    /// The programs that its user-space half runs, in this order.
    pub programs: Vec<UserProgram>,
    /// Settings of the kernel's own fair class.
    pub fair: FairSettings,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The activity besides the workload. [`Noise::None`] keeps a run exact.
    pub noise: Noise,
}

/// Why a run cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The kernel refuses to attach the scheduler, in its own words.
    #[error("the kernel refuses the scheduler: {0}")]
    Refused(String),
    /// The world has no memory for the tasks.
    #[error("{0} tasks are too many; ask for fewer")]
    NoRoom(u64),
    /// The world has no memory for the cgroups.
    #[error("{0} cgroups are too many; ask for fewer")]
    NoRoomForCgroups(usize),
    /// A program that was run before attaching failed.
    #[error("{0}")]
    Program(ProgramFailure),
}

/// A [`UserProgram`] that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("program {program} failed: {why}")]
pub struct ProgramFailure {
    /// Its name.
    pub program: String,
    /// Its return value, or why and where it was stopped.
    pub why: String,
}

/// Refuses what `validate_ops()` refuses.
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
    let refused = |why: &str| Err(SetupError::Refused(why.into()));
    match scheduler.arenas.as_deref() {
        None if scheduler.wants_subs => return refused("sub_attach/sub_detach requires cid-form struct_ops"),
        None | Some([_]) => {}
        Some([]) => return refused("cid-form scheduler must use a BPF arena map"),
        Some(_) => return refused("cid-form scheduler uses multiple arena maps"),
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
