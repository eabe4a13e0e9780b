//! The earliest of the CPUs' own events, by a tournament among groups of eight.
//!
//! A key is the instant above the CPU's number. Groups fill a cache line each; a changed key
//! plays again only in the groups above it, and only as far as a winner changes. A whole group is
//! looked at only when its winner gets later: one that becomes first is known to win.

use keel_abi::{CpuId, Instant};

/// Bits of a key that hold the CPU's number.
pub(super) const CPU_BITS: u32 = 12;
/// Bits of an index within a group.
const LANE_BITS: u32 = 3;
const LANES: usize = 1 << LANE_BITS;
/// No event.
const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Group([u64; LANES]);

impl Group {
    #[inline]
    fn winner(&self) -> u64 {
        let k = &self.0;
        let (a, b) = (k[0].min(k[1]), k[2].min(k[3]));
        let (c, d) = (k[4].min(k[5]), k[6].min(k[7]));
        a.min(b).min(c.min(d))
    }

    /// Sets a lane's key; `before` is the group's winner so far. Gives the winner if it is another.
    #[inline]
    fn replace(&mut self, lane: usize, key: u64, before: u64) -> Option<u64> {
        let old = std::mem::replace(&mut self.0[lane], key);
        let winner = if key <= before {
            key
        } else if old == before {
            self.winner()
        } else {
            return None;
        };
        (winner != before).then_some(winner)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// The groups of each round: the CPUs' own first, the final last.
    rounds: Vec<Group>,
    /// Where each round after the first begins.
    starts: Vec<u32>,
    winner: u64,
}

impl Tournament {
    pub(super) fn new(cpus: u32) -> Self {
        let mut starts = Vec::new();
        let (mut total, mut groups) = (0, cpus.div_ceil(LANES as u32).max(1));
        loop {
            total += groups;
            if groups == 1 {
                break;
            }
            starts.push(total);
            groups = groups.div_ceil(LANES as u32);
        }
        Self { rounds: vec![Group([NEVER; LANES]); total as usize], starts, winner: NEVER }
    }

    #[inline]
    pub(super) fn set(&mut self, cpu: CpuId, at: Instant) {
        let key = if at <= super::MAX_INSTANT { at.as_ns() << CPU_BITS | u64::from(cpu.0) } else { NEVER };
        self.play(cpu, key);
    }

    #[inline]
    pub(super) fn clear(&mut self, cpu: CpuId) {
        self.play(cpu, NEVER);
    }

    #[inline]
    pub(super) fn at(&self, cpu: CpuId) -> Instant {
        instant(self.rounds[cpu.index() / LANES].0[cpu.index() % LANES])
    }

    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        instant(self.winner)
    }

    /// The CPU that is due first; only meaningful when one is.
    #[inline]
    pub(super) fn next_cpu(&self) -> CpuId {
        CpuId((self.winner & ((1 << CPU_BITS) - 1)) as u32)
    }

    #[inline]
    fn play(&mut self, cpu: CpuId, key: u64) {
        if !self.starts.is_empty() {
            self.play_rounds(cpu, key);
        } else if let Some(winner) = self.rounds[0].replace(cpu.index() % LANES, key, self.winner) {
            self.winner = winner;
        }
    }

    fn play_rounds(&mut self, cpu: CpuId, key: u64) {
        let (mut key, mut index, mut at) = (key, cpu.index(), cpu.index() >> LANE_BITS);
        for &start in &self.starts {
            let above = start as usize + (index >> LANE_BITS >> LANE_BITS);
            let before = self.rounds[above].0[(index >> LANE_BITS) % LANES];
            let Some(winner) = self.rounds[at].replace(index % LANES, key, before) else { return };
            (key, index, at) = (winner, index >> LANE_BITS, above);
        }
        if let Some(winner) = self.rounds[at].replace(index % LANES, key, self.winner) {
            self.winner = winner;
        }
    }
}

#[inline]
fn instant(key: u64) -> Instant {
    if key == NEVER { Instant::NEVER } else { Instant::from_ns(key >> CPU_BITS) }
}
