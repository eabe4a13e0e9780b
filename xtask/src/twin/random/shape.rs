//! The machine of a workload, both as a guest of `keel vm` and as a simulated machine's file.

use super::rng::Rng;
use crate::Failure;
use crate::tree::root;

/// CPUs, and the nodes that share them evenly. QEMU makes each node a socket with one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub(super) cpus: u32,
    pub(super) nodes: u32,
}

/// All shapes that are drawn.
const SHAPES: &[Shape] = &[
    Shape { cpus: 2, nodes: 1 },
    Shape { cpus: 4, nodes: 1 },
    Shape { cpus: 4, nodes: 2 },
    Shape { cpus: 6, nodes: 1 },
    Shape { cpus: 6, nodes: 3 },
    Shape { cpus: 8, nodes: 1 },
    Shape { cpus: 8, nodes: 2 },
    Shape { cpus: 8, nodes: 4 },
];

/// The guest as a simulated machine, with one node of four CPUs.
const GUEST: &str = "tests/twin/guest.toml";

/// The guest file's lines about its shape.
const TOPOLOGY: &str = "nodes = 1\nllcs_per_node = 1\ncores_per_llc = 4\n";

impl Shape {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        rng.pick(SHAPES)
    }

    /// The arguments of `keel vm`.
    pub(super) fn guest_args(self) -> [String; 4] {
        ["--cpus".into(), self.cpus.to_string(), "--numa".into(), self.nodes.to_string()]
    }

    /// The simulated machine's file: the guest's costs with this shape.
    ///
    /// # Errors
    /// If the guest's file has a different shape from the one to replace.
    pub(super) fn machine(self) -> Result<String, Failure> {
        let text = std::fs::read_to_string(root().join(GUEST)).map_err(|e| format!("{GUEST}: {e}"))?;
        let Self { cpus, nodes } = self;
        let own = format!("nodes = {nodes}\nllcs_per_node = 1\ncores_per_llc = {}\n", cpus / nodes);
        match text.matches(TOPOLOGY).count() {
            1 => Ok(text.replace(TOPOLOGY, &own)),
            _ => Err(format!("{GUEST}: write its shape as one node with one cache of four cores")),
        }
    }

    pub(super) fn text(self) -> String {
        format!("{} CPUs, {} node{}", self.cpus, self.nodes, if self.nodes == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_divide_evenly_and_become_machines() {
        for shape in SHAPES {
            assert_eq!(shape.cpus % shape.nodes, 0);
            assert!(shape.machine().unwrap().contains(&format!("nodes = {}\n", shape.nodes)));
        }
        let eight = Shape { cpus: 8, nodes: 4 };
        assert!(eight.machine().unwrap().contains("nodes = 4\nllcs_per_node = 1\ncores_per_llc = 2\n"));
        assert_eq!(eight.guest_args().join(" "), "--cpus 8 --numa 4");
        assert_eq!(Shape { cpus: 2, nodes: 1 }.text(), "2 CPUs, 1 node");
    }
}
