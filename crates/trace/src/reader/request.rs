//! Reads the records of requests.

use super::Reader;
use crate::format::request;
use crate::{CgroupChange, Request, TraceError};
use keel_abi::task::{Hint, HintPolicy, Policy};
use std::io::Read;

/// The range of real-time priorities.
const URGENCIES: std::ops::RangeInclusive<u8> = 1..=99;

impl<R: Read> Reader<R> {
    pub(super) fn request(&mut self) -> Result<Request, TraceError> {
        let which = self.input.byte()?;
        Ok(match which {
            request::NICE => Request::Nice(self.nice()?),
            request::CPUS => Request::Cpus(self.cpu_set()?),
            request::POLICY => Request::Policy(self.task_policy()?),
            request::OFFLINE => Request::Offline(self.target()?),
            request::ONLINE => Request::Online(self.target()?),
            request::SLICE => Request::Slice(self.span()?),
            request::RUN_FOR => Request::RunFor(self.span()?),
            request::HINT => Request::Hint(self.hint()?),
            request::MIGRATE_DISABLE => Request::MigrateDisable,
            request::MIGRATE_ENABLE => Request::MigrateEnable,
            request::EXEC => Request::Exec,
            request::SETSID => Request::Setsid,
            request::AUTOGROUP_NICE => Request::AutogroupNice(self.nice()?),
            request::CGROUP_JOIN..=request::CGROUP_BANDWIDTH => {
                let path = self.input.text()?;
                Request::Cgroup { path, change: self.cgroup_change(which)? }
            }
            _ => return Err(self.input.damaged("a request is of an unknown kind")),
        })
    }

    fn urgency(&mut self) -> Result<u8, TraceError> {
        let urgency = self.input.byte()?;
        let known = URGENCIES.contains(&urgency).then_some(urgency);
        known.ok_or_else(|| self.input.damaged("a real-time priority is out of range"))
    }

    fn task_policy(&mut self) -> Result<Policy, TraceError> {
        let number = self.number32()?;
        let is = |policy: Policy| policy.number() == number;
        if is(Policy::Fifo(1)) {
            return Ok(Policy::Fifo(self.urgency()?));
        }
        if is(Policy::RoundRobin(1)) {
            return Ok(Policy::RoundRobin(self.urgency()?));
        }
        let others = [Policy::Other, Policy::Batch, Policy::Idle, Policy::Ext];
        let policy = others.into_iter().find(|&policy| is(policy));
        match (policy, self.input.byte()?) {
            (Some(policy), 0) => Ok(policy),
            _ => Err(self.input.damaged("a policy is unknown")),
        }
    }

    fn hint(&mut self) -> Result<Hint, TraceError> {
        let (rt_priority, policy) = (self.urgency()?, self.input.byte()?);
        let policy = [HintPolicy::Fifo, HintPolicy::Rr].into_iter().find(|&known| known as u8 == policy);
        let policy = policy.ok_or_else(|| self.input.damaged("a hint's policy is unknown"))?;
        Ok(Hint { rt_priority, policy })
    }

    fn cgroup_change(&mut self, which: u8) -> Result<CgroupChange, TraceError> {
        Ok(match which {
            request::CGROUP_JOIN => CgroupChange::Join,
            request::CGROUP_JOIN_PROCESS => CgroupChange::JoinProcess,
            request::CGROUP_MAKE => CgroupChange::Make,
            request::CGROUP_REMOVE => CgroupChange::Remove,
            request::CGROUP_WEIGHT => CgroupChange::Weight(self.number32()?),
            request::CGROUP_IDLE => CgroupChange::Idle(true),
            request::CGROUP_NOT_IDLE => CgroupChange::Idle(false),
            _ => CgroupChange::Bandwidth(self.bandwidth()?),
        })
    }
}
