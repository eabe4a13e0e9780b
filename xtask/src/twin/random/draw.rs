//! Draws a workload and its machine from a seed.

use super::rng::Rng;
use super::shape::Shape;
use super::workload::{Body, Class, Level, Task, Workload};

/// Add one to it whenever you change what a seed draws. Figures of other workloads are then rejected.
pub(super) const VERSION: u32 = 1;

/// Names in a workload, so that `keel check --json` reports the delays of each.
const MOST_NAMES: usize = 10;

/// The emulated CPUs take turns of 0.12 ms, and a switch takes tens of microseconds. Shorter times would measure these.
const LEAST_US: u32 = 4_000;
const MOST_US: u32 = 60_000;

/// The workload of a seed. An odd seed and the next even one have the same machine, so that one boot serves both.
pub(super) fn workload(seed: u64) -> Workload {
    let shape = Shape::draw(&mut Rng::new(seed.div_ceil(2), 1));
    let mut rng = Rng::new(seed, 0);
    let level = rng.pick(&Level::ALL);
    let (least, most) = level.percent();
    let wanted = f64::from(shape.cpus * rng.within(least, most)) / 100.0;
    let groups = match rng.chance(20) {
        true => vec![rng.pick(&[50, 100, 200]), rng.pick(&[100, 300, 600])],
        false => Vec::new(),
    };
    let mut draw = Draw { rng, shape, groups: groups.len(), left: wanted, tasks: Vec::new() };
    draw.special();
    draw.plain();
    Workload { level, shape, groups, tasks: draw.tasks }
}

/// The probability of a part in percent, and the function that adds it.
type Feature = (u32, fn(&mut Draw));

struct Draw {
    rng: Rng,
    shape: Shape,
    groups: usize,
    /// CPU time that is still to be used.
    left: f64,
    tasks: Vec<Task>,
}

impl Draw {
    /// What only some workloads contain.
    fn special(&mut self) {
        let features: [Feature; 6] = [
            (25, Self::handover),
            (25, Self::locks),
            (20, Self::realtime),
            (20, Self::pipe),
            (20, Self::forks),
            (15, Self::barrier),
        ];
        for (percent, add) in features {
            if self.rng.chance(percent) {
                add(self);
            }
        }
    }

    /// Adds hogs, sleepers and timers until the load is reached.
    fn plain(&mut self) {
        while self.tasks.is_empty() || (self.left > 0.1 && self.tasks.len() < MOST_NAMES) {
            let is_last = self.tasks.len() + 1 == MOST_NAMES;
            let (body, load) = self.plain_body(is_last);
            let fits = (self.left / load).ceil().clamp(1.0, f64::from(self.shape.cpus)) as u32;
            let instances = if is_last { fits } else { self.rng.within(1, fits.min(4)) };
            let nice = if self.rng.chance(30) { self.rng.within(0, 25) as i32 - 10 } else { 0 };
            let cpus = self.affinity();
            let group = self.group();
            let name = match body {
                Body::Hog => "hog",
                Body::Timer { .. } => "timer",
                _ => "sleeper",
            };
            self.add(name, instances, body, load);
            let task = self.tasks.last_mut().expect("it was added");
            (task.class, task.cpus, task.group) = (Class::Other(nice), cpus, group);
        }
    }

    /// What a plain task does, and its load.
    fn plain_body(&mut self, is_last: bool) -> (Body, f64) {
        if self.left >= 0.9 && (is_last || self.rng.chance(35)) {
            return (Body::Hog, 1.0);
        }
        let (run_us, sleep_us) = (self.time(), self.time());
        let load = load(run_us, sleep_us);
        match self.rng.chance(40) {
            true => (Body::Timer { run_us, period_us: run_us + sleep_us }, load),
            false => (Body::Sleeper { run_us, sleep_us }, load),
        }
    }

    fn handover(&mut self) {
        let (run_us, sleep_us, taken_us) = (self.time(), self.time(), self.time());
        let group = self.group();
        let to = self.name("taker");
        let load_taker = (f64::from(taken_us) / f64::from(run_us + sleep_us)).min(1.0);
        self.add("taker", 1, Body::Taker { run_us: taken_us }, load_taker);
        self.add("giver", 1, Body::Giver { to, run_us, sleep_us }, load(run_us, sleep_us));
        self.tasks.iter_mut().rev().take(2).for_each(|task| task.group = group);
    }

    fn locks(&mut self) {
        let (run_us, held_us, sleep_us) = (self.time(), self.rng.scaled(2_000, 15_000), self.time());
        let (instances, group) = (self.rng.within(2, 4), self.group());
        let body = Body::Locker { lock: "latch".into(), run_us, held_us, sleep_us };
        self.add("locker", instances, body, load(run_us + held_us, sleep_us));
        self.tasks.last_mut().expect("it was added").group = group;
    }

