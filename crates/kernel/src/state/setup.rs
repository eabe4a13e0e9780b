//! What a run is made of, apart from the engine; and what a kernel refuses.

use crate::state::fair::settings::FairSettings;
use crate::state::machine::Machine;
use keel_abi::bpf::{Entry, MapId};
use keel_abi::scx::{Op, ops_flags};
use keel_abi::task::Workload;
use keel_abi::{DsqId, Noise, Span, scx};

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
    /// `.hotplug_seq`: how many times CPUs had come and gone when its user-space half was created; 0 if it does
    /// not care.
    pub hotplug_seq: u64,
    /// Its task storage map `hints`, where it has one: a task's [`keel_abi::task::Hint`] is put there as two
    /// 32-bit words, priority and policy.
    pub hints: Option<MapId>,
    /// Its ring buffer `policy_events` ([`keel_trace::policy`]), where it has one: what it reports there becomes
    /// [`Meta::Policy`](keel_trace::Meta::Policy).
    pub decisions: Option<MapId>,
    /// What its own queues are called.
    pub queues: Vec<(DsqId, String)>,
    /// The arenas that its callbacks use, where it is a `struct sched_ext_ops_cid`, which calls CPUs by their cids; the
    /// kernel wants it to have exactly one.
    pub arenas: Option<Vec<MapId>>,
    /// Does it want schedulers below it (`.sub_attach`, `.sub_detach`)?
    pub wants_subs: bool,
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
    /// The seed of all random numbers.
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
    /// The world has no memory for the tasks.
    #[error("there is no room for {0} tasks; ask for fewer")]
    NoRoom(u64),
    /// The world has no memory for the cgroups.
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
