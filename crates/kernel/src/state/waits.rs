//! Which call waits for whose lock; recorded only for a profile.
//!
//! A lock's holder is the call that took it last: others wait for that call to release it.

use crate::state::callback::Caller;
use crate::state::cost::lock::LockName;
use crate::state::cpu::Cpu;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, Origin};
use keel_abi::{CpuId, Span};
use keel_trace::Lock;
use std::collections::BTreeMap;

/// At most this many pairs of waiter and holder are distinguished; later pairs are counted without either.
const MOST: usize = 1 << 16;

/// A call by the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// What called the program that makes the call.
    pub origin: Origin,
    /// The call's number in the object ([`keel_abi::bpf::CallSite::number`]).
    pub call: u32,
}

impl From<Caller> for Site {
    fn from(caller: Caller) -> Self {
        Self { origin: caller.origin(), call: caller.call }
    }
}

/// Waits for one lock, distinguished by all fields but the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The waiter; `None` for the kernel outside of calls.
    pub waiter: Option<Site>,
    /// The lock's holder; `None` for the kernel.
    pub holder: Option<Site>,
    /// The lock; `None` for runqueue locks, which are counted together.
    pub lock: Option<LockName>,
    /// How often.
    pub count: u64,
    /// How long, summed over the waiting CPUs.
    pub wait: Span,
}

type Kinds = (Option<Site>, Option<Site>, Option<LockName>);

/// The record of a run's waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitLog {
    holders: BTreeMap<LockName, Option<Site>>,
    waits: BTreeMap<Kinds, (u64, Span)>,
}

impl WaitLog {
    fn took(&mut self, lock: LockName, by: Option<Site>) {
        self.holders.insert(lock, by);
    }

    fn waited(&mut self, waiter: Option<Site>, lock: Option<LockName>, waited: Span) {
        let holder = lock.and_then(|lock| self.holders.get(&lock).copied().flatten());
        let kind = match (waiter, holder, lock) {
            kind if self.waits.len() < MOST || self.waits.contains_key(&kind) => kind,
            _ => (None, None, None),
        };
        let sum = self.waits.entry(kind).or_default();
        sum.0 += 1;
        sum.1 += waited;
    }

    /// All waits.
    pub(crate) fn waits(&self) -> impl Iterator<Item = Waits> {
        self.waits.iter().map(|(&(waiter, holder, lock), &(count, wait))| Waits {
            waiter,
            holder,
            lock,
            count,
            wait,
        })
    }
}

impl Cpu {
    /// The call that the CPU serves, or whose direct dispatch it carries out.
    fn site(&self) -> Option<Site> {
        let callback = &self.callback;
        if callback.is_in_progress() {
            return Some(callback.caller.into());
        }
        let (task, by) = self.direct_by?;
        (task == callback.subject && by.op == callback.caller.op).then(|| by.into())
    }
}

impl Kernel {
    /// Records, if waits are recorded, that `c` has taken a lock.
    #[inline]
    pub(crate) fn note_taken(&mut self, c: CpuId, lock: Lock) {
        if self.waits.is_some() {
            self.keep_taken(c, lock);
        }
    }

    #[cold]
    fn keep_taken(&mut self, c: CpuId, lock: Lock) {
        let site = self.cpus[c].site();
        if let (Some(log), Some(lock)) = (&mut self.waits, name(lock)) {
            log.took(lock, site);
        }
    }

    /// Records, if waits are recorded, that `c` has waited for a lock.
    #[inline]
    pub(crate) fn note_wait(&mut self, c: CpuId, lock: Lock, waited: Span) {
        if self.waits.is_some() {
            self.keep_wait(c, lock, waited);
        }
    }

    #[cold]
    fn keep_wait(&mut self, c: CpuId, lock: Lock, waited: Span) {
        let site = self.cpus[c].site();
        if let Some(log) = &mut self.waits {
            log.waited(site, name(lock), waited);
        }
    }
}

fn name(lock: Lock) -> Option<LockName> {
    match lock {
        Lock::Runqueue(_) => None,
        Lock::Dsq(id) => Some(LockName::Queue(id)),
        Lock::Bpf(at) => Some(LockName::Bpf(Ea(at))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::DsqId;

    #[test]
    fn a_wait_is_for_who_took_the_lock_last() {
        let mut log = WaitLog::default();
        let lock = LockName::Queue(DsqId(3));
        let site = |call| Some(Site { origin: Origin::Timer, call });
        log.waited(site(1), Some(lock), Span::from_ns(10));
        log.took(lock, site(2));
        log.waited(site(1), Some(lock), Span::from_ns(5));
        log.waited(site(1), Some(lock), Span::from_ns(7));
        log.waited(None, None, Span::from_ns(1));
        let got: Vec<_> = log.waits().map(|w| (w.waiter, w.holder, w.count, w.wait.as_ns())).collect();
        let expected = [(None, None, 1, 1), (site(1), None, 1, 10), (site(1), site(2), 2, 12)];
        assert_eq!(got, expected);
    }
}
