//! Machines: the topology and the constants of a machine, read from a machine file.
//!
//! A machine file is TOML. It contains the topology, either as regular counts or CPU by CPU, and the constants that
//! differ from the default machine's, each with its source. `machines/` in the repository has examples.

mod constant;
mod constants;
mod cpu_list;
mod energy;
mod error;
mod frequency;
mod read;
mod realtime;
mod regular;
mod shape;
mod text;
mod timeline;

pub use energy::EnergyDomain;
pub use energy::EnergyState;
pub use error::MachineError;
pub use error::Problem;
pub use frequency::Frequency;
pub use frequency::PERF_ONE;
pub use realtime::Pull;
pub use realtime::Realtime;
pub use realtime::Throttle;
pub use realtime::WakeupRule;

use crate::state::cost::Costs;
use keel_abi::Topology;
use keel_abi::lines::LineCosts;
use keel_abi::timeline::Happening;

/// The maximum number of CPUs that a machine can have.
pub const MAX_CPUS: u32 = keel_abi::cpuset::MAX_CPUS;

/// The constants of a current server, which apply unless a machine file sets them.
const DEFAULT: &str = include_str!("../../../../../machines/default.toml");

/// The machine files that are built in, as pairs of name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("default", DEFAULT),
    ("biglittle-4", include_str!("../../../../../machines/biglittle-4.toml")),
    ("laptop-8", include_str!("../../../../../machines/laptop-8.toml")),
    ("epyc-2x64", include_str!("../../../../../machines/epyc-2x64.toml")),
    ("epyc-2x128", include_str!("../../../../../machines/epyc-2x128.toml")),
    ("skylake-4", include_str!("../../../../../machines/skylake-4.toml")),
    ("epyc-1x64", include_str!("../../../../../machines/epyc-1x64.toml")),
    ("epyc-2x32-nps4", include_str!("../../../../../machines/epyc-2x32-nps4.toml")),
    ("p3-1", include_str!("../../../../../machines/p3-1.toml")),
    ("p3-2", include_str!("../../../../../machines/p3-2.toml")),
    ("xeon-8", include_str!("../../../../../machines/xeon-8.toml")),
    ("xeon-1mb-2", include_str!("../../../../../machines/xeon-1mb-2.toml")),
    ("xeon-1mb-4", include_str!("../../../../../machines/xeon-1mb-4.toml")),
    ("xeon-1mb-8", include_str!("../../../../../machines/xeon-1mb-8.toml")),
    ("quad-2010", include_str!("../../../../../machines/quad-2010.toml")),
    ("quad-2010-after", include_str!("../../../../../machines/quad-2010-after.toml")),
    ("quad-2010-today", include_str!("../../../../../machines/quad-2010-today.toml")),
    ("opteron-6272", include_str!("../../../../../machines/opteron-6272.toml")),
];

/// A machine: its topology, its tick and its costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name, as displayed.
    pub name: String,
    /// Which CPUs share a core, a cache or a node.
    pub topology: Topology,
    /// Ticks per second.
    pub hz: u32,
    /// Whether CPUs tick at different times (`skew_tick`). If this is not given, [`crate::state::noise`] decides.
    pub skew_tick: Option<bool>,
    /// Whether sessions have autogroups (`sched_autogroup_enabled`), for the fair class and for schedulers that read
    /// them.
    pub autogroup: bool,
    /// The cost of each path.
    pub costs: Costs,
    /// The cost of an instruction of the scheduler, in thousandths of `insn_ps`. It is 1000, unless the code counts as
    /// compiled C ([`Machine::policy_insn_ps`]).
    pub policy_per_mille: u16,
    /// The costs of transferring cache lines.
    pub lines: LineCosts,
    /// Its frequencies.
    pub frequency: Frequency,
    /// The rules of its kernel's real-time class.
    pub realtime: Realtime,
    /// Each CPU's capacity, in units of [`PERF_ONE`]. Empty if all are equal.
    pub capacity: Vec<u16>,
    /// The power of its CPUs at each frequency. Empty without an energy model.
    pub energy: Vec<EnergyDomain>,
    /// The CPUs that go online and offline regardless of the workload.
    pub timeline: Vec<Happening>,
}

impl Machine {
    /// Returns the cost of an instruction of the scheduler's callbacks, in picoseconds.
    #[inline]
    pub fn policy_insn_ps(&self) -> u64 {
        self.costs.insn_ps * u64::from(self.policy_per_mille) / 1000
    }

    /// Parses the text of a machine file.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let base = read::parse(DEFAULT, None).expect("the default machine's file is right");
        read::parse(text, Some(&base))
    }

    /// Returns the built-in machine with this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(n, _)| *n == name)?;
        Some(Self::parse(text).expect("machine files of the product are right"))
    }

    /// Creates a current server with `cpus` CPUs: no SMT, eight CPUs per LLC, 64 per node, and one hop between any two
    /// nodes. Panics if `cpus` is 0 or more than [`MAX_CPUS`].
    pub fn of_cpus(cpus: u32) -> Self {
        assert!((1..=MAX_CPUS).contains(&cpus), "1 to {MAX_CPUS} CPUs");
        let base = read::parse(DEFAULT, None).expect("the default machine's file is right");
        Self { name: cpus.to_string(), topology: regular::server(cpus), ..base }
    }
}

#[cfg(test)]
mod tests;
