//! Gives access to a machine's constants by name, for sweeps that vary them.

use crate::state::cost::Costs;
use crate::state::machine::Machine;
use crate::state::machine::read::{LINE_NAMES, line_slot};
use std::ops::RangeInclusive;

impl Machine {
    /// Returns the names of all constants: first the costs of paths, then those of cache lines.
    pub fn constant_names() -> impl Iterator<Item = &'static str> {
        Costs::NAMES.iter().chain(LINE_NAMES).copied()
    }

    /// Returns the constant with this name, and its range.
    pub fn constant(&mut self, name: &str) -> Option<(&mut u64, RangeInclusive<u64>)> {
        match LINE_NAMES.contains(&name) {
            true => line_slot(&mut self.lines, name),
            false => self.costs.slot(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_a_place_of_its_own() {
        let before = Machine::of_cpus(1);
        for name in Machine::constant_names() {
            let mut machine = before.clone();
            let (value, range) = machine.constant(name).expect(name);
            assert!(range.contains(value), "{name}");
            *value += 1;
            assert_ne!(machine, before, "{name}");
        }
        assert!(before.clone().constant("speed").is_none());
    }
}
