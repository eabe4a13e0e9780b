//! The checks judge a scheduler by a run's events. Events in, figures and findings out.
//!
//! Simulated, recorded and live runs are judged by the same code, from the stream alone. Each kind of finding has its
//! own file. Everything streams: memory use depends on the machine and the number of live tasks, not on the length of
//! the run. Every list is bounded, and says how much it left out.
//!
//! Every sink here relies on the following: times never decrease; CPUs are those of [`Meta::Start`]; task ids are
//! dense; every CPU idles from the start until a switch says otherwise (for a recording that begins midway, the reader
//! supplies switches from idle).
//!
//! This crate never uses a wall clock, threads, files or unordered maps, and does not know where the stream comes from.
//!
//! All checks together:
//!
//! - [`judge`]: one sink for a whole run, and its judgement at the end
//! - [`finding`]: a finding, as data and as one plain sentence
//!
//! The checks:
//!
//! - [`waste`]: wasted cores: a CPU idles while a task that may run there waits
//! - [`conduct`]: how tasks fare: starvation, long delays, unfair shares, stalls, locks and others
//! - [`watch`]: the sanity checker of the Wasted Cores paper, for live machines
//! - [`waits`]: why a task waited: its longest waits, event by event
//!
//! Figures:
//!
//! - [`figures`]: the run in numbers: switches, wakeups, CPU time, delays
//! - [`window`]: figures for a part of a run
//! - [`measure`]: the measures that experiments compare
//! - [`decisions`]: the costs of scheduling decisions
//! - [`counted`]: which calls of a callback did what one of the scheduler's counters counts
//! - `histogram`: histograms with precise quantiles, in fixed memory
//!
//! What the checks share:
//!
//! - [`origin`]: which decision put a task in its queue
//! - `place`: where a task waits and who put it there
//! - `matching`: how many idle CPUs could run a waiting task
//! - `cpus`, `table`: rows by CPU and by task
//! - `longest`: the longest findings of one kind, and how many there were
//! - `gone`: when the last task of each name exited
//! - `script`: event streams written by hand, for tests
//!
//! [`Meta::Start`]: keel_trace::Meta::Start
#![forbid(unsafe_code)]

pub mod conduct;
pub mod counted;
pub mod decisions;
pub mod figures;
pub mod finding;
mod gone;
mod histogram;
pub mod judge;
pub mod measure;
pub mod origin;
pub mod waits;
pub mod waste;
pub mod watch;
pub mod window;

mod cpus;
mod longest;
mod looked_at;
mod matching;
mod place;
#[cfg(test)]
mod script;
mod table;

pub use conduct::{Conduct, Limits};
pub use counted::CountedCalls;
pub use decisions::{DecisionCost, Decisions};
pub use figures::{Costs, Delay, Figures, NameFigures, Summary, TaskFigures};
pub use finding::{Blame, Finding, Kind, escape, escape_all};
pub use histogram::{Histogram, Spread};
pub use judge::{Judge, Judgement};
pub use longest::{OfKind, Sums};
pub use looked_at::{DecisionLog, LookedAt, PROFILED};
pub use measure::Measure;
pub use origin::{Act, Decision};
pub use waits::{Began, Ended, Story, WaitKey, WaitStories, WaitSums, Waits, Wanted};
pub use waste::{Groups, How, Observer, Verdict, Waiters, Wakers, WastedCores};
pub use watch::{Confirm, Outcome, Resolution};
pub use window::{Counts, MOST_NAMES, Measured, Window};
