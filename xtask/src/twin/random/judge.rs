//! How much simulated runs differ from real ones, figure by figure: the mean of all seeds against the mean of the real
//! runs, beside how much the real runs differ.

use super::figures::{Row, Run};
use super::plan::Drawn;

/// The figures of a name that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    Share,
    Switches,
    Preemptions,
    Migrations,
    P50,
    P99,
}

/// Shares may differ by this much.
const SHARE: f64 = 0.02;
/// Counts may differ by this part of the real one.
const COUNT: f64 = 0.10;
/// Delays may differ by this part of the real one.
const DELAY: f64 = 0.25;
/// Shares and counts may also differ by this multiple of the difference between real runs.
const CHANCE: f64 = 1.5;
/// Fewer events are not judged: a tenth of them would be less than one.
const FEWEST: f64 = 10.0;

impl Figure {
    pub(super) const ALL: [Self; 6] =
        [Self::Share, Self::Switches, Self::Preemptions, Self::Migrations, Self::P50, Self::P99];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Switches => "switches",
            Self::Preemptions => "preemptions",
            Self::Migrations => "migrations",
            Self::P50 => "delay p50",
            Self::P99 => "delay p99",
        }
    }

    fn of(self, row: &Row) -> f64 {
        match self {
            Self::Share => row.share,
            Self::Switches => row.counts[0],
            Self::Preemptions => row.counts[1],
            Self::Migrations => row.counts[2],
            Self::P50 => row.delay_ms[0],
            Self::P99 => row.delay_ms[1],
        }
    }

    /// Whether there is enough to judge, from the figure's mean on both kernels and the number of sleeps in each real
    /// run.
    fn is_judged(self, simulated: f64, real: f64, slept: f64) -> bool {
        match self {
            Self::Share => true,
            Self::Switches | Self::Preemptions | Self::Migrations => simulated.max(real) >= FEWEST,
            Self::P50 | Self::P99 => slept >= FEWEST && real > 0.0,
        }
    }

    /// How much the simulated mean may differ from the real one.
    fn allowed(self, real: f64, again: f64) -> f64 {
        match self {
            Self::Share => SHARE.max(CHANCE * again),
            Self::Switches | Self::Preemptions | Self::Migrations => (COUNT * real).max(CHANCE * again),
            Self::P50 | Self::P99 => DELAY * real,
        }
    }
}

/// A workload under a scheduler.
pub(super) struct Pair<'a> {
    pub(super) drawn: &'a Drawn,
    pub(super) scheduler: String,
    /// One for each real run. At least two.
    pub(super) real: Vec<Run>,
    /// One for each seed.
    pub(super) simulated: Vec<Run>,
}

/// How much one figure of one name differs.
pub(super) struct Distance<'a> {
    pub(super) pair: &'a Pair<'a>,
    pub(super) name: &'a str,
    pub(super) figure: Figure,
    /// The mean of all seeds.
    pub(super) simulated: f64,
    /// The minimum and maximum over the seeds.
    seeds: [f64; 2],
    pub(super) real: [f64; 2],
}

impl Distance<'_> {
    fn real_mean(&self) -> f64 {
        f64::midpoint(self.real[0], self.real[1])
    }

    /// The difference of the simulated figure as a part of the real one. For a share, in points.
    pub(super) fn apart(&self) -> f64 {
        self.relative((self.simulated - self.real_mean()).abs())
    }

    /// The same for the two real runs.
    pub(super) fn again(&self) -> f64 {
        self.relative((self.real[0] - self.real[1]).abs())
    }

    fn relative(&self, difference: f64) -> f64 {
        match self.figure {
            Figure::Share => difference,
            _ => difference / self.simulated.max(self.real_mean()),
        }
    }

    /// In units of the allowed difference. Above 1, it is too far.
    pub(super) fn of_allowed(&self) -> f64 {
        let allowed = self.figure.allowed(self.real_mean(), (self.real[0] - self.real[1]).abs());
        // Nothing is allowed if both real runs have zero.
        (self.simulated - self.real_mean()).abs() / allowed.max(f64::MIN_POSITIVE)
    }

    pub(super) fn is_within(&self) -> bool {
        self.of_allowed() <= 1.0
    }

    /// Whether a real run is in the range of the seeds.
    pub(super) fn is_chance(&self) -> bool {
        let [least, most] = self.seeds;
        self.real.iter().any(|real| (least..=most).contains(real))
    }

    /// Whether the second real run would be within the limit if it had been simulated: what chance alone allows.
    pub(super) fn is_real_within(&self) -> bool {
        (self.real[0] - self.real[1]).abs() <= self.figure.allowed(self.real[0], 0.0)
    }
}

