//! Activity besides the workload, and the random numbers that determine it.

mod profile;
mod threads;

pub(crate) use threads::add_specs;
pub use threads::threads;

use crate::state::machine::Machine;
use crate::state::noise::profile::Profile;
use crate::state::rng::Rng;
use keel_abi::Noise;

/// Streams of random numbers, above those of tasks: a CPU's interrupts, a CPU's ticks, the machine.
const INTERRUPTS: u64 = 1 << 32;

const TICKS: u64 = 2 << 32;

const MACHINE: u64 = 3 << 32;

/// The noise of a run, and where its ticks are.
#[derive(Debug)]
pub(crate) struct NoiseState {
    pub(crate) profile: Option<&'static Profile>,
    /// Random numbers for interrupts other than the tick, by CPU; empty without noise.
    pub(crate) interrupts: Vec<Rng>,
    /// Random numbers for the latency of ticks and slice timers, by CPU; empty without noise.
    pub(crate) ticks: Vec<Rng>,
    /// Random numbers for the machine's own moments.
    pub(crate) machine: Rng,
    /// Whether each CPU ticks at its own moment.
    pub(crate) skewed: bool,
    /// The phase of the first CPU's tick in the period.
    pub(crate) tick_offset_ns: u64,
}

impl NoiseState {
    pub(crate) fn new(noise: Noise, machine: &Machine, seed: u64) -> Self {
        let profile = Profile::of(noise);
        let cpus = if profile.is_some() { u64::from(machine.topology.cpus()) } else { 0 };
        let streams = |first| (0..cpus).map(|c| Rng::new(seed, first + c)).collect();
        let mut machine_rng = Rng::new(seed, MACHINE);
        let period_ns = 1_000_000_000 / u64::from(machine.hz);
        Self {
            profile,
            interrupts: streams(INTERRUPTS),
            ticks: streams(TICKS),
            skewed: machine.skew_tick.unwrap_or(profile.is_none()),
            tick_offset_ns: profile.map_or(0, |_| machine_rng.below(period_ns)),
            machine: machine_rng,
        }
    }
}

#[cfg(test)]
mod tests;
