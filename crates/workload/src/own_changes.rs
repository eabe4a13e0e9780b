//! Reads steps in which a task changes itself: its nice value, its CPUs, its policy.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::place::Place;
use keel_abi::task::{Policy, Step};

/// The default priority of a real-time policy, as in rt-app.
const RT_DEFAULT: i64 = 10;

impl<'a> Compiler<'a> {
    pub(crate) fn nice_step(&self, at: &Place<'_>, word: &Field<'a>) -> Result<Step, WorkloadError> {
        let nice = self.integer(at, word.value, -20..=19, "nice value")?;
        Ok(Step::Nice(nice as i8))
    }

    /// Reads a policy's name, or an object with the name and the priority.
    pub(crate) fn policy_step(&self, at: &Place<'_>, word: &Field<'a>) -> Result<Step, WorkloadError> {
        if word.value.as_object().is_none() {
            return self.policy_of(at, self.string(at, word.value)?, None);
        }
        let (mut name, mut priority) = (None, None);
        for part in fields(self.object(at, word.value)?, |_| false).list {
            let at = at.child(part.key, part.start);
            match part.key {
                "name" => name = Some(self.string(&at, part.value)?),
                "priority" => {
                    let what = "priority of a real-time policy";
                    priority = Some(self.integer(&at, part.value, 1..=99, what)?);
                }
                _ => return Err(self.error(&at, "has no meaning here; there are name, priority")),
            }
        }
        let name = name.ok_or_else(|| self.error(at, "needs the policy in \"name\""))?;
        self.policy_of(at, name, priority)
    }

    fn policy_of(&self, at: &Place<'_>, name: &str, priority: Option<i64>) -> Result<Step, WorkloadError> {
        let urgency = priority.unwrap_or(RT_DEFAULT) as u8;
        let policy = match name {
            "SCHED_FIFO" => Policy::Fifo(urgency),
            "SCHED_RR" => Policy::RoundRobin(urgency),
            _ if priority.is_some() => {
                return Err(self.error(at, "only SCHED_FIFO and SCHED_RR have a priority here; use nice"));
            }
            "SCHED_OTHER" => Policy::Other,
            "SCHED_BATCH" => Policy::Batch,
            "SCHED_IDLE" => Policy::Idle,
            "SCHED_EXT" => Policy::Ext,
            other => {
                let problem = format!(
                    "there is no policy {}; use SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_EXT, SCHED_FIFO or SCHED_RR",
                    shown(other)
                );
                return Err(self.error(at, problem));
            }
        };
        Ok(Step::Policy(policy))
    }
}
