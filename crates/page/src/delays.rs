//! How long tasks waited and ran, as histograms: of all, and of each of the first names.
//!
//! Eight buckets for each power of two, from `low` to the next one's.

use keel_report::follow::{Begun, State, Stretch};
use serde::Serialize;

/// Names with histograms of their own.
const NAMES: usize = 48;
const SUB_BITS: u32 = 3;

/// What is measured.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Wakeup or fork to running.
    Woken,
    /// CPU lost or given up to running again.
    Again,
    /// On a CPU at a stretch.
    Ran,
}

/// Counts by bucket.
#[derive(Clone, Debug, Default)]
struct Histogram {
    counts: Vec<u64>,
}

/// One name's, or all tasks'.
#[derive(Clone, Debug, Default)]
struct Of {
    name: String,
    of: [Histogram; 3],
}

/// One histogram as the page has it: the lowest value of each bucket in nanoseconds, and its count.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Drawn(Vec<(u64, u64)>);

/// One name's histograms as the page has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Delays {
    /// Empty for all tasks together.
    name: String,
    woken: Drawn,
    again: Drawn,
    ran: Drawn,
}

/// All histograms; the first is that of all tasks.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    all: Of,
    names: Vec<Of>,
    /// Each task's name among them; none yet, or too late.
    of_task: Vec<Option<u8>>,
}

impl Measured {
    /// A task has this name from now on.
    pub(crate) fn named(&mut self, task: usize, name: &str) {
        let known = self.names.iter().position(|of| of.name == name);
        let at = known.or_else(|| {
            (self.names.len() < NAMES).then(|| {
                self.names.push(Of { name: name.to_owned(), ..Of::default() });
                self.names.len() - 1
            })
        });
        if task >= self.of_task.len() {
            self.of_task.resize(task + 1, None);
        }
        self.of_task[task] = at.map(|at| at as u8);
    }

    pub(crate) fn stretch(&mut self, stretch: &Stretch) {
        let task = stretch.task.index();
        if let Some((since, begun)) = stretch.wait {
            let what = if begun == Begun::Woken { What::Woken } else { What::Again };
            self.count(task, what, stretch.to - since);
        }
        if matches!(stretch.state, State::Running(_)) {
            self.count(task, What::Ran, stretch.to - stretch.from);
        }
    }

    fn count(&mut self, task: usize, what: What, ns: u64) {
        self.all.of[what as usize].add(ns);
        if let Some(Some(at)) = self.of_task.get(task) {
            self.names[usize::from(*at)].of[what as usize].add(ns);
        }
    }

    pub(crate) fn finish(self) -> Vec<Delays> {
        let drawn = |Of { name, of: [woken, again, ran] }: Of| Delays {
            name,
            woken: woken.drawn(),
            again: again.drawn(),
            ran: ran.drawn(),
        };
        std::iter::once(self.all).chain(self.names).map(drawn).collect()
    }
}

impl Histogram {
    fn add(&mut self, ns: u64) {
        let at = bucket(ns);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }

    fn drawn(&self) -> Drawn {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        Drawn(counted.map(|(at, &count)| (lowest(at), count)).collect())
    }
}

fn bucket(ns: u64) -> usize {
    let octave = (63 - (ns | 1 << SUB_BITS).leading_zeros()) - SUB_BITS;
    ((octave as usize) << SUB_BITS) + (ns >> octave) as usize
}

fn lowest(bucket: usize) -> u64 {
    let sub = 1 << SUB_BITS;
    match bucket < 2 * sub {
        true => bucket as u64,
        false => {
            let octave = bucket / sub - 1;
            ((bucket - octave * sub) as u64) << octave
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_is_in_its_bucket(ns in any::<u64>()) {
            let at = bucket(ns);
            prop_assert!(lowest(at) <= ns);
            prop_assert!(at + 1 >= bucket(u64::MAX) || ns < lowest(at + 1));
        }
    }
}
