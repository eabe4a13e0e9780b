//! The tables: recordings beside their replays, and the replays' predictions beside what happened.

use super::figures::{Figures, NAMES};
use super::store::Runs;
use super::{LOADS, RUNS};
use std::fmt::Write;

/// The indices of the figures that a prediction is judged by: throughput and p99.
const JUDGED: [(&str, usize); 2] = [("throughput", 0), ("p99", 7)];
/// The size of a predicted change is correct if it is within this part of the real one.
const SIZE: f64 = 0.25;

/// A load's figures in two recordings, and in the replay of the first under the scheduler that it was recorded under.
pub(super) fn same(real: &Runs, replays: &Runs, scheduler: &str) -> String {
    let mut text = String::from(
        "| load | figure | recorded | again | replayed | off |\n| --- | --- | --: | --: | --: | --: |\n",
    );
    for load in LOADS {
        let key = |run: u32| (load.name.to_owned(), scheduler.to_owned(), run);
        let (Some(first), Some(again), Some(is)) =
            (real.get(&key(1)), real.get(&key(2)), replays.get(&key(1)))
        else {
            continue;
        };
        for (at, name) in NAMES.iter().enumerate() {
            let [was, too, now] = [first, again, is].map(|figures| figures.values()[at]);
            writeln!(
                text,
                "| {} | {name} | {} | {} | {} | {} |",
                if at == 0 { format!("`{}`", load.name) } else { String::new() },
                short(was),
                short(too),
                short(now),
                percent(change(was, now))
            )
            .expect("a string takes all");
        }
    }
    text
}

/// A prediction and what happened.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Prediction {
    /// The real change, and how much equal runs differ, as parts of the figure.
    real: f64,
    noise: f64,
    predicted: f64,
    /// The change from each of the first two real runs to the run under the other scheduler with the same number.
    single: [f64; 2],
}

impl Prediction {
    /// From figures that were recorded several times under each scheduler, and the replays of the first ones under
    /// each.
    fn of(before: &[f64], after: &[f64], replays: [&[f64]; 2]) -> Self {
        let least = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
        let spread = |of: &[f64]| (most(of) - least(of)) / mean(before);
        Self {
            real: change(mean(before), mean(after)),
            noise: spread(before).max(spread(after)),
            predicted: change(mean(replays[0]), mean(replays[1])),
            single: [0, 1].map(|run| change(before[run], after[run])),
        }
    }

    /// Whether one real run would have predicted the size of the other.
    fn is_repeatable(self) -> bool {
        is_near(self.single[0], self.single[1])
    }

    /// Whether the real change is significant.
    fn counts(self) -> bool {
        self.real.abs() > self.noise
    }

    fn has_sign(self) -> bool {
        self.real.signum() == self.predicted.signum()
    }

    fn has_size(self) -> bool {
        is_near(self.predicted, self.real)
    }

    fn verdict(self) -> &'static str {
        match () {
            () if !self.counts() => "noise",
            () if !self.has_sign() => "wrong",
            () if self.has_size() => "right",
            () => "sign",
        }
    }
}

/// Predicted and real changes from `from` to the other schedulers, and a sentence that counts them.
pub(super) fn predictions(real: &Runs, replays: &Runs, from: &str, schedulers: &[&str]) -> String {
    let mut text = String::from(
        "| load | scheduler | figure | real | equal runs | predicted | |\n| --- | --- | --- | --: | --: | --: | --- |\n",
    );
    let (mut all, mut signs, mut sizes, mut repeatable) = (0, 0, 0, 0);
    for load in LOADS {
        for scheduler in schedulers.iter().filter(|scheduler| **scheduler != from) {
            for (figure, at) in JUDGED {
                let each = |runs: &Runs, scheduler: &str| -> Vec<f64> {
                    let run = |run| runs.get(&(load.name.to_owned(), scheduler.to_owned(), run));
                    (1..=RUNS).filter_map(run).map(|figures| judged(figures, at)).collect()
                };
                let (before, after) = (each(real, from), each(real, scheduler));
                let (same, other) = (each(replays, from), each(replays, scheduler));
                if before.len() < 2 || after.len() < 2 || same.is_empty() || other.is_empty() {
                    continue;
                }
                let it = Prediction::of(&before, &after, [&same, &other]);
                all += u32::from(it.counts());
                signs += u32::from(it.counts() && it.has_sign());
                sizes += u32::from(it.counts() && it.has_sign() && it.has_size());
                repeatable += u32::from(it.counts() && it.is_repeatable());
                writeln!(
                    text,
                    "| `{}` | `{scheduler}` | {figure} | {} | {} | {} | {} |",
                    load.name,
                    percent(it.real),
                    percent(it.noise).trim_start_matches('+'),
                    percent(it.predicted),
                    it.verdict()
                )
                .expect("a string takes all");
            }
        }
    }
    writeln!(
        text,
        "\nOf {all} changes that exceed what equal runs differ by, the sign of {signs} is right, and the size of \
         {sizes}.\nOne real run gives the size of the other one in {repeatable} of them."
    )
    .expect("a string takes all");
    text
}

