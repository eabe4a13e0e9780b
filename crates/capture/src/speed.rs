//! Reads the CPUs' capacities, and the frequencies that the governor chooses from.

use crate::file::Machine;
use crate::shape::Shape;
use crate::tree::Tree;
use keel_abi::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// The full performance of a CPU (`SCHED_CAPACITY_SCALE`).
const ONE: u64 = 1024;
/// `CPUFREQ_ETERNAL`: the driver does not know.
const UNKNOWN: u64 = u32::MAX as u64;
const MOST_NS: u64 = 10_000_000_000;

pub(crate) fn see(tree: &Tree, shape: &Shape, machine: &mut Machine, unseen: &mut Vec<String>) {
    let all: Vec<CpuId> = shape.nodes.iter().flat_map(|node| node.cpus.iter()).collect();
    let file = |cpu: &CpuId, name: &str| format!("sys/devices/system/cpu/cpu{}/{name}", cpu.0);
    let mut capacities: BTreeMap<u64, CpuSet> = BTreeMap::new();
    for cpu in &all {
        if let Some(capacity) = tree.number(&file(cpu, "cpu_capacity"))
            && (1..ONE).contains(&capacity)
        {
            capacities.entry(capacity).or_default().insert(*cpu);
        }
    }
    machine.capacity = capacities.into_iter().map(|(value, cpus)| (cpus, value)).collect();
    let Some(cpu) = all.iter().find(|cpu| tree.number(&file(cpu, "cpufreq/cpuinfo_max_freq")).is_some())
    else {
        machine.constant(
            "frequency",
            "least",
            ONE,
            "no cpufreq driver: Linux does not change frequencies".to_owned(),
        );
        return;
    };
    let number = |name: &str| tree.number(&file(cpu, &format!("cpufreq/{name}")));
    let (least, most) = (number("cpuinfo_min_freq"), number("cpuinfo_max_freq"));
    match (least, most) {
        (Some(least), Some(most)) if least > 0 && least <= most => {
            let source = format!("cpuinfo_min_freq and cpuinfo_max_freq: {least} of {most} kHz");
            let part = u128::from(least) * u128::from(ONE) / u128::from(most);
            machine.constant("frequency", "least", (part as u64).max(1), source);
        }
        _ => unseen.push("the lowest frequency is unknown".to_owned()),
    }
    match number("cpuinfo_transition_latency").filter(|&ns| ns != UNKNOWN && ns <= MOST_NS) {
        Some(ns) => machine.constant("frequency", "switch_ns", ns, "cpuinfo_transition_latency".to_owned()),
        None => unseen.push("how long a frequency change takes is unknown".to_owned()),
    }
    if let Some(us) = number("schedutil/rate_limit_us").filter(|&us| us <= MOST_NS / 1000) {
        machine.constant("frequency", "rate_limit_ns", us * 1000, "schedutil/rate_limit_us".to_owned());
    }
    match tree.text(&file(cpu, "cpufreq/scaling_governor")) {
        Some(governor) if governor != "schedutil" => {
            machine.remark(&format!("the governor is {governor}; simulated machines have schedutil"));
        }
        _ => {}
    }
}
