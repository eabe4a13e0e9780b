//! Finds machines by name or number of CPUs, or reads them from a file's text.

use crate::error::LabError;
use keel_abi::Topology;
use keel_kernel::machine::BUILT_IN;

pub use keel_kernel::machine::Machine;

/// Returns the built-in machines: the name of each, and a one-line description.
pub fn list() -> Vec<(String, String)> {
    let line = |name: &str| built_in(name).map(|machine| shape(&machine.topology)).unwrap_or_default();
    BUILT_IN.iter().map(|(name, _)| ((*name).to_owned(), line(name))).collect()
}

/// Returns a machine's topology in a few words: `16 CPUs, 2 nodes, SMT`.
fn shape(topology: &Topology) -> String {
    let many = |n: u32, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let smt = if topology.has_smt() { ", SMT" } else { "" };
    format!("{}, {}{smt}", many(topology.cpus(), "CPU"), many(topology.nodes(), "node"))
}

/// Returns the built-in machine with this name.
pub fn built_in(name: &str) -> Option<Machine> {
    Machine::built_in(name)
}

/// Returns a current server with this many CPUs, 1 to [`keel_abi::cpuset::MAX_CPUS`].
pub fn of_cpus(cpus: u32) -> Machine {
    Machine::of_cpus(cpus)
}

/// Reads the machine that a file describes. `name` is the file's name, for messages.
pub fn read(name: &str, text: &str) -> Result<Machine, LabError> {
    Machine::parse(text).map_err(|e| LabError::BadInput(format!("{name}, {e}")))
}

/// How a constant is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Half of its value.
    Halved,
    /// Twice its value.
    Doubled,
}

/// Returns the names of a machine's constants.
pub fn constants() -> Vec<&'static str> {
    Machine::constant_names().collect()
}

/// Returns the machine with one constant halved or doubled, within its range, or `None` if that changes nothing or
/// there is no such constant.
pub fn scaled(machine: &Machine, constant: &str, scale: Scale) -> Option<Machine> {
    let mut machine = machine.clone();
    let (value, range) = machine.constant(constant)?;
    let wanted = match scale {
        Scale::Halved => *value / 2,
        Scale::Doubled => value.saturating_mul(2),
    };
    let before = std::mem::replace(value, wanted.clamp(*range.start(), *range.end()));
    (before != *value).then_some(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_constant_is_varied_at_a_time() {
        let machine = of_cpus(2);
        let doubled = scaled(&machine, "hop_ps", Scale::Doubled).unwrap();
        assert_eq!(doubled.lines.hop_ps, machine.lines.hop_ps * 2);
        assert_eq!(doubled.costs, machine.costs);
        let halved = scaled(&machine, "ipi_ns", Scale::Halved).unwrap();
        assert_eq!(halved.costs.ipi_ns, machine.costs.ipi_ns / 2);
        assert_eq!(scaled(&machine, "lock_per_waiter_ns", Scale::Doubled), None, "it is 0");
        let share = scaled(&machine, "smt_shared_per_mille", Scale::Doubled).unwrap();
        assert_eq!(share.costs.smt_shared_per_mille, 1000, "no faster than alone");
        assert_eq!(scaled(&machine, "speed", Scale::Halved), None);
        assert!(constants().contains(&"insn_ps") && constants().contains(&"memory_ps"));
    }

    #[test]
    fn shapes_are_described_briefly() {
        assert_eq!(shape(&Topology::flat(1)), "1 CPU, 1 node");
        assert_eq!(shape(&Topology::regular(2, 1, 4, 2)), "16 CPUs, 2 nodes, SMT");
    }
}
