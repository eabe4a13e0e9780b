//! What the decisions around a finding looked at, like the Wasted Cores paper's profile of a confirmed violation of its
//! invariant: for 20 ms from a finding's beginning, which CPUs and groups were considered on behalf of its idle CPUs,
//! and where its tasks were placed.
//!
//! This needs policy events in the stream. They are the scheduler's own claims, so no judgement depends on them.

use crate::finding::Finding;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId};
use keel_trace::policy::{Kind, Outcome};
use keel_trace::{Class, Event, Meta, Policy, Sink};
use std::collections::{BTreeMap, VecDeque};

/// How much of a finding is profiled, from its beginning.
pub const PROFILED: Span = Span::from_ms(20);
/// The number of decisions that are kept, the latest ones.
const KEPT: usize = 1 << 16;
/// The most rows for one finding.
const ROWS: usize = 12;

/// Equal decisions: of one kind, at one level, by or for one CPU, with one outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedAt {
    /// The last of them.
    pub policy: Policy,
    /// When the first of them was made.
    pub first: Instant,
    /// How many there were.
    pub times: u32,
    /// The CPUs that any of them looked at.
    pub considered: CpuSet,
}

/// The latest decisions of a stream.
#[derive(Clone, Debug, Default)]
pub struct DecisionLog {
    decisions: VecDeque<(Instant, Policy)>,
    pids: BTreeMap<TaskId, Pid>,
}

impl DecisionLog {
    /// The decisions in the first 20 ms of a finding, in order of time: balancing attempts for its CPUs, and the last
    /// placement of each of its tasks before or in that time.
    pub fn around(&self, finding: &Finding) -> Vec<LookedAt> {
        let pids: Vec<Pid> = finding.tasks.iter().filter_map(|task| self.pids.get(task).copied()).collect();
        let cpus: CpuSet = finding.cpus.iter().copied().collect();
        self.within(finding.start, finding.duration, &cpus, &pids)
    }

    /// Like `around` for CPUs and tasks, from `start` on, for `duration` or 20 ms.
    pub fn within(&self, start: Instant, duration: Span, cpus: &CpuSet, pids: &[Pid]) -> Vec<LookedAt> {
        let end = start + duration.min(PROFILED);
        let until_end = || self.decisions.iter().take_while(move |(at, _)| *at <= end);
        let balancings = until_end()
            .filter(|(at, policy)| *at >= start && policy.kind.is_balancing() && cpus.contains(policy.cpu));
        let placements = pids.iter().filter_map(|&pid| {
            until_end().filter(|(_, policy)| !policy.kind.is_balancing() && policy.pid == pid).last()
        });
        let mut rows: BTreeMap<Key, LookedAt> = BTreeMap::new();
        for &(at, ref policy) in placements.chain(balancings) {
            let row = rows.entry(key(policy)).or_insert_with(|| LookedAt {
                policy: policy.clone(),
                first: at,
                times: 0,
                considered: CpuSet::new(),
            });
            row.times += 1;
            row.policy.clone_from(policy);
            for cpu in policy.considered.iter() {
                row.considered.insert(cpu);
            }
        }
        let mut rows: Vec<LookedAt> = rows.into_values().collect();
        rows.sort_by_key(|row| row.first);
        rows.truncate(ROWS);
        rows
    }

    fn receive(&mut self, at: Instant, policy: &Policy) {
        if matches!(policy.kind, Kind::Domains) {
            return;
        }
        if self.decisions.len() == KEPT {
            self.decisions.pop_front();
        }
        self.decisions.push_back((at, policy.clone()));
    }
}

/// Decisions with the same key form one row.
type Key = (CpuId, Kind, u32, Option<Outcome>, Pid);

fn key(policy: &Policy) -> Key {
    (policy.cpu, policy.kind, policy.level, policy.outcome, policy.pid)
}

impl Sink for DecisionLog {
    fn wants(&self) -> Class {
        Class::POLICY
    }

    fn events(&mut self, _: &[Event]) {}

    fn meta(&mut self, at: Instant, meta: &Meta) {
        match meta {
            Meta::Policy(policy) => self.receive(at, policy),
            Meta::Task(task) => {
                self.pids.insert(task.task, task.pid);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Blame, Kind as FindingKind};

    fn ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    /// A decision by or for a CPU, about a pid (0 for balancing), that looks at one CPU.
    fn decision(cpu: u32, pid: u32, looks_at: u32) -> Policy {
        let kind = if pid == 0 { Kind::NewIdle } else { Kind::Wakeup };
        let considered = [CpuId(looks_at)].into_iter().collect();
        let outcome = Some(Outcome::Balanced);
        Policy { pid: Pid(pid), considered, outcome, ..Policy::of(kind, CpuId(cpu)) }
    }

    fn finding(from: u64, to: u64) -> Finding {
        Finding {
            kind: FindingKind::WastedCore,
            blame: Blame::Scheduler,
            start: ms(from),
            duration: Span::from_ms(to - from),
            threshold: Span::ZERO,
            cpus: vec![CpuId(4)],
            tasks: vec![TaskId(7)],
            events: Vec::new(),
            decision: None,
            text: String::new(),
        }
    }

    /// Rows as `cpu times: CPUs looked at`.
    fn rows(decisions: &[(u64, Policy)], finding: &Finding) -> Vec<String> {
        let mut log = DecisionLog::default();
        log.pids.insert(TaskId(7), Pid(70));
        for (at, policy) in decisions {
            log.meta(ms(*at), &Meta::Policy(Box::new(policy.clone())));
        }
        let row = |row: &LookedAt| format!("{} {}: {}", row.policy.cpu, row.times, row.considered);
        log.around(finding).iter().map(row).collect()
    }

    #[test]
    fn decisions_for_its_cpus_and_tasks_are_added_up() {
        let decisions = [
            (1, decision(1, 70, 5)),
            (2, decision(1, 70, 6)),
            (3, decision(2, 71, 6)),
            (9, decision(4, 0, 1)),
            (11, decision(4, 0, 2)),
            (12, decision(4, 0, 3)),
            (13, decision(5, 0, 7)),
            (31, decision(4, 0, 8)),
        ];
        let check = |from, to, expected: &[&str]| assert_eq!(rows(&decisions, &finding(from, to)), expected);
        check(10, 50, &["1 1: 6", "4 2: 2-3"]);
        check(10, 11, &["1 1: 6", "4 1: 2"]);
        check(0, 1, &["1 1: 5"]);
        check(14, 40, &["1 1: 6", "4 1: 8"]);
    }
}
