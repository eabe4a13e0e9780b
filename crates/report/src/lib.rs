//! Figures and findings, for people and for programs: tables, one sentence of verdict, JSON, pictures.
//!
//! It judges nothing itself: all that it shows comes from [`keel_check`]. Names of tasks,
//! schedulers and workloads are a stranger's text and are escaped wherever they are shown.
//!
//! Never here: knowledge of where a stream came from; files; the terminal (callers say how wide
//! it is and whether it takes colour: [`Style`]).
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
pub mod made_up;
pub mod matrix;
pub mod partial;
pub mod picture;
pub mod policy;
pub mod queues;
pub mod run;
pub mod sensitivity;
pub mod style;
pub mod table;
pub mod telling;
pub mod verdict;
pub mod waits;
pub mod watch;

mod caveat;
mod findings;

pub use check::CheckReport;
pub use decisions::DecisionsReport;
pub use experiment::ExperimentReport;
pub use matrix::MatrixReport;
pub use partial::{Partial, PartialRuns, StoppedBy};
pub use picture::Picture;
pub use queues::QueueNames;
pub use run::{RunFacts, RunReport};
pub use sensitivity::SensitivityReport;
pub use style::Style;
pub use waits::WaitsReport;
