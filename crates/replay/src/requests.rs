//! Converts changes that tasks, or someone outside, requested from the kernel in a simulated run. A replay makes the
//! same requests.
//!
//! What the kernel did on its own, it does again, such as widening the affinity of a task whose CPUs all went offline.

use crate::builder::Builder;
use crate::task::Task;
use keel_abi::cgroup::{CgroupStep, WEIGHT_MAX, WEIGHT_MIN};
use keel_abi::tape::Op;
use keel_abi::task::Step;
use keel_abi::timeline::Change;
use keel_abi::{CpuId, CpuSet, Span, TaskId};
use keel_trace::{CgroupChange, Request};

/// The nice values of the kernel.
const NICE: std::ops::RangeInclusive<i8> = -20..=19;
/// The shortest and longest slice that a task may request (`__setparam_fair()`).
const SLICE: std::ops::RangeInclusive<Span> = Span::from_us(100)..=Span::from_us(100_000);
/// The maximum span in a request. Longer ones occur only in damaged recordings.
const LONGEST: Span = Span::from_ms(3_600_000);
/// The number of a task's last steps that are searched for an equal one.
const REMEMBERED: usize = 16;

impl Builder {
    /// Notes that someone requests a change.
    pub(crate) fn asks(&mut self, id: TaskId, outside: bool, request: &Request) {
        (self.exact, self.tells_requests) = (true, true);
        match (self.number(id), outside) {
            (Some(number), false) => self.asks_itself(number, request),
            (number, true) => self.asked_from_outside(number, request),
            (None, false) => {}
        }
    }

    fn asks_itself(&mut self, number: u32, request: &Request) {
        match request {
            Request::Slice(slice) => {
                self.task(number).slice = Some((*slice).clamp(*SLICE.start(), *SLICE.end()));
            }
            Request::Hint(hint) => self.task(number).hint = Some(*hint),
            _ => {
                let now = self.now;
                self.begins(number, now, CpuId(0));
                if let Some(step) = self.step(request) {
                    self.task(number).put_step(step);
                }
            }
        }
    }

    /// Returns the step in which a task requests this.
    fn step(&mut self, request: &Request) -> Option<Step> {
        Some(match request {
            Request::Nice(nice) => Step::Nice(possible(*nice)),
            Request::Cpus(cpus) => Step::Affinity(self.on_machine(cpus)),
            Request::Policy(policy) => Step::Policy(*policy),
            Request::RunFor(span) => Step::RunFor((*span).min(LONGEST)),
            Request::MigrateDisable => Step::MigrateDisable,
            Request::MigrateEnable => Step::MigrateEnable,
            Request::Exec => Step::Exec,
            Request::Setsid => Step::Setsid,
            Request::AutogroupNice(nice) => Step::AutogroupNice(possible(*nice)),
            Request::Cgroup { path, change } => Step::Cgroup(self.cgroup_step(path, *change)?),
            Request::Slice(_) | Request::Hint(_) | Request::Offline(_) | Request::Online(_) => return None,
        })
    }

    fn cgroup_step(&mut self, path: &str, change: CgroupChange) -> Option<CgroupStep> {
        let id = self.groups.asked(path, change == CgroupChange::Make)?;
        Some(match change {
            CgroupChange::Join => CgroupStep::Join(id),
            CgroupChange::JoinProcess => CgroupStep::JoinProcess(id),
            CgroupChange::Make => CgroupStep::Make(id),
            CgroupChange::Remove => CgroupStep::Remove(id),
            CgroupChange::Weight(weight) => CgroupStep::Weight(id, weight.clamp(WEIGHT_MIN, WEIGHT_MAX)),
            CgroupChange::Idle(idle) => CgroupStep::Idle(id, idle),
            CgroupChange::Bandwidth(bandwidth) => {
                CgroupStep::Bandwidth(id, crate::groups::possible(bandwidth))
            }
        })
    }

    fn on_machine(&self, cpus: &CpuSet) -> CpuSet {
        self.topology().map_or_else(CpuSet::new, |topology| cpus.and(&CpuSet::first(topology.cpus())))
    }

    fn asked_from_outside(&mut self, spec: Option<u32>, request: &Request) {
        let change = match (request, spec) {
            (Request::Offline(cpu), _) => Change::Offline(CpuSet::from_iter([*cpu])),
            (Request::Online(cpu), _) => Change::Online(CpuSet::from_iter([*cpu])),
            (Request::Nice(nice), Some(spec)) => Change::Nice { spec, nice: possible(*nice) },
            (Request::Policy(policy), Some(spec)) => Change::Policy { spec, policy: *policy },
            (Request::Cpus(cpus), Some(spec)) => {
                let cpus = self.on_machine(cpus);
                if cpus.is_empty() {
                    return;
                }
                Change::Affinity { spec, cpus }
            }
            _ => return,
        };
        let (due, now) = (self.due, self.now);
        self.changes.asked(due, now, change);
    }
}

impl Task {
    /// Puts a step on the tape that costs no more than the work that is not on it yet.
    fn put_step(&mut self, step: Step) {
        if self.ended {
            return;
        }
        self.posts = false;
        if std::mem::take(&mut self.has_paused) {
            // It left the kernel before this step.
            self.tape.push(Op::Kernel(0));
        }
        let first = self.steps.len().saturating_sub(REMEMBERED);
        let known = self.steps[first..].iter().position(|known| *known == step);
        let place = known.map_or(self.steps.len(), |place| first + place);
        if place == self.steps.len() {
            self.steps.push(step);
        }
        // The step that plays comes first.
        self.tape.push(Op::Step(place as u32 + 1));
    }
}

fn possible(nice: i8) -> i8 {
    nice.clamp(*NICE.start(), *NICE.end())
}
