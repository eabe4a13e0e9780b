//! State that the CPUs of an LLC share.

/// The shared state of an LLC's CPUs (`struct sched_domain_shared`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedCache {
    /// Whether there may be a core that is fully idle.
    pub(crate) has_idle_core: bool,
    /// How many CPUs a search scans, as set by the last periodic balancing. `None` on a machine that has not balanced
    /// yet, on which all CPUs were idle.
    pub(crate) idle_scan: Option<u32>,
}

impl SharedCache {
    /// The state on an idle machine.
    pub(super) const IDLE: Self = Self { has_idle_core: true, idle_scan: None };
}
