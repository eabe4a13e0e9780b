//! Draws the loads that a scheduler reports, over time: a heat map of the loads as the scheduler sees them.
//!
//! A load belongs to a group of CPUs. Only the smallest groups that are reported count, so that all compared groups
//! have the same size. Each group colours its CPUs, which are neighbours as long as a group is no larger than a node. A
//! load is valid until the next one is reported. Memory is bounded: moments get longer as the run gets longer.

use super::heat::Heat;
use super::layout::{Layout, WIDTH};
use super::paths::{Strokes, grade, strokes};
use keel_abi::numbers::count;
use keel_abi::{CpuId, Instant, Topology};
use keel_trace::Policy;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The maximum number of cells over all CPUs.
const CELLS: usize = 1 << 18;
/// The maximum number of moments.
const SLOTS: usize = 512;
/// A moment's first length is 2 to this power, in nanoseconds.
const FIRST_SHIFT: u32 = 10;
/// The maximum size of all paths together, in bytes.
const MOST_BYTES: usize = 200_000;

/// Colours for shares of the highest reported load, each with the lowest share that it represents.
const SHARES: [(f64, &str); 6] = [
    (0.000_001, "#fee5d9"),
    (0.1, "#fcbba1"),
    (0.25, "#fc9272"),
    (0.4, "#fb6a4a"),
    (0.6, "#de2d26"),
    (0.8, "#a50f15"),
];

/// The last load reported in each moment, by CPU.
#[derive(Debug)]
pub(super) struct Loads {
    cells: BTreeMap<CpuId, Vec<Option<u64>>>,
    order: Order,
    slots: usize,
    shift: u32,
    /// The number of CPUs in the smallest group so far.
    size: u16,
}

impl Default for Loads {
    fn default() -> Self {
        Self { cells: BTreeMap::new(), order: Order::default(), slots: 0, shift: FIRST_SHIFT, size: u16::MAX }
    }
}

impl Loads {
    /// Returns whether no load has been reported.
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Receives the groups of one decision.
    pub(super) fn receive(&mut self, at: Instant, policy: &Policy, heat: &Heat) {
        let Some(topology) = heat.topology.as_ref().filter(|_| !policy.groups.is_empty()) else { return };
        if self.slots == 0 {
            self.order = Order::of(topology);
            self.slots = (CELLS / topology.cpus() as usize).clamp(64, SLOTS);
        }
        let at = heat.since_start(at);
        while at >> self.shift >= self.slots as u64 {
            self.coarsen();
        }
        let slot = (at >> self.shift) as usize;
        for group in &policy.groups {
            let covered = self.order.neighbours(group.first_cpu, group.cpus.into());
            if covered.is_empty() || group.cpus > self.size {
                continue;
            }
            if group.cpus < self.size {
                self.size = group.cpus;
                self.cells.clear();
            }
            for &cpu in covered {
                let cells = self.cells.entry(cpu).or_default();
                cells.resize(cells.len().max(slot + 1), None);
                cells[slot] = Some(group.load);
            }
        }
    }

    fn coarsen(&mut self) {
        for cells in self.cells.values_mut() {
            *cells = cells.chunks(2).map(|pair| pair.iter().rev().find_map(|load| *load)).collect();
        }
        self.shift += 1;
    }

    /// Returns one path for each of [`SHARES`], with x in columns from the start of the run; the length of a column in
    /// nanoseconds; and the highest load.
    fn paths(&self, heat: &Heat, layout: &Layout) -> (Vec<String>, u64, u64) {
        let mut join = 1;
        loop {
            let (paths, highest) = self.joined(heat, layout, join);
            if paths.iter().map(String::len).sum::<usize>() <= MOST_BYTES || join >= self.slots {
                return (paths, join as u64 * (1 << self.shift), highest);
            }
            join *= 2;
        }
    }

    fn joined(&self, heat: &Heat, layout: &Layout, join: usize) -> (Vec<String>, u64) {
        let highest = self.cells.values().flatten().flatten().copied().max().unwrap_or(0);
        let columns = heat.duration().div_ceil(join as u64 * (1 << self.shift)) as usize;
        let mut to = vec![Strokes::default(); SHARES.len()];
        for (cpu, top) in &layout.tops {
            let Some(cells) = self.cells.get(cpu) else { continue };
            let mut last = None;
            let mut held = Vec::with_capacity(columns);
            for column in 0..columns {
                let reported = cells.chunks(join).nth(column).unwrap_or_default();
                last = reported.iter().rev().find_map(|load| *load).or(last);
                held.push(last);
            }
            let level = |at: usize| {
                let load: u64 = held[at]?;
                grade(&SHARES, load as f64 / highest.max(1) as f64)
            };
            strokes(columns, *top, level, &mut to);
        }
        (to.into_iter().map(|strokes| strokes.path).collect(), highest)
    }
}

/// The CPUs in the order in which they are drawn.
#[derive(Debug, Default)]
struct Order {
    nodes: Vec<Vec<CpuId>>,
    /// For each CPU, its node, and its place there.
    places: Vec<(usize, usize)>,
}

impl Order {
    fn of(topology: &Topology) -> Self {
        let mut nodes = vec![Vec::new(); topology.nodes() as usize];
        for cpu in topology.iter() {
            nodes[topology.place(cpu).node.0 as usize].push(cpu);
        }
        let mut places = vec![(0, 0); topology.cpus() as usize];
        for (node, cpus) in nodes.iter_mut().enumerate() {
            cpus.sort_by_key(|&cpu| {
                let place = topology.place(cpu);
                (place.llc, place.core, cpu)
            });
            for (place, cpu) in cpus.iter().enumerate() {
                places[cpu.index()] = (node, place);
            }
        }
        Self { nodes, places }
    }

