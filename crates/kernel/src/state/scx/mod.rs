//! sched_ext on top of the scheduler core: queues, direct dispatch, custody, kicks, enabling and disabling, the
//! watchdog. The rules are those of Linux 7.2 (`kernel/sched/ext/ext.c`).

pub(crate) mod cids;
pub(crate) mod entries;
pub(crate) mod events;
pub(crate) mod queues;
pub(crate) mod restart;

use crate::state::class::Takes;
use crate::state::scx::entries::Entries;
use crate::state::setup::Scheduler;
use keel_abi::bpf::{Ea, MapId};
use keel_abi::scx::{Op, ops_flags};
use keel_abi::{Instant, NodeId, Span, scx};

/// A scheduler's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// No scheduler is loaded, and none will be: the fair class has every normal task.
    Absent,
    /// Its object is loaded, but the scheduler is not registered yet.
    Loaded,
    Enabling,
    Enabled,
    Disabling,
    Gone,
}

/// The attached scheduler (`struct scx_sched`).
#[derive(Debug)]
pub(crate) struct Scx {
    /// The program of each callback.
    pub(crate) entries: Entries,
    pub(crate) flags: u64,
    /// The arena of a scheduler that refers to CPUs by cids; `None` for others.
    pub(crate) arena: Option<MapId>,
    /// In the arena, for each CPU, the user-space address of the `struct scx_cmask` that its callbacks get.
    pub(crate) cmasks: Vec<Ea>,
    pub(crate) hotplug_seq: u64,
    pub(crate) timeout: Span,
    /// When the watchdog next checks; an earlier expiry belongs to a previous scheduler.
    pub(crate) watchdog_at: Instant,
    /// When the programs of its user-space half run next.
    pub(crate) programs_at: Vec<Instant>,
    pub(crate) max_batch: u32,
    pub(crate) phase: Phase,
    /// It is enabled at boot, when there is no other task yet.
    pub(crate) at_boot: bool,
    /// The tasks that it takes now.
    pub(crate) takes: Takes,
    /// Since when bypass mode has been on, if it is.
    pub(crate) bypassed_since: Option<Instant>,
    /// The default slice: shorter in bypass mode.
    pub(crate) slice_dfl_ns: u64,
    /// The kernel keeps track of idle CPUs.
    pub(crate) tracks_idle: bool,
    /// Memory for callbacks' argument structs, in the world.
    pub(crate) scratch: Ea,
    /// The addresses at which BPF sees the idle masks: of CPUs, and of whole cores.
    pub(crate) idle_masks: Option<(Ea, Ea)>,
    /// The same for single nodes, if BPF has asked for them.
    pub(crate) node_idle_masks: Vec<(NodeId, Ea, Ea)>,
    /// `cpu_none_mask`, once it is needed.
    pub(crate) none_mask: Ea,
    /// There has been an immediate task: before that, no check is needed.
    pub(crate) knows_immed: bool,
    /// A rare condition of a switch has occurred: CPUs that wait for each other, tasks that have to be enqueued again
    /// or may not migrate. Before that, no switch needs to check.
    pub(crate) needs_slow_path: bool,
    /// It wants to be notified when higher classes take CPUs (`SCX_OPS_HAS_CPU_PREEMPT`).
    pub(crate) has_cpu_preempt: bool,
    /// Memory for the arguments of `ops.cpu_release`, one place per CPU, once it is needed.
    pub(crate) release_args: Ea,
    /// Counts of events that the scheduler may not know about.
    pub(crate) events: events::Events,
}

impl Scx {
    pub(crate) fn new(scheduler: &Scheduler) -> Self {
        let entries = Entries::new(&scheduler.callbacks);
        let or_default = |value: u32, default: u32| if value == 0 { default } else { value };
        let timeout_ms = or_default(scheduler.timeout_ms, scx::WATCHDOG_MAX_TIMEOUT_MS);
        Self {
            tracks_idle: !entries.has(Op::UpdateIdle) || scheduler.flags & ops_flags::KEEP_BUILTIN_IDLE != 0,
            has_cpu_preempt: entries.has(Op::CpuAcquire) || entries.has(Op::CpuRelease),
            entries,
            flags: scheduler.flags,
            arena: scheduler.arenas.as_deref().and_then(<[MapId]>::first).copied(),
            cmasks: Vec::new(),
            hotplug_seq: scheduler.hotplug_seq,
            timeout: Span::from_ms(u64::from(timeout_ms)),
            watchdog_at: Instant::ZERO,
            programs_at: Vec::new(),
            max_batch: or_default(scheduler.dispatch_max_batch, scx::DSP_DFL_MAX_BATCH),
            phase: Phase::Loaded,
            at_boot: true,
            takes: Takes::Nobody,
            bypassed_since: None,
            slice_dfl_ns: scx::SLICE_DFL_NS,
            scratch: Ea::NULL,
            idle_masks: None,
            node_idle_masks: Vec::new(),
            none_mask: Ea::NULL,
            release_args: Ea::NULL,
            knows_immed: false,
            needs_slow_path: false,
            events: events::Events::default(),
        }
    }

    /// Returns whether it refers to CPUs by cids (`struct sched_ext_ops_cid`).
    #[inline]
    pub(crate) const fn speaks_cids(&self) -> bool {
        self.arena.is_some()
    }

    /// From now on it takes the tasks that it wants.
    pub(crate) fn begin_taking(&mut self) {
        self.takes = match self.flags & ops_flags::SWITCH_PARTIAL {
            0 => Takes::All,
            _ => Takes::Ext,
        };
    }

    /// Keeps what outlasts a scheduler: the kernel's own memory in the world, and migration-disabled spells.
    pub(crate) fn keep_memory(&mut self, old: Self) {
        self.scratch = old.scratch;
        self.idle_masks = old.idle_masks;
        self.node_idle_masks = old.node_idle_masks;
        self.none_mask = old.none_mask;
        self.release_args = old.release_args;
        self.needs_slow_path = old.needs_slow_path;
    }

    #[inline]
    pub(crate) fn is_disabling(&self) -> bool {
        self.phase >= Phase::Disabling
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.phase == Phase::Gone
    }

    pub(crate) fn mark_gone(&mut self) {
        self.phase = Phase::Gone;
    }
}
