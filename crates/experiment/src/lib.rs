//! Published experiments as data: what is run, what was claimed, and what counts as reproduced.
//!
//! This crate does not know how runs are made or how verdicts are displayed. Its functions are pure: they use no file,
//! clock, thread or environment. Reading always terminates, whatever an untrusted file contains.
//!
//! - [`model`]: an experiment, as its file describes it.
//! - `read`: the TOML file, as an [`Experiment`].
//! - [`built_in`]: the experiments of `experiments/`.
//! - [`plan`]: which runs an experiment needs.
//! - [`outcome`]: what the runs measured, arm by arm.
//! - [`judge`]: compares measurements with claims.
//! - [`matrix`]: every scheduler under every experiment's workload.
//! - [`error`]: errors in an experiment's file.
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
pub use judge::trend::{Trend, rank_correlation};
pub use judge::{ClaimVerdict, Judged, Standing, judge};
pub use model::{Arm, Band, Claim, Experiment, Off, Published, Side, Until};
pub use outcome::{ArmFigures, RunFigures, Taken};
pub use plan::{Planned, plan};
pub use read::read;
