//! The simulated kernel: a deterministic discrete-event model of Linux 7.2's scheduler core and
//! sched_ext, around whichever machine and with whichever engine executing the BPF.
//!
//! Start at [`Sim`] (the main loop), then `frame` (how a path of the kernel is cut into steps),
//! `path` (wakeups, picks, ticks, forks: the scheduler core), `scx` (sched_ext on top of it), `rt` (the class above it) and
//! `call` (helpers and kfuncs). Costs are in [`cost`], machines in [`machine`].
//!
//! This room never looks at a wall clock, starts a thread, reads a file or depends on who
//! executes BPF.
#![forbid(unsafe_code)]

mod actor;
mod call;
mod callback;
mod cgroup;
mod class;
pub mod cost;
mod cpu;
mod cpus;
mod domains;
pub mod dsq;
pub mod event;
mod exit;
mod fair;
mod features;
mod frame;
mod frequency;
pub mod idle;
mod kernel;
pub mod layout;
mod log;
pub mod machine;
mod mirror;
mod out;
mod outside;
mod path;
mod percpu;
mod rng;
mod rt;
mod scx;
mod sessions;
mod setup;
mod sim;
mod stack;
mod task;

pub use actor::companion::{Beside, companion_pid};
pub use call::{helper, kfunc, served};
pub use exit::Exit;
pub use features::features;
pub use kernel::Counters;
pub use layout::KERNEL_BTF;
pub use log::{Log, LogLine, MOST_LINES};
pub use percpu::variable;
pub use setup::{ProgramFailure, Scheduler, Setup, SetupError, UserProgram};
pub use sim::{Sim, State};
