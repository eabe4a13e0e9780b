//! Charges a built-in scheduler as if it were compiled C: each BPF instruction costs as much as the ratio of x86-64 to
//! BPF instructions in clang's output for the same sources, over all functions. Kernel calls, cache lines and locks
//! cost the same.

use keel_kernel::machine::Machine;

include!(concat!(env!("OUT_DIR"), "/counts.rs"));

/// Returns each function of a built-in scheduler, with its numbers of instructions in BPF and in compiled C.
pub fn functions(scheduler: &str) -> &'static [Function] {
    COUNTS.iter().find(|(name, _)| *name == scheduler).map_or(&[], |(_, functions)| functions)
}

/// Returns the instructions of compiled C per thousand BPF instructions, or `None` for schedulers that are not built
/// in.
pub fn per_mille(scheduler: &str) -> Option<u16> {
    let functions = functions(scheduler);
    let sum = |of: fn(&Function) -> u32| functions.iter().map(of).map(u64::from).sum::<u64>();
    let (bpf, native) = (sum(|f| f.1), sum(|f| f.2));
    (native * 1000).checked_div(bpf).and_then(|ratio| u16::try_from(ratio).ok())
}

/// Makes the machine charge this scheduler's instructions as compiled C, if it is built in.
pub fn charge(machine: &mut Machine, scheduler: &str) {
    if let Some(ratio) = per_mille(scheduler) {
        machine.policy_per_mille = ratio;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers;

    #[test]
    fn every_built_in_object_is_counted() {
        for (name, _) in schedulers::OBJECTS {
            let ratio = per_mille(name).expect(name);
            assert!((500..2000).contains(&ratio), "{name}: {ratio}");
            assert!(functions(name).iter().any(|(function, ..)| function.starts_with(name)), "{name}");
        }
        assert_eq!(per_mille(schedulers::EEVDF), None);
    }
}
