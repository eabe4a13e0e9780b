//! The speed of a machine's CPUs and how it can change: the `[frequency]` table and `[[capacity]]` tables.

use crate::state::machine::cpu_list::CpuList;
use crate::state::machine::text::{Text, in_range};
use crate::state::machine::{MachineError, Problem};
use keel_abi::{CpuSet, Topology};
use serde::Deserialize;
use std::ops::RangeInclusive;
use toml::Spanned;

/// `SCX_CPUPERF_ONE`: a CPU's full performance, or the capacity of the fastest CPU.
pub const PERF_ONE: u64 = 1024;

/// The range of a frequency or a capacity, in units of [`PERF_ONE`].
const PERF: RangeInclusive<u64> = 1..=PERF_ONE;

/// The range of a time constant in nanoseconds, up to ten seconds.
const NS: RangeInclusive<u64> = 0..=10_000_000_000;

/// The frequency properties of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    /// The lowest frequency, in units of [`PERF_ONE`]. It is [`PERF_ONE`] if the machine has only one frequency.
    pub least: u64,
    /// The time from the governor's decision until the CPU runs at its new frequency.
    pub switch_ns: u64,
    /// How long after a change the governor makes no other (`rate_limit_us` of schedutil).
    pub rate_limit_ns: u64,
}

impl Default for Frequency {
    fn default() -> Self {
        Self { least: PERF_ONE, switch_ns: 0, rate_limit_ns: 0 }
    }
}

impl Frequency {
    pub(super) const NAMES: &'static [&'static str] = &["least", "switch_ns", "rate_limit_ns"];

    /// Returns the constant with this name, and its range.
    pub(super) fn slot(&mut self, name: &str) -> Option<(&mut u64, RangeInclusive<u64>)> {
        match name {
            "least" => Some((&mut self.least, PERF)),
            "switch_ns" => Some((&mut self.switch_ns, NS)),
            "rate_limit_ns" => Some((&mut self.rate_limit_ns, NS)),
            _ => None,
        }
    }
}

/// A `[[capacity]]` table: CPUs that are slower than the fastest ones.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a [[capacity]] table: cpus = \"0-3\", value = 512, source = \"...\""
)]
pub(super) struct CapacityTable {
    cpus: Spanned<CpuList>,
    value: Spanned<u64>,
    source: Spanned<String>,
}

/// Returns the capacity of each CPU (`arch_scale_cpu_capacity()`). The list is empty if all are equal.
pub(super) fn capacities(
    text: Text<'_>,
    tables: &[CapacityTable],
    topology: &Topology,
) -> Result<Vec<u16>, MachineError> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let mut capacity = vec![PERF_ONE as u16; topology.cpus() as usize];
    let mut given = CpuSet::new();
    for table in tables {
        let fail = |field, problem| Err(text.error(table.cpus.span(), field, problem));
        let cpus = match table.cpus.get_ref().read() {
            Ok(cpus) => cpus,
            Err(e) => return fail("capacity.cpus", Problem::BadCpus(e.to_string())),
        };
        if let Some(cpu) = cpus.iter().find(|c| c.0 >= topology.cpus()) {
            let problem = format!("there is no CPU {} on this machine of {}", cpu.0, topology.cpus());
            return fail("capacity.cpus", Problem::BadCpus(problem));
        }
        let twice = cpus.and(&given);
        if !twice.is_empty() {
            return fail("capacity.cpus", Problem::Overlap { cpus: twice, place: "[[capacity]] table" });
        }
        cpus.iter().for_each(|cpu| {
            given.insert(cpu);
        });
        let value = *table.value.get_ref();
        let at = table.value.span();
        in_range(value, PERF).map_err(|problem| text.error(at, "capacity.value", problem))?;
        if table.source.get_ref().trim().is_empty() {
            return Err(text.error(table.source.span(), "capacity.source", Problem::NoSource));
        }
        cpus.iter().for_each(|cpu| capacity[cpu.index()] = value as u16);
    }
    Ok(capacity)
}
