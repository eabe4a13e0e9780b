//! Published experiments as data: what is run, what was claimed, and what counts as reproduced.
//!
//! [`read`] turns a file's text into an [`Experiment`], [`plan`] says which runs it needs, and
//! [`judge`] holds what was measured against what was claimed; [`matrix`] has every scheduler do each experiment's work. How a run is made is not known here,
//! nor how a verdict is shown.
//!
//! Pure functions: no file, clock, thread or environment is touched, and whatever a stranger's file
//! holds, reading it ends.
#![forbid(unsafe_code)]

pub mod built_in;
pub mod error;
pub mod judge;
pub mod matrix;
pub mod model;
pub mod outcome;
pub mod plan;
mod read;

pub use error::ExperimentError;
pub use judge::{ClaimVerdict, Judged, Standing, judge};
pub use model::{Arm, Band, Claim, Experiment, Off, Published, Side, Until};
pub use outcome::{ArmFigures, RunFigures, Taken};
pub use plan::{Planned, plan};
pub use read::read;
