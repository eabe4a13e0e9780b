//! Building blocks for the real-time class's tests.

use keel_abi::task::{ObjectId, Policy, Step};
use keel_lab::{Machine, machines};

pub(crate) fn fifo(priority: u8) -> Policy {
    Policy::Fifo(priority)
}

pub(crate) fn lock(id: u32) -> Step {
    Step::Lock(ObjectId(id))
}

pub(crate) fn unlock(id: u32) -> Step {
    Step::Unlock(ObjectId(id))
}

/// A machine with this many CPUs, whose kernel's real-time class has this setting, as machine files have it.
pub(crate) fn machine(cpus: u32, realtime: &str) -> Machine {
    let text = format!("name = 'm'\n[topology]\nnodes = 1\ncores_per_llc = {cpus}\n[realtime]\n{realtime}\n");
    machines::read("m.toml", &text).unwrap()
}

/// Small pseudo-random numbers, from a state that is not 0.
pub(crate) fn draws(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}
