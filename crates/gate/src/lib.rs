//! The gate: does a judged run pass? [`Budgets`] bound what its findings may add up to, and a [`Baseline`] bounds how
//! much worse its figures may be than those of an earlier run.
//!
//! This is the only place that decides it. Text in, verdicts out.
//!
//! Never here: files, printing, exit codes, a rule for what a finding is (that is [`keel_check`]'s).
#![forbid(unsafe_code)]

pub mod baseline;
pub mod budget;
pub mod budgets;
pub mod figure;
pub mod limits;
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
pub use regress::{Change, Regression, Row};
pub use ruling::{Facts, Held, Ruling};
pub use settings::{Settings, SettingsError};
pub use subject::{Of, Subject};
