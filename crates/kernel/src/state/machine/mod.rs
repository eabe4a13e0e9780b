//! Machines as data: the topology and the constants of a machine, read from a machine file.
//!
//! A file is TOML. It gives the topology, either as regular counts or CPU by CPU, and the constants that differ from
//! the default machine's, each with its source. The repository has examples in `machines/`.

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

/// The most CPUs that a machine can have.
pub const MAX_CPUS: u32 = keel_abi::cpuset::MAX_CPUS;

/// The constants of a current server, which apply if a machine file leaves them out.
const DEFAULT: &str = include_str!("../../../../../machines/default.toml");

/// The machine files that come with the product: name and text.
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
    /// Its name, as printed.
    pub name: String,
    /// Which CPUs share what.
    pub topology: Topology,
    /// Ticks per second.
    pub hz: u32,
    /// Whether each CPU ticks at its own moment (`skew_tick`); if not given, [`crate::state::noise`] decides.
    pub skew_tick: Option<bool>,
    /// Whether sessions have autogroups, for the fair class (`sched_autogroup_enabled`) and for schedulers that read
    /// them.
    pub autogroup: bool,
    /// The cost of each path.
    pub costs: Costs,
    /// The cost of a scheduler's own instruction, in thousandths of `insn_ps`: 1000, unless its code counts as compiled
    /// C ([`Machine::policy_insn_ps`]).
    pub policy_per_mille: u16,
    /// The costs of moving cache lines.
    pub lines: LineCosts,
    /// Its frequencies.
    pub frequency: Frequency,
    /// Rules of its kernel's real-time class.
    pub realtime: Realtime,
    /// Each CPU's capacity, in units of [`PERF_ONE`]; empty if all are equally fast.
    pub capacity: Vec<u16>,
    /// The power of its CPUs at each frequency; empty without an energy model.
    pub energy: Vec<EnergyDomain>,
    /// CPUs that go on- and offline, regardless of the workload.
    pub timeline: Vec<Happening>,
}

impl Machine {
    /// The cost of an instruction of the scheduler's callbacks, in picoseconds.
    #[inline]
    pub fn policy_insn_ps(&self) -> u64 {
        self.costs.insn_ps * u64::from(self.policy_per_mille) / 1000
    }

    /// Reads a machine file's text.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let base = read::parse(DEFAULT, None).expect("the default machine's file is right");
        read::parse(text, Some(&base))
    }

    /// The built-in machine with this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(n, _)| *n == name)?;
        Some(Self::parse(text).expect("machine files of the product are right"))
    }

    /// A current server with `cpus` CPUs: no SMT, eight CPUs per cache, 64 per node, any two nodes one hop apart.
    /// Panics if `cpus` is 0 or more than [`MAX_CPUS`].
    pub fn of_cpus(cpus: u32) -> Self {
        assert!((1..=MAX_CPUS).contains(&cpus), "1 to {MAX_CPUS} CPUs");
        let base = read::parse(DEFAULT, None).expect("the default machine's file is right");
        Self { name: cpus.to_string(), topology: regular::server(cpus), ..base }
    }
}

#[cfg(test)]
mod tests;
