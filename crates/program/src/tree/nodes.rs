//! Writes `/sys/devices/system/node`: the machine's nodes, their CPUs, memory and distances.

use super::tasks::words;
use super::{Tree, ranges};
use crate::ProgramError;
use crate::process::MEMORY_BYTES;
use crate::program::Machine;
use keel_abi::{CpuId, CpuSet};
use std::fmt::Write;

/// Distances in `nodeN/distance`: to itself, and the increment per hop.
const NEAR: u32 = 10;
const HOP: u32 = 10;

impl Tree {
    pub(super) fn write_nodes(&mut self, machine: &Machine) -> Result<(), ProgramError> {
        let topology = &machine.topology;
        let nodes = "/sys/devices/system/node";
        let numbers = || (0..topology.nodes()).map(CpuId);
        for name in ["online", "possible", "has_cpu"] {
            self.write(&format!("{nodes}/{name}"), ranges(numbers()) + "\n")?;
        }
        for node in 0..topology.nodes() {
            let cpus: Vec<CpuId> = topology.iter().filter(|&c| topology.place(c).node.0 == node).collect();
            let Some(&first) = cpus.first() else { continue };
            self.write(&format!("{nodes}/node{node}/cpulist"), ranges(cpus.iter().copied()) + "\n")?;
            let set: CpuSet = cpus.iter().copied().collect();
            self.write(&format!("{nodes}/node{node}/cpumap"), words(&set) + "\n")?;
            self.write(&format!("{nodes}/node{node}/meminfo"), meminfo(node, topology.nodes()))?;
            for cpu in &cpus {
                self.make_folder(&format!("{nodes}/node{node}/cpu{}", cpu.0))?;
            }
            let mut row = String::new();
            for other in 0..topology.nodes() {
                let there = topology.iter().find(|&c| topology.place(c).node.0 == other);
                let hops =
                    there.map_or(0, |c| topology.hops(topology.place(first).node, topology.place(c).node));
                let _ = write!(row, "{} ", NEAR + HOP * u32::from(hops));
            }
            self.write(&format!("{nodes}/node{node}/distance"), row.trim_end().to_owned() + "\n")?;
        }
        Ok(())
    }
}

/// Returns a node's memory figures: it has its share of the memory, half of which is free.
fn meminfo(node: u32, nodes: u32) -> String {
    let kib = MEMORY_BYTES / 1024 / u64::from(nodes);
    let free = kib / 2;
    format!(
        "Node {node} MemTotal:       {kib} kB\nNode {node} MemFree:        {free} kB\n\
         Node {node} MemUsed:        {free} kB\n"
    )
}