    fn realtime(&mut self) {
        let (run_us, sleep_us) = (self.rng.scaled(2_000, 10_000), self.rng.scaled(30_000, 120_000));
        let priority = self.rng.within(1, 50);
        let class = match self.rng.chance(70) {
            true => Class::Fifo(priority),
            false => Class::RoundRobin(priority),
        };
        let (instances, cpus) = (self.rng.within(1, 2), self.affinity());
        self.add("urgent", instances, Body::Sleeper { run_us, sleep_us }, load(run_us, sleep_us));
        let task = self.tasks.last_mut().expect("it was added");
        (task.class, task.cpus) = (class, cpus);
    }

    fn pipe(&mut self) {
        let (run_us, sleep_us, taken_us) = (self.time(), self.time(), self.time());
        let pipe = "pipe".to_owned();
        let load_receiver = (f64::from(taken_us) / f64::from(run_us + sleep_us)).min(1.0);
        self.add("sender", 1, Body::Sender { pipe: pipe.clone(), run_us, sleep_us }, load(run_us, sleep_us));
        self.add("receiver", 1, Body::Receiver { pipe, run_us: taken_us }, load_receiver);
    }

    fn forks(&mut self) {
        let (run_us, sleep_us) = (self.time(), self.time());
        let child = self.name("child");
        self.add("child", 1, Body::Child { run_us }, load(run_us, sleep_us));
        self.add("parent", 1, Body::Parent { child, sleep_us }, 0.0);
    }

    fn barrier(&mut self) {
        let (run_us, sleep_us) = (self.time(), self.time());
        let instances = self.rng.within(2, self.shape.cpus.min(5));
        let body = Body::Member { barrier: "gate".into(), run_us, sleep_us };
        self.add("member", instances, body, load(run_us, sleep_us));
    }

    fn add(&mut self, kind: &str, instances: u32, body: Body, load: f64) {
        let name = self.name(kind);
        self.left -= load * f64::from(instances);
        self.tasks.push(Task {
            name,
            instances,
            class: Class::Other(0),
            cpus: Vec::new(),
            group: None,
            body,
        });
    }

    /// A name that no other task has.
    fn name(&self, kind: &str) -> String {
        format!("{kind}{}", self.tasks.iter().filter(|task| task.name.starts_with(kind)).count() + 1)
    }

    fn time(&mut self) -> u32 {
        // Whole milliseconds are easier to read.
        self.rng.scaled(LEAST_US, MOST_US) / 1000 * 1000
    }

    /// Neighbouring CPUs. Empty for no restriction.
    fn affinity(&mut self) -> Vec<u32> {
        if !self.rng.chance(20) {
            return Vec::new();
        }
        let width = self.rng.within(1, self.shape.cpus - 1);
        let first = self.rng.within(0, self.shape.cpus - width);
        (first..first + width).collect()
    }

    fn group(&mut self) -> Option<usize> {
        (self.groups > 0)
            .then(|| self.rng.within(0, self.groups as u32) as usize)
            .filter(|g| *g < self.groups)
    }
}

fn load(run_us: u32, sleep_us: u32) -> f64 {
    f64::from(run_us) / f64::from(run_us + sleep_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::random::files;
    use crate::twin::random::simulate;
    use keel_abi::Topology;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_seed_draws_what_both_kernels_take(seed in 1_u64..1_000_000) {
            let drawn = workload(seed);
            prop_assert_eq!(&drawn, &workload(seed));
            let names: BTreeSet<String> = drawn.names().into_iter().collect();
            prop_assert_eq!(names.len(), drawn.tasks.len());
            prop_assert!(names.iter().all(|name| name.len() < 16) && names.len() <= MOST_NAMES + 2);
            let shape = drawn.shape;
            let topology = Topology::regular(shape.nodes, 1, shape.cpus / shape.nodes, 1);
            let parsed = keel_workload::parse("drawn", &files::simulated(&drawn, simulate::RT_APP), &topology);
            let (_, warnings) = parsed.map_err(|why| TestCaseError::fail(why.to_string()))?;
            // rt-app's calibration means nothing to keel.
            prop_assert!(warnings.len() <= 2, "{:?}", warnings);
            for (name, text) in files::real(&drawn, "player").iter().filter(|(name, _)| name.ends_with(".json")) {
                let parsed = keel_workload::parse(name, text, &topology);
                prop_assert!(parsed.is_ok(), "{}: {:?}", name, parsed);
            }
        }
    }

    #[test]
    fn every_kind_is_drawn_often() {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 1..=200 {
            for kind in workload(seed).kinds() {
                *seen.entry(kind).or_insert(0) += 1;
            }
        }
        let expected = [
            "balanced",
            "barriers",
            "cgroups",
            "forks",
            "handovers",
            "light",
            "locks",
            "nice",
            "nodes",
            "overloaded",
            "pinned",
            "pipes",
            "realtime",
            "timers",
        ];
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), expected);
        assert!(seen.values().all(|times| *times >= 15), "{seen:?}");
    }
}
