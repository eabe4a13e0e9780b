//! Decides whether runs pass: the requested budgets and baseline, read before any run.

use crate::failure::Failure;
use crate::gate_args::{BaselineArgs, StrictArgs};
use crate::inputs;
use crate::text::shown;
use keel_gate::baseline::Scene;
use keel_gate::{Baseline, Budgets, Facts, PastRun, Regression, Ruling, Settings};
use keel_lab::RunSpec;
use keel_report::RunReport;

/// The criteria.
pub(crate) struct Gate {
    settings: Settings,
    is_strict: bool,
    baseline: Option<Earlier>,
}

/// A baseline, and the file it was read from.
struct Earlier {
    file: String,
    baseline: Baseline,
}

impl Gate {
    /// Reads budgets only.
    pub(crate) fn strict(args: &StrictArgs) -> Result<Self, Failure> {
        Self::new(args, &BaselineArgs::default())
    }

    /// Reads budgets and baseline. Later arguments override earlier ones, and all arguments override the file.
    pub(crate) fn new(strict: &StrictArgs, compared: &BaselineArgs) -> Result<Self, Failure> {
        let mut settings = Settings::default();
        if let Some(file) = &strict.budgets {
            let text = inputs::document("file of budgets", file)?;
            settings.read(&shown(file), &text).map_err(|wrong| Failure::input(wrong.to_string()))?;
        }
        for (subject, allowed) in &strict.allow {
            settings.budgets.allow(*subject, allowed.clone());
        }
        for limit in &compared.regression {
            let wrong = |wrong| Failure::input(format!("--regression: {wrong}"));
            settings.limits.set_pair(limit).map_err(wrong)?;
        }
        let baseline = compared.baseline.as_deref().map(Earlier::read).transpose()?;
        Ok(Self { settings, is_strict: strict.is_asked(), baseline })
    }

    /// Returns the limits for the sums of findings.
    pub(crate) fn budgets(&self) -> Budgets {
        self.settings.budgets.clone()
    }

    /// Rejects a baseline that was not made from these specs with this number of runs each.
    pub(crate) fn fits(&self, specs: &[RunSpec], runs: u32) -> Result<(), Failure> {
        let (Some(earlier), Some(first)) = (&self.baseline, specs.first()) else { return Ok(()) };
        let scene = Scene {
            schedulers: specs.iter().map(|spec| spec.scheduler.name.clone()).collect(),
            workload: first.workload.name.clone(),
            unit: first.workload.unit.clone(),
            machine: first.machine.name.clone(),
            cpus: first.machine.topology.cpus(),
            noise: first.noise,
            duration: first.duration,
            seeds: (0..u64::from(runs)).map(|nth| first.seed.wrapping_add(nth)).collect(),
        };
        earlier.baseline.fits(&scene).map_err(|wrong| earlier.refused(&wrong.to_string()))
    }

    /// Compares the findings with the budgets. Returns `None` if none were requested.
    pub(crate) fn rule(&self, facts: &Facts) -> Option<Ruling> {
        self.is_strict.then(|| Ruling::new(&self.settings.budgets, facts))
    }

    /// Compares the figures of one of `of` schedulers with the baseline's. Returns `None` if not requested, or if one
    /// of its runs failed.
    pub(crate) fn compare(&self, runs: &[RunReport], of: usize) -> Result<Option<Regression>, Failure> {
        let (Some(earlier), Some(first)) = (&self.baseline, runs.first()) else { return Ok(None) };
        if runs.iter().any(RunReport::failed) {
            return Ok(None);
        }
        let there = earlier.baseline.runs_of(&first.scheduler, of);
        let there = there.map_err(|wrong| earlier.refused(&wrong.to_string()))?;
        let now: Vec<PastRun> = runs.iter().map(as_past).collect();
        Ok(Some(Regression::new(&there, &now, &self.settings.limits)))
    }
}

impl Earlier {
    fn read(file: &str) -> Result<Self, Failure> {
        let text = inputs::document("baseline", file)?;
        let wrong = |why: String| Failure::input(format!("--baseline {}: {why}", shown(file)));
        let baseline = Baseline::read(&text).map_err(|e| wrong(e.to_string()))?;
        Ok(Self { file: file.to_owned(), baseline })
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::input(format!("--baseline {}: {why}", shown(&self.file)))
    }
}

/// Converts a run by way of its JSON, so that old and new runs are read in the same way.
fn as_past(run: &RunReport) -> PastRun {
    let value = serde_json::to_value(run).expect("reports have only string keys");
    serde_json::from_value(value).expect("keel's own report is a valid baseline")
}
