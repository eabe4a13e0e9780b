//! Which workloads and schedulers are compared, and what must still be recorded.

use super::draw;
use super::files;
use super::shape::Shape;
use super::store::Runs;
use super::workload::{Body, Class, Level, Task, Workload};
use crate::Failure;

/// Real runs of each workload under each scheduler.
pub(super) const RUNS: u32 = 2;

/// The schedulers, in the order in which they are recorded: a few at a time, so that early results are broad.
pub(super) const WAVES: [&[&str]; 3] = [
    &["eevdf", "fifo", "o1", "ule", "cfs"],
    &["goodness", "mq", "bsd"],
    &["scx_simple", "scx_flatcg", "scx_pair"],
];

/// The name of the workload written by a person who did not know the model.
const INDEPENDENT: &str = "independent";

/// A workload with its name.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    /// The seed, or the name of a workload that is not random.
    pub(super) name: String,
    pub(super) half: Half,
    pub(super) workload: Workload,
    /// Of the workload's files. Another workload has another fingerprint.
    pub(super) fingerprint: u32,
}

/// The half that a workload belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Half {
    /// Used to look for causes of differences.
    Open,
    /// Not inspected.
    Aside,
    /// Not random.
    Neither,
}

impl Half {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Aside => "aside",
            Self::Neither => "by itself",
        }
    }
}

impl Drawn {
    /// Odd seeds are open, even ones are kept aside.
    ///
    /// # Errors
    /// As in [`Shape::machine`].
    pub(super) fn of_seed(seed: u64) -> Result<Self, Failure> {
        let half = if seed % 2 == 1 { Half::Open } else { Half::Aside };
        Self::new(seed.to_string(), half, draw::workload(seed))
    }

    /// On four CPUs: three hogs, two tasks that work and sleep for 20 ms, one with a timer of 50 ms, one that works for
    /// 80 ms and sleeps for 120, and one with a lower priority.
    pub(super) fn independent() -> Result<Self, Failure> {
        let task = |name: &str, instances, nice, body| Task {
            name: name.to_owned(),
            instances,
            class: Class::Other(nice),
            cpus: Vec::new(),
            group: None,
            body,
        };
        let tasks = vec![
            task("hog", 3, 0, Body::Hog),
            task("even", 2, 0, Body::Sleeper { run_us: 20_000, sleep_us: 20_000 }),
            task("timer", 1, 0, Body::Timer { run_us: 10_000, period_us: 50_000 }),
            task("long", 1, 0, Body::Sleeper { run_us: 80_000, sleep_us: 120_000 }),
            task("nicer", 1, 5, Body::Sleeper { run_us: 40_000, sleep_us: 10_000 }),
        ];
        let shape = Shape { cpus: 4, nodes: 1 };
        let workload = Workload { level: Level::Overloaded, shape, groups: Vec::new(), tasks };
        Self::new(INDEPENDENT.to_owned(), Half::Neither, workload)
    }

    fn new(name: String, half: Half, workload: Workload) -> Result<Self, Failure> {
        let mut hash = crc32fast::Hasher::new();
        let real = files::real(&workload, "player");
        let texts = real.iter().map(|(_, text)| text.clone());
        for text in texts.chain([files::simulated(&workload, files::RtApp::default()), workload.shape.text()])
        {
            hash.update(text.as_bytes());
        }
        Ok(Self { name, half, workload, fingerprint: hash.finalize() })
    }

    /// A short description.
    pub(super) fn about(&self) -> String {
        format!("{}; {}", self.workload.kinds().join(" "), self.workload.shape.text())
    }
}

/// The missing runs of one workload under these schedulers, grouped by scheduler.
pub(super) fn missing(runs: &Runs, schedulers: &[String]) -> Vec<(String, u32)> {
    let all = schedulers.iter().flat_map(|name| (1..=RUNS).map(move |run| (name.clone(), run)));
    all.filter(|key| !runs.contains_key(key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::random::figures::Run;

    #[test]
    fn only_what_is_missing_is_recorded() {
        let kept: Runs = [(("o1".to_owned(), 1), Run::default())].into();
        let names = ["o1".to_owned(), "eevdf".to_owned()];
        let expected = [("o1", 2), ("eevdf", 1), ("eevdf", 2)].map(|(name, run)| (name.to_owned(), run));
        assert_eq!(missing(&kept, &names), expected);
    }

    #[test]
    fn neighbouring_seeds_share_a_machine_and_are_in_different_halves() {
        for odd in (1..40).step_by(2) {
            let [a, b] = [odd, odd + 1].map(|seed| Drawn::of_seed(seed).unwrap());
            assert_eq!(a.workload.shape, b.workload.shape);
            assert_eq!((a.half, b.half), (Half::Open, Half::Aside));
            assert_ne!(a.fingerprint, b.fingerprint);
        }
    }
}
