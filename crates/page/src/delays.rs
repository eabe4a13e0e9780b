//! Makes histograms of how long tasks waited and ran: for all tasks, and for each of the first names.
//!
//! The curve has eight buckets per power of two, each with its longest value, so the curve is exact there. The numbers
//! beside it come from the judge's own kind of histogram, so that they agree with the table of figures.

use keel_abi::Span;
use keel_report::follow::{Begun, State, Stretch};
use keel_report::run::SpreadReport;
use serde::Serialize;

/// The maximum number of names with their own histograms.
const NAMES: usize = 48;
const SUB_BITS: u32 = 3;

/// What is measured.
#[derive(Clone, Copy, Debug)]
enum What {
    /// From a wakeup or fork to running.
    Woken,
    /// From losing or yielding a CPU to running again.
    Again,
    /// An uninterrupted time on a CPU.
    Ran,
}

/// Counts by bucket, and the longest value in each.
#[derive(Clone, Debug, Default)]
struct Histogram {
    buckets: Vec<(u64, u64)>,
    /// Created at the first value, because it takes more memory than most names need.
    fine: Option<keel_check::Histogram>,
}

/// The histograms of one name, or of all tasks.
#[derive(Clone, Debug, Default)]
struct Of {
    name: String,
    of: [Histogram; 3],
}

/// One histogram in the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Drawn {
    /// For each bucket that is not empty, its longest value in nanoseconds, and its count.
    longest: Vec<(u64, u64)>,
    spread: SpreadReport,
}

/// One name's histograms in the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Delays {
    /// Empty for all tasks together.
    name: String,
    woken: Drawn,
    again: Drawn,
    ran: Drawn,
}

/// All histograms. The first is that of all tasks.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    all: Of,
    names: Vec<Of>,
    /// Each task's name among them. `None` if it has no name yet, or its name came too late.
    of_task: Vec<Option<u8>>,
}

impl Measured {
    /// Notes that a task has this name from now on.
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
        if at >= self.buckets.len() {
            self.buckets.resize(at + 1, (0, 0));
        }
        let (longest, count) = &mut self.buckets[at];
        *longest = ns.max(*longest);
        *count += 1;
        self.fine.get_or_insert_default().record(Span::from_ns(ns));
    }

    fn drawn(self) -> Drawn {
        let spread = self.fine.map(|fine| fine.spans().into()).unwrap_or_default();
        Drawn { longest: self.buckets.into_iter().filter(|&(_, count)| count > 0).collect(), spread }
    }
}

fn bucket(ns: u64) -> usize {
    let octave = (63 - (ns | 1 << SUB_BITS).leading_zeros()) - SUB_BITS;
    ((octave as usize) << SUB_BITS) + (ns >> octave) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn longer_values_are_in_later_buckets(ns in any::<u64>(), more in any::<u64>()) {
            let longer = ns.saturating_add(more);
            prop_assert!(bucket(ns) <= bucket(longer));
            prop_assert!(bucket(ns) < bucket(longer) || longer as f64 <= (ns.max(8) as f64) * 1.125);
        }

        #[test]
        fn the_curve_is_exact_at_its_points_and_agrees_with_the_percentiles(
            spans in prop::collection::vec(0u64..10_000_000_000, 1..300),
        ) {
            let mut histogram = Histogram::default();
            spans.iter().for_each(|&ns| histogram.add(ns));
            let Drawn { longest, spread } = histogram.drawn();
            let mut seen = 0;
            for &(ns, count) in &longest {
                seen += count;
                prop_assert_eq!(spans.iter().filter(|&&span| span <= ns).count() as u64, seen);
            }
            prop_assert_eq!(longest.last().map(|&(ns, _)| ns), spans.iter().copied().max());
            prop_assert_eq!(spread.max, longest.last().map_or(0, |&(ns, _)| ns));
            let mut judged = keel_check::Histogram::default();
            spans.iter().for_each(|&ns| judged.record(Span::from_ns(ns)));
            prop_assert_eq!(spread, SpreadReport::from(judged.spans()));
        }
    }
}
