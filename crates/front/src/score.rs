//! A scheduler's score: one number, its parts, and its noise.
//!
//! In each part, the scheduler and the suite's baseline make one run per seed. Each pair of runs with the same seed
//! gives a ratio; higher is better. The score is 100 times the geometric mean of all parts, so 100 is as good as the
//! baseline. Its noise is the standard error, computed from the differences between the pairs of each part.

use crate::asked::Asked;
use crate::caller::Caller;
use crate::execute::{Place, execute};
use crate::failure::Failure;
use crate::inputs::{Scene, specs};
use crate::lab::Lab;
use crate::suite::{Figure, Part, Suite};
use keel_abi::Span;
use keel_lab::RunSpec;
use keel_report::RunReport;
use serde::Serialize;
use std::num::NonZeroUsize;

/// The first seed of held-out runs. No scheduler has been tuned for these seeds.
const HELD_OUT: u64 = 1 << 32;
/// Added to each delay before delays are compared, in nanoseconds.
const DELAY_FLOOR_NS: f64 = 1000.0;

/// A scheduler's score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The scheduler.
    pub scheduler: String,
    /// The suite's name.
    pub suite: String,
    /// Its version.
    pub version: u32,
    /// The scheduler that scores 100.
    pub baseline: String,
    /// Whether held-out seeds were used.
    pub held_out: bool,
    /// 100 times the geometric mean of the parts' ratios; 0 if a run failed.
    pub score: f64,
    /// Its standard error, from the differences between runs with different seeds.
    pub noise: f64,
    /// The parts.
    pub parts: Vec<PartScore>,
}

/// The contribution of a part to a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartScore {
    /// Its name.
    pub name: String,
    /// The geometric mean of the ratios; higher is better.
    pub ratio: f64,
    /// The standard error of its logarithm.
    pub noise: f64,
    /// The figure's mean over the scheduler's runs.
    pub value: f64,
    /// The figure's mean over the baseline's runs.
    pub baseline: f64,
    /// The number of pairs of runs.
    pub runs: u32,
    /// The number of runs in which the scheduler failed.
    pub failed: u32,
}

/// Scores a scheduler.
///
/// # Errors
/// The scheduler or the suite cannot be run, the baseline fails, or the caller has asked to stop.
pub fn score(
    lab: &Lab,
    scheduler: &str,
    suite: &Suite,
    held_out: bool,
    jobs: Option<NonZeroUsize>,
    caller: &dyn Caller,
) -> Result<Score, Failure> {
    let first = if held_out { HELD_OUT } else { 1 };
    let parts: Vec<PartScore> = suite
        .parts
        .iter()
        .map(|part| one(lab, scheduler, suite, part, first, jobs, caller))
        .collect::<Result<_, _>>()?;
    let (score, noise) = whole(&parts);
    Ok(Score {
        scheduler: scheduler.to_owned(),
        suite: suite.name.clone(),
        version: suite.version,
        baseline: suite.baseline.clone(),
        held_out,
        score,
        noise,
        parts,
    })
}

fn one(
    lab: &Lab,
    scheduler: &str,
    suite: &Suite,
    part: &Part,
    first: u64,
    jobs: Option<NonZeroUsize>,
    caller: &dyn Caller,
) -> Result<PartScore, Failure> {
    let both = [scheduler, suite.baseline.as_str()];
    let asked: Vec<Asked<'_>> = both.iter().map(|given| Asked::read(lab, given)).collect::<Result<_, _>>()?;
    let scene = Scene {
        workload: part.workload.clone(),
        machine: Some(part.machine.clone()),
        duration: Some(Span::from_ns(suite.duration_ms * 1_000_000)),
        seed: first,
        ..Scene::default()
    };
    let specs = specs(lab, &asked, None, &scene, caller)?;
    let run = |spec: &RunSpec| match caller.stopped_by() {
        Some(by) => Err(Failure::stopped(by, "before all parts of the suite were run")),
        None => execute(lab, spec, Vec::new(), caller, Place::Here).map(|executed| executed.report),
    };
    let made = keel_lab::compare(&specs, suite.seeds, crate::host::jobs(jobs), run);
    let made: Vec<Vec<RunReport>> =
        made.into_iter().map(|runs| runs.into_iter().collect::<Result<_, _>>()).collect::<Result<_, _>>()?;
    if let Some(by) = caller.stopped_by() {
        return Err(Failure::stopped(by, "before all parts of the suite were run"));
    }
    if made[1].iter().any(RunReport::failed) {
        let text = format!("{}: the baseline {} failed in part '{}'", suite.name, suite.baseline, part.name);
        return Err(Failure::scheduler(text));
    }
    part_score(part, &made[0], &made[1])
}