/// Whether a predicted change is about as large as the real one.
fn is_near(predicted: f64, real: f64) -> bool {
    (predicted - real).abs() <= SIZE * real.abs()
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

/// The figure at this index. Throughput is the inverse of the time.
fn judged(figures: &Figures, at: usize) -> f64 {
    let value = figures.values()[at];
    if at == 0 { 1e6 / value } else { value }
}

fn change(was: f64, is: f64) -> f64 {
    if was == is { 0.0 } else { (is - was) / was }
}

fn percent(part: f64) -> String {
    match part {
        _ if !part.is_finite() => "new".to_owned(),
        _ => format!("{:+.0} %", part * 100.0),
    }
}

fn short(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_is_judged_by_what_equal_runs_differ_by() {
        let check = |before: &[f64], after: &[f64], replays, expected: &str| {
            assert_eq!(Prediction::of(before, after, replays).verdict(), expected);
        };
        check(&[100.0, 102.0], &[150.0, 151.0], [&[90.0], &[135.0]], "right");
        // The mean of all replays counts.
        check(&[100.0, 102.0], &[150.0, 151.0], [&[80.0, 100.0], &[115.0, 155.0]], "right");
        check(&[100.0, 102.0], &[150.0, 151.0], [&[90.0], &[100.0]], "sign");
        check(&[100.0, 102.0], &[150.0, 151.0], [&[90.0], &[80.0]], "wrong");
        check(&[100.0, 140.0], &[120.0, 121.0], [&[90.0], &[80.0]], "noise");
        // The two runs that differ most count.
        check(&[100.0, 102.0, 140.0], &[150.0, 151.0, 152.0], [&[90.0], &[80.0]], "noise");
        check(&[100.0, 102.0, 98.0], &[150.0, 151.0, 152.0], [&[90.0], &[80.0]], "wrong");
    }

    #[test]
    fn real_runs_are_judged_as_predictions_too() {
        let check = |after: &[f64], expected| {
            assert_eq!(Prediction::of(&[100.0; 2], after, [&[100.0]; 2]).is_repeatable(), expected);
        };
        check(&[150.0, 160.0], true);
        check(&[150.0, 170.0], false);
    }

    #[test]
    fn tables_have_what_there_is() {
        let figures = |took_ms: f64| Figures { took_ms, p99_us: 50.0, ..Figures::default() };
        let key = |scheduler: &str, run| ("redis".to_owned(), scheduler.to_owned(), run);
        let real: Runs = [("eevdf", 1, 100.0), ("eevdf", 2, 100.0), ("o1", 1, 200.0), ("o1", 2, 202.0)]
            .into_iter()
            .map(|(scheduler, run, took)| (key(scheduler, run), figures(took)))
            .collect();
        let replays: Runs = [("eevdf", 1, 80.0), ("eevdf", 2, 80.0), ("o1", 1, 160.0), ("o1", 2, 160.0)]
            .into_iter()
            .map(|(scheduler, run, took)| (key(scheduler, run), figures(took)))
            .collect();
        let text = same(&real, &replays, "eevdf");
        assert!(text.contains("| `redis` | took_ms | 100 | 100 | 80.0 | -20 % |\n"), "{text}");
        let text = predictions(&real, &replays, "eevdf", &["eevdf", "o1", "ule"]);
        assert!(text.contains("| `redis` | `o1` | throughput | -50 % | 0 % | -50 % | right |\n"), "{text}");
        let counts = "Of 1 changes that exceed what equal runs differ by, the sign of 1 is right, and the size of 1.\n\
                      One real run gives the size of the other one in 1 of them.\n";
        assert!(text.ends_with(counts), "{text}");
    }
}
