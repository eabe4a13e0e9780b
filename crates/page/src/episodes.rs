//! Records the longest periods in which CPUs were wasted, exactly.

use crate::pack::number;
use keel_abi::{CpuId, Instant};
use keel_check::Observer;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The maximum number of episodes that are kept.
const MOST: usize = 60_000;

/// One CPU's wasted time, in nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Episode {
    pub(crate) ns: u64,
    pub(crate) from: u64,
    pub(crate) cpu: u32,
}

/// Episodes that are not in the grid yet.
#[derive(Debug, Default)]
pub(crate) struct Fresh(pub(crate) Vec<(CpuId, Instant, Instant)>);

impl Observer for Fresh {
    fn wasted(&mut self, cpu: CpuId, start: Instant, end: Instant) {
        self.0.push((cpu, start, end));
    }
}

/// The longest episodes.
#[derive(Debug, Default)]
pub(crate) struct Episodes {
    kept: BinaryHeap<Reverse<Episode>>,
    pub(crate) left_out: u64,
}

impl Episodes {
    pub(crate) fn add(&mut self, cpu: CpuId, from: u64, to: u64) {
        self.kept.push(Reverse(Episode { ns: to - from, from, cpu: cpu.0 }));
        if self.kept.len() > MOST {
            self.kept.pop();
            self.left_out += 1;
        }
    }

    /// Packs their number, then for each: the nanoseconds from the previous beginning to this one, the duration, the
    /// CPU.
    pub(crate) fn pack(self) -> Vec<u8> {
        let mut all: Vec<Episode> = self.kept.into_iter().map(|Reverse(episode)| episode).collect();
        all.sort_by_key(|episode| (episode.from, episode.cpu));
        let mut bytes = Vec::new();
        number(&mut bytes, all.len() as u64);
        let mut last = 0;
        for episode in all {
            number(&mut bytes, episode.from - last);
            number(&mut bytes, episode.ns);
            number(&mut bytes, u64::from(episode.cpu));
            last = episode.from;
        }
        bytes
    }
}
