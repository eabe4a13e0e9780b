//! Does the simulated kernel rank schedulers like the real one? For each workload: which one wins, and by how much.

use super::figures::Run;
use super::judge::{Pair, mean};
use super::workload::Workload;

/// The criteria.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contest {
    /// The smallest 99th percentile of wakeup delays.
    Delay,
    /// The least core time idle while a task waited.
    Waste,
    /// The most CPU time for the workload.
    Throughput,
}

impl Contest {
    pub(super) const ALL: [Self; 3] = [Self::Delay, Self::Waste, Self::Throughput];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Delay => "least p99 delay",
            Self::Waste => "least waste",
            Self::Throughput => "most CPU time for the workload",
        }
    }

    /// Lower is better.
    fn score(self, run: &Run, workload: &Workload) -> f64 {
        match self {
            Self::Delay => run.all(workload).delay_ms[1],
            Self::Waste => run.wasted_s,
            Self::Throughput => -run.all(workload).share,
        }
    }
}

/// How often the winners are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreement {
    pub(super) contests: u32,
    pub(super) same: u32,
    /// How often, if the real winner leads by more than the real runs of the first two differ.
    pub(super) decided: u32,
    pub(super) decided_same: u32,
}

/// A scheduler in a contest.
struct Entry {
    simulated: f64,
    real: f64,
    /// How much its real runs differ.
    noise: f64,
}

/// Over all workloads that ran under at least two schedulers. The pairs of a workload must be adjacent.
pub(super) fn agreement(pairs: &[&Pair], contest: Contest) -> Agreement {
    let mut agreement = Agreement::default();
    for of_workload in pairs.chunk_by(|a, b| a.drawn.name == b.drawn.name) {
        let entries: Vec<Entry> = of_workload.iter().map(|pair| entry(pair, contest)).collect();
        if entries.len() >= 2 {
            agreement.add(&entries);
        }
    }
    agreement
}

fn entry(pair: &Pair, contest: Contest) -> Entry {
    let score = |run: &Run| contest.score(run, &pair.drawn.workload);
    let real: Vec<f64> = pair.real.iter().map(score).collect();
    Entry {
        simulated: mean(pair.simulated.iter().map(score)),
        real: mean(real.iter().copied()),
        noise: (real[0] - real[1]).abs(),
    }
}

impl Agreement {
    fn add(&mut self, entries: &[Entry]) {
        let mut by_real: Vec<&Entry> = entries.iter().collect();
        by_real.sort_by(|a, b| a.real.total_cmp(&b.real));
        let [first, second] = [by_real[0], by_real[1]];
        let chosen =
            entries.iter().min_by(|a, b| a.simulated.total_cmp(&b.simulated)).expect("there are two");
        // Several may be first.
        let is_same = chosen.real <= first.real;
        let is_decided = second.real - first.real > first.noise.max(second.noise);
        self.contests += 1;
        self.same += u32::from(is_same);
        self.decided += u32::from(is_decided);
        self.decided_same += u32::from(is_decided && is_same);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_winner_counts_as_decided_if_it_leads_by_more_than_noise() {
        let check = |entries: [(f64, f64, f64); 3], expected: [u32; 4]| {
            let mut agreement = Agreement::default();
            agreement.add(&entries.map(|(simulated, real, noise)| Entry { simulated, real, noise }));
            let Agreement { contests, same, decided, decided_same } = agreement;
            assert_eq!([contests, same, decided, decided_same], expected);
        };
        check([(1.0, 2.0, 0.1), (2.0, 3.0, 0.1), (3.0, 9.0, 5.0)], [1, 1, 1, 1]);
        check([(2.0, 2.0, 0.1), (1.0, 3.0, 0.1), (3.0, 9.0, 5.0)], [1, 0, 1, 0]);
        check([(2.0, 2.0, 0.1), (1.0, 3.0, 2.0), (3.0, 9.0, 5.0)], [1, 0, 0, 0]);
        check([(2.0, 0.0, 0.0), (1.0, 0.0, 0.0), (3.0, 9.0, 5.0)], [1, 1, 0, 0]);
    }
}
