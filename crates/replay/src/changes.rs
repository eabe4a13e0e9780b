//! Collects changes to tasks and CPUs from outside, at the recorded times.

use keel_abi::task::Policy;
use keel_abi::timeline::{Change, Happening, MAX_HAPPENINGS};
use keel_abi::{CpuId, CpuSet, Instant, Span};
use std::collections::BTreeMap;

/// The changes so far.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    list: Vec<Happening>,
    left_out: u64,
    /// The last nice value and CPUs of tasks that changed, by number.
    tasks: BTreeMap<u32, (i8, CpuSet)>,
    /// The last policy of tasks that changed, by number.
    policies: BTreeMap<u32, Policy>,
    /// When the last requested change was due.
    due: Option<Instant>,
}

impl Changes {
    /// Notes that someone has requested a change that was due at `due`. Changes that are due at the same time belong
    /// together.
    pub(crate) fn asked(&mut self, due: Option<Instant>, now: Instant, change: Change) {
        let follows = due.is_some() && self.due == due;
        self.due = due;
        self.add_as(due.unwrap_or(now).max(Instant::ZERO + Span::from_ns(1)), change, follows);
    }

    /// Ends the previous request: what follows does not belong to it.
    pub(crate) fn asked_all(&mut self) {
        self.due = None;
    }

    fn add(&mut self, at: Instant, change: Change) {
        self.add_as(at, change, false);
    }

    fn add_as(&mut self, at: Instant, change: Change, follows: bool) {
        if self.list.len() >= MAX_HAPPENINGS {
            self.left_out += 1;
            return;
        }
        // At 0, tasks have their initial settings, and CPUs that go offline are absent.
        let at = at.since(Instant::ZERO);
        self.list.push(Happening { at, every: None, times: None, follows, change });
    }

    /// Notes that a CPU goes online or offline.
    pub(crate) fn online(&mut self, at: Instant, cpu: CpuId, up: bool) {
        let cpus = CpuSet::from_iter([cpu]);
        self.add(at, if up { Change::Online(cpus) } else { Change::Offline(cpus) });
    }

    /// Notes a task's current nice value and CPUs. `begun` are those with which it began.
    pub(crate) fn task(&mut self, at: Instant, number: u32, begun: (i8, &CpuSet), now: (i8, &CpuSet)) {
        let last = self.tasks.get(&number).cloned().unwrap_or((begun.0, begun.1.clone()));
        let at = at.max(Instant::ZERO + Span::from_ns(1));
        if last.0 != now.0 {
            self.add(at, Change::Nice { spec: number, nice: now.0.clamp(-20, 19) });
        }
        if last.1 != *now.1 && !now.1.is_empty() {
            self.add(at, Change::Affinity { spec: number, cpus: now.1.clone() });
        }
        if last.0 != now.0 || last.1 != *now.1 {
            self.tasks.insert(number, (now.0, now.1.clone()));
        }
    }

    /// Notes a task's current policy. `begun` is the one with which it began.
    pub(crate) fn policy(&mut self, at: Instant, number: u32, begun: Policy, now: Policy) {
        if self.policies.get(&number).copied().unwrap_or(begun) == now {
            return;
        }
        self.policies.insert(number, now);
        self.add(at.max(Instant::ZERO + Span::from_ns(1)), Change::Policy { spec: number, policy: now });
    }

    /// Returns all changes, and the number that did not fit.
    pub(crate) fn timeline(self) -> (Vec<Happening>, u64) {
        (self.list, self.left_out)
    }
}
