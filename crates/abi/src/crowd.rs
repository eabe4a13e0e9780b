//! Task structures that evict each other from a cache.
//!
//! Linux up to 2.5 keeps each task's structure at the beginning of its 8 KiB kernel stack, aligned to 8 KiB. So the
//! same line of all task structures maps to the same few sets of a cache, which holds one of them per 8 KiB of its size
//! (Yamamura et al., 'Speeding up kernel scheduler by reducing cache misses', FREENIX 2002). If more are visited in
//! turn, each is fetched from memory again.
//!
//! One [`Crowd`] represents the lines of all tasks' structures, in the caches of all CPUs; its user numbers the lines. It
//! is notified only of lines that a CPU has to fetch, so it evicts the line fetched longest ago, even if it was used
//! since.

use crate::CpuId;

/// The number of ways of a set. Second-level caches of the Pentium III have eight (Intel, data sheets).
const WAYS: usize = 8;
const NOBODY: u32 = u32::MAX;

/// Which lines each CPU's cache holds.
#[derive(Clone, Debug)]
pub struct Crowd {
    cpus: u32,
    /// How many of a cache's sets one line of all structures maps to.
    sets: u32,
    /// Those of all CPUs for the first set, then for the next one.
    all: Vec<Set>,
}

impl Crowd {
    /// Creates caches that each hold `held` tasks' structures of so many lines. Returns `None` for 0, which means no
    /// limit.
    pub fn new(cpus: u32, held: u64, lines: u32) -> Option<Self> {
        let ways = WAYS.min(held as usize);
        let sets = u32::try_from((held as usize).checked_div(ways)?).ok()?;
        let all = cpus as usize * sets as usize * lines as usize;
        Some(Self { cpus, sets, all: vec![Set::new(ways as u32); all] })
    }

    /// Returns the set of each cache that line `which` of a task's structure maps to.
    pub const fn set_of(&self, task: u32, which: u32) -> u32 {
        which * self.sets + task % self.sets
    }

    /// Returns this set of a CPU's cache.
    #[inline]
    pub fn set(&mut self, cpu: CpuId, set: u32) -> &mut Set {
        &mut self.all[(set * self.cpus) as usize + cpu.index()]
    }

    /// Returns the address of a set of CPU 0's cache; those of the other CPUs are behind it.
    pub fn address(&mut self, set: u32) -> *mut Set {
        self.all.as_mut_ptr().wrapping_add((set * self.cpus) as usize)
    }
}

/// A set of one CPU's cache. Machine code changes it too, so the fields have fixed places, in one line of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Set {
    /// The line in each way.
    pub lines: [u32; WAYS],
    /// The number of ways.
    pub ways: u32,
    /// The way that is evicted next.
    pub next: u32,
    /// A bit for each way that was never used, or whose line others have invalidated.
    pub free: u32,
}

impl Set {
    const fn new(ways: u32) -> Self {
        Self { lines: [NOBODY; WAYS], ways, next: 0, free: (1 << ways) - 1 }
    }

    /// Like `put` for a set that is not told which lines others have invalidated: `holds` returns whether the CPU still
    /// has a line.
    #[inline]
    pub fn fetched(&mut self, line: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
        if self.ways_with(line) != 0 {
            return None;
        }
        let all = (1 << self.ways) - 1;
        self.free = all & ways(&self.lines, |way| way == NOBODY || !holds(way));
        self.put(line)
    }

    /// Puts a line in that the CPU has fetched: where it was before others invalidated it, or into a free way, otherwise
    /// in place of the line to evict next, which is returned.
    #[inline]
    pub fn put(&mut self, line: u32) -> Option<u32> {
        match self.free {
            0 => Some(self.replace(line)),
            free => {
                let before = self.ways_with(line);
                let way = (if before == 0 { free } else { before }).trailing_zeros();
                self.lines[way as usize] = line;
                self.free &= !(1 << way);
                None
            }
        }
    }

    #[inline]
    fn replace(&mut self, line: u32) -> u32 {
        let gone = std::mem::replace(&mut self.lines[self.next as usize], line);
        self.next = if self.next + 1 < self.ways { self.next + 1 } else { 0 };
        gone
    }

