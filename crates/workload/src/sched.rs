//! Policies and priorities. Only the fair policies are modelled; a priority is then a nice value.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::Field;
use crate::place::Place;

/// The nice value of a SCHED_IDLE task. The kernel gives such a task weight 3 (of 1024), nice 19
/// weight 15; a sched_ext scheduler sees weight 1 for both (`sched_weight_to_cgroup()`).
pub(crate) const IDLE_NICE: i8 = 19;

/// A policy that is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// SCHED_OTHER, and SCHED_BATCH, which schedulers loaded by sched_ext cannot tell from it.
    Other,
    /// SCHED_IDLE.
    Idle,
}

impl Compiler<'_> {
    /// The policy that a field names.
    pub(crate) fn policy(&mut self, at: &Place<'_>, field: &Field<'_>) -> Result<Policy, WorkloadError> {
        match self.string(at, field.value)? {
            "SCHED_OTHER" => Ok(Policy::Other),
            "SCHED_BATCH" => {
                self.warn(at, "SCHED_BATCH is treated as SCHED_OTHER; rt-app itself does not know it");
                Ok(Policy::Other)
            }
            "SCHED_IDLE" => {
                self.warn(at, "SCHED_IDLE is modelled as nice 19");
                Ok(Policy::Idle)
            }
            name @ ("SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE") => {
                Err(self.error(at, format!("{name} is not modelled; use SCHED_OTHER")))
            }
            name => {
                let problem = format!("there is no policy {}; use SCHED_OTHER or SCHED_IDLE", shown(name));
                Err(self.error(at, problem))
            }
        }
    }

    /// The nice value that a priority field names.
    pub(crate) fn nice(&self, at: &Place<'_>, field: &Field<'_>) -> Result<i8, WorkloadError> {
        let nice = self.integer(at, field.value, -20..=19, "priority of SCHED_OTHER (a nice value)")?;
        Ok(i8::try_from(nice).unwrap_or_default())
    }
}

/// The policy and nice value of a task while its phases go by.
pub(crate) struct Current {
    policy: Policy,
}

impl Current {
    /// A task that starts with this policy and priority, and the nice value that it starts with.
    pub(crate) fn start(policy: Policy, priority: Option<i8>) -> (Self, i8) {
        let nice = match policy {
            Policy::Other => priority.unwrap_or(0),
            Policy::Idle => IDLE_NICE,
        };
        (Self { policy }, nice)
    }

    /// The nice value that a phase sets, if it sets one. As in rt-app, a priority alone keeps
    /// the policy, a policy alone has priority 0, and what neither names stays.
    pub(crate) fn enter(&mut self, policy: Option<Policy>, priority: Option<i8>) -> Option<i8> {
        let before = self.policy;
        self.policy = policy.unwrap_or(before);
        match (self.policy, before) {
            _ if policy.is_none() && priority.is_none() => None,
            (Policy::Idle, Policy::Idle) => None,
            (Policy::Idle, Policy::Other) => Some(IDLE_NICE),
            (Policy::Other, _) => Some(priority.unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_changes_what_it_names() {
        let check = |from, policy, priority, expected| {
            let (mut current, _) = Current::start(from, Some(-3));
            assert_eq!(current.enter(policy, priority), expected, "{from:?} {policy:?} {priority:?}");
        };
        check(Policy::Other, None, None, None);
        check(Policy::Other, None, Some(7), Some(7));
        check(Policy::Other, Some(Policy::Other), None, Some(0));
        check(Policy::Other, Some(Policy::Idle), Some(7), Some(IDLE_NICE));
        check(Policy::Idle, None, Some(7), None);
        check(Policy::Idle, Some(Policy::Idle), None, None);
        check(Policy::Idle, Some(Policy::Other), Some(7), Some(7));
        assert_eq!(Current::start(Policy::Idle, Some(-3)).1, IDLE_NICE);
        assert_eq!(Current::start(Policy::Other, Some(-3)).1, -3);
    }
}
