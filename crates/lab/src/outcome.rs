//! How a run went, apart from its events.

use crate::lines::LinesOf;
use crate::locks::LockOf;
use keel_abi::scx::ExitKind;
use keel_abi::{Instant, Span};
use keel_kernel::Log;
use keel_profile::Profile;

/// The run's own counts, which do not depend on the sink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// How often a CPU switched from one task to another, including to and from idle.
    pub switches: u64,
    /// How often a blocked task became runnable.
    pub wakeups: u64,
    /// The number of callbacks of the scheduler.
    pub callbacks: u64,
    /// The number of times that a callback was suspended for an earlier event on another CPU.
    pub suspensions: u64,
    /// CPU time that tasks spent on their own work; the rest of their time on a CPU is the kernel's.
    pub user_time: Span,
    /// How often the scheduler inserted a task into a DSQ.
    pub scheduler_inserts: u64,
    /// How often the kernel itself inserted a task into a DSQ.
    pub kernel_inserts: u64,
    /// The number of invalid loads and stores of the scheduler. They read 0 and store nothing, as on a real kernel.
    pub bad_accesses: u64,
    /// Time in bypass mode, while a scheduler was being enabled or disabled.
    pub bypass: Span,
    /// How often the scheduler was reloaded, because it or the kernel requested that.
    pub restarts: u32,
    /// The number of points at which the run's order could delay a callback; 0 without an order.
    pub order_points: u64,
}

/// The scheduler's own costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// CPU time in callbacks, including waiting for locks in them.
    pub callback: Span,
    /// CPU time waiting for locks.
    pub lock_wait: Span,
    /// BPF instructions executed.
    pub instructions: u64,
}

/// How a run ended. A failing scheduler is an outcome, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How the scheduler ended; [`ExitKind::None`] if it stayed attached until the run's end.
    pub exit: ExitKind,
    /// The code that the scheduler passed to `scx_bpf_exit()`, or 0.
    pub code: i64,
    /// The kernel's message; may be empty.
    pub message: String,
    /// If a call ended it, the callback that made the call, and the call's place in the object:
    /// `ops.enqueue(), my_enqueue insn 12 (my.bpf.c:40: ...)`. Untrusted text.
    pub place: Option<String>,
    /// When the run ended.
    pub end: Instant,
    /// Whether the run ended early because a stop was requested.
    pub stopped: bool,
    /// The run's counts.
    pub counters: Counters,
    /// The scheduler's costs.
    pub overhead: Overhead,
    /// The cache lines that CPUs waited for longest.
    pub lines: Vec<LinesOf>,
    /// The locks that CPUs waited for longest.
    pub locks: Vec<LockOf>,
    /// The scheduler's output (`bpf_printk`). Untrusted text.
    pub printed: Log,
    /// The cost of each of its instructions, if [`Engine::Profiler`](crate::Engine::Profiler) ran it.
    pub profile: Option<Box<Profile>>,
    /// The program that attached it, if one did.
    pub program: Option<ProgramEnd>,
}

/// How a scheduler's user-space program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Its output on both streams. Untrusted bytes.
    pub output: Vec<u8>,
    /// Its exit code; `None` if it had to be killed.
    pub exit_code: Option<i32>,
    /// The requests that were refused.
    pub refused: Vec<String>,
    /// The number of its system calls.
    pub calls: u64,
    /// The answers of its statistics server: the time of the request in nanoseconds of the run, and a line of JSON.
    /// Untrusted text.
    pub stats: Vec<(u64, String)>,
}
