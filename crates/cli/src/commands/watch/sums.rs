//! Collects the summary of a watch.

use super::ns;
use keel_live::watch::Cost;
use keel_report::watch::{WatchCost, WatchEnd};
use std::collections::BTreeMap;
use std::time::Duration;

/// The counts so far, and the cost since the programs were loaded.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) looks: u64,
    pub(super) suspicions: u64,
    pub(super) passing: u64,
    pub(super) cured: BTreeMap<String, u64>,
    pub(super) unsure: u64,
    pub(super) findings: u64,
    pub(super) recordings: u64,
    loaded: Cost,
    cost: Cost,
    allowed_share: f64,
}

impl Sums {
    /// Starts with no counts. `loaded` is the cost of loading.
    pub(super) fn new(loaded: Cost, allowed_share: f64) -> Self {
        Self { loaded, cost: loaded, allowed_share, ..Self::default() }
    }

    /// Sets the total cost.
    pub(super) fn count(&mut self, cost: Cost) {
        self.cost = cost;
    }

    fn process_ns(&self) -> u64 {
        self.cost.process.saturating_sub(self.loaded.process).as_ns()
    }

    /// Returns the CPU time used, excluding loading.
    pub(super) fn spent(&self) -> Duration {
        Duration::from_nanos(self.process_ns() + self.cost.programs.map_or(0, |programs| programs.as_ns()))
    }

    /// Returns the summary after this time.
    pub(super) fn end(&self, elapsed: Duration) -> WatchEnd {
        let cost = WatchCost {
            process_ns: self.process_ns(),
            load_ns: self.loaded.process.as_ns(),
            programs_ns: self.cost.programs.map(|programs| programs.as_ns()),
            share_of_a_cpu: self.spent().as_secs_f64() / elapsed.as_secs_f64().max(1e-9),
            allowed_share: self.allowed_share,
        };
        WatchEnd {
            duration_ns: ns(elapsed),
            looks: self.looks,
            suspicions: self.suspicions,
            passing: self.passing,
            cured: self.cured.clone(),
            unsure: self.unsure,
            findings: self.findings,
            recordings: self.recordings,
            cost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::Span;

    #[test]
    fn loading_is_counted_separately() {
        let check = |programs: Option<u64>, programs_ns, share: f64| {
            let cost = |process, programs: Option<u64>| Cost {
                process: Span::from_ms(process),
                programs: programs.map(Span::from_ms),
            };
            let mut sums = Sums::new(cost(90, Some(0)), 0.01);
            sums.count(cost(110, programs));
            let end = sums.end(Duration::from_secs(10));
            assert_eq!((end.duration_ns, end.cost.process_ns), (10_000_000_000, 20_000_000));
            assert_eq!((end.cost.load_ns, end.cost.programs_ns), (90_000_000, programs_ns));
            assert!((end.cost.share_of_a_cpu - share).abs() < 1e-9, "{}", end.cost.share_of_a_cpu);
        };
        check(Some(10), Some(10_000_000), 0.003);
        check(None, None, 0.002);
    }
}
