//! An earlier `--json` of the same run, as a baseline. It is rejected if it is of something else.

use crate::budget::shown;
use keel_abi::{Noise, Span};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A run as in `--json`, with the fields that figures need.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PastRun {
    /// The scheduler's name.
    pub scheduler: String,
    pub(crate) workload: String,
    pub(crate) machine: String,
    pub(crate) cpus: u32,
    pub(crate) seed: u64,
    /// Files of runs without noise may omit it.
    #[serde(default = "no_noise")]
    pub(crate) noise: String,
    pub(crate) duration_ns: u64,
    pub(crate) switches: u64,
    pub(crate) migrations: u64,
    pub(crate) preemptions: u64,
    pub(crate) throughput_total: u64,
    pub(crate) throughput_unit: String,
    pub(crate) wakeup_delay_ns: Delay,
    pub(crate) names: Vec<Named>,
    pub(crate) wasted_share: f64,
    pub(crate) overhead: Overhead,
    pub(crate) bad_accesses: u64,
    pub(crate) findings_total: BTreeMap<String, u64>,
    pub(crate) exit: Exit,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Delay {
    pub(crate) p50: u64,
    pub(crate) p99: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) woken: u64,
    pub(crate) wakeup_delay_ns: Delay,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Overhead {
    pub(crate) callback_ns: u64,
    pub(crate) lock_wait_ns: u64,
    pub(crate) instructions: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Exit {
    pub(crate) kind: String,
}

fn no_noise() -> String {
    Noise::None.name().to_owned()
}

/// The planned run, with the properties that the baseline must match.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The schedulers' names.
    pub schedulers: Vec<String>,
    /// The workload's name.
    pub workload: String,
    /// Its unit of work.
    pub unit: String,
    /// The machine's name.
    pub machine: String,
    /// Its number of CPUs.
    pub cpus: u32,
    /// The length of the runs.
    pub duration: Span,
    /// The activity besides the workload.
    pub noise: Noise,
    /// The seeds of each scheduler's runs.
    pub seeds: Vec<u64>,
}

/// Why there is no baseline to compare with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// Not JSON, or not keel's.
    #[error("this is not --json output of keel sim or keel compare: {0}")]
    NoRuns(String),
    /// It is empty.
    #[error("it contains no run")]
    Empty,
    /// Another workload, machine or duration.
    #[error("its {what} is {theirs}, but this run's is {ours}, so the figures cannot be compared")]
    Other {
        /// What differs.
        what: &'static str,
        /// In the baseline.
        theirs: String,
        /// In this run.
        ours: String,
    },
    /// A run that ended because its scheduler failed.
    #[error(
        "its run of {scheduler} with seed {seed} failed ({exit}), so its figures cover only part of a run"
    )]
    Failed {
        /// The scheduler.
        scheduler: String,
        /// The seed.
        seed: u64,
        /// How it ended.
        exit: String,
    },
    /// There are several schedulers, and this is not one of them.
    #[error("it has no run of {scheduler}, only of {there}")]
    NoScheduler {
        /// The scheduler of this run.
        scheduler: String,
        /// The baseline's schedulers.
        there: String,
    },
    /// One run on each side, with different seeds.
    #[error(
        "it is one run with seed {theirs}, and this is one with seed {ours}: what the seed does and what the scheduler does \
         cannot be told apart; take the same seed, or several runs (keel compare --runs)"
    )]
    OtherSeed {
        /// In the baseline.
        theirs: u64,
        /// In this run.
        ours: u64,
    },
}

impl PastRun {
    fn failed(&self) -> bool {
        !matches!(self.exit.kind.as_str(), "none" | "done" | "unreg")
    }
}

/// Earlier runs, all of the same scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    runs: Vec<PastRun>,
}

impl Baseline {
    /// Reads the output of `keel sim --json` or `keel compare --json`.
    ///
    /// # Errors
    /// Fails with a [`BaselineError`] if it is neither, or if a run in it failed.
    pub fn read(text: &str) -> Result<Self, BaselineError> {
        let not_ours = |error: serde_json::Error| BaselineError::NoRuns(error.to_string());
        let value: Value = serde_json::from_str(text).map_err(not_ours)?;
        let runs: Vec<PastRun> = match value.get("runs") {
            Some(runs) => Deserialize::deserialize(runs).map_err(not_ours)?,
            None => vec![Deserialize::deserialize(&value).map_err(not_ours)?],
        };
        if runs.is_empty() {
            return Err(BaselineError::Empty);
        }
        match runs.iter().find(|run| run.failed()) {
            Some(run) => Err(BaselineError::Failed {
                scheduler: shown(&run.scheduler),
                seed: run.seed,
                exit: shown(&run.exit.kind),
            }),
            None => Ok(Self { runs }),
        }
    }

    /// Checks that the baseline is of this scene, for each of its schedulers.
    ///
    /// # Errors
    /// Fails with a [`BaselineError`] about the first difference.
    pub fn fits(&self, scene: &Scene) -> Result<(), BaselineError> {
        let other = |what, theirs: &str, ours: &str| {
            let [theirs, ours] = [theirs, ours].map(|text| format!("'{}'", shown(text)));
            BaselineError::Other { what, theirs, ours }
        };
        for run in &self.runs {
            if run.workload != scene.workload {
                return Err(other("workload", &run.workload, &scene.workload));
            }
            if run.machine != scene.machine {
                return Err(other("machine", &run.machine, &scene.machine));
            }
            if run.noise != scene.noise.name() {
                return Err(other("noise", &run.noise, scene.noise.name()));
            }
            if run.cpus != scene.cpus {
                return Err(other("number of CPUs", &run.cpus.to_string(), &scene.cpus.to_string()));
            }
            if run.duration_ns != scene.duration.as_ns() {
                let theirs = Span::from_ns(run.duration_ns).to_string();
                return Err(other("duration", &theirs, &scene.duration.to_string()));
            }
            if run.throughput_unit != scene.unit {
                return Err(other("unit of work", &run.throughput_unit, &scene.unit));
            }
        }
        for scheduler in &scene.schedulers {
            let theirs = self.runs_of(scheduler, scene.schedulers.len())?;
            if let ([theirs], [ours]) = (theirs.as_slice(), scene.seeds.as_slice())
                && theirs.seed != *ours
            {
                return Err(BaselineError::OtherSeed { theirs: theirs.seed, ours: *ours });
            }
        }
        Ok(())
    }

    /// Returns the runs that one of `of` schedulers is compared with: those with its name. If both sides have one
    /// scheduler, returns the existing runs, because a scheduler may have been renamed.
    ///
    /// # Errors
    /// Fails with [`BaselineError::NoScheduler`].
    pub fn runs_of(&self, scheduler: &str, of: usize) -> Result<Vec<&PastRun>, BaselineError> {
        let there: BTreeSet<&str> = self.runs.iter().map(|run| run.scheduler.as_str()).collect();
        let is_only = of == 1 && there.len() == 1;
        if !is_only && !there.contains(scheduler) {
            let there = there.into_iter().map(shown).collect::<Vec<_>>().join(", ");
            return Err(BaselineError::NoScheduler { scheduler: shown(scheduler), there });
        }
        Ok(self.runs.iter().filter(|run| is_only || run.scheduler == scheduler).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests;
