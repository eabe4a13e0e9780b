//! The cache lines of the idle masks that a search or a change has read and written, so that they can be charged.
//!
//! The mask of idle CPUs and the mask of fully idle cores are in different lines. A line holds the bits of 512 CPUs; a
//! per-node mask has one line.

use crate::state::idle::IdleMasks;
use keel_abi::{CpuId, NodeId};

/// The number of CPUs whose bits share a line.
pub(crate) const CPUS_PER_LINE: u32 = 512;

/// The number of words in a line.
const WORDS_PER_LINE: usize = CPUS_PER_LINE as usize / 64;

/// A mask that the kernel keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleMask {
    /// `idle_cpus->cpu`.
    Cpus,
    /// `idle_cpus->smt`; not used without SMT.
    Cores,
}

impl IdleMask {
    pub(crate) const ALL: [Self; 2] = [Self::Cpus, Self::Cores];
}

/// The touched lines of both masks: a bit for each line, or for each node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    read: [u64; 2],
    written: [u64; 2],
}

impl Touched {
    /// The lines of a mask that were read, and those that were written: a bit for each.
    #[inline]
    pub(crate) fn of(&self, mask: IdleMask) -> (u64, u64) {
        (self.read[mask as usize], self.written[mask as usize])
    }

    /// The lines of a mask that were read.
    pub(crate) fn read(&self, mask: IdleMask) -> impl Iterator<Item = u32> + use<> {
        lines(self.read[mask as usize])
    }

    /// The lines of a mask that were written.
    pub(crate) fn written(&self, mask: IdleMask) -> impl Iterator<Item = u32> + use<> {
        lines(self.written[mask as usize])
    }
}

/// The numbers of the bits that are set.
fn lines(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let line = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(line)
    })
}

/// The bit of a line or node; the last bit stands for all from 63 on.
const fn bit(line: usize) -> u64 {
    1 << if line < 63 { line } else { 63 }
}

/// Returns whether the bits of this many words are in one line.
pub(super) const fn fit_in_one_line(words: usize) -> bool {
    words <= WORDS_PER_LINE
}

impl IdleMasks {
    /// If the first line of the CPUs' mask is all that was touched since the last time, whether it was read, and whether
    /// it was written; or else nothing, and [`IdleMasks::take_touched`] tells.
    #[inline]
    pub(crate) fn take_first_line(&mut self) -> Option<(bool, bool)> {
        let Touched { read: [read, cores_read], written: [written, cores_written] } = &mut self.touched;
        if *cores_read | *cores_written != 0 || *read | *written > 1 {
            return None;
        }
        Some((std::mem::take(read) != 0, std::mem::take(written) != 0))
    }

    /// What was touched since the last time.
    #[inline]
    pub(crate) fn take_touched(&mut self) -> Touched {
        std::mem::take(&mut self.touched)
    }

    /// The lines of plain masks that take several ([`IdleMasks::is_long`]).
    #[inline]
    pub(crate) fn long_lines(&self) -> std::ops::Range<u32> {
        0..self.shape.words().div_ceil(WORDS_PER_LINE) as u32
    }

    /// Which of them has a CPU's bit.
    #[inline]
    pub(crate) const fn long_line(cpu: CpuId) -> u32 {
        cpu.0 / CPUS_PER_LINE
    }

    /// The line of a CPU's bit.
    #[inline]
    fn line_of(&self, cpu: CpuId) -> usize {
        match self.per_node {
            _ if self.one_line => 0,
            true => self.shape.node_of(cpu).index(),
            false => cpu.index() / CPUS_PER_LINE as usize,
        }
    }

    #[inline]
    pub(super) fn note_read(&mut self, mask: IdleMask, cpu: CpuId) {
        self.touched.read[mask as usize] |= bit(self.line_of(cpu));
    }

    #[inline]
    pub(super) fn note_written(&mut self, mask: IdleMask, cpu: CpuId) {
        self.touched.written[mask as usize] |= bit(self.line_of(cpu));
    }

