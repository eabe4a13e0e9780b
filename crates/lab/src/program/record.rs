//! Records what a program sets up before it attaches its scheduler, as a recipe: variables, members of its `struct
//! sched_ext_ops`, sizes and elements of maps, and programs that it runs. Anything that a recipe can't express becomes
//! a comment.

mod notation;

use keel_object::{MapDef, Object, StructOps};
use keel_program::{Fill, Loaded};
use keel_recipe::FLAGS;
use notation::{bytes_of, entries, integer, number, parts, value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::fs::FileExt;

/// The length of a name in the kernel, in bytes, without the terminating zero.
const NAME_BYTES: usize = 15;
/// Integer members of `struct sched_ext_ops` that a recipe sets.
const MEMBERS: [&str; 3] = ["timeout_ms", "dispatch_max_batch", "exit_dump_len"];
/// `BPF_MAP_TYPE_ARRAY`, `BPF_MAP_TYPE_PERCPU_ARRAY`: all their elements exist, and are 0.
const ARRAY: u32 = 2;
const PERCPU_ARRAY: u32 = 6;
/// `BPF_MAP_TYPE_ARENA`.
const ARENA: u32 = 33;
/// The section of the kernel's configuration, which loaders do not set.
const KCONFIG: &str = ".kconfig";

/// The recorded setup.
#[derive(Default)]
pub(super) struct Record {
    maps: Vec<Map>,
    fills: Vec<Fill>,
    runs: Vec<Run>,
    programs: Vec<String>,
    pub(super) ops: Option<StructOps>,
}

/// A program that was run.
struct Run {
    program: String,
    context: Vec<u8>,
    value: u32,
}

/// A map as it was when the program first used its loaded object.
struct Map {
    def: MapDef,
    /// For global data, its bytes.
    bytes: Vec<u8>,
}

impl Record {
    pub(super) fn loaded(&mut self, loaded: &Loaded) {
        // Maps that are already recorded are kept as they were at that time.
        for (number, def) in (0..).zip(&loaded.object.maps).skip(self.maps.len()) {
            let shared = loaded.shared.iter().find(|(map, _)| *map == number);
            let bytes = match shared {
                Some((_, file)) if def.max_entries == 1 => {
                    let mut bytes = vec![0; def.value_size as usize];
                    file.read_exact_at(&mut bytes, 0).map_or_else(|_| Vec::new(), |()| bytes)
                }
                _ => def.initial.clone(),
            };
            self.maps.push(Map { def: MapDef { initial: Vec::new(), ..def.clone() }, bytes });
        }
        self.fills.extend_from_slice(&loaded.fills);
        self.programs = loaded.object.programs.iter().map(|program| program.name.clone()).collect();
    }

    /// Records that a program was run with this context, and its return value.
    pub(super) fn ran(&mut self, program: &str, context: &[u8], value: u32) {
        self.runs.push(Run { program: program.to_owned(), context: context.to_vec(), value });
    }

    /// Returns the recipe for `object`, the object that the program loaded, before it set anything.
    pub(super) fn recipe(&self, object: &Object) -> String {
        let mut text = String::new();
        let (set, parts) = self.set(object);
        let left_out = self.left_out(object);
        for part in [left_out, set, self.members(object), parts, self.elements(object), self.programs()] {
            if !part.is_empty() && !text.is_empty() {
                text.push('\n');
            }
            text += &part;
        }
        text
    }

    /// Finds the loaded map that corresponds to one of the object's: libbpf prefixes global data with the object's
    /// name, and the kernel truncates names.
    fn map_of(&self, own: &MapDef) -> Option<(u32, &Map)> {
        let name = &own.name.as_bytes()[..own.name.len().min(NAME_BYTES)];
        let is_it = |map: &Map| match own.name.starts_with('.') {
            true => map.def.name.as_bytes().ends_with(name),
            false => map.def.name.as_bytes() == name,
        };
        (0..).zip(&self.maps).find(|(_, map)| is_it(map))
    }

    /// Lists the object's programs that were not loaded.
    fn left_out(&self, object: &Object) -> String {
        let callbacks: BTreeSet<u32> =
            object.struct_ops.iter().flat_map(|ops| &ops.callbacks).map(|(_, callback)| *callback).collect();
        let names: Vec<String> = (0..)
            .zip(&object.programs)
            .filter(|(at, program)| !callbacks.contains(at) && !self.programs.contains(&program.name))
            .map(|(_, program)| format!("\"{}\"", program.name))
            .collect();
        if names.is_empty() { String::new() } else { format!("leave_out = [{}]\n", names.join(", ")) }
    }

    /// Lists the variables that were set, in whole or in part.
    fn set(&self, object: &Object) -> (String, String) {
        let (mut lines, mut in_parts) = (String::new(), String::new());
        for variable in &object.variables {
            let Some(own) = object.maps.get(variable.map as usize).filter(|map| map.name != KCONFIG) else {
                continue;
            };
            let Some((_, map)) = self.map_of(own).filter(|(_, map)| !map.bytes.is_empty()) else { continue };
            let before = bytes_of(variable, own, &own.initial);
            let after = bytes_of(variable, own, &map.bytes);
            if before == after {
                continue;
            }
            // An array that has grown is longer, even if its elements are all 0.
            match value(variable, &before, &after).filter(|_| before.len() == after.len()) {
                Some(value) => lines += &format!("{} = {value}\n", variable.name),
                None => {
                    let gap = if in_parts.is_empty() { "" } else { "\n" };
                    in_parts += gap;
                    in_parts += &parts(&variable.name, &before, &after);
                }
            }
        }
        let set = if lines.is_empty() { lines } else { format!("[set]\n{lines}") };
        (set, in_parts)
    }

    fn members(&self, object: &Object) -> String {
        let Some(ops) = &self.ops else { return String::new() };
        let own = object.struct_ops.iter().find(|own| same_name(&own.variable, &ops.variable));
        let mut lines = String::new();
        if let Some(own) = own.filter(|_| object.struct_ops.len() > 1) {
            let _ = writeln!(lines, "variable = \"{}\"", own.variable);
        }
        let before = |member: &str| own.map_or(0, |own| own.integer(member));
        let added = ops.integer("flags") & !before("flags");
        let names: Vec<String> =
            FLAGS.iter().filter(|(_, bit)| added & bit != 0).map(|(name, _)| format!("\"{name}\"")).collect();
        if !names.is_empty() {
            let _ = writeln!(lines, "flags = [{}]", names.join(", "));
        }
        for member in MEMBERS {
            if ops.integer(member) != before(member) {
                let _ = writeln!(lines, "{member} = {}", ops.integer(member));
            }
        }
        if lines.is_empty() { lines } else { format!("[ops]\n{lines}") }
    }

    fn elements(&self, object: &Object) -> String {
        let mut text = String::new();
        for own in object.maps.iter().filter(|map| !map.name.starts_with('.')) {
            let Some((number, map)) = self.map_of(own) else { continue };
            let gap = if text.is_empty() { "" } else { "\n" };
            if own.kind == ARENA {
                let _ = writeln!(
                    text,
                    "{gap}# {} is an arena: a recipe cannot set what the program writes there",
                    own.name
                );
                continue;
            }
            let mut lines = String::new();
            if own.max_entries != map.def.max_entries && own.max_entries > 0 {
                let _ = writeln!(lines, "max_entries = {}", map.def.max_entries);
            }
            let fills: BTreeMap<&[u8], &Fill> = self
                .fills
                .iter()
                .filter(|fill| fill.map == number && !fill.key.is_empty())
                .map(|fill| (&fill.key[..], fill))
                .collect();
            if self.fills.iter().any(|fill| fill.map == number && fill.key.is_empty()) {
                lines += "# it has values in a queue, which no recipe can set\n";
            }
            if !fills.is_empty() {
                lines += &entries(fills.into_values(), matches!(own.kind, ARRAY | PERCPU_ARRAY));
            }
            if !lines.is_empty() {
                let _ = write!(text, "{gap}[[map]]\nname = \"{}\"\n{lines}", own.name);
            }
        }
        text
    }

    fn programs(&self) -> String {
        let mut text = String::new();
        for Run { program, context, value } in &self.runs {
            let gap = if text.is_empty() { "" } else { "\n" };
            if *value != 0 {
                // A recipe's programs return 0.
                let _ = writeln!(text, "{gap}# {program} was run, too, and returned {}", *value as i32);
                continue;
            }
            let _ = write!(text, "{gap}[[run]]\nprogram = \"{program}\"\n");
            let words = context.chunks(8).map(|word| number(integer(word, false)));
            if !context.is_empty() {
                let _ = writeln!(text, "args = [{}]", words.collect::<Vec<_>>().join(", "));
            }
        }
        text
    }
}

/// Returns whether a loaded struct_ops map has this variable's name: libbpf truncates it to the kernel's limit.
fn same_name(own: &str, loaded: &str) -> bool {
    own.as_bytes()[..own.len().min(NAME_BYTES)] == *loaded.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_object::Variable;
    use keel_object::model::Elements;

    fn variable(name: &str, offset: u32, size: u32, signed: Option<bool>, element: Option<u32>) -> Variable {
        let elements = element.map(|size| Elements { size, signed: false, boolean: false });
        let (words, len) = (Vec::new(), element.map_or(1, |element| size / element));
        Variable { name: name.into(), map: 0, offset, size, len, signed, boolean: false, elements, words }
    }

    fn map(name: &str, value_size: u32, initial: Vec<u8>) -> MapDef {
        MapDef { name: name.into(), key_size: 4, value_size, max_entries: 1, initial, ..MapDef::default() }
    }

    fn program(name: &str) -> keel_object::Program {
        keel_object::Program { name: name.into(), section: "syscall".into(), function: 0, sleepable: true }
    }

    #[test]
    fn what_differs_is_in_the_recipe() {
        let ops = |name: &str, flags: u64| StructOps {
            variable: name.into(),
            fields: vec![("flags".into(), flags.to_le_bytes().to_vec())],
            ..StructOps::default()
        };
        let object = Object {
            maps: vec![
                map(".rodata", 24, vec![0; 24]),
                map("a_map_with_a_long_name", 8, Vec::new()),
                MapDef { kind: PERCPU_ARRAY, ..map("of_cpus", 4, Vec::new()) },
                MapDef { kind: ARENA, ..map("pages", 0, Vec::new()) },
            ],
            programs: ["setup", "probe_helper"].map(program).to_vec(),
            variables: vec![
                variable("same", 0, 4, Some(false), None),
                variable("slice_ns", 4, 4, Some(true), None),
                variable("list", 8, 8, None, Some(2)),
                variable("pair", 16, 8, None, None),
            ],
            struct_ops: vec![ops("my_very_long_ops_name", 2)],
            ..Object::default()
        };
        let mut bytes = vec![0; 24];
        bytes[4..8].copy_from_slice(&(-2_i32).to_le_bytes());
        bytes[10] = 7;
        bytes[20] = 1;
        let loaded = |def, bytes| Map { def, bytes };
        let larger = MapDef { max_entries: 64, ..map("a_map_with_a_lo", 8, Vec::new()) };
        let record = Record {
            maps: vec![
                loaded(map("bpf_bpf.rodata", 24, Vec::new()), bytes),
                loaded(larger, Vec::new()),
                loaded(map("of_cpus", 4, Vec::new()), Vec::new()),
                loaded(map("pages", 0, Vec::new()), Vec::new()),
            ],
            fills: vec![
                Fill { map: 1, key: vec![3, 0, 0, 0], values: vec![vec![0xff; 8]; 2] },
                Fill { map: 2, key: vec![0; 4], values: vec![vec![0; 4], vec![5, 0, 0, 0]] },
                // An array's elements are 0 anyway.
                Fill { map: 2, key: vec![1, 0, 0, 0], values: vec![vec![0; 4]; 2] },
            ],
            runs: vec![
                Run { program: "setup".into(), context: vec![1, 0, 0, 0, 0, 0, 0, 0, 2], value: 0 },
                Run { program: "probe".into(), context: Vec::new(), value: u32::MAX },
            ],
            programs: vec!["setup".into()],
            ops: Some(ops("my_very_long_op", 10)),
        };
        let expected = "leave_out = [\"probe_helper\"]\n\n[set]\nslice_ns = -2\nlist = [0, 7]\n\n\
            [ops]\nflags = [\"SCX_OPS_SWITCH_PARTIAL\"]\n\n\
            [[part]]\nvariable = \"pair\"\nat = 0\nvalues = [4294967296]\n\n\
            [[map]]\nname = \"a_map_with_a_long_name\"\nmax_entries = 64\nentries = [\n    \
            { key = 3, value = \"0xffffffffffffffff\" },\n]\n\n\
            [[map]]\nname = \"of_cpus\"\nentries = [\n    { key = 0, cpu = 1, value = 5 },\n]\n\n\
            # pages is an arena: a recipe cannot set what the program writes there\n\n\
            [[run]]\nprogram = \"setup\"\nargs = [1, 2]\n\n# probe was run, too, and returned -1\n";
        assert_eq!(record.recipe(&object), expected);
        // The recipe can be read back.
        keel_recipe::Recipe::read("r.toml", expected).expect("a recipe");
        let nothing = Record {
            maps: vec![loaded(map("x.rodata", 24, Vec::new()), vec![0; 24])],
            programs: record.programs.clone(),
            ..Record::default()
        };
        let object = Object { programs: vec![program("setup")], ..object };
        assert_eq!(nothing.recipe(&object), "");
    }
}
