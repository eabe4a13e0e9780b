//! Reads the CPUs, cores, LLCs, nodes and their distances.
//!
//! A machine file numbers its CPUs without gaps. Each core is within a cache and each cache within a node. An offline
//! CPU has no place of its own in /sys: it becomes a core of its node, and is off when the machine starts.

use crate::CaptureError;
use crate::tree::Tree;
use keel_abi::{CpuId, CpuSet};

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) cpus: CpuSet,
    pub(crate) llcs: Vec<CpuSet>,
    pub(crate) cores: Vec<CpuSet>,
}

/// A machine's shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) nodes: Vec<Node>,
    /// One row per node. Empty if all nodes are one hop apart.
    pub(crate) hops: Vec<Vec<u32>>,
    pub(crate) offline: CpuSet,
}

impl Shape {
    pub(crate) fn seen(tree: &Tree, unseen: &mut Vec<String>) -> Result<Self, CaptureError> {
        let online = tree.cpus(&format!("{CPUS}/online")).ok_or(CaptureError::NoCpus)?;
        let highest = online.highest().ok_or(CaptureError::NoCpus)?;
        let all = CpuSet::first(highest.0 + 1);
        let offline: CpuSet = all.iter().filter(|&cpu| !online.contains(cpu)).collect();
        let numbers = tree.numbered(NODES, "node");
        let mut left = all.clone();
        let mut nodes: Vec<(Option<u32>, CpuSet)> = Vec::new();
        for number in numbers {
            let cpus = tree.cpus(&format!("{NODES}/node{number}/cpulist")).unwrap_or_default();
            let cpus = cpus.and(&left);
            take(&mut left, &cpus);
            match cpus.is_empty() {
                true => unseen.push(format!("node {number} has memory and no CPUs; it is left out")),
                false => nodes.push((Some(number), cpus)),
            }
        }
        if nodes.is_empty() {
            unseen.push("nodes are unknown; one is assumed".to_owned());
            nodes.push((None, CpuSet::new()));
        }
        // Offline CPUs are in no node's list.
        nodes[0].1 = nodes[0].1.iter().chain(left.iter()).collect();
        let hops = hops(tree, &nodes, unseen);
        let (mut no_cache, mut no_core) = (false, false);
        let made = nodes.into_iter().map(|(_, cpus)| {
            let llcs = parts(&cpus, |cpu| last_level(tree, cpu), &mut no_cache);
            // A core is within one cache.
            let in_cache = |llc: &CpuSet| parts(llc, |cpu| core(tree, cpu), &mut no_core);
            let cores = llcs.iter().flat_map(in_cache).collect();
            Node { cpus, llcs, cores }
        });
        let nodes = made.collect();
        if no_cache {
            unseen.push("caches are unknown; those CPUs of a node are taken to share one".to_owned());
        }
        if no_core {
            unseen.push("cores are unknown; each of those CPUs is taken for one".to_owned());
        }
        Ok(Self { nodes, hops, offline })
    }

    /// Returns the number of CPUs.
    pub(crate) fn cpus(&self) -> usize {
        self.nodes.iter().map(|node| node.cpus.len()).sum()
    }
}

fn take(from: &mut CpuSet, cpus: &CpuSet) {
    for cpu in cpus.iter() {
        from.remove(cpu);
    }
}

/// Divides `cpus` into parts: each CPU with those that it shares something with. `shared` returns these. CPUs without
/// an answer become one part (a cache) or a part each (a core).
fn parts(cpus: &CpuSet, shared: impl Fn(CpuId) -> Shared, unknown: &mut bool) -> Vec<CpuSet> {
    let (mut left, mut parts, mut rest) = (cpus.clone(), Vec::new(), CpuSet::new());
    while let Some(cpu) = left.lowest() {
        let part = match shared(cpu) {
            Shared::With(others) => {
                let mut part = others.and(&left);
                part.insert(cpu);
                part
            }
            Shared::Unknown { alone } => {
                *unknown = true;
                if !alone {
                    rest.insert(cpu);
                    left.remove(cpu);
                    continue;
                }
                CpuSet::from_iter([cpu])
            }
            Shared::Offline => CpuSet::from_iter([cpu]),
        };
        take(&mut left, &part);
        parts.push(part);
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

enum Shared {
    With(CpuSet),
    Unknown { alone: bool },
    Offline,
}

fn is_off(tree: &Tree, cpu: CpuId) -> bool {
    tree.text(&format!("{CPUS}/cpu{}/online", cpu.0)).is_some_and(|text| text == "0")
}

fn last_level(tree: &Tree, cpu: CpuId) -> Shared {
    let folder = format!("{CPUS}/cpu{}/cache", cpu.0);
    let caches = tree.numbered(&folder, "index").into_iter();
    let told = caches.filter_map(|index| {
        let cache = format!("{folder}/index{index}");
        Some((tree.number(&format!("{cache}/level"))?, tree.cpus(&format!("{cache}/shared_cpu_list"))?))
    });
    match told.max_by_key(|(level, _)| *level) {
        Some((_, cpus)) => Shared::With(cpus),
        None if is_off(tree, cpu) => Shared::Offline,
        None => Shared::Unknown { alone: false },
    }
}

fn core(tree: &Tree, cpu: CpuId) -> Shared {
    let file = |name| tree.cpus(&format!("{CPUS}/cpu{}/topology/{name}", cpu.0));
    match file("core_cpus_list").or_else(|| file("thread_siblings_list")) {
        Some(cpus) => Shared::With(cpus),
        None if is_off(tree, cpu) => Shared::Offline,
        None => Shared::Unknown { alone: true },
    }
}

/// Returns the hops between nodes: the rank of their distance among all distances, 0 for the node itself.
fn hops(tree: &Tree, nodes: &[(Option<u32>, CpuSet)], unseen: &mut Vec<String>) -> Vec<Vec<u32>> {
    if nodes.len() < 2 {
        return Vec::new();
    }
    let all = tree.numbered(NODES, "node");
    let place = |number: Option<u32>| all.iter().position(|&n| Some(n) == number);
    let row = |&(number, _): &(Option<u32>, CpuSet)| {
        let text = tree.text(&format!("{NODES}/node{}/distance", number?))?;
        let row: Vec<u32> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        nodes.iter().map(|(other, _)| row.get(place(*other)?).copied()).collect::<Option<Vec<u32>>>()
    };
    let Some(rows) = nodes.iter().map(row).collect::<Option<Vec<_>>>() else {
        unseen.push("distances between nodes are unknown; all are taken to be one hop apart".to_owned());
        return Vec::new();
    };
    let far = |a: usize, b: usize| rows[a][b].max(rows[b][a]);
    let mut known: Vec<u32> =
        (0..rows.len()).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| far(a, b)).collect();
    known.sort_unstable();
    known.dedup();
    let rank = |distance| known.iter().position(|&d| d == distance).map_or(1, |rank| rank as u32 + 1);
    let hops = |a: usize| (0..rows.len()).map(|b| if a == b { 0 } else { rank(far(a, b)) }).collect();
    (0..rows.len()).map(hops).collect()
}
