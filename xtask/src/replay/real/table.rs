//! The tables: what was recorded beside what the replay does, and what the replay predicts beside what happened.

use super::LOADS;
use super::figures::{Figures, NAMES};
use super::store::Runs;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Replays by load and scheduler.
pub(super) type Replays = BTreeMap<(String, String), Figures>;

/// The figures that a prediction is judged by, by their places: throughput and p99.
const JUDGED: [(&str, usize); 2] = [("throughput", 0), ("p99", 7)];
/// A predicted change is right in size when it is within this part of the real one.
const SIZE: f64 = 0.25;

/// A load's figures, recorded twice and replayed under the scheduler that it was recorded under.
pub(super) fn same(real: &Runs, replays: &Replays, scheduler: &str) -> String {
    let mut text = String::from(
        "| load | figure | recorded | again | replayed | off |\n| --- | --- | --: | --: | --: | --: |\n",
    );
    for load in LOADS {
        let run = |run: u32| real.get(&(load.name.to_owned(), scheduler.to_owned(), run));
        let (Some(first), Some(again), Some(is)) =
            (run(1), run(2), replays.get(&(load.name.to_owned(), scheduler.to_owned())))
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
    /// The real change, and how far equal runs lie apart, as parts of the figure.
    real: f64,
    noise: f64,
    predicted: f64,
}

impl Prediction {
    /// Of figures that were recorded twice under each scheduler, and of the two replays of the first recording.
    fn of(before: [f64; 2], after: [f64; 2], replays: [f64; 2]) -> Self {
        let mean = |of: [f64; 2]| f64::midpoint(of[0], of[1]);
        let spread = |of: [f64; 2]| (of[0] - of[1]).abs() / mean(before);
        Self {
            real: change(mean(before), mean(after)),
            noise: spread(before).max(spread(after)),
            predicted: change(replays[0], replays[1]),
        }
    }

    /// Does the real change tell anything?
    fn counts(self) -> bool {
        self.real.abs() > self.noise
    }

    fn has_sign(self) -> bool {
        self.real.signum() == self.predicted.signum()
    }

    fn has_size(self) -> bool {
        (self.predicted - self.real).abs() <= SIZE * self.real.abs()
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
pub(super) fn predictions(real: &Runs, replays: &Replays, from: &str, schedulers: &[&str]) -> String {
    let mut text = String::from(
        "| load | scheduler | figure | real | equal runs | predicted | |\n| --- | --- | --- | --: | --: | --: | --- |\n",
    );
    let (mut all, mut signs, mut sizes) = (0, 0, 0);
    for load in LOADS {
        for scheduler in schedulers.iter().filter(|scheduler| **scheduler != from) {
            for (figure, at) in JUDGED {
                let run = |scheduler: &str, run: u32| {
                    real.get(&(load.name.to_owned(), scheduler.to_owned(), run)).map(|f| judged(f, at))
                };
                let replay = |scheduler: &str| {
                    replays.get(&(load.name.to_owned(), scheduler.to_owned())).map(|f| judged(f, at))
                };
                let pair = |of: [Option<f64>; 2]| Some([of[0]?, of[1]?]);
                let (Some(before), Some(after), Some(replays)) = (
                    pair([run(from, 1), run(from, 2)]),
                    pair([run(scheduler, 1), run(scheduler, 2)]),
                    pair([replay(from), replay(scheduler)]),
                ) else {
                    continue;
                };
                let it = Prediction::of(before, after, replays);
                all += u32::from(it.counts());
                signs += u32::from(it.counts() && it.has_sign());
                sizes += u32::from(it.counts() && it.has_sign() && it.has_size());
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
    writeln!(text, "\nOf {all} changes that exceed what equal runs differ by, the sign of {signs} is right, and the size of {sizes}.")
        .expect("a string takes all");
    text
}

/// The figure at this place; throughput is what it took, turned over.
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
        let check = |before, after, replays, expected: &str| {
            assert_eq!(Prediction::of(before, after, replays).verdict(), expected);
        };
        check([100.0, 102.0], [150.0, 151.0], [90.0, 135.0], "right");
        check([100.0, 102.0], [150.0, 151.0], [90.0, 100.0], "sign");
        check([100.0, 102.0], [150.0, 151.0], [90.0, 80.0], "wrong");
        check([100.0, 140.0], [150.0, 151.0], [90.0, 80.0], "noise");
    }

    #[test]
    fn tables_have_what_there_is() {
        let figures = |took_ms: f64| Figures { took_ms, p99_us: 50.0, ..Figures::default() };
        let key = |scheduler: &str, run| ("redis".to_owned(), scheduler.to_owned(), run);
        let real: Runs = [("eevdf", 1, 100.0), ("eevdf", 2, 100.0), ("o1", 1, 200.0), ("o1", 2, 202.0)]
            .into_iter()
            .map(|(scheduler, run, took)| (key(scheduler, run), figures(took)))
            .collect();
        let replays: Replays = [("eevdf", 80.0), ("o1", 160.0)]
            .into_iter()
            .map(|(scheduler, took)| (("redis".to_owned(), scheduler.to_owned()), figures(took)))
            .collect();
        let text = same(&real, &replays, "eevdf");
        assert!(text.contains("| `redis` | took_ms | 100 | 100 | 80.0 | -20 % |\n"), "{text}");
        let text = predictions(&real, &replays, "eevdf", &["eevdf", "o1", "ule"]);
        assert!(text.contains("| `redis` | `o1` | throughput | -50 % | 0 % | -50 % | right |\n"), "{text}");
        assert!(text.ends_with("Of 1 changes that exceed what equal runs differ by, the sign of 1 is right, and the size of 1.\n"), "{text}");
    }
}
