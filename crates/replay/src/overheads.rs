//! What a simulated kernel charges for scheduling, which a recorded task's time on a CPU holds already: it is taken off the
//! task's work, or it would count twice.

use keel_abi::Span;

/// Times of the machine that a replay runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// Coming to a CPU and leaving it.
    pub stint: Span,
    /// The same where the CPU goes idle then.
    pub stint_to_idle: Span,
    /// Waking another task.
    pub wakeup: Span,
    /// Making a process, until it is woken.
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
    /// One CPU executes at a time, as in an emulator: the more are busy, the less work each one does.
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
    /// What ticks take of a time on a CPU.
    pub(crate) fn of_ticks(&self, ran: Span) -> Span {
        let ticks_ns = u128::from(ran.as_ns()) * u128::from(self.tick.as_ns());
        let ns = ticks_ns / u128::from(self.tick_period.as_ns().max(1));
        Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
