//! Reads policies and priorities. A priority is a nice value, or 1 to 99 under a real-time policy.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::Field;
use crate::place::Place;
use keel_abi::task::{self, Step};

/// The nice value of a SCHED_IDLE task. The kernel gives such a task weight 3 (of 1024), and one with nice 19 weight
/// 15. A sched_ext scheduler sees weight 1 for both (`sched_weight_to_cgroup()`).
pub(crate) const IDLE_NICE: i8 = 19;

/// The default priority of a real-time task, as in rt-app.
const RT_DEFAULT: i8 = 10;

/// A supported policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// SCHED_OTHER.
    Other,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_EXT, which rt-app does not know.
    Ext,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    RoundRobin,
}

impl Policy {
    fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin)
    }
}

impl Compiler<'_> {
    /// Returns the policy that a field names.
    pub(crate) fn policy(&mut self, at: &Place<'_>, field: &Field<'_>) -> Result<Policy, WorkloadError> {
        match self.string(at, field.value)? {
            "SCHED_OTHER" => Ok(Policy::Other),
            "SCHED_BATCH" => {
                self.warn(at, "SCHED_BATCH is an extension of keel's; rt-app does not have it");
                Ok(Policy::Batch)
            }
            "SCHED_EXT" => {
                self.warn(at, "SCHED_EXT is an extension of keel's; rt-app does not have it");
                Ok(Policy::Ext)
            }
            "SCHED_IDLE" => {
                self.warn(at, "SCHED_IDLE is modelled as nice 19");
                Ok(Policy::Idle)
            }
            "SCHED_FIFO" => Ok(Policy::Fifo),
            "SCHED_RR" => Ok(Policy::RoundRobin),
            "SCHED_DEADLINE" => Err(self.unsupported(at, "SCHED_DEADLINE is not modelled; use SCHED_FIFO")),
            name => {
                let problem = format!(
                    "there is no policy {}; use SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_EXT, SCHED_FIFO or SCHED_RR",
                    shown(name)
                );
                Err(self.error(at, problem))
            }
        }
    }

    /// Reads a priority field under a policy.
    pub(crate) fn priority(
        &self,
        at: &Place<'_>,
        field: Option<&Field<'_>>,
        policy: Policy,
    ) -> Result<Option<i8>, WorkloadError> {
        let Some(field) = field else { return Ok(None) };
        let at = at.child(field.key, field.start);
        let priority = match policy.is_real_time() {
            true => self.integer(&at, field.value, 1..=99, "priority of a real-time policy")?,
            false => self.integer(&at, field.value, -20..=19, "priority of SCHED_OTHER (a nice value)")?,
        };
        Ok(i8::try_from(priority).ok())
    }
}

/// The policy and real-time priority of a task at some point of its phases.
pub(crate) struct Current {
    policy: Policy,
    rt_priority: i8,
}

impl Current {
    /// Returns the state of a task that starts with this policy and priority, and its initial policy and nice value.
    pub(crate) fn start(policy: Policy, priority: Option<i8>) -> (Self, task::Policy, i8) {
        let nice = match policy {
            Policy::Other | Policy::Batch | Policy::Ext => priority.unwrap_or(0),
            Policy::Idle => IDLE_NICE,
            Policy::Fifo | Policy::RoundRobin => 0,
        };
        let current = Self { policy, rt_priority: priority.unwrap_or(RT_DEFAULT) };
        let policy = current.shown();
        (current, policy, nice)
    }

    fn shown(&self) -> task::Policy {
        let priority = self.rt_priority.unsigned_abs();
        match self.policy {
            Policy::Other => task::Policy::Other,
            Policy::Batch => task::Policy::Batch,
            Policy::Ext => task::Policy::Ext,
            Policy::Idle => task::Policy::Idle,
            Policy::Fifo => task::Policy::Fifo(priority),
            Policy::RoundRobin => task::Policy::RoundRobin(priority),
        }
    }

    /// Returns the steps for the policy and priority that a phase sets. As in rt-app, a priority alone keeps the
    /// policy, a policy alone has its default priority, and without either nothing changes.
    pub(crate) fn enter(&mut self, policy: Option<Policy>, priority: Option<i8>) -> Vec<Step> {
        let (before, shown) = (self.policy, self.shown());
        if policy.is_none() && priority.is_none() {
            return Vec::new();
        }
        self.policy = policy.unwrap_or(before);
        let nice = match (self.policy, before) {
            (Policy::Fifo | Policy::RoundRobin, _) => {
                self.rt_priority = priority.unwrap_or(RT_DEFAULT);
                None
            }
            (Policy::Idle, Policy::Idle) => None,
            (Policy::Idle, _) => Some(IDLE_NICE),
            (Policy::Other | Policy::Batch | Policy::Ext, _) => Some(priority.unwrap_or(0)),
        };
        let changed = Some(self.shown()).filter(|&policy| policy != shown).map(Step::Policy);
        changed.into_iter().chain(nice.map(Step::Nice)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_changes_what_it_names() {
        let check = |from, policy, priority, expected: &[Step]| {
            let (mut current, ..) = Current::start(from, Some(3));
            assert_eq!(current.enter(policy, priority), expected, "{from:?} {policy:?} {priority:?}");
        };
        let to = Step::Policy;
        check(Policy::Other, None, None, &[]);
        check(Policy::Other, None, Some(7), &[Step::Nice(7)]);
        check(Policy::Other, Some(Policy::Other), None, &[Step::Nice(0)]);
        check(Policy::Other, Some(Policy::Idle), Some(7), &[to(task::Policy::Idle), Step::Nice(IDLE_NICE)]);
        check(Policy::Other, Some(Policy::Ext), None, &[to(task::Policy::Ext), Step::Nice(0)]);
        check(Policy::Ext, Some(Policy::Batch), Some(3), &[to(task::Policy::Batch), Step::Nice(3)]);
        check(Policy::Idle, None, Some(7), &[]);
        check(Policy::Idle, Some(Policy::Idle), None, &[]);
        check(Policy::Idle, Some(Policy::Other), Some(7), &[to(task::Policy::Other), Step::Nice(7)]);
        check(Policy::Other, Some(Policy::Fifo), Some(7), &[to(task::Policy::Fifo(7))]);
        check(Policy::Other, Some(Policy::RoundRobin), None, &[to(task::Policy::RoundRobin(10))]);
        check(Policy::Fifo, None, None, &[]);
        check(Policy::Fifo, None, Some(3), &[]);
        check(Policy::Fifo, None, Some(4), &[to(task::Policy::Fifo(4))]);
        check(Policy::Fifo, Some(Policy::RoundRobin), Some(3), &[to(task::Policy::RoundRobin(3))]);
        check(Policy::Fifo, Some(Policy::Other), Some(-5), &[to(task::Policy::Other), Step::Nice(-5)]);
        check(Policy::RoundRobin, Some(Policy::Idle), None, &[to(task::Policy::Idle), Step::Nice(19)]);
    }

    #[test]
    fn a_task_starts_with_its_policy_and_nice_value() {
        let check = |policy, priority, expected| {
            let (_, policy, nice) = Current::start(policy, priority);
            assert_eq!((policy, nice), expected);
        };
        check(Policy::Idle, Some(-3), (task::Policy::Idle, IDLE_NICE));
        check(Policy::Ext, Some(-3), (task::Policy::Ext, -3));
        check(Policy::Other, Some(-3), (task::Policy::Other, -3));
        check(Policy::Fifo, Some(99), (task::Policy::Fifo(99), 0));
        check(Policy::RoundRobin, None, (task::Policy::RoundRobin(10), 0));
    }
}
