//! Machines by name, by number of CPUs, or from a file's text.

use crate::error::LabError;
use keel_abi::Topology;
use keel_kernel::machine::BUILT_IN;

pub use keel_kernel::machine::Machine;

/// The built-in machines: name, and one line on what it is.
pub fn list() -> Vec<(String, String)> {
    let line = |name: &str| built_in(name).map(|machine| shape(&machine.topology)).unwrap_or_default();
    BUILT_IN.iter().map(|(name, _)| ((*name).to_owned(), line(name))).collect()
}

/// A machine's shape in a few words: `16 CPUs, 2 nodes, SMT`.
fn shape(topology: &Topology) -> String {
    let many = |n: u32, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let smt = if topology.has_smt() { ", SMT" } else { "" };
    format!("{}, {}{smt}", many(topology.cpus(), "CPU"), many(topology.nodes(), "node"))
}

/// The built-in machine with this name.
pub fn built_in(name: &str) -> Option<Machine> {
    Machine::built_in(name)
}

/// A server of today with this many CPUs, 1 to [`keel_abi::cpuset::MAX_CPUS`].
pub fn of_cpus(cpus: u32) -> Machine {
    Machine::of_cpus(cpus)
}

/// The machine that a file describes; `name` is the file's, for messages.
pub fn read(name: &str, text: &str) -> Result<Machine, LabError> {
    Machine::parse(text).map_err(|e| LabError::BadInput(format!("{name}, {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_told_in_a_few_words() {
        assert_eq!(shape(&Topology::flat(1)), "1 CPU, 1 node");
        assert_eq!(shape(&Topology::regular(2, 1, 4, 2)), "16 CPUs, 2 nodes, SMT");
    }
}
