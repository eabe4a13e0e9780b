//! What is remembered about the CPUs that share a last-level cache.

/// What the CPUs of a cache know together (`struct sched_domain_shared`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedCache {
    /// There may be a core that is idle as a whole.
    pub(crate) has_idle_core: bool,
    /// How many CPUs a search looks at, as the last periodic balancing set it; `None` on a machine that has not
    /// balanced yet, where all were idle.
    pub(crate) idle_scan: Option<u32>,
}

impl SharedCache {
    /// Of an idle machine.
    pub(super) const IDLE: Self = Self { has_idle_core: true, idle_scan: None };
}
