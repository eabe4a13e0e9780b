//! Computes the layout: rows grouped by node, strips by time, so that both 8 and 256 CPUs fill a page.

use keel_abi::{CpuId, NodeId, Topology};

/// Pixels to the left of the strips, for the nodes' numbers.
pub(super) const LEFT: u32 = 64;
/// The width of a strip in pixels.
pub(super) const WIDTH: u32 = 1180;
/// Pixels between two nodes.
const BETWEEN_NODES: u32 = 3;
/// Pixels above a strip, for its clock.
pub(super) const CLOCK: u32 = 30;
/// The height in pixels that all strips together should not exceed by much.
const HEIGHT: u32 = 1300;

/// A node's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) top: u32,
    pub(super) bottom: u32,
}

/// The inside of a strip, the number of strips, and the time of each.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The height of a row in pixels.
    pub(super) row: u32,
    /// Each CPU's row: the pixels from the top of the strip to the top of the row.
    pub(super) tops: Vec<(CpuId, u32)>,
    pub(super) nodes: Vec<Node>,
    /// The height of a strip in pixels.
    pub(super) height: u32,
    pub(super) strips: u64,
    /// The time that a strip shows, in nanoseconds.
    pub(super) strip_ns: u64,
}

impl Layout {
    pub(super) fn new(topology: &Topology, duration_ns: u64) -> Self {
        let row = (260 / topology.cpus()).clamp(2, 12);
        let mut by_node: Vec<CpuId> = topology.iter().collect();
        by_node.sort_by_key(|&cpu| {
            let place = topology.place(cpu);
            (place.node, place.llc, place.core, cpu)
        });
        let (mut tops, mut nodes, mut y) = (Vec::new(), Vec::<Node>::new(), 0);
        for cpu in by_node {
            let id = topology.place(cpu).node;
            if nodes.last().is_none_or(|node| node.id != id) {
                y += if nodes.is_empty() { 1 } else { BETWEEN_NODES };
                nodes.push(Node { id, top: y, bottom: y });
            }
            tops.push((cpu, y));
            y += row;
            nodes.iter_mut().last().into_iter().for_each(|node| node.bottom = y);
        }
        let height = y + 1;
        let most = u64::from(HEIGHT / (height + CLOCK)).clamp(2, 5);
        let strip_ns = round_up(duration_ns.div_ceil(most));
        let strips = duration_ns.div_ceil(strip_ns).max(1);
        Self { row, tops, nodes, height, strips, strip_ns }
    }
}

/// Returns the next of 1, 2, 2.5, 5 times a power of ten.
fn round_up(ns: u64) -> u64 {
    let power = 10u64.pow(ns.max(10).ilog10()) / 10;
    let steps = [10, 20, 25, 50, 100].map(|step| power.saturating_mul(step));
    steps.into_iter().find(|&step| step >= ns).unwrap_or(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_have_round_times_and_fit_a_page() {
        let check = |cpus: u32, nodes: u32, duration_ns, strips, strip_ns, row| {
            let layout = Layout::new(&Topology::regular(nodes, 1, cpus / nodes, 1), duration_ns);
            assert_eq!((layout.strips, layout.strip_ns, layout.row), (strips, strip_ns, row));
            assert_eq!(layout.nodes.len(), nodes as usize);
        };
        check(8, 2, 10_000_000_000, 5, 2_000_000_000, 12);
        check(64, 8, 10_000_000_000, 4, 2_500_000_000, 4);
        check(256, 8, 10_000_000_000, 2, 5_000_000_000, 2);
        check(8, 1, 0, 1, 10, 12);
    }
}
