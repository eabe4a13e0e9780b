//! Reads the topology of a machine file: regular counts, or nodes with their lists of CPUs, and the hops between nodes.

use crate::state::machine::cpu_list::CpuList;
use crate::state::machine::regular::{Regular, one_hop};
use crate::state::machine::text::Text;
use crate::state::machine::{MAX_CPUS, MachineError, Problem};
use keel_abi::topology::Place;
use keel_abi::{CoreId, CpuId, CpuSet, LlcId, NodeId, Topology};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a [topology] table: nodes = 2, llcs_per_node = 1, cores_per_llc = 8"
)]
pub(super) struct RegularTable {
    nodes: Option<Spanned<u32>>,
    llcs_per_node: Option<u32>,
    cores_per_llc: Option<u32>,
    threads_per_core: Option<u32>,
    numbering: Option<Numbering>,
    hops: Option<Spanned<Vec<Vec<u8>>>>,
    links: Option<Spanned<Vec<[usize; 2]>>>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Numbering {
    /// The threads of a core have consecutive numbers.
    Adjacent,
    /// All first threads come before all second ones.
    ThreadsLast,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[node]] table: cpus = \"0-7\"")]
pub(super) struct NodeTable {
    cpus: Spanned<CpuList>,
    llcs: Option<Vec<Spanned<CpuList>>>,
    cores: Option<Vec<Spanned<CpuList>>>,
}

/// Returns the topology that a file's tables describe.
pub(super) fn read(
    text: Text<'_>,
    table: Option<Spanned<RegularTable>>,
    nodes: &[Spanned<NodeTable>],
) -> Result<Topology, MachineError> {
    let regular = table.as_ref().is_some_and(|t| t.get_ref().nodes.is_some());
    if regular != nodes.is_empty() {
        let at = nodes.first().map_or(0..0, Spanned::span);
        return Err(text.error(at, "topology", Problem::NoShape));
    }
    let places = match &table {
        Some(table) if regular => regular_places(text, table)?,
        _ => Explicit::default().read(text, nodes)?,
    };
    let count = 1 + places.iter().map(|p| p.node.index()).max().expect("there is a CPU");
    let hops = read_hops(text, table.as_ref().map(Spanned::get_ref), count)?;
    Ok(Topology::new(places, hops))
}

fn regular_places(text: Text<'_>, table: &Spanned<RegularTable>) -> Result<Vec<Place>, MachineError> {
    let t = table.get_ref();
    let or_one = |n: Option<u32>| n.unwrap_or(1);
    let regular = Regular {
        nodes: t.nodes.as_ref().map_or(1, |n| *n.get_ref()),
        llcs: or_one(t.llcs_per_node),
        cores: or_one(t.cores_per_llc),
        threads: or_one(t.threads_per_core),
        threads_last: t.numbering == Some(Numbering::ThreadsLast),
    };
    let counts = [regular.nodes, regular.llcs, regular.cores, regular.threads];
    let cpus = counts.iter().fold(1u64, |all, &n| all.saturating_mul(n.into()));
    let at = t.nodes.as_ref().map_or(table.span(), Spanned::span);
    match cpus {
        0 => Err(text.error(at, "topology", Problem::NoCpus)),
        _ if cpus > MAX_CPUS.into() => Err(text.error(at, "topology", Problem::TooManyCpus { cpus })),
        _ => Ok(regular.places()),
    }
}

/// The CPUs placed so far, with the node, cache and core of each. Caches and cores are numbered in the order of the
/// file.
#[derive(Default)]
struct Explicit {
    node: Vec<Option<u32>>,
    llc: Vec<Option<u32>>,
    core: Vec<Option<u32>>,
    llcs: u32,
    cores: u32,
}

impl Explicit {
    fn read(mut self, text: Text<'_>, nodes: &[Spanned<NodeTable>]) -> Result<Vec<Place>, MachineError> {
        for (n, node) in nodes.iter().enumerate() {
            self.read_node(text, n as u32, node.get_ref())?;
        }
        let last = nodes.last().map_or(0..0, Spanned::span);
        if self.node.is_empty() {
            return Err(text.error(last, "node", Problem::NoCpus));
        }
        let unplaced = |cpu: usize, place| {
            text.error(last.clone(), "node", Problem::Unplaced { cpu: cpu as u32, place })
        };
        (0..self.node.len())
            .map(|cpu| {
                let node = self.node[cpu].ok_or_else(|| unplaced(cpu, "node"))?;
                let llc = at(&self.llc, cpu).ok_or_else(|| unplaced(cpu, "cache"))?;
                let core = at(&self.core, cpu).ok_or_else(|| unplaced(cpu, "core"))?;
                Ok(Place { core: CoreId(core), llc: LlcId(llc), node: NodeId(node) })
            })
            .collect()
    }

