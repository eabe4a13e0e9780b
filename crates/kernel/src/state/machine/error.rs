//! Errors in a machine file. Each has a one-sentence message.

use keel_abi::CpuSet;
use std::fmt;

/// An error in a machine file, with its position. It is displayed as `line 7, node[1].cpus: ...`, to follow the file's
/// name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {problem}", Field(.field))]
pub struct MachineError {
    /// The line, counted from 1.
    pub line: usize,
    /// The field, such as `topology.hops`. Empty if the TOML itself is invalid.
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
    /// Invalid TOML, a wrong type, a negative number or an unknown field.
    #[error("{0}")]
    Syntax(String),
    /// An unknown constant.
    #[error("there is no such constant; the constants are {known}")]
    UnknownConstant {
        /// The known constants.
        known: String,
    },
    /// A size that is not a power of two.
    #[error("{0} is not a power of two")]
    NoPowerOfTwo(u64),
    /// A constant out of its range.
    #[error("{value} is out of range; give {least} to {most}")]
    OutOfRange {
        /// The given value.
        value: u64,
        /// The minimum.
        least: u64,
        /// The maximum.
        most: u64,
    },
    /// A constant with an empty source.
    #[error("the source is empty; say where the value comes from")]
    NoSource,
    /// A constant that lacks its value or its source.
    #[error("a constant has a value and its source; write {wanted}")]
    Incomplete {
        /// The expected line.
        wanted: String,
    },
    /// A constant that no file sets.
    #[error("the constant {0} is missing; give its value and source")]
    MissingConstant(&'static str),
    /// Neither a regular nor an explicit topology, or both.
    #[error("give either topology.nodes or [[node]] tables, and not both")]
    NoShape,
    /// No CPU at all.
    #[error("the machine has no CPU; give at least one")]
    NoCpus,
    /// Too many CPUs.
    #[error("{cpus} CPUs are too many; give at most {}", crate::state::machine::MAX_CPUS)]
    TooManyCpus {
        /// The requested number.
        cpus: u64,
    },
    /// An invalid list of CPUs.
    #[error("{0}")]
    BadCpus(String),
    /// A CPU in two places of the same kind.
    #[error("CPU {cpus} is in an earlier {place} too; give each CPU to one {place}")]
    Overlap {
        /// The CPUs in question.
        cpus: CpuSet,
        /// `node`, `cache`, `core` or `[[capacity]] table`.
        place: &'static str,
    },
    /// A cache or core with CPUs outside its node or cache.
    #[error("CPU {cpus} is not in this {outer}; keep each {place} within one {outer}")]
    Outside {
        /// The CPUs in question.
        cpus: CpuSet,
        /// `cache` or `core`.
        place: &'static str,
        /// `node` or `cache`.
        outer: &'static str,
    },
    /// A gap in the numbers of CPUs.
    #[error("CPU {cpu} is in no {place}; number CPUs from 0 without gaps and place each")]
    Unplaced {
        /// The first missing CPU.
        cpu: u32,
        /// `node`, `cache` or `core`.
        place: &'static str,
    },
    /// A hop matrix of the wrong size.
    #[error("{nodes} nodes need {nodes} rows of {nodes} hops each; row {row} has {given}")]
    HopsShape {
        /// The number of the machine's nodes.
        nodes: usize,
        /// The row, counted from 0; `nodes` if the number of rows is wrong.
        row: usize,
        /// The given number.
        given: usize,
    },
    /// An impossible number of hops.
    #[error("node {a} is {hops} hops from node {b}; give 0 to itself alone, and the same both ways")]
    BadHops {
        /// The node of the row.
        a: usize,
        /// The node of the column.
        b: usize,
        /// The given number of hops.
        hops: u8,
    },
    /// An invalid entry of the timeline.
    #[error("{0}")]
    BadTimeline(String),
    /// Both links and hops, or a link to an unknown node.
    #[error("{0}")]
    BadLinks(String),
    /// A node that cannot be reached through links.
    #[error("node {0} is not linked to node 0; hops between them are missing")]
    Unreachable(usize),
}
