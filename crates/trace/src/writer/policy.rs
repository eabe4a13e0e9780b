//! Writes a decision's record.

use super::{Writer, index_in, kind};
use crate::policy::{Group, GroupClass, Kind, Outcome, Policy};
use keel_abi::Instant;
use std::io::Write;

impl<W: Write> Writer<W> {
    pub(super) fn policy(&mut self, at: Instant, policy: &Policy) {
        self.begin(at, policy.cpu, kind::POLICY);
        self.byte(index_in(&Kind::ALL, &policy.kind));
        self.byte(policy.outcome.map_or(0, |outcome| 1 + index_in(&Outcome::ALL, &outcome)));
        self.number(u64::from(policy.level));
        self.number(u64::from(policy.pid.0));
        self.number(policy.chosen.map_or(0, |cpu| u64::from(cpu.0) + 1));
        self.number(u64::from(policy.moved));
        self.cpu_set(&policy.considered);
        self.number(u64::from(policy.nr_groups));
        self.number(policy.groups.len() as u64);
        for &Group { load, first_cpu, cpus, runnable, class } in &policy.groups {
            self.number(load);
            self.target(first_cpu);
            self.number(u64::from(cpus));
            self.number(u64::from(runnable));
            self.byte(class.map_or(0, |class| 1 + index_in(&GroupClass::ALL, &class)));
        }
    }
}
