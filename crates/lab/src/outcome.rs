//! How a run went, apart from its events.

use crate::lines::LinesOf;
use crate::locks::LockOf;
use keel_abi::scx::ExitKind;
use keel_abi::{Instant, Span};
use keel_kernel::Log;
use keel_profile::Profile;

/// What the run counts by itself, with or without listeners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Times a CPU went from one task to another, to and from idle included.
    pub switches: u64,
    /// Times a blocked task became runnable.
    pub wakeups: u64,
    /// Callbacks of the scheduler.
    pub callbacks: u64,
    /// Callbacks that were held up by an earlier event on another CPU.
    pub suspensions: u64,
    /// CPU time of tasks in their own work; the rest of their time on a CPU is the kernel's.
    pub user_time: Span,
    /// Tasks put into queues as the scheduler said.
    pub scheduler_inserts: u64,
    /// Tasks put into queues by the kernel itself.
    pub kernel_inserts: u64,
    /// Loads and stores outside the scheduler's world: they read 0 and store nothing, as on a
    /// real kernel.
    pub bad_accesses: u64,
    /// Time in which the kernel scheduled by itself the tasks of a scheduler that was coming or going.
    pub bypass: Span,
    /// How often the scheduler was reloaded, because it or the kernel asked for that.
    pub restarts: u32,
}

/// What the scheduler itself took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// CPU time in callbacks, waiting for locks inside them included.
    pub callback: Span,
    /// CPU time waiting for locks.
    pub lock_wait: Span,
    /// BPF instructions executed.
    pub instructions: u64,
}

/// How a run ended. A scheduler that fails is an outcome, no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How the scheduler ended; [`ExitKind::None`] where it was in charge until the run's end.
    pub exit: ExitKind,
    /// The code that the scheduler gave with `scx_bpf_exit()`, or 0.
    pub code: i64,
    /// The kernel's own words about it; empty where there is nothing to say.
    pub message: String,
    /// Which callback's call ended it, and that call's place in the object, if a call did:
    /// `ops.enqueue(), my_enqueue insn 12 (my.bpf.c:40: ...)`. Untrusted text.
    pub place: Option<String>,
    /// When the run ended.
    pub end: Instant,
    /// Was it asked to stop, and did it end early?
    pub stopped: bool,
    /// What it counted.
    pub counters: Counters,
    /// What the scheduler took.
    pub overhead: Overhead,
    /// The lines of memory that CPUs waited for longest.
    pub lines: Vec<LinesOf>,
    /// The locks that CPUs waited for longest.
    pub locks: Vec<LockOf>,
    /// What it printed (`bpf_printk`). Untrusted text.
    pub printed: Log,
    /// What each of its instructions cost, where [`Engine::Profiler`](crate::Engine::Profiler) ran it.
    pub profile: Option<Box<Profile>>,
    /// The program that attached it, where one did.
    pub program: Option<ProgramEnd>,
}

/// How a scheduler's user-space program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramEnd {
    /// What it printed, on both streams. Untrusted bytes.
    pub output: Vec<u8>,
    /// Its exit code; none where it had to be ended.
    pub exit_code: Option<i32>,
    /// What it requested and was refused.
    pub refused: Vec<String>,
    /// System calls that it made.
    pub calls: u64,
    /// What its statistics server answered: the time of the request, in nanoseconds of the run, and a line of JSON.
    /// Untrusted text.
    pub stats: Vec<(u64, String)>,
}
