//! Tasks of the workload that start on their own. Each instance of each spec has a number, in the order of the specs.

use keel_abi::Instant;

/// The spec of each start, and when it was due.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    /// The number of each spec's first instance.
    first: Vec<u32>,
    due: Vec<Instant>,
    /// The starts of recorded tasks that sleep when the run begins.
    pub(crate) asleep: Vec<u32>,
}

impl Starts {
    /// Numbers the starts of specs with these numbers of instances.
    pub(crate) fn number(&mut self, instances: impl Iterator<Item = u32>) {
        let mut next = 0;
        for count in instances {
            self.first.push(next);
            next += count;
        }
    }

    /// The spec of the start with this number. Specs without an instance have no number of their own.
    pub(crate) fn spec_of(&self, start: u32) -> u32 {
        self.first.partition_point(|&first| first <= start) as u32 - 1
    }

    /// A start is due now; this replaces an earlier moment.
    pub(crate) fn due_at(&mut self, start: u32, at: Instant) {
        let place = start as usize;
        if place >= self.due.len() {
            self.due.resize(place + 1, Instant::ZERO);
        }
        self.due[place] = at;
    }

    /// When it was due, if it was.
    pub(crate) fn due(&self, start: u32) -> Option<Instant> {
        self.due.get(start as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_belongs_to_the_spec_whose_instances_hold_it() {
        let check = |instances: &[u32], expected: &[u32]| {
            let mut starts = Starts::default();
            starts.number(instances.iter().copied());
            let specs: Vec<u32> = (0..expected.len() as u32).map(|start| starts.spec_of(start)).collect();
            assert_eq!(specs, expected, "{instances:?}");
        };
        check(&[2, 1], &[0, 0, 1]);
        check(&[0, 1, 0, 0, 3, 0], &[1, 4, 4, 4]);
        check(&[1, 0], &[0]);
    }
}
