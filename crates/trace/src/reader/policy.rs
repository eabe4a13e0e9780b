//! Reads a decision's record.

use super::Reader;
use crate::TraceError;
use crate::policy::{Group, GroupClass, Kind, MAX_GROUPS, Outcome, Policy};
use keel_abi::{CpuId, CpuSet, Pid};
use std::io::Read;

/// The first version of the format that contains how busy a group is.
const WITH_CLASSES: u8 = 6;

const BEYOND: &str = "it names a CPU that the machine does not have";

impl<R: Read> Reader<R> {
    pub(super) fn policy(&mut self) -> Result<Policy, TraceError> {
        let (kind, outcome) = (self.input.byte()?, self.input.byte()?);
        let kind = self.one_of(&Kind::ALL, kind, "a decision is of an unknown kind")?;
        let outcome = match outcome.checked_sub(1) {
            Some(number) => Some(self.one_of(&Outcome::ALL, number, "a decision's outcome is unknown")?),
            None => None,
        };
        let (level, pid) = (self.number32()?, Pid(self.number32()?));
        let chosen = self.input.below(u64::from(self.cpus) + 1, BEYOND)?;
        let moved = self.number32()?;
        let considered = self.considered()?;
        let nr_groups = self.number32()?;
        let listed = self.input.below(MAX_GROUPS as u64 + 1, "a decision has too many groups")?;
        let groups = (0..listed).map(|_| self.group()).collect::<Result<Vec<_>, _>>()?;
        Ok(Policy {
            kind,
            level,
            cpu: self.memory.cpu,
            pid,
            chosen: chosen.checked_sub(1).map(|cpu| CpuId(cpu as u32)),
            moved,
            outcome,
            considered,
            nr_groups,
            groups,
        })
    }

    fn considered(&mut self) -> Result<CpuSet, TraceError> {
        let set = self.cpu_set()?;
        match set.highest() {
            Some(last) if last.0 >= self.cpus => Err(self.input.damaged(BEYOND)),
            _ => Ok(set),
        }
    }

    fn group(&mut self) -> Result<Group, TraceError> {
        let (load, first_cpu) = (self.input.number()?, self.target()?);
        let cpus = self.input.below(u64::from(self.cpus.min(u32::from(u16::MAX))) + 1, BEYOND)? as u16;
        let runnable = self.input.below(1 << 16, "a group has too many tasks")? as u16;
        let class = if self.version >= WITH_CLASSES { self.input.byte()? } else { 0 };
        let class = match class.checked_sub(1) {
            Some(number) => Some(self.one_of(&GroupClass::ALL, number, "a group's class is unknown")?),
            None => None,
        };
        Ok(Group { load, first_cpu, cpus, runnable, class })
    }
}
