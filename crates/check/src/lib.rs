//! The judge: what a run's events say about its scheduler. Events in, figures and findings out.
//!
//! Simulated, recorded and live runs are judged by the same code, from the stream alone. One kind
//! of finding a file. Everything streams: memory depends on the machine and on the tasks alive,
//! not on the length of the run, and every list has a bound and says how much it left out.
//!
//! What every sink here relies on: instants never decrease; CPUs are those of [`Meta::Start`];
//! task ids are dense; every CPU idles from the start until a switch says otherwise (a reader of
//! a recording that begins midway supplies switches from idle).
//!
//! Never here: a wall clock, threads, files, unordered maps, knowledge of who made the stream.
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
mod matching;
mod place;
#[cfg(test)]
mod script;
mod table;

pub use conduct::{Conduct, Limits};
pub use counted::CountedCalls;
pub use decisions::{DecisionCost, Decisions};
pub use figures::{Costs, Delay, Figures, NameFigures, Summary, TaskFigures};
pub use finding::{Blame, Finding, Kind, escape};
pub use histogram::{Histogram, Spread};
pub use judge::{Judge, Judgement};
pub use longest::{OfKind, Sums};
pub use measure::Measure;
pub use origin::{Act, Decision};
pub use waits::{Began, Ended, Story, WaitKey, WaitStories, WaitSums, Waits, Wanted};
pub use waste::{Groups, How, Observer, Verdict, Waiters, Wakers, WastedCores};
pub use watch::{Confirm, Cure, Outcome};
pub use window::{Counts, MOST_NAMES, Measured, Window};
