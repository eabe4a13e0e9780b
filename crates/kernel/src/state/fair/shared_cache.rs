//! State that the CPUs of a last-level cache share.

/// The shared state of a cache's CPUs (`struct sched_domain_shared`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedCache {
    /// There may be a fully idle core.
    pub(crate) has_idle_core: bool,
    /// How many CPUs a search looks at, as set by the last periodic balancing; `None` on a machine that has not
    /// balanced yet, on which all CPUs were idle.
    pub(crate) idle_scan: Option<u32>,
}

impl SharedCache {
    /// For an idle machine.
    pub(super) const IDLE: Self = Self { has_idle_core: true, idle_scan: None };
}
