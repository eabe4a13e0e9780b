//! The requested and the current frequency of a CPU.

use crate::state::machine::PERF_ONE;
use keel_abi::Instant;

/// A CPU's frequency, in units of [`PERF_ONE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Perf {
    /// The scheduler's request (`rq->scx.cpuperf_target`).
    pub(crate) target: u64,
    /// The governor's last decision.
    pub(crate) next: u64,
    /// When the governor last decided; `None` before the first time.
    pub(crate) decided: Option<Instant>,
    /// The current frequency.
    pub(crate) cur: u64,
    /// How often the CPU has gone idle, and how often when the governor last ran.
    pub(crate) idle_calls: u64,
    pub(crate) seen_idle_calls: u64,
}

impl Default for Perf {
    fn default() -> Self {
        Self {
            target: PERF_ONE,
            next: PERF_ONE,
            decided: None,
            cur: PERF_ONE,
            idle_calls: 0,
            seen_idle_calls: 0,
        }
    }
}