impl Pair<'_> {
    /// Every figure of every name with enough data.
    pub(super) fn distances(&self) -> Vec<Distance<'_>> {
        let mut all = Vec::new();
        for name in self.real[0].names.keys() {
            for figure in Figure::ALL {
                let value = |run: &Run| figure.of(&run.names[name]);
                let simulated = mean(self.simulated.iter().map(value));
                let seeds =
                    self.simulated.iter().map(value).fold([f64::INFINITY, 0.0], |[least, most], seed| {
                        [f64::min(least, seed), f64::max(most, seed)]
                    });
                let real = [value(&self.real[0]), value(&self.real[1])];
                let slept = self.real.iter().map(|run| run.names[name].slept()).fold(f64::INFINITY, f64::min);
                if figure.is_judged(simulated, f64::midpoint(real[0], real[1]), slept) {
                    all.push(Distance { pair: self, name, figure, simulated, seeds, real });
                }
            }
        }
        all
    }
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    if count == 0.0 { 0.0 } else { sum / count }
}

/// The value below which this part of the values lies, or 0 if there are no values.
pub(super) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(share: f64, switches: f64, p99_ms: f64) -> Run {
        let row = Row { share, counts: [switches, 0.0, 3.0], delay_ms: [1.0, p99_ms] };
        Run { names: [("a".to_owned(), row)].into(), wasted_s: 0.0 }
    }

    #[test]
    fn the_mean_of_seeds_is_held_against_real_runs_and_their_difference() {
        let drawn = Drawn::independent().unwrap();
        let check = |real: [Run; 2], simulated: &[Run], expected: &[(Figure, bool)]| {
            let pair = Pair {
                drawn: &drawn,
                scheduler: "o1".into(),
                real: real.into(),
                simulated: simulated.to_vec(),
            };
            let seen: Vec<_> = pair.distances().iter().map(|d| (d.figure, d.is_within())).collect();
            let expected: Vec<_> = expected.iter().copied().chain([(Figure::P50, true)]).collect();
            let sorted = |mut list: Vec<(Figure, bool)>| {
                list.sort();
                list
            };
            assert_eq!(seen, sorted(expected));
        };
        let same = [run(0.5, 100.0, 8.0), run(0.5, 100.0, 8.0)];
        let (yes, no) = (true, false);
        check(
            same.clone(),
            &[run(0.515, 100.0, 8.0), run(0.521, 116.0, 9.0)],
            &[(Figure::Share, yes), (Figure::Switches, yes), (Figure::P99, yes)],
        );
        check(
            same,
            &[run(0.53, 111.0, 11.0)],
            &[(Figure::Share, no), (Figure::Switches, no), (Figure::P99, no)],
        );
        let unsure = [run(0.5, 100.0, 8.0), run(0.54, 120.0, 12.0)];
        check(
            unsure,
            &[run(0.57, 135.0, 12.6)],
            &[(Figure::Share, yes), (Figure::Switches, yes), (Figure::P99, no)],
        );
        // Five switches, or five sleeps, are too few.
        let few = [run(0.5, 5.0, 8.0), run(0.5, 5.0, 8.0)];
        let pair =
            Pair { drawn: &drawn, scheduler: "o1".into(), real: few.clone().into(), simulated: few.into() };
        assert_eq!(pair.distances().iter().map(|d| d.figure).collect::<Vec<_>>(), [Figure::Share]);
    }

    #[test]
    fn quantiles_are_values_that_are_there() {
        assert_eq!(quantile(&[3.0, 1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[3.0, 1.0], 0.99), 3.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
