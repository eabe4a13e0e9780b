//! The arguments that determine what passes: budgets for findings, and a baseline for figures.

use clap::Args;
use keel_gate::{Allowed, Subject, budgets};

/// Budgets for findings.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StrictArgs {
    /// Exit with 1 if findings exceed their budgets
    #[arg(long)]
    pub(crate) strict: bool,
    /// The budget for a kind of finding: wasted_core=0.5%, long_delay=3, lock_wait=20ms, stall=700ms-each, stall=any,
    /// stall=none. Separate several budgets of one kind with commas, and repeat --allow for other kinds. Implies
    /// --strict
    #[arg(long, value_name = "KIND=BUDGET", value_parser = pair)]
    pub(crate) allow: Vec<(Subject, Allowed)>,
    /// Read a repository's budgets and limits from this TOML file; --allow and --regression override it. Implies
    /// --strict
    #[arg(long, value_name = "FILE")]
    pub(crate) budgets: Option<String>,
}

/// How figures are compared with an earlier run's.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BaselineArgs {
    /// Compare with earlier --json output of the same run, and exit with 1 if a figure is worse
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<String>,
    /// How much worse than the baseline a figure may be, beyond the variation between seeds: 5% (the default),
    /// wasted_share=10%, migrations=any
    #[arg(long, value_name = "[FIGURE=]LIMIT", requires = "baseline", allow_hyphen_values = true)]
    pub(crate) regression: Vec<String>,
}

impl StrictArgs {
    /// Returns whether any of these arguments is given.
    pub(crate) fn is_asked(&self) -> bool {
        self.strict || !self.allow.is_empty() || self.budgets.is_some()
    }
}

fn pair(text: &str) -> Result<(Subject, Allowed), String> {
    budgets::pair(text).map_err(|wrong| wrong.to_string())
}
