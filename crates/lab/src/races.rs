//! The data races of a run, by line, named as in the scheduler's source.

use crate::lines::Variables;
use keel_abi::bpf::CallPlace;
use keel_kernel::Sim;
use keel_object::Object;
use keel_vm::Vm;
use keel_vm::races::Side;
use std::collections::BTreeMap;

/// Two lines that race: two CPUs access the same bytes, at least one access is a write, at least one is not an atomic
/// instruction, and neither is ordered after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The two sides; they may be the same line on two CPUs. Untrusted text.
    pub sides: [RaceSide; 2],
    /// The variable or map that contains the bytes. Untrusted text.
    pub name: String,
    /// How often it occurred in all examined runs.
    pub times: u64,
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RaceSide {
    /// `file:line: text`, if the object has line information.
    pub source: Option<String>,
    /// The program or subprogram.
    pub function: String,
    /// The instruction's index in the function: the first one of the line that was seen to race.
    pub insn: u32,
    /// What the line does: a subset of `reads`, `writes`, `reads atomically`, `writes atomically`, in this order.
    pub acts: Vec<&'static str>,
}

/// Races by their lines.
#[derive(Clone, Debug, Default)]
pub struct RaceTable(BTreeMap<Key, Race>);

/// For each side, its line, or its instruction if it has no line.
type Key = [(Option<String>, String, u32); 2];

impl RaceTable {
    /// Adds the races of another run.
    pub fn add(&mut self, races: impl IntoIterator<Item = Race>) {
        for race in races {
            let known = self.0.entry(key(&race)).or_insert_with(|| Race { times: 0, ..race.clone() });
            known.times += race.times;
            for (known, side) in known.sides.iter_mut().zip(race.sides) {
                known.insn = known.insn.min(side.insn);
                known.acts.extend(side.acts);
                known.acts.sort_unstable();
                known.acts.dedup();
            }
        }
    }

    /// Returns all races, ordered by their lines.
    pub fn races(self) -> Vec<Race> {
        self.0.into_values().collect()
    }
}

fn key(race: &Race) -> Key {
    race.sides.clone().map(|side| {
        let insn = if side.source.is_some() { 0 } else { side.insn };
        (side.source, side.function, insn)
    })
}

/// Returns the races of a finished run.
pub(crate) fn read(object: &Object, sim: &mut Sim<Vm>) -> Vec<Race> {
    let found = sim.engine().races();
    let variables = Variables::of(object, sim.engine().world_ref());
    let mut table = RaceTable::default();
    table.add(found.into_iter().map(|race| {
        let map = || object.maps.get(race.map.0 as usize).map(|map| map.name.clone()).unwrap_or_default();
        let name = variables.at(race.at.0).map_or_else(map, |(name, _)| name.to_owned());
        let mut sides = race.sides.map(side);
        sides.sort();
        Race { sides, name, times: race.times }
    }));
    table.races()
}

fn side(side: Side) -> RaceSide {
    let CallPlace { program: function, insn, source } = side.place;
    let act = match (side.how.writes, side.how.atomic) {
        (false, false) => "reads",
        (true, false) => "writes",
        (false, true) => "reads atomically",
        (true, true) => "writes atomically",
    };
    RaceSide { source, function, insn, acts: vec![act] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_one_line_are_one_race() {
        let race = |source: Option<&str>, insns: [u32; 2], times: u64| Race {
            sides: insns.map(|insn| RaceSide {
                source: source.map(str::to_owned),
                function: "f".into(),
                insn,
                acts: vec!["writes"],
            }),
            name: "x".into(),
            times,
        };
        let check = |races: &[Race], expected: &[u64]| {
            let mut table = RaceTable::default();
            table.add(races.to_vec());
            let times: Vec<u64> = table.races().iter().map(|race| race.times).collect();
            assert_eq!(times, expected);
        };
        check(&[race(Some("a.c:1: x"), [1, 2], 3), race(Some("a.c:1: x"), [2, 2], 4)], &[7]);
        check(&[race(Some("a.c:1: x"), [1, 2], 3), race(Some("a.c:2: y"), [1, 2], 4)], &[3, 4]);
        check(&[race(None, [1, 2], 3), race(None, [1, 3], 4), race(None, [1, 2], 1)], &[4, 4]);
    }
}