    /// Records a search of a mask, the machine's or a node's, that begins behind the CPU `after`, wraps around, and
    /// ends at the CPU that it `found`.
    #[inline]
    pub(super) fn note_search(
        &mut self,
        mask: IdleMask,
        node: Option<NodeId>,
        after: u32,
        found: Option<CpuId>,
    ) {
        let words = self.shape.words();
        let read = &mut self.touched.read[mask as usize];
        if self.one_line {
            *read |= bit(0);
            return;
        }
        if let Some(node) = node {
            *read |= bit(node.index());
            return;
        }
        let last = (words - 1) / WORDS_PER_LINE;
        let Some(found) = found else {
            *read |= u64::MAX >> (63 - last.min(63));
            return;
        };
        let line = |cpu: u32| (cpu / CPUS_PER_LINE) as usize;
        let (first, end) = (line(after).min(last), line(found.0));
        let passes = |at: usize| match found.0 > after {
            true => (first..=end).contains(&at),
            false => at >= first || at <= end,
        };
        *read |= (0..=last).filter(|&at| passes(at)).map(bit).fold(0, |bits, bit| bits | bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::scx::wake;
    use keel_abi::{CpuSet, Topology};

    /// Which lines an act touches on a machine of two nodes with these CPUs idle: the lines read and written of the
    /// CPUs' mask, then of the cores' mask.
    fn check(threads: u32, cpus: u32, idle: &str, act: fn(&mut IdleMasks, &[u64]), expected: [&[u32]; 4]) {
        let mut masks = IdleMasks::new(&Topology::regular(2, 1, cpus / 2 / threads, threads));
        idle.parse::<CpuSet>().expect("CPUs").iter().for_each(|cpu| masks.set_idle(cpu, true));
        masks.take_touched();
        act(&mut masks, CpuSet::first(cpus).words());
        let first = masks.clone().take_first_line();
        let of_first =
            |lines: &[u32]| (lines.len() < 2 && lines.iter().all(|&line| line == 0)).then_some(lines == [0]);
        let of_cores = expected[2].is_empty() && expected[3].is_empty();
        let expected_first = of_first(expected[0]).zip(of_first(expected[1])).filter(|_| of_cores);
        assert_eq!(first, expected_first, "{idle} of {cpus} idle");
        let touched = masks.take_touched();
        let of = |mask| -> [Vec<u32>; 2] { [touched.read(mask).collect(), touched.written(mask).collect()] };
        let got = IdleMask::ALL.map(of);
        assert_eq!(got.concat(), expected.map(<[u32]>::to_vec), "{idle} of {cpus} idle");
        assert_eq!(masks.take_touched(), Touched::default());
    }

    #[test]
    fn a_search_reads_up_to_what_it_finds_and_writes_what_it_takes() {
        let pick = |masks: &mut IdleMasks, all: &[u64]| {
            masks.pick_idle(CpuId(0), all, None, 0);
        };
        check(1, 8, "", pick, [&[0], &[], &[], &[]]);
        check(1, 8, "3", pick, [&[0], &[0], &[], &[]]);
        check(1, 2048, "600", pick, [&[0, 1], &[1], &[], &[]]);
        check(1, 2048, "0", pick, [&[0, 1, 2, 3], &[0], &[], &[]]);
        check(1, 2048, "", pick, [&[0, 1, 2, 3], &[], &[], &[]]);
        check(2, 8, "", pick, [&[0], &[], &[0], &[]]);
        check(2, 8, "3", pick, [&[0], &[0], &[0], &[]]);
        check(2, 8, "2-3", pick, [&[], &[0], &[0], &[0]]);
        let any = |masks: &mut IdleMasks, all: &[u64]| {
            masks.pick_any(CpuId(0), all, None, 0, false);
        };
        check(1, 8, "3", any, [&[], &[], &[], &[]]);
    }

    #[test]
    fn masks_of_nodes_have_a_line_each() {
        let pick = |masks: &mut IdleMasks, all: &[u64]| {
            masks.set_per_node(true);
            masks.pick_idle(CpuId(0), all, Some(NodeId(0)), 0);
        };
        check(1, 8, "3", pick, [&[0], &[0], &[], &[]]);
        check(1, 8, "5", pick, [&[0, 1], &[1], &[], &[]]);
    }

    #[test]
    fn who_becomes_idle_or_busy_changes_its_core_too() {
        let idles = |masks: &mut IdleMasks, _: &[u64]| masks.set_idle(CpuId(2), true);
        check(1, 8, "", idles, [&[], &[0], &[], &[]]);
        check(2, 8, "", idles, [&[0], &[0], &[], &[]]);
        check(2, 8, "3", idles, [&[0], &[0], &[], &[0]]);
        let works = |masks: &mut IdleMasks, _: &[u64]| masks.set_idle(CpuId(2), false);
        check(2, 8, "2-3", works, [&[], &[0], &[], &[0]]);
    }

    #[test]
    fn the_default_choice_tries_the_last_cpu_before_it_searches() {
        fn choose(masks: &mut IdleMasks, all: &[u64]) {
            masks.select_cpu_dfl(&crate::state::idle::SelectCpu {
                on: CpuId(0),
                prev: CpuId(2),
                wake_flags: wake::TTWU,
                waker_queue_empty: true,
                waker_exits: false,
                cpus: all,
                allowed: None,
                flags: 0,
            });
        }
        check(1, 8, "2", choose, [&[], &[0], &[], &[]]);
        check(1, 8, "", choose, [&[0], &[0], &[], &[]]);
        check(2, 8, "2-3", choose, [&[], &[0], &[0], &[0]]);
    }
}