    /// Returns `cpus` CPUs of a node, beginning with `first`: none if the node has fewer.
    fn neighbours(&self, first: CpuId, cpus: usize) -> &[CpuId] {
        let Some(&(node, place)) = self.places.get(first.index()) else { return &[] };
        self.nodes[node].get(place..place + cpus).unwrap_or_default()
    }
}

/// The loads as they are drawn.
pub(super) struct Drawn {
    paths: Vec<String>,
    column_ns: u64,
    highest: u64,
    size: u16,
}

impl Drawn {
    /// Returns the whole run as one row of columns, of which each strip shows its part, or `None` if no load was
    /// reported.
    pub(super) fn new(loads: &Loads, heat: &Heat, layout: &Layout) -> Option<Self> {
        if loads.is_empty() {
            return None;
        }
        let (paths, column_ns, highest) = loads.paths(heat, layout);
        Some(Self { paths, column_ns, highest, size: loads.size })
    }

    /// Returns their line in the legend.
    pub(super) fn legend(&self) -> String {
        let of = if self.size == 1 { "each CPU".to_owned() } else { format!("groups of {} CPUs", self.size) };
        let highest = count(self.highest);
        format!(
            "below: the load of {of} as the scheduler last reported it, from white (0 or not reported) to dark red ({highest})"
        )
    }

    /// Writes the definitions that the strips share.
    pub(super) fn define(&self, svg: &mut String, layout: &Layout) {
        let stretch = f64::from(WIDTH) * self.column_ns as f64 / layout.strip_ns as f64;
        let middle = f64::from(layout.row) / 2.0;
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<defs><g id=\"loads\" fill=\"none\" stroke-width=\"{}\" shape-rendering=\"crispEdges\">\
             <g transform=\"scale({stretch:.5} 1) translate(0 {middle})\">",
            layout.row
        );
        for ((_, colour), path) in SHARES.iter().zip(&self.paths).filter(|(_, path)| !path.is_empty()) {
            let _ = writeln!(svg, "<path stroke=\"{colour}\" d=\"{path}\"/>");
        }
        svg.push_str("</g></g></defs>\n");
    }

    /// Draws one strip, with its top at 0.
    pub(super) fn strip(&self, svg: &mut String, number: u64) {
        let back = number * u64::from(WIDTH);
        let _ = writeln!(svg, "<g clip-path=\"url(#strip)\"><use xlink:href=\"#loads\" x=\"-{back}\"/></g>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_trace::Meta;
    use keel_trace::policy::{Group, Kind};

    /// A group's load, first CPU and CPUs.
    type Reported = (u64, u32, u16);

    fn policy(groups: &[Reported]) -> Policy {
        let group = |&(load, first, cpus): &Reported| Group {
            load,
            first_cpu: CpuId(first),
            cpus,
            runnable: 0,
            class: None,
        };
        let nr_groups = groups.len() as u32;
        let groups = groups.iter().map(group).collect();
        Policy { nr_groups, groups, ..Policy::of(Kind::Balance, CpuId(0)) }
    }

    /// Returns a run of 10 ms on 2 nodes of 4 CPUs, with reports at these microseconds.
    fn drawn(reported: &[(u64, &[Reported])]) -> Option<(Vec<String>, u64)> {
        let (mut heat, mut loads) = (Heat::default(), Loads::default());
        let [scheduler, workload, unit] = ["", "", ""].map(str::to_owned);
        let topology = Topology::regular(2, 1, 4, 1);
        heat.meta(Instant::ZERO, &Meta::Start { topology: topology.clone(), scheduler, workload, unit });
        for (us, groups) in reported {
            loads.receive(Instant::from_ns(us * 1000), &policy(groups), &heat);
        }
        heat.meta(Instant::from_ns(10_000_000), &Meta::End);
        let drawn = Drawn::new(&loads, &heat, &Layout::new(&topology, 10_000_000))?;
        Some((drawn.paths, drawn.highest))
    }

    #[test]
    fn the_smallest_groups_colour_their_cpus_until_reported_again() {
        assert_eq!(drawn(&[(0, &[])]), None);
        let (paths, highest) =
            drawn(&[(0, &[(100, 0, 2), (9, 4, 4)]), (5000, &[(10, 0, 2), (60, 2, 2)])]).unwrap();
        assert_eq!(highest, 100, "the group of four does not count");
        let rows = [1, 13, 25];
        // Columns of 16,384 ns.
        let from = 5_000_000u64 >> 14;
        let rest = 10_000_000u64.div_ceil(1 << 14) - from;
        assert_eq!(paths[5], format!("m0 {}h{from}m-{from} 12h{from}", rows[0]));
        assert_eq!(paths[1], format!("m{from} {}h{rest}m-{rest} 12h{rest}", rows[0]));
        assert_eq!(paths[4], format!("m{from} {}h{rest}m-{rest} 12h{rest}", rows[2]));
    }

    #[test]
    fn a_group_beyond_its_node_colours_nothing() {
        assert_eq!(drawn(&[(0, &[(100, 2, 4)])]), None);
        assert_eq!(drawn(&[(0, &[(100, 7, 2)])]), None);
        assert_eq!(drawn(&[(0, &[(100, 0, 0)])]), None);
        assert!(drawn(&[(0, &[(100, 4, 4)])]).is_some());
    }
}
