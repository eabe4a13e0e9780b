//! Vector clocks of CPUs: what happens before what, to detect data races.
//!
//! Each CPU counts its own releases. [`Clocks`] records for each CPU how much of every other CPU's past it has seen. A
//! [`Sync`] orders CPUs: a CPU that acquires it has seen everything that was done before its last release. The kernel
//! reports acquires and releases; the engine asks whether one access happens after another.

use crate::{CpuId, DsqId};
use std::collections::BTreeMap;

/// What one CPU releases and another acquires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sync {
    /// A runqueue's lock.
    Runqueue(CpuId),
    /// The lock of a non-local DSQ.
    Queue(DsqId),
    /// A `bpf_spin_lock`, by its address.
    Spin(u64),
    /// A task: `p->pi_lock` and its runqueue's lock order the callbacks on its behalf.
    Task(u32),
    /// A BPF timer, by its address: its function runs after the call that started it.
    Timer(u64),
    /// A word that an atomic instruction with a result accesses, by its address.
    Word(u64),
    /// `cgroup_mutex`.
    Cgroups,
}

/// The clocks of a run.
#[derive(Clone, Debug)]
pub struct Clocks {
    cpus: Vec<Vec<u32>>,
    released: BTreeMap<Sync, Vec<u32>>,
}

impl Clocks {
    /// Creates the clocks of this many CPUs, none of which has seen anything of another.
    pub fn new(cpus: u32) -> Self {
        let one = |cpu: u32| (0..cpus).map(|other| u32::from(other == cpu)).collect();
        Self { cpus: (0..cpus).map(one).collect(), released: BTreeMap::new() }
    }

    /// Records that `cpu` acquires `sync`: it has now seen everything that was done before the last release.
    pub fn acquire(&mut self, cpu: CpuId, sync: Sync) {
        if let Some(seen) = self.released.get(&sync) {
            join(&mut self.cpus[cpu.index()], seen);
        }
    }

    /// Records that `cpu` releases `sync`: the next CPU to acquire it will have seen what `cpu` has done and seen.
    pub fn release(&mut self, cpu: CpuId, sync: Sync) {
        let own = &mut self.cpus[cpu.index()];
        match self.released.get_mut(&sync) {
            Some(seen) => join(seen, own),
            None => {
                self.released.insert(sync, own.clone());
            }
        }
        own[cpu.index()] += 1;
    }

    /// Records that `cpu` has seen what `other` has done so far.
    pub fn follow(&mut self, cpu: CpuId, other: CpuId) {
        let seen = self.cpus[other.index()].clone();
        join(&mut self.cpus[cpu.index()], &seen);
        self.cpus[other.index()][other.index()] += 1;
    }

    /// Records that every CPU has seen everything that every other one has done.
    pub fn meet(&mut self) {
        let mut all = vec![0; self.cpus.len()];
        self.cpus.iter().for_each(|seen| join(&mut all, seen));
        for (cpu, seen) in self.cpus.iter_mut().enumerate() {
            seen.clone_from(&all);
            seen[cpu] += 1;
        }
    }

    /// Returns `cpu`'s own count.
    pub fn now(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()][cpu.index()]
    }

    /// Returns whether `cpu` has seen what `other` did when its own count was `when`.
    pub fn has_seen(&self, cpu: CpuId, other: CpuId, when: u32) -> bool {
        self.cpus[cpu.index()][other.index()] >= when
    }

    /// Returns whether every CPU has seen what `other` did when its own count was `when`.
    pub fn all_have_seen(&self, other: CpuId, when: u32) -> bool {
        self.cpus.iter().all(|seen| seen[other.index()] >= when)
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into = (*into).max(*from));
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Sync = Sync::Runqueue(CpuId(0));
    const OTHER: Sync = Sync::Spin(8);

    /// CPUs act in turn (`+` acquires, `-` releases). Checks whether CPU 1 has then seen what CPU 0 did first.
    fn check(acts: &[(u32, char, Sync)], expected: bool) {
        let mut clocks = Clocks::new(3);
        let first = clocks.now(CpuId(0));
        for &(cpu, act, sync) in acts {
            match act {
                '+' => clocks.acquire(CpuId(cpu), sync),
                _ => clocks.release(CpuId(cpu), sync),
            }
        }
        assert_eq!(clocks.has_seen(CpuId(1), CpuId(0), first), expected, "{acts:?}");
    }

    #[test]
    fn a_lock_orders_who_gives_it_back_before_who_takes_it() {
        check(&[], false);
        check(&[(0, '-', LOCK), (1, '+', LOCK)], true);
        check(&[(1, '+', LOCK), (0, '-', LOCK)], false);
        check(&[(0, '-', LOCK), (1, '+', OTHER)], false);
        check(&[(1, '-', LOCK), (0, '+', LOCK)], false);
    }

    #[test]
    fn what_another_has_seen_is_seen() {
        check(&[(0, '-', LOCK), (2, '+', LOCK), (2, '-', OTHER), (1, '+', OTHER)], true);
        check(&[(0, '-', LOCK), (2, '-', OTHER), (2, '+', LOCK), (1, '+', OTHER)], false);
        check(&[(0, '-', LOCK), (2, '-', LOCK), (1, '+', LOCK)], true);
    }

    #[test]
    fn a_release_covers_nothing_that_comes_after_it() {
        let mut clocks = Clocks::new(2);
        clocks.release(CpuId(0), LOCK);
        let later = clocks.now(CpuId(0));
        clocks.acquire(CpuId(1), LOCK);
        assert!(!clocks.has_seen(CpuId(1), CpuId(0), later));
        clocks.meet();
        assert!(clocks.all_have_seen(CpuId(0), later) && !clocks.all_have_seen(CpuId(0), later + 1));
        let last = clocks.now(CpuId(0));
        clocks.follow(CpuId(1), CpuId(0));
        assert!(clocks.has_seen(CpuId(1), CpuId(0), last));
        assert!(!clocks.has_seen(CpuId(1), CpuId(0), clocks.now(CpuId(0))));
    }
}
