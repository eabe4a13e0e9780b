//! The facts that a recipe can ask of a machine, by name.

use crate::action::Value;
use keel_abi::{CpuId, CpuSet, Topology};

/// The names of facts: numbers first, then lists that have one number per possible CPU, except `online_cpus`, which
/// lists CPUs.
pub const NAMES: &[&str] = &[
    "cpus",
    "nodes",
    "llcs",
    "cores",
    "smt",
    "page_bytes",
    "cpu_ids",
    "online_cpus",
    "node_of_cpu",
    "llc_of_cpu",
    "core_of_cpu",
    "sibling_of_cpu",
    "pairs",
    "partner_of_cpu",
    "pair_of_cpu",
    "half_of_cpu",
];

/// The facts of a machine that recipes use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The place of every possible CPU.
    pub topology: Topology,
    /// The CPUs that are online.
    pub online: CpuSet,
    /// The size of a page in bytes.
    pub page_bytes: u64,
}

impl Facts {
    /// Returns a fact by its name.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let topology = &self.topology;
        let each = |number: &dyn Fn(CpuId) -> u32| {
            Value::List(topology.iter().map(|cpu| i128::from(number(cpu))).collect())
        };
        let different = |value: Value| match value {
            Value::List(mut all) => {
                all.sort_unstable();
                all.dedup();
                Value::One(all.len() as i128)
            }
            one @ Value::One(_) => one,
        };
        let (node, llc) = (|cpu| topology.place(cpu).node.0, |cpu| topology.place(cpu).llc.0);
        let core = |cpu| topology.place(cpu).core.0;
        Some(match name {
            "cpus" => Value::One(topology.cpus().into()),
            "nodes" => Value::One(topology.nodes().into()),
            "llcs" => different(each(&llc)),
            "cores" => different(each(&core)),
            "smt" => Value::One(topology.has_smt().into()),
            "page_bytes" => Value::One(self.page_bytes.into()),
            "cpu_ids" => each(&|cpu| cpu.0),
            "online_cpus" => Value::List(self.online.iter().map(|cpu| i128::from(cpu.0)).collect()),
            "node_of_cpu" => each(&node),
            "llc_of_cpu" => each(&llc),
            "core_of_cpu" => each(&core),
            "pairs" => Value::One(pairs(topology).into()),
            "partner_of_cpu" => each(&|cpu| partner(topology, cpu)),
            "pair_of_cpu" => each(&|cpu| cpu.0.min(partner(topology, cpu))),
            "half_of_cpu" => each(&|cpu| u32::from(partner(topology, cpu) < cpu.0)),
            "sibling_of_cpu" => each(&|cpu| sibling(topology, cpu).0),
            _ => return None,
        })
    }
}

fn pairs(topology: &Topology) -> u32 {
    topology.cpus() / 2
}

/// Returns the CPU that is half the machine away. With an odd number of CPUs, the last one has none and gets itself.
fn partner(topology: &Topology, cpu: CpuId) -> u32 {
    let pairs = pairs(topology);
    match cpu.0 {
        n if n < pairs => n + pairs,
        n if n < 2 * pairs => n - pairs,
        n => n,
    }
}

/// Returns the next CPU of the same core, cyclically. A CPU without siblings gets itself.
fn sibling(topology: &Topology, cpu: CpuId) -> CpuId {
    let core = topology.place(cpu).core;
    let siblings: Vec<CpuId> = topology.iter().filter(|&other| topology.place(other).core == core).collect();
    siblings.iter().copied().find(|&other| other > cpu).unwrap_or(siblings[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_known_by_their_names() {
        let topology = Topology::regular(2, 1, 2, 2);
        let online = [0, 1, 2, 3, 4, 5, 7].map(CpuId).into_iter().collect();
        let facts = Facts { topology, online, page_bytes: 4096 };
        let list = |numbers: [i128; 8]| Value::List(numbers.into());
        let check = |name, expected| assert_eq!(facts.get(name), Some(expected), "{name}");
        check("cpus", Value::One(8));
        check("nodes", Value::One(2));
        check("llcs", Value::One(2));
        check("cores", Value::One(4));
        check("smt", Value::One(1));
        check("page_bytes", Value::One(4096));
        check("cpu_ids", list([0, 1, 2, 3, 4, 5, 6, 7]));
        check("online_cpus", Value::List(vec![0, 1, 2, 3, 4, 5, 7]));
        check("node_of_cpu", list([0, 0, 0, 0, 1, 1, 1, 1]));
        check("llc_of_cpu", list([0, 0, 0, 0, 1, 1, 1, 1]));
        check("core_of_cpu", list([0, 0, 1, 1, 2, 2, 3, 3]));
        check("sibling_of_cpu", list([1, 0, 3, 2, 5, 4, 7, 6]));
        check("pairs", Value::One(4));
        check("partner_of_cpu", list([4, 5, 6, 7, 0, 1, 2, 3]));
        check("pair_of_cpu", list([0, 1, 2, 3, 0, 1, 2, 3]));
        check("half_of_cpu", list([0, 0, 0, 0, 1, 1, 1, 1]));
        assert!(NAMES.iter().all(|name| facts.get(name).is_some()));
        assert_eq!(facts.get("speed"), None);
    }
}
