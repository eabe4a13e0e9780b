//! Reads where a task may run: rt-app's `cpus`, and keel's own `nodes`. Both depend on the machine.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::{Field, no_such};
use crate::place::Place;
use keel_abi::cpuset::BadCpuList;
use keel_abi::{CpuId, CpuSet};
use std::collections::BTreeSet;

impl Compiler<'_> {
    /// Returns the CPUs that a `cpus` field lists.
    pub(crate) fn cpus(&self, at: &Place<'_>, field: &Field<'_>) -> Result<CpuSet, WorkloadError> {
        let numbers = self.numbers(at, field.value, self.topology.cpus() - 1, "CPU")?;
        self.not_empty(at, &numbers)?;
        Ok(numbers.into_iter().map(CpuId).collect())
    }

    /// Returns the CPUs in an extension's field: a list of numbers as in rt-app, or text such as `"1-3,8"`, as in
    /// machine files.
    pub(crate) fn cpu_list(&self, at: &Place<'_>, field: &Field<'_>) -> Result<CpuSet, WorkloadError> {
        let Some(text) = field.value.as_string_lit() else { return self.cpus(at, field) };
        let cpus: CpuSet = text.value.parse().map_err(|e: BadCpuList| {
            self.error(
                at,
                format!("'{}' is not a list of CPUs; write \"1-3,8\" or [1, 2, 3, 8]", shown(&e.0)),
            )
        })?;
        if let Some(cpu) = cpus.iter().find(|cpu| cpu.0 >= self.topology.cpus()) {
            return Err(self.error(at, no_such("CPU", cpu.0, self.topology.cpus())));
        }
        self.not_empty(at, &cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>())?;
        Ok(cpus)
    }

    /// Returns the CPUs of the nodes that a `nodes` field lists.
    pub(crate) fn cpus_of_nodes(&self, at: &Place<'_>, field: &Field<'_>) -> Result<CpuSet, WorkloadError> {
        let nodes = self.node_numbers(at, field)?;
        let cpus = self.topology.cpus_where(|place| nodes.contains(&place.node.0));
        // An empty set would mean every CPU.
        match cpus.is_empty() {
            true => Err(self.error(at, "these nodes have no CPU on this machine")),
            false => Ok(cpus),
        }
    }

    /// Returns the nodes that a field lists.
    pub(crate) fn node_numbers(
        &self,
        at: &Place<'_>,
        field: &Field<'_>,
    ) -> Result<BTreeSet<u32>, WorkloadError> {
        let nodes = self.numbers(at, field.value, self.topology.nodes() - 1, "node")?;
        self.not_empty(at, &nodes)?;
        Ok(nodes.into_iter().collect())
    }

    fn not_empty(&self, at: &Place<'_>, numbers: &[u32]) -> Result<(), WorkloadError> {
        match numbers.is_empty() {
            true => Err(self.error(at, "the list is empty; leave it out to allow every CPU")),
            false => Ok(()),
        }
    }
}
