//! Task structures that crowd each other out of a cache.
//!
//! Linux up to 2.5 keeps each task's structure at the beginning of its 8 KiB of kernel stack, on a boundary of 8 KiB:
//! the same line of all of them falls into the same few sets of a cache, which holds as many of them as it has times 8
//! KiB (Yamamura et al., 'Speeding up kernel scheduler by reducing cache misses', FREENIX 2002). If more are visited in
//! turn, each comes from memory again.
//!
//! One [`Crowd`] represents one line of every task's structure, in the caches of all CPUs. It is notified only of lines
//! that a CPU has to fetch, so it evicts the line fetched longest ago, even if it was used since.

use crate::CpuId;

/// Ways of a set: second-level caches of the Pentium III have eight (Intel, data sheets).
const WAYS: usize = 8;
const NOBODY: u32 = u32::MAX;

/// Whose line each CPU's cache holds.
#[derive(Clone, Debug)]
pub struct Crowd {
    ways: usize,
    sets: usize,
    /// By CPU, set and way.
    tasks: Vec<u32>,
    /// By CPU and set: which way is next to go.
    next: Vec<u8>,
}

impl Crowd {
    /// Caches that hold the lines of `held` tasks each; `None` for 0, which is no limit.
    pub fn new(cpus: u32, held: u64) -> Option<Self> {
        let ways = WAYS.min(held as usize);
        let sets = (held as usize).checked_div(ways)?;
        let all = cpus as usize * sets;
        Some(Self { ways, sets, tasks: vec![NOBODY; all * ways], next: vec![0; all] })
    }

    /// `cpu` has fetched the line of `task`: returns the task whose line is evicted for it, if any. `holds` returns
    /// whether the CPU still has the line of a task; lines that others have invalidated are dropped first.
    pub fn fetched(&mut self, cpu: CpuId, task: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
        let set = cpu.index() * self.sets + task as usize % self.sets;
        let ways = &mut self.tasks[set * self.ways..][..self.ways];
        if ways.contains(&task) {
            return None;
        }
        if let Some(free) = ways.iter_mut().find(|way| **way == NOBODY || !holds(**way)) {
            *free = task;
            return None;
        }
        let next = &mut self.next[set];
        let gone = std::mem::replace(&mut ways[usize::from(*next)], task);
        *next = (*next + 1) % self.ways as u8;
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks' lines are fetched by CPU 0, all of which it keeps but `lost`: whose go.
    fn check(held: u64, lost: &[u32], fetched: &[u32], expected: &[u32]) {
        let mut crowd = Crowd::new(2, held).expect("a limit");
        let gone = |&task: &u32| crowd.fetched(CpuId(0), task, |other| !lost.contains(&other));
        assert_eq!(fetched.iter().filter_map(gone).collect::<Vec<_>>(), expected, "{held}: {fetched:?}");
        assert_eq!(crowd.fetched(CpuId(1), 0, |_| true), None, "each CPU has a cache of its own");
    }

    #[test]
    fn the_line_fetched_longest_ago_goes_first() {
        check(2, &[], &[1, 2, 1, 3, 4], &[1, 2]);
        check(2, &[2], &[1, 2, 3, 4], &[1]);
        check(2, &[], &[1, 2, 3, 1], &[1, 2]);
    }

    #[test]
    fn as_many_stay_as_a_cache_holds() {
        let all: Vec<u32> = (0..32).collect();
        check(32, &[], &all, &[]);
        check(16, &[], &all, &all[..16]);
        assert!(Crowd::new(2, 0).is_none(), "no limit");
    }
}
