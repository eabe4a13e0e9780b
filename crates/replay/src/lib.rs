//! Converts a recording to a workload: which task waited for which, and how long each worked.
//!
//! A [`Builder`] reads a recording's stream of events once, in memory that grows by a few bytes per event. It returns a
//! [`Replay`]: a workload in which each task replays what it did from a [tape](keel_abi::tape). A wait keeps its cause:
//! the wakeup by another task, a timer, or an event from outside.
//!
//! A simulated run's recording contains exactly what each task itself did (`exact`). For other recordings, that is
//! inferred from switches and wakeups (`inferred`), and [`Confidence`] reports how much of it is known.
//!
//! - `builder`: converts events to tapes
//! - `exact`: recorded acts of tasks
//! - `inferred`: what tasks do, inferred from switches and wakeups
//! - `task`: one task while its tape is written
//! - `piped`: converts pipe transfers to steps
//! - `pipes`: transfers through pipes, and the waits that follow from them
//! - `level`: how much is in a pipe while tapes are played without time
//! - `pairs`: a semaphore for each pair of waker and wakee
//! - `timers`: determines whether a task's timer is relative to the beginning of a sleep, or absolute
//! - `overheads`: costs that recorded time already includes and a simulated kernel charges again
//! - `changes`: changes to tasks and CPUs from outside
//! - `requests`: recorded changes that tasks or others requested
//! - `groups`: cgroups and sessions in a recording
//! - `tree`: cgroups that tasks change
//! - `policies`: tasks' policies and priorities in a recording
//! - `limits`: `cpu.max`, inferred from recordings without groups
//! - `confidence`: how much of a replay is known
//! - `scale`: several copies of the same load
//! - `fit`: fits a recording to a machine with fewer CPUs
//! - `stuck`: tasks that wait for wakeups that cannot come
//! - `names`: finds the tasks with a name
//! - `export`, `own_steps` and `loops`: the workload as a file for people
#![forbid(unsafe_code)]

mod builder;
mod changes;
mod confidence;
mod exact;
mod export;
mod fit;
mod groups;
mod inferred;
mod level;
mod limits;
mod loops;
mod names;
mod overheads;
mod own_steps;
mod pairs;
mod piped;
mod pipes;
mod policies;
mod requests;
mod scale;
mod stuck;
mod task;
mod timers;
mod tree;

#[cfg(test)]
mod tests;

pub use builder::{Builder, Replay, ReplayError};
pub use confidence::{Causes, Confidence};
pub use export::{ExportError, Late, MOST_STEPS, export};
pub use fit::fit;
pub use groups::GroupsKept;
pub use names::Named;
pub use overheads::Overheads;
pub use scale::scaled;
pub use stuck::{Stuck, stuck};
