//! What can be wrong with a machine file, one sentence each.

use keel_abi::CpuSet;
use std::fmt;

/// What is wrong with a machine file, and where. Prints as `line 7, node[1].cpus: ...`, to be put
/// behind the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {problem}", Field(.field))]
pub struct MachineError {
    /// The line, from 1.
    pub line: usize,
    /// The field, such as `topology.hops`; empty if the TOML itself is broken.
    pub field: String,
    /// What is wrong.
    pub problem: Problem,
}

struct Field<'a>(&'a str);

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ", {}", self.0) }
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No TOML, a wrong type, a negative number or an unknown field.
    #[error("{0}")]
    Syntax(String),
    /// Not a known constant.
    #[error("there is no such constant; the constants are {known}")]
    UnknownConstant {
        /// Those that are.
        known: String,
    },
    /// A size that must be a power of two.
    #[error("{0} is no power of two")]
    NoPowerOfTwo(u64),
    /// A constant out of its range.
    #[error("{value} is out of range; give {least} to {most}")]
    OutOfRange {
        /// What was given.
        value: u64,
        /// The least allowed.
        least: u64,
        /// The most allowed.
        most: u64,
    },
    /// A constant without a source.
    #[error("the source is empty; say where the value comes from")]
    NoSource,
    /// A constant without its value or its source.
    #[error("a constant has a value and its source; write {wanted}")]
    Incomplete {
        /// The line that was meant.
        wanted: String,
    },
    /// A constant that is never set.
    #[error("the constant {0} is missing; give its value and source")]
    MissingConstant(&'static str),
    /// Neither a regular nor an explicit shape, or both.
    #[error("give either topology.nodes or [[node]] tables, and not both")]
    NoShape,
    /// No CPU at all.
    #[error("the machine has no CPU; give at least one")]
    NoCpus,
    /// Too many.
    #[error("{cpus} CPUs are too many; give at most {}", crate::state::machine::MAX_CPUS)]
    TooManyCpus {
        /// How many were asked for.
        cpus: u64,
    },
    /// A list of CPUs that cannot be read.
    #[error("{0}")]
    BadCpus(String),
    /// A CPU in two places of a kind.
    #[error("CPU {cpus} is in an earlier {place} too; give each CPU to one {place}")]
    Overlap {
        /// Which CPUs.
        cpus: CpuSet,
        /// `node`, `cache` or `core`.
        place: &'static str,
    },
    /// A cache or core with CPUs that are not of its node or cache.
    #[error("CPU {cpus} is not of this {outer}; keep each {place} within one {outer}")]
    Outside {
        /// Which CPUs.
        cpus: CpuSet,
        /// `cache` or `core`.
        place: &'static str,
        /// `node` or `cache`.
        outer: &'static str,
    },
    /// A hole in the numbers.
    #[error("CPU {cpu} is in no {place}; number CPUs from 0 without holes and place each")]
    Unplaced {
        /// The first one.
        cpu: u32,
        /// `node`, `cache` or `core`.
        place: &'static str,
    },
    /// A hop matrix of the wrong size.
    #[error("{nodes} nodes need {nodes} rows of {nodes} hops each; row {row} has {given}")]
    HopsShape {
        /// Nodes of the machine.
        nodes: usize,
        /// The row, from 0; `nodes` where the number of rows is wrong.
        row: usize,
        /// How many there are.
        given: usize,
    },
    /// Hops that cannot be.
    #[error("node {a} is {hops} hops from node {b}; give 0 to itself alone, and the same both ways")]
    BadHops {
        /// From this node.
        a: usize,
        /// To this one.
        b: usize,
        /// As given.
        hops: u8,
    },
    /// An entry of the timeline that makes no sense.
    #[error("{0}")]
    BadTimeline(String),
    /// Links and hops both, or a link to nowhere.
    #[error("{0}")]
    BadLinks(String),
    /// A node that no link reaches.
    #[error("node {0} is not linked to node 0; hops between them are missing")]
    Unreachable(usize),
}
