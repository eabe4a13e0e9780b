//! Shows figures and findings to people and programs: tables, a one-sentence verdict, JSON, pictures.
//!
//! This crate judges nothing itself: everything that it shows comes from [`keel_check`]. Names of tasks, schedulers and
//! workloads are untrusted, and are escaped wherever they are shown.
//!
//! This crate doesn't know where a stream came from, and never accesses files or the terminal. Callers say how wide the
//! terminal is and whether it supports colour ([`Style`]).
//!
//! One run:
//!
//! - [`run`]: a run as JSON
//! - [`table`]: a run as text
//! - [`verdict`]: a run in one plain sentence
//! - [`headline`]: which cores idled, who waited where, and which decision caused it
//! - `findings`: the findings as a list
//! - [`check`]: the judgement of a trace, as text and JSON
//! - `caveat`: caveats about what a recording lacks
//! - [`waits`]: why a task waited, as text and JSON
//! - [`watch`]: the output of `keel watch`: JSON lines, text lines and a screen
//! - [`gate`]: whether a run passed its budgets, as text
//!
//! Several runs:
//!
//! - [`compare`]: schedulers side by side
//! - [`experiment`]: published experiments and our results, as JSON
//! - [`matrix`]: every scheduler on every experiment, as tables and JSON
//! - [`sensitivity`]: how much each machine constant affects each experiment
//! - [`decisions`]: how the cost of decisions grows with waiting tasks and CPUs
//! - [`lab_page`]: the lab as one HTML page
//! - [`partial`]: results that a signal cut short
//!
//! Pictures, and what is collected for them:
//!
//! - [`picture`]: a run as a static SVG
//! - [`buckets`]: what each CPU did, summed over buckets of time
//! - [`follow`]: which task runs or waits where, as events arrive
//! - [`notable`]: a run's most informative decisions, spread over its time
//!
//! Shared parts:
//!
//! - `cells`: tables whose lines don't end within a number
//! - [`policy`]: a decision that a scheduler reports, as a sentence
//! - [`queues`]: names for a scheduler's own DSQs
//! - [`style`]: how text is shown
//! - [`features`]: lists for LIMITATIONS.md, from the code's own tables
//! - [`made_up`]: made-up runs for tests, examples and measurements
#![forbid(unsafe_code)]

pub mod buckets;
pub mod check;
pub mod compare;
pub mod decisions;
pub mod experiment;
pub mod features;
pub mod follow;
pub mod gate;
pub mod headline;
pub mod lab_page;
pub mod looked_at;
pub mod made_up;
pub mod matrix;
pub mod notable;
pub mod partial;
pub mod picture;
pub mod policy;
pub mod queues;
pub mod run;
pub mod sensitivity;
pub mod style;
pub mod table;
pub mod verdict;
pub mod waits;
pub mod watch;

mod caveat;
mod cells;
mod findings;

pub use check::CheckReport;
pub use decisions::DecisionsReport;
pub use experiment::ExperimentReport;
pub use matrix::MatrixReport;
pub use partial::{Partial, PartialRuns, StoppedBy};
pub use picture::Picture;
pub use queues::QueueNames;
pub use run::{LinesReport, LockReport, RunFacts, RunReport};
pub use sensitivity::SensitivityReport;
pub use style::Style;
pub use waits::WaitsReport;
