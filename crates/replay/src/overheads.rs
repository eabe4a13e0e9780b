//! Scheduling costs that a simulated kernel charges. A recorded task's CPU time already includes them, so they are
//! subtracted from the task's work; otherwise they would count twice.

use keel_abi::Span;

/// The costs of the machine on which a replay runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// Getting a CPU and leaving it.
    pub stint: Span,
    /// Getting a CPU and leaving it, if the CPU then goes idle.
    pub stint_to_idle: Span,
    /// Waking another task.
    pub wakeup: Span,
    /// Creating a process, until it is woken.
    pub fork: Span,
    /// Exiting, until a parent is notified.
    pub exit: Span,
    /// From a timer's expiry to the wakeup that follows.
    pub timer: Span,
    /// A tick.
    pub tick: Span,
    /// From one tick of a busy CPU to the next.
    pub tick_period: Span,
    /// The speed of a CPU whose SMT sibling is busy, in thousandths.
    pub smt_shared_per_mille: u64,
    /// Whether only one CPU executes at a time, as in an emulator: the more CPUs are busy, the less work each one does.
    pub takes_turns: bool,
}

impl Default for Overheads {
    fn default() -> Self {
        Self {
            stint: Span::ZERO,
            stint_to_idle: Span::ZERO,
            wakeup: Span::ZERO,
            fork: Span::ZERO,
            exit: Span::ZERO,
            timer: Span::ZERO,
            tick: Span::ZERO,
            tick_period: Span::from_ms(4),
            smt_shared_per_mille: 1000,
            takes_turns: false,
        }
    }
}

impl Overheads {
    /// Returns how much of a time on a CPU ticks take.
    pub(crate) fn of_ticks(&self, ran: Span) -> Span {
        let ticks_ns = u128::from(ran.as_ns()) * u128::from(self.tick.as_ns());
        let ns = ticks_ns / u128::from(self.tick_period.as_ns().max(1));
        Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
