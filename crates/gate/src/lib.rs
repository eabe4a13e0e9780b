//! The gate decides whether a judged run passes: [`Budgets`] limit the total of its findings, and a [`Baseline`] limits
//! how much worse its figures may be than those of an earlier run.
//!
//! Nothing else decides this. The crate reads text and returns verdicts.
//!
//! - [`budget`]: one budget, as people write it: `none`, `any`, `0.5%`, `3`, `20ms`, `20ms-each`.
//! - [`budgets`]: all budgets of a run, by default or as the user set them.
//! - [`subject`]: what has a budget: each kind of finding, and invalid memory accesses.
//! - [`settings`]: a repository's TOML file of budgets.
//! - [`ruling`]: compares findings with their budgets.
//! - [`baseline`]: an earlier `--json` of the same run.
//! - [`figure`]: the figures that are compared: which direction is worse, and which changes are too small to matter.
//! - [`limits`]: how much worse than the baseline figures may be.
//! - [`regress`]: compares every figure with the baseline's.
//! - [`property`]: an expression over a run's figures.
//! - [`spread`]: how much a figure varies from seed to seed: Student's t for two samples.
//!
//! This crate never touches files, prints or sets exit codes. What counts as a finding is up to [`keel_check`].
#![forbid(unsafe_code)]

pub mod baseline;
pub mod budget;
pub mod budgets;
pub mod figure;
pub mod limits;
pub mod property;
pub mod regress;
pub mod ruling;
pub mod settings;
pub mod spread;
pub mod subject;

pub use baseline::{Baseline, BaselineError, PastRun};
pub use budget::{Budget, BudgetError};
pub use budgets::{Allowed, Budgets};
pub use figure::Figure;
pub use limits::{Limit, Limits};
pub use property::{Property, PropertyError};
pub use regress::{Change, Regression, Row};
pub use ruling::{Facts, Held, Ruling};
pub use settings::{Settings, SettingsError};
pub use subject::{Of, Subject};
