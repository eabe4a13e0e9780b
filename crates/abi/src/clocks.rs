//! What happens before what: vector clocks of CPUs, to detect data races.
//!
//! Each CPU counts its own releases. [`Clocks`] has for each CPU how much of every other one it has seen. A [`Sync`]
//! orders CPUs: a CPU that acquires it has seen all that was done before its last release. The kernel reports acquires
//! and releases; the engine asks whether one access happens after another.

use crate::{CpuId, DsqId};
use std::collections::BTreeMap;

/// What one CPU releases and another acquires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sync {
    /// A runqueue's lock.
    Runqueue(CpuId),
    /// The lock of a dispatch queue that is not local.
    Queue(DsqId),
    /// A lock of BPF's own, by its address.
    Spin(u64),
    /// A task: each callback on its behalf comes after the one before, by `p->pi_lock` and the lock of its runqueue.
    Task(u32),
    /// A BPF timer, by its address: its function runs after the call that started it.
    Timer(u64),
    /// A word that an atomic instruction with a result works on, by its address.
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
    /// For this many CPUs, none of which has seen anything of another.
    pub fn new(cpus: u32) -> Self {
        let one = |cpu: u32| (0..cpus).map(|other| u32::from(other == cpu)).collect();
        Self { cpus: (0..cpus).map(one).collect(), released: BTreeMap::new() }
    }

    /// `cpu` has seen what was done before the last release.
    pub fn acquire(&mut self, cpu: CpuId, sync: Sync) {
        if let Some(seen) = self.released.get(&sync) {
            join(&mut self.cpus[cpu.index()], seen);
        }
    }

    /// A CPU that acquires it next has seen what `cpu` has done and seen.
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

    /// `cpu` has seen what `other` has done so far.
    pub fn follow(&mut self, cpu: CpuId, other: CpuId) {
        let seen = self.cpus[other.index()].clone();
        join(&mut self.cpus[cpu.index()], &seen);
        self.cpus[other.index()][other.index()] += 1;
    }

    /// Every CPU has seen everything that every other one has done.
    pub fn meet(&mut self) {
        let mut all = vec![0; self.cpus.len()];
        self.cpus.iter().for_each(|seen| join(&mut all, seen));
        for (cpu, seen) in self.cpus.iter_mut().enumerate() {
            seen.clone_from(&all);
            seen[cpu] += 1;
        }
    }

    /// `cpu`'s own count.
    pub fn now(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()][cpu.index()]
    }

    /// Has `cpu` seen what `other` did when its own count was `when`?
    pub fn has_seen(&self, cpu: CpuId, other: CpuId, when: u32) -> bool {
        self.cpus[cpu.index()][other.index()] >= when
    }

    /// Has every CPU?
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

    /// Who does what in turn (`+` acquires, `-` releases); has CPU 1 then seen what CPU 0 did first?
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
