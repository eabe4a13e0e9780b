//! Task structures that evict each other from a cache.
//!
//! Linux up to 2.5 keeps each task's structure at the beginning of its 8 KiB kernel stack, aligned to 8 KiB. So the
//! same line of all task structures maps to the same few sets of a cache, which holds one of them per 8 KiB of its size
//! (Yamamura et al., 'Speeding up kernel scheduler by reducing cache misses', FREENIX 2002). If more are visited in
//! turn, each is fetched from memory again.
//!
//! One [`Crowd`] represents one line of every task's structure, in the caches of all CPUs; its user numbers the lines.
//! It is notified only of lines that a CPU has to fetch, so it evicts the line fetched longest ago, even if it was used
//! since.

use crate::CpuId;

/// The number of ways of a set. Second-level caches of the Pentium III have eight (Intel, data sheets).
const WAYS: usize = 8;
const NOBODY: u32 = u32::MAX;

/// Which lines each CPU's cache holds.
#[derive(Clone, Debug)]
pub struct Crowd {
    ways: usize,
    sets: u32,
    /// The line at each CPU, set and way.
    lines: Vec<u32>,
    /// For each CPU and set, the way that is evicted next.
    next: Vec<u8>,
}

impl Crowd {
    /// Creates caches that each hold the lines of `held` tasks. Returns `None` for 0, which means no limit.
    pub fn new(cpus: u32, held: u64) -> Option<Self> {
        let ways = WAYS.min(held as usize);
        let sets = u32::try_from((held as usize).checked_div(ways)?).ok()?;
        let all = cpus as usize * sets as usize;
        Some(Self { ways, sets, lines: vec![NOBODY; all * ways], next: vec![0; all] })
    }

    /// Returns the set of each cache that the line of `task` maps to.
    pub const fn set_of(&self, task: u32) -> u32 {
        task % self.sets
    }

    /// Records that `cpu` has fetched a line that maps to `set`. Returns the line that is evicted for it, if any.
    /// `holds` returns whether the CPU still has a line; lines that others have invalidated are evicted first.
    #[inline]
    pub fn fetched(&mut self, cpu: CpuId, set: u32, line: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
        let set = cpu.index() * self.sets as usize + set as usize;
        let ways = &mut self.lines[set * self.ways..][..self.ways];
        let next = &mut self.next[set];
        // With a fixed size the loops have no jumps.
        match <&mut [u32; WAYS]>::try_from(&mut *ways) {
            Ok(ways) => put(ways, next, line, holds),
            Err(_) => put(ways, next, line, holds),
        }
    }

    /// Returns the same where `cpu` still has every line of the set, and so not the one that it has fetched. Nothing
    /// happens, and nothing is returned, where the set has a place that was never used.
    #[inline]
    pub fn replaced(&mut self, cpu: CpuId, set: u32, line: u32) -> Option<u32> {
        let set = cpu.index() * self.sets as usize + set as usize;
        let ways = &mut self.lines[set * self.ways..][..self.ways];
        if *ways.last()? == NOBODY {
            return None;
        }
        let next = &mut self.next[set];
        let gone = std::mem::replace(&mut ways[usize::from(*next)], line);
        *next = if usize::from(*next) + 1 == ways.len() { 0 } else { *next + 1 };
        Some(gone)
    }

    /// Returns whether `cpu` has lost a line of the set to other CPUs.
    pub fn has_lost(&self, cpu: CpuId, set: u32, holds: impl Fn(u32) -> bool) -> bool {
        let set = cpu.index() * self.sets as usize + set as usize;
        let ways = &self.lines[set * self.ways..][..self.ways];
        ways.iter().any(|&way| way != NOBODY && !holds(way))
    }

    /// Returns the number of sets of a cache.
    pub const fn sets(&self) -> u32 {
        self.sets
    }
}

/// Puts a line into a set, unless it is already there: into the first free way, otherwise in place of the line to evict
/// next, which is returned.
#[inline(always)]
fn put(ways: &mut [u32], next: &mut u8, line: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if ways.iter().fold(false, |found, &way| found | (way == line)) {
        return None;
    }
    let free = |&way: &u32| way == NOBODY || !holds(way);
    let all_free = ways.iter().enumerate().fold(0_u32, |all, (n, way)| all | u32::from(free(way)) << n);
    if let Some(way) = ways.get_mut(all_free.trailing_zeros() as usize) {
        *way = line;
        return None;
    }
    let gone = std::mem::replace(&mut ways[usize::from(*next)], line);
    *next = (*next + 1) % ways.len() as u8;
    Some(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU 0 fetches tasks' lines, and keeps all of them except `lost`. Checks whose lines are evicted.
    fn check(held: u64, lost: &[u32], fetched: &[u32], expected: &[u32]) {
        let mut crowd = Crowd::new(2, held).expect("a limit");
        let gone =
            |&task: &u32| crowd.fetched(CpuId(0), crowd.set_of(task), task, |other| !lost.contains(&other));
        assert_eq!(fetched.iter().filter_map(gone).collect::<Vec<_>>(), expected, "{held}: {fetched:?}");
        assert_eq!(crowd.fetched(CpuId(1), 0, 0, |_| true), None, "each CPU has a cache of its own");
    }

    #[test]
    fn the_line_fetched_longest_ago_goes_first() {
        check(2, &[], &[1, 2, 1, 3, 4], &[1, 2]);
        check(2, &[2], &[1, 2, 3, 4], &[1]);
        check(2, &[], &[1, 2, 3, 1], &[1, 2]);
    }

    /// After these, CPU 0 fetches one more line. Checks that [`Crowd::replaced`] evicts the same line as
    /// [`Crowd::fetched`].
    fn check_replaced(held: u64, fetched: &[u32], expected: Option<u32>) {
        let mut crowd = Crowd::new(1, held).expect("a limit");
        for &task in fetched {
            crowd.fetched(CpuId(0), crowd.set_of(task), task, |_| true);
        }
        let (mut other, set) = (crowd.clone(), crowd.set_of(99));
        assert_eq!(crowd.replaced(CpuId(0), set, 99), expected, "{held}: {fetched:?}");
        if expected.is_some() {
            assert_eq!(other.fetched(CpuId(0), set, 99, |_| true), expected, "{held}: {fetched:?}");
            assert_eq!((&crowd.lines, &crowd.next), (&other.lines, &other.next), "{held}: {fetched:?}");
        }
        assert!(!crowd.has_lost(CpuId(0), set, |_| true));
        assert_eq!(crowd.has_lost(CpuId(0), set, |_| false), !fetched.is_empty());
    }

    #[test]
    fn the_short_way_evicts_the_same_line() {
        check_replaced(2, &[], None);
        check_replaced(2, &[1], None);
        check_replaced(2, &[1, 2], Some(1));
        check_replaced(2, &[1, 2, 3], Some(2));
        check_replaced(1, &[1], Some(1));
    }

    #[test]
    fn as_many_stay_as_a_cache_holds() {
        let all: Vec<u32> = (0..32).collect();
        check(32, &[], &all, &[]);
        check(16, &[], &all, &all[..16]);
        assert!(Crowd::new(2, 0).is_none(), "no limit");
    }
}
