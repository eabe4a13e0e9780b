//! Describes the machine under the running kernel, as recipes need it, from `/sys/devices/system`.

use crate::host::Host;
use keel_abi::cpuset::MAX_CPUS;
use keel_abi::topology::Place;
use keel_abi::{CoreId, CpuId, CpuSet, LlcId, NodeId, Topology};
use keel_recipe::Facts;
use std::collections::BTreeMap;

/// Linux's maximum number of nodes (`MAX_NUMNODES`).
const MAX_NODES: u32 = 1024;

/// Describes this machine. If its files lack information, each CPU has its own core, each node one cache, and the
/// machine one node. Offline CPUs show no cache, so they belong to that of their node's first CPU.
pub fn facts(host: &Host) -> Facts {
    let cpus = list(host, "sys/devices/system/cpu/possible");
    let count = cpus.iter().max().map_or(1, |&last| last + 1);
    let online = online(host, count);
    let nodes = nodes(host);
    let node_of = |cpu: u32| nodes.get(&cpu).copied().unwrap_or(0);
    let (mut cores, mut llcs) = (Numbers::default(), Numbers::default());
    let places = (0..count).map(|cpu| Place {
        core: CoreId(cores.of(first_of(host, cpu, "topology/thread_siblings_list").unwrap_or(cpu))),
        llc: LlcId(llcs.of(last_cache(host, cpu).unwrap_or_else(|| {
            // The first CPU of its node is as good a neighbour as any.
            (0..count).find(|&other| node_of(other) == node_of(cpu)).unwrap_or(cpu)
        }))),
        node: NodeId(node_of(cpu)),
    });
    let places: Vec<Place> = places.collect();
    let size = places.iter().map(|place| place.node.0 + 1).max().unwrap_or(1);
    let hops = (0..size).map(|a| (0..size).map(|b| u8::from(a != b)).collect()).collect();
    let page_bytes = rustix::param::page_size() as u64;
    Facts { topology: Topology::new(places, hops), online, page_bytes }
}

/// Returns the online CPUs, if the machine has this many CPUs.
pub(crate) fn online(host: &Host, count: u32) -> CpuSet {
    let online: CpuSet = list(host, "sys/devices/system/cpu/online").into_iter().map(CpuId).collect();
    if online.is_empty() { CpuSet::first(count) } else { online }
}

/// Maps large numbers to small ones, in the order of their first use.
#[derive(Default)]
struct Numbers(BTreeMap<u32, u32>);

impl Numbers {
    fn of(&mut self, large: u32) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(large).or_insert(next)
    }
}

/// Returns the node of each CPU that has one.
fn nodes(host: &Host) -> BTreeMap<u32, u32> {
    let online = parse(&host.text("sys/devices/system/node/online").unwrap_or_default(), MAX_NODES);
    let cpus = |node: &u32| list(host, &format!("sys/devices/system/node/node{node}/cpulist"));
    online.iter().flat_map(|node| cpus(node).into_iter().map(|cpu| (cpu, *node))).collect()
}

/// Returns the first CPU with the same last-level cache.
fn last_cache(host: &Host, cpu: u32) -> Option<u32> {
    let level = |index: u32| -> Option<(u32, u32)> {
        let folder = format!("cache/index{index}");
        let level = host.text(&format!("sys/devices/system/cpu/cpu{cpu}/{folder}/level"))?.parse().ok()?;
        Some((level, first_of(host, cpu, &format!("{folder}/shared_cpu_list"))?))
    };
    (0..10).map_while(level).max_by_key(|(level, _)| *level).map(|(_, first)| first)
}

fn first_of(host: &Host, cpu: u32, file: &str) -> Option<u32> {
    list(host, &format!("sys/devices/system/cpu/cpu{cpu}/{file}")).into_iter().min()
}

fn list(host: &Host, path: &str) -> Vec<u32> {
    parse(&host.text(path).unwrap_or_default(), MAX_CPUS)
}

/// Parses a list such as `0-3,8`, without numbers from `limit` on.
fn parse(text: &str, limit: u32) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let last = last.trim().parse::<u32>().ok()?.min(limit - 1);
        Some(first.trim().parse::<u32>().ok()?..=last)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::fake;
    use keel_recipe::Recipe;

    #[test]
    fn lists_of_cpus_are_read() {
        let check = |text, expected: &[u32]| assert_eq!(parse(text, 16), expected, "{text}");
        check("0-3,8", &[0, 1, 2, 3, 8]);
        check("5", &[5]);
        check("", &[]);
        check("x,3-1,2", &[2]);
        check("14-99999999", &[14, 15]);
    }

    #[test]
    fn a_machine_is_read_from_its_files() {
        let mut files = vec![
            ("sys/devices/system/cpu/possible".to_owned(), "0-7"),
            ("sys/devices/system/cpu/online".to_owned(), "0-6"),
            ("sys/devices/system/node/online".to_owned(), "0-1"),
            ("sys/devices/system/node/node0/cpulist".to_owned(), "0-3"),
            ("sys/devices/system/node/node1/cpulist".to_owned(), "4-7"),
        ];
        for cpu in 0..7 {
            let cpu_file = |file: &str| format!("sys/devices/system/cpu/cpu{cpu}/{file}");
            let siblings = ["0,4", "1,5", "2,6", "3,7"][cpu % 4];
            files.push((cpu_file("topology/thread_siblings_list"), siblings));
            files.push((cpu_file("cache/index0/level"), "1"));
            files.push((cpu_file("cache/index0/shared_cpu_list"), siblings));
            files.push((cpu_file("cache/index1/level"), "3"));
            files.push((cpu_file("cache/index1/shared_cpu_list"), if cpu < 4 { "0-3" } else { "4-6" }));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_root, host) = fake(&files);
        let facts = facts(&host);
        let text = "[set]\na = 'llc_of_cpu'\nb = 'core_of_cpu'\nc = 'node_of_cpu'\nd = 'online_cpus'";
        let plan = format!("{:?}", Recipe::read("r", text).unwrap().plan(&facts).unwrap());
        for list in [
            "[0, 0, 0, 0, 1, 1, 1, 1]",
            "[0, 1, 2, 3, 0, 1, 2, 4]",
            "[0, 0, 0, 0, 1, 1, 1, 1]",
            "[0, 1, 2, 3, 4, 5, 6]",
        ] {
            assert!(plan.contains(list), "{list} in {plan}");
        }
    }

    #[test]
    fn a_machine_without_files_has_one_cpu() {
        assert_eq!(facts(&fake(&[]).1).topology, Topology::flat(1));
    }
}