    fn read_node(&mut self, text: Text<'_>, n: u32, node: &NodeTable) -> Result<(), MachineError> {
        let field = |part| format!("node[{n}].{part}");
        let cpus = cpu_list(text, &node.cpus, &field("cpus"))?;
        let fail = |at: Range<usize>, part, problem| Err(text.error(at, field(part), problem));
        if let Err(problem) = put(&mut self.node, &cpus, n, "node") {
            return fail(node.cpus.span(), "cpus", problem);
        }
        let whole = [Spanned::new(node.cpus.span(), node.cpus.get_ref().clone())];
        for list in node.llcs.as_deref().unwrap_or(&whole) {
            let llc = cpu_list(text, list, &field("llcs"))?;
            let placed = within(&llc, &cpus, "cache", "node")
                .and_then(|()| put(&mut self.llc, &llc, self.llcs, "cache"));
            if let Err(problem) = placed {
                return fail(list.span(), "llcs", problem);
            }
            self.llcs += 1;
        }
        let Some(cores) = &node.cores else {
            for cpu in cpus.iter() {
                let alone = std::iter::once(cpu).collect();
                put(&mut self.core, &alone, self.cores, "core").expect("CPUs of nodes are placed once");
                self.cores += 1;
            }
            return Ok(());
        };
        for list in cores {
            let core = cpu_list(text, list, &field("cores"))?;
            let cache = core.lowest().and_then(|c| at(&self.llc, c.index()));
            let outer: CpuSet = cpus.iter().filter(|c| at(&self.llc, c.index()) == cache).collect();
            let placed = within(&core, &outer, "core", "cache")
                .and_then(|()| put(&mut self.core, &core, self.cores, "core"));
            if let Err(problem) = placed {
                return fail(list.span(), "cores", problem);
            }
            self.cores += 1;
        }
        Ok(())
    }
}

fn at(of: &[Option<u32>], cpu: usize) -> Option<u32> {
    of.get(cpu).copied().flatten()
}

fn cpu_list(text: Text<'_>, list: &Spanned<CpuList>, field: &str) -> Result<CpuSet, MachineError> {
    let set =
        list.get_ref().read().map_err(|e| text.error(list.span(), field, Problem::BadCpus(e.to_string())))?;
    if set.is_empty() {
        return Err(text.error(list.span(), field, Problem::NoCpus));
    }
    Ok(set)
}

fn put(of: &mut Vec<Option<u32>>, cpus: &CpuSet, number: u32, place: &'static str) -> Result<(), Problem> {
    let taken: CpuSet = cpus.iter().filter(|c| at(of, c.index()).is_some()).collect();
    if !taken.is_empty() {
        return Err(Problem::Overlap { cpus: taken, place });
    }
    for cpu in cpus.iter() {
        if cpu.index() >= of.len() {
            of.resize(cpu.index() + 1, None);
        }
        of[cpu.index()] = Some(number);
    }
    Ok(())
}

fn within(
    inner: &CpuSet,
    outer: &CpuSet,
    place: &'static str,
    outer_place: &'static str,
) -> Result<(), Problem> {
    let outside: CpuSet = inner.iter().filter(|&c: &CpuId| !outer.contains(c)).collect();
    if outside.is_empty() {
        return Ok(());
    }
    Err(Problem::Outside { cpus: outside, place, outer: outer_place })
}

/// Returns the hops: as given, counted along links, or one between any two nodes.
fn read_hops(
    text: Text<'_>,
    table: Option<&RegularTable>,
    nodes: usize,
) -> Result<Vec<Vec<u8>>, MachineError> {
    match table.map(|t| (&t.hops, &t.links)) {
        Some((Some(_), Some(links))) => {
            let problem = Problem::BadLinks("hops are given too; give links or hops, not both".into());
            Err(text.error(links.span(), "topology.links", problem))
        }
        Some((Some(hops), None)) => {
            check_hops(hops.get_ref(), nodes).map_err(|p| text.error(hops.span(), "topology.hops", p))?;
            Ok(hops.get_ref().clone())
        }
        Some((None, Some(links))) => hops_along(links.get_ref(), nodes)
            .map_err(|problem| text.error(links.span(), "topology.links", problem)),
        _ => Ok(one_hop(nodes)),
    }
}

fn check_hops(hops: &[Vec<u8>], nodes: usize) -> Result<(), Problem> {
    if hops.len() != nodes {
        return Err(Problem::HopsShape { nodes, row: nodes, given: hops.len() });
    }
    if let Some(row) = hops.iter().position(|r| r.len() != nodes) {
        return Err(Problem::HopsShape { nodes, row, given: hops[row].len() });
    }
    for (a, row) in hops.iter().enumerate() {
        for (b, &hops_ab) in row.iter().enumerate() {
            if (hops_ab == 0) != (a == b) || hops_ab != hops[b][a] {
                return Err(Problem::BadHops { a, b, hops: hops_ab });
            }
        }
    }
    Ok(())
}

/// Returns the smallest number of links between any two nodes, by a breadth-first search from each node.
fn hops_along(links: &[[usize; 2]], nodes: usize) -> Result<Vec<Vec<u8>>, Problem> {
    let mut neighbours = vec![Vec::new(); nodes];
    for &[a, b] in links {
        if a >= nodes || b >= nodes || a == b {
            let most = nodes - 1;
            return Err(Problem::BadLinks(format!(
                "[{a}, {b}] is not a link; give two of nodes 0 to {most}"
            )));
        }
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    (0..nodes)
        .map(|from| {
            let mut hops = vec![None; nodes];
            hops[from] = Some(0u8);
            let mut ring = vec![from];
            for n in 1..=u8::MAX {
                let next: Vec<usize> = ring.iter().flat_map(|&a| neighbours[a].iter().copied()).collect();
                ring.clear();
                for node in next {
                    if hops[node].is_none() {
                        hops[node] = Some(n);
                        ring.push(node);
                    }
                }
            }
            let reached =
                hops.iter().enumerate().map(|(node, hops)| hops.ok_or(Problem::Unreachable(node.max(from))));
            reached.collect()
        })
        .collect()
}
