//! The contract between the kernel and a task whose program nobody but its maker knows: the user-space half of a
//! scheduler, which talks to the loaded object through its maps.

use crate::{CpuId, Instant, Span};

/// What a companion has done, or does next, and what that costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It has worked in user mode.
    Work {
        /// Instructions.
        insns: u64,
        /// Picoseconds spent waiting for cache lines.
        stall_ps: u64,
    },
    /// It has made a system call on a map.
    Call {
        /// The BPF helper that does the same.
        helper: &'static str,
        /// Picoseconds spent waiting for cache lines.
        stall_ps: u64,
    },
    /// It has printed a line.
    Print(String),
    /// It calls `sched_yield()`.
    Yield,
    /// It sleeps.
    Sleep(Span),
    /// It cannot go on, and so the run is over; the text says why.
    Fail(String),
}

/// A task that talks to the object under test.
pub trait Companion<W> {
    /// Goes on, on `cpu` at `now`. What it does to the world is done at once; its time passes afterwards.
    fn go_on(&mut self, world: &mut W, cpu: CpuId, now: Instant) -> Act;
}
