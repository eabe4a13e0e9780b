//! Events that a scheduler may not know about (`struct scx_event_stats`).

/// The counted events, in the order of the struct's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScxEvent {
    /// `ops.select_cpu` chose a CPU that the task may not use.
    SelectCpuFallback,
    /// A task was sent to the local queue of a CPU that was offline.
    DispatchLocalDsqOffline,
    /// A task continued because there was no other.
    DispatchKeepLast,
    /// An exiting task was put into its CPU's local queue.
    EnqSkipExiting,
    /// The same for a migration-disabled task.
    EnqSkipMigrationDisabled,
    /// An immediate task could not run at once, and was reenqueued.
    ReenqImmed,
    /// Reenqueuing tasks of a local queue caused further reenqueues.
    ReenqLocalRepeat,
    /// A task was given a default slice.
    RefillSliceDfl,
    /// Nanoseconds in bypass mode.
    BypassDuration,
    /// Tasks dispatched in bypass mode.
    BypassDispatch,
    /// How often bypass mode was activated.
    BypassActivate,
}

impl ScxEvent {
    /// The number of counters in the struct: its last two, for tasks of other schedulers, are never used.
    pub(crate) const COUNT: usize = Self::BypassActivate as usize + 3;

    /// Their names, in their order.
    pub(crate) const NAMES: [&'static str; Self::COUNT] = [
        "SCX_EV_SELECT_CPU_FALLBACK",
        "SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE",
        "SCX_EV_DISPATCH_KEEP_LAST",
        "SCX_EV_ENQ_SKIP_EXITING",
        "SCX_EV_ENQ_SKIP_MIGRATION_DISABLED",
        "SCX_EV_REENQ_IMMED",
        "SCX_EV_REENQ_LOCAL_REPEAT",
        "SCX_EV_REFILL_SLICE_DFL",
        "SCX_EV_BYPASS_DURATION",
        "SCX_EV_BYPASS_DISPATCH",
        "SCX_EV_BYPASS_ACTIVATE",
        "SCX_EV_INSERT_NOT_OWNED",
        "SCX_EV_SUB_BYPASS_DISPATCH",
    ];
}

/// How many times each has happened since the scheduler was attached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events([u64; ScxEvent::COUNT]);

impl Events {
    #[inline]
    pub(crate) fn count(&mut self, event: ScxEvent) {
        self.add(event, 1);
    }

    #[inline]
    pub(crate) fn add(&mut self, event: ScxEvent, more: u64) {
        self.0[event as usize] += more;
    }

    pub(crate) fn all(&self) -> [u64; ScxEvent::COUNT] {
        self.0
    }
}