    /// Frees the way of a line that another CPU has invalidated.
    #[inline]
    pub fn lose(&mut self, line: u32) {
        self.free |= self.ways_with(line);
    }

    /// A bit for the way with this line, if there is one.
    #[inline]
    fn ways_with(&self, line: u32) -> u32 {
        ways(&self.lines, |way| way == line)
    }
}

/// A bit for each of these ways. Their number is fixed, so that there are no jumps.
#[inline(always)]
fn ways(lines: &[u32; WAYS], is: impl Fn(u32) -> bool) -> u32 {
    lines.iter().enumerate().fold(0, |all, (n, &way)| all | u32::from(is(way)) << n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU 0 fetches tasks' lines, and keeps all of them except `lost`. Checks whose lines are evicted.
    fn check(held: u64, lost: &[u32], fetched: &[u32], expected: &[u32]) {
        let mut crowd = Crowd::new(2, held, 1).expect("a limit");
        let sets = crowd.sets;
        let gone =
            |&task: &u32| crowd.set(CpuId(0), task % sets).fetched(task, |other| !lost.contains(&other));
        assert_eq!(fetched.iter().filter_map(gone).collect::<Vec<_>>(), expected, "{held}: {fetched:?}");
        assert_eq!(crowd.set(CpuId(1), 0).fetched(0, |_| true), None, "each CPU has a cache of its own");
    }

    #[test]
    fn the_line_fetched_longest_ago_goes_first() {
        check(2, &[], &[1, 2, 1, 3, 4], &[1, 2]);
        check(2, &[2], &[1, 2, 3, 4], &[1]);
        check(2, &[], &[1, 2, 3, 1], &[1, 2]);
    }

    /// CPU 0 fetches these tasks' lines, and loses those with a minus sign. Checks that a set that knows what it lost
    /// evicts the expected lines, and the same ones as a set that asks.
    fn check_put(held: u64, steps: &[i32], expected: &[u32]) {
        let mut knows = Crowd::new(1, held, 1).expect("a limit");
        let mut asks = knows.clone();
        let (mut gone, mut holds) = (Vec::new(), [false; 100]);
        for step in steps {
            let task = step.unsigned_abs();
            let set = knows.set_of(task, 0);
            if *step < 0 {
                knows.set(CpuId(0), set).lose(task);
            } else if !holds[task as usize] {
                let evicted = knows.set(CpuId(0), set).put(task);
                let same = asks.set(CpuId(0), set).fetched(task, |other| holds[other as usize]);
                assert_eq!(same, evicted, "{held}: {steps:?}");
                evicted.iter().for_each(|&other| holds[other as usize] = false);
                gone.extend(evicted);
            }
            holds[task as usize] = *step > 0;
        }
        assert_eq!(gone, expected, "{held}: {steps:?}");
    }

    #[test]
    fn a_set_knows_which_ways_are_free() {
        check_put(2, &[1, 2], &[]);
        check_put(2, &[1, 2, 3, 4], &[1, 2]);
        check_put(1, &[1, 2], &[1]);
        check_put(2, &[1, 2, -2, 3, 4], &[1]);
        check_put(2, &[1, 2, -1, -2, 2, 3, 4], &[3]);
        check_put(2, &[1, 2, -9, 3], &[1]);
        check_put(16, &[2, 4, 6, 8, 10, 12, 14, 16, 3, -6, -8, 18, 20, 22], &[2]);
    }

    #[test]
    fn lines_of_one_structure_have_sets_of_their_own() {
        let mut crowd = Crowd::new(2, 16, 3).expect("a limit");
        let sets = [(0, 0), (1, 0), (2, 0), (0, 1), (5, 2)].map(|(task, which)| crowd.set_of(task, which));
        assert_eq!(sets, [0, 1, 0, 2, 5]);
        let of_cpu_1 = std::ptr::from_mut(crowd.set(CpuId(1), 5));
        assert_eq!(crowd.address(5).wrapping_add(1), of_cpu_1);
    }

    #[test]
    fn as_many_stay_as_a_cache_holds() {
        let all: Vec<u32> = (0..32).collect();
        check(32, &[], &all, &[]);
        check(16, &[], &all, &all[..16]);
        assert!(Crowd::new(2, 0, 1).is_none(), "no limit");
    }
}
