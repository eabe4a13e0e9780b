//! A recording to a workload: which task waited for which, and worked how long.
//!
//! A [`Builder`] listens to a recording's stream of events once, in memory that grows by a few bytes an event, and gives a
//! [`Replay`]: a workload in which each task plays what it did from a [tape](keel_abi::tape). A wait keeps its cause: the
//! wakeup by another task, a timer, or an event from outside.
//!
//! A simulated run's recording says exactly what each task did for itself (`exact`). Of other recordings, that is inferred
//! from switches and wakeups (`inferred`), and [`Confidence`] says how much of it is known.
//!
//! - `builder`: from events to tapes
//! - `exact`: what a task says that it does
//! - `inferred`: what switches and wakeups say that a task does
//! - `task`: one task while its tape is written
//! - `piped`: which steps those are
//! - `pipes`: what goes through pipes, and waits that follow from it
//! - `level`: how much is in a pipe while tapes are played without time
//! - `pairs`: a semaphore for each pair of waker and wakee
//! - `timers`: is a task's timer counted from when it begins to sleep, or from a clock?
//! - `overheads`: what a simulated kernel charges again, which recorded time holds already
//! - `changes`: what happens to tasks and CPUs from outside
//! - `groups`: cgroups and sessions that a recording tells
//! - `policies`: how tasks are scheduled, as a recording tells it
//! - `limits`: what other recordings show of `cpu.max`
//! - `confidence`: how much of a replay is known
//! - `scale`: the same load several times
//! - `fit`: a recording on a machine with fewer CPUs
//! - `stuck`: tasks that wait for wakeups that cannot come
//! - `names`: which tasks have a name
//! - `export` and `loops`: the workload as a file for people
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
mod pairs;
mod piped;
mod pipes;
mod policies;
mod scale;
mod stuck;
mod task;
mod timers;

#[cfg(test)]
mod tests;

pub use builder::{Builder, Replay, ReplayError};
pub use confidence::{Causes, Confidence};
pub use export::{ExportError, MOST_STEPS, export};
pub use fit::fit;
pub use groups::GroupsKept;
pub use names::Named;
pub use overheads::Overheads;
pub use scale::scaled;
pub use stuck::{Stuck, stuck};
