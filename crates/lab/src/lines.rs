//! The cache lines that CPUs waited for, named as in the scheduler's source.

use keel_abi::bpf::{Ea, MapId};
use keel_abi::lines::LineUse;
use keel_kernel::Sim;
use keel_object::Object;
use keel_vm::Vm;
use keel_vm::memory::VmWorld;
use std::collections::BTreeMap;

/// The maximum number of lines that are reported.
const MOST: usize = 16;

/// The cost of the lines of one variable of the scheduler, or of one kind of kernel object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinesOf {
    /// The variable's name, or `kernel: ` and the kind of object. Untrusted text.
    pub name: String,
    /// The number of lines that moved; 0 if they are not counted, as for the kernel's.
    pub lines: u64,
    /// The use of all of them.
    pub uses: LineUse,
    /// The most expensive line: its offset in the variable in bytes, and its use.
    pub worst: Option<(u64, LineUse)>,
}

/// Returns all lines that moved, the most expensive first.
pub(crate) fn read(object: &Object, sim: &mut Sim<Vm>) -> Vec<LinesOf> {
    let mut all = of_kernel(sim);
    all.extend(of_memory(object, sim.engine().world_ref()));
    all.sort_by(|a, b| b.uses.stall_ps.cmp(&a.uses.stall_ps).then_with(|| a.name.cmp(&b.name)));
    all.truncate(MOST);
    all
}

fn of_kernel(sim: &Sim<Vm>) -> Vec<LinesOf> {
    let known = sim.line_uses().into_iter().filter(|(_, uses)| uses.moves > 0);
    known
        .map(|(what, uses)| LinesOf { name: format!("kernel: {what}"), lines: 0, uses, worst: None })
        .collect()
}

/// Returns the lines of each variable. All others are summed under one name.
fn of_memory(object: &Object, world: &VmWorld) -> Vec<LinesOf> {
    let variables = Variables::of(object, world);
    let mut found: BTreeMap<&str, LinesOf> = BTreeMap::new();
    for (Ea(line), uses) in world.region().moved() {
        let (name, offset) = name_of(&variables, line);
        let of = found.entry(name).or_insert_with(|| LinesOf {
            name: name.to_owned(),
            lines: 0,
            uses: LineUse::default(),
            worst: None,
        });
        of.lines += 1;
        of.uses.moves += uses.moves;
        of.uses.stall_ps += uses.stall_ps;
        if of.worst.is_none_or(|(_, worst)| worst.stall_ps < uses.stall_ps) {
            of.worst = Some((offset, uses));
        }
    }
    found.into_values().collect()
}

/// The scheduler's variables: their sizes and names by address.
pub(crate) struct Variables<'v>(BTreeMap<u64, (u64, &'v str)>);

impl<'v> Variables<'v> {
    pub(crate) fn of(object: &'v Object, world: &VmWorld) -> Self {
        let placed = object.variables.iter().filter_map(|v| {
            let Ea(at) = world.map_value_address(MapId(v.map), v.offset)?;
            Some((at, (u64::from(v.size), v.name.as_str())))
        });
        Self(placed.collect())
    }

    /// Returns the variable that contains a byte, and the byte's offset in it.
    pub(crate) fn at(&self, at: u64) -> Option<(&'v str, u64)> {
        let (&begins, &(size, name)) = self.0.range(..=at).next_back()?;
        (at < begins + size).then_some((name, at - begins))
    }
}

/// The name for everything that is not a variable.
pub(crate) const ELSEWHERE: &str = "elements of maps, and what the kernel shows";

/// Returns the first variable with a byte in this line, and the line's offset in it.
pub(crate) fn name_of<'v>(variables: &Variables<'v>, line: u64) -> (&'v str, u64) {
    if let Some(found) = variables.at(line) {
        return found;
    }
    match variables.0.range(line..line + keel_abi::lines::LINE_BYTES).next() {
        Some((_, &(_, name))) => (name, 0),
        None => (ELSEWHERE, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_the_first_variable_in_it() {
        let variables = Variables(BTreeMap::from([(64, (100, "a")), (168, (8, "b")), (176, (200, "c"))]));
        let check = |line, expected| assert_eq!(name_of(&variables, line), expected, "{line}");
        check(64, ("a", 0));
        check(128, ("a", 64));
        check(192, ("c", 16));
        check(0, ("elements of maps, and what the kernel shows", 0));
        check(320, ("c", 144));
        check(384, ("elements of maps, and what the kernel shows", 0));
        let apart = Variables(BTreeMap::from([(100, (4, "d"))]));
        assert_eq!(name_of(&apart, 64), ("d", 0));
    }
}
