//! The power that a machine's CPUs take at each frequency: `[[energy]]` tables (`struct em_perf_domain`).

use crate::state::machine::cpu_list::CpuList;
use crate::state::machine::frequency::PERF_ONE;
use crate::state::machine::text::{Text, in_range};
use crate::state::machine::{MachineError, Problem};
use keel_abi::{CpuSet, Topology};
use serde::Deserialize;
use std::ops::RangeInclusive;
use toml::Spanned;

/// The range of a CPU's power in milliwatts, up to a kilowatt.
const POWER_MW: RangeInclusive<u64> = 1..=1_000_000;

/// CPUs that change their frequency together (a performance domain), with the power that one of them takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnergyDomain {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Its frequencies, in ascending order.
    pub states: Vec<EnergyState>,
}

/// A frequency of a domain (`struct em_perf_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnergyState {
    /// A CPU's performance at this frequency. [`PERF_ONE`] is that of the fastest CPU of the machine.
    pub performance: u64,
    /// The power of a CPU that is always busy, in milliwatts.
    pub power_mw: u64,
    /// The energy per unit of work, in arbitrary units.
    pub cost: u64,
    /// Whether a faster state takes no more energy for the same work.
    pub is_inefficient: bool,
}

impl EnergyDomain {
    /// Creates a domain from pairs of performance and power (`em_compute_costs()`).
    fn new(cpus: CpuSet, states: &[(u64, u64)]) -> Self {
        let mut least = u64::MAX;
        let mut states: Vec<EnergyState> = states
            .iter()
            .rev()
            .map(|&(performance, power_mw)| {
                // In microwatts, with one more digit for the division, as in the kernel.
                let cost = power_mw * 1000 * 10 / performance;
                let is_inefficient = cost >= least;
                least = least.min(cost);
                EnergyState { performance, power_mw, cost, is_inefficient }
            })
            .collect();
        states.reverse();
        Self { cpus, states }
    }

    /// Returns the domain's energy if its CPUs' total utilization is `util` and the busiest CPU needs `most`
    /// (`em_cpu_energy()`).
    #[must_use]
    pub fn energy(&self, most: u64, util: u64) -> u64 {
        let is_enough = |state: &&EnergyState| state.performance >= most && !state.is_inefficient;
        let state = self.states.iter().find(is_enough).or(self.states.last());
        state.map_or(0, |state| state.cost * util)
    }
}

/// An `[[energy]]` table of the file.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an [[energy]] table: cpus = \"0-3\", states = [[170, 50], [512, 300]], source = \"...\""
)]
pub(super) struct EnergyTable {
    cpus: Spanned<CpuList>,
    states: Spanned<Vec<(u64, u64)>>,
    source: Spanned<String>,
}

/// Returns the machine's energy model, which is empty if it has none.
///
/// # Errors
/// Fails if a CPU is unknown, missing or in two tables, if a state is not faster than the one before it, or if the last
/// state does not match the CPUs' capacity.
pub(super) fn domains(
    text: Text<'_>,
    tables: &[EnergyTable],
    topology: &Topology,
    capacity: &[u16],
) -> Result<Vec<EnergyDomain>, MachineError> {
    let mut domains = Vec::new();
    let mut known = CpuSet::new();
    for table in tables {
        let of_cpus = |problem| text.error(table.cpus.span(), "energy.cpus", Problem::BadCpus(problem));
        let cpus = table.cpus.get_ref().read().map_err(|e| of_cpus(e.to_string()))?;
        for cpu in cpus.iter() {
            if cpu.0 >= topology.cpus() {
                return Err(of_cpus(format!(
                    "there is no CPU {} on this machine of {}",
                    cpu.0,
                    topology.cpus()
                )));
            }
            if known.contains(cpu) {
                return Err(of_cpus(format!("CPU {} has an [[energy]] table already", cpu.0)));
            }
            known.insert(cpu);
        }
        if table.source.get_ref().trim().is_empty() {
            return Err(text.error(table.source.span(), "energy.source", Problem::NoSource));
        }
        let states = table.states.get_ref();
        check_states(states, &cpus, capacity)
            .map_err(|problem| text.error(table.states.span(), "energy.states", problem))?;
        domains.push(EnergyDomain::new(cpus, states));
    }
    let left_out = topology.iter().find(|&cpu| !known.contains(cpu));
    match (tables.last(), left_out) {
        (Some(last), Some(cpu)) => {
            let problem = format!("CPU {} has no [[energy]] table; give each CPU one, or none", cpu.0);
            Err(text.error(last.cpus.span(), "energy.cpus", Problem::BadCpus(problem)))
        }
        _ => Ok(domains),
    }
}

fn check_states(states: &[(u64, u64)], cpus: &CpuSet, capacity: &[u16]) -> Result<(), Problem> {
    let mut slower = 0;
    for &(performance, power_mw) in states {
        in_range(performance, slower + 1..=PERF_ONE)?;
        in_range(power_mw, POWER_MW)?;
        slower = performance;
    }
    for cpu in cpus.iter() {
        let capacity = capacity.get(cpu.index()).map_or(PERF_ONE, |&c| u64::from(c));
        in_range(slower, capacity..=capacity)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example platform of the kernel's sched-energy.rst: the energy for each of three placements of a task.
    #[test]
    fn energy_is_as_in_the_kernels_document() {
        let little = EnergyDomain::new(CpuSet::new(), &[(170, 50), (341, 150), (512, 300)]);
        let big = EnergyDomain::new(CpuSet::new(), &[(512, 400), (768, 800), (1024, 1700)]);
        let check = |domain: &EnergyDomain, most, util, expected_mw: u64| {
            let found = domain.energy(most, util) / 10_000;
            assert_eq!(found, expected_mw, "{most} {util}");
        };
        check(&little, 300, 200 + 300, 219);
        check(&big, 600, 600 + 500, 1145);
        check(&big, 700, 600 + 700, 1354);
        check(&little, 400, 400 + 100, 292);
    }

    /// `EM_PERF_STATE_INEFFICIENT`.
    #[test]
    fn an_inefficient_frequency_is_passed_over() {
        let domain = EnergyDomain::new(CpuSet::new(), &[(256, 300), (512, 400), (1024, 1600)]);
        let skipped: Vec<bool> = domain.states.iter().map(|state| state.is_inefficient).collect();
        assert_eq!(skipped, [true, false, false]);
        assert_eq!(domain.energy(100, 100), domain.energy(400, 100));
    }
}