fn part_score(part: &Part, ours: &[RunReport], theirs: &[RunReport]) -> Result<PartScore, Failure> {
    let [own, base] = [ours, theirs].map(|runs| {
        runs.iter().map(|run| figure(part, run)).collect::<Option<Vec<f64>>>().ok_or_else(|| {
            let task = crate::text::shown(part.task.as_deref().unwrap_or_default());
            Failure::input(format!("part '{}': no task is named '{task}'", part.name))
        })
    });
    let (own, base) = (own?, base?);
    let failed = ours.iter().filter(|run| run.failed()).count() as u32;
    let logs: Vec<f64> =
        own.iter().zip(&base).map(|(own, base)| (ratio(part.figure, *own, *base)).ln()).collect();
    let (log, noise) = mean_and_error(&logs);
    let ratio = if failed > 0 { 0.0 } else { log.exp() };
    Ok(PartScore {
        name: part.name.clone(),
        ratio,
        noise,
        value: mean_and_error(&own).0,
        baseline: mean_and_error(&base).0,
        runs: own.len() as u32,
        failed,
    })
}

/// Returns the figure of a run, or `None` if no task has the name.
fn figure(part: &Part, run: &RunReport) -> Option<f64> {
    Some(match (part.figure, &part.task) {
        (Figure::Throughput, _) => run.throughput,
        (Figure::Busy, _) => 1.0 - run.wasted_share,
        (Figure::WakeupDelayP99, None) => run.wakeup_delay_ns.p99 as f64,
        (Figure::WakeupDelayP99, Some(task)) => {
            run.names.iter().find(|name| name.name == *task)?.wakeup_delay_ns.p99 as f64
        }
    })
}

/// Returns how many times better `own` is than `base`.
fn ratio(figure: Figure, own: f64, base: f64) -> f64 {
    /// Zero counts as this much, so that every ratio is finite.
    const LEAST: f64 = 1e-9;
    match figure {
        Figure::WakeupDelayP99 => (base + DELAY_FLOOR_NS) / (own + DELAY_FLOOR_NS),
        Figure::Throughput | Figure::Busy => own.max(LEAST) / base.max(LEAST),
    }
}

/// Returns the mean and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

/// Returns the score and its noise.
fn whole(parts: &[PartScore]) -> (f64, f64) {
    let count = parts.len().max(1) as f64;
    if parts.iter().any(|part| part.failed > 0) {
        return (0.0, 0.0);
    }
    let log = parts.iter().map(|part| part.ratio.ln()).sum::<f64>() / count;
    let noise = parts.iter().map(|part| part.noise.powi(2)).sum::<f64>().sqrt() / count;
    let score = 100.0 * log.exp();
    (score, score * noise)
}

impl Score {
    /// Returns the score as a table.
    pub fn text(&self) -> String {
        let seeds = if self.held_out { ", held-out seeds" } else { "" };
        let scheduler = crate::text::shown(&self.scheduler);
        let mut text = format!(
            "{scheduler} scores {:.1} ± {:.1} in {} version {}{seeds} ({} scores 100)\n\n",
            self.score, self.noise, self.suite, self.version, self.baseline
        );
        for part in &self.parts {
            let failed = match part.failed {
                0 => String::new(),
                failed => format!("  failed in {failed} of {} runs", part.runs),
            };
            text +=
                &format!("  {:<24}{:>8.3} ± {:.3}{failed}\n", part.name, part.ratio, part.ratio * part.noise);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(ratio: f64, noise: f64, failed: u32) -> PartScore {
        PartScore { name: String::new(), ratio, noise, value: 0.0, baseline: 0.0, runs: 2, failed }
    }

    #[test]
    fn a_score_is_the_geometric_mean_of_its_parts() {
        let check = |parts: &[PartScore], score: f64, noise: f64| {
            let got = whole(parts);
            assert!((got.0 - score).abs() < 1e-9 && (got.1 - noise).abs() < 1e-9, "{got:?}");
        };
        check(&[part(1.0, 0.0, 0)], 100.0, 0.0);
        check(&[part(2.0, 0.0, 0), part(0.5, 0.0, 0)], 100.0, 0.0);
        check(&[part(4.0, 0.3, 0), part(1.0, 0.4, 0)], 200.0, 50.0);
        check(&[part(4.0, 0.3, 0), part(1.0, 0.0, 1)], 0.0, 0.0);
    }

    #[test]
    fn a_ratio_above_one_is_better() {
        let check = |figure, own, base, expected: f64| {
            assert!((ratio(figure, own, base) - expected).abs() < 1e-9, "{figure:?}");
        };
        check(Figure::Throughput, 20.0, 10.0, 2.0);
        check(Figure::WakeupDelayP99, 1000.0, 3000.0, 2.0);
        check(Figure::WakeupDelayP99, 0.0, 0.0, 1.0);
        check(Figure::Busy, 0.5, 1.0, 0.5);
        assert!(ratio(Figure::Throughput, 0.0, 0.0).is_finite());
    }

    #[test]
    fn an_error_is_that_of_the_mean() {
        assert_eq!(mean_and_error(&[1.0, 3.0]), (2.0, 1.0));
        assert_eq!(mean_and_error(&[5.0]), (5.0, 0.0));
        assert_eq!(mean_and_error(&[]), (0.0, 0.0));
    }
}
