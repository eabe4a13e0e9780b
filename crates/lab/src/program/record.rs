//! What a program sets up before it attaches its scheduler, as a recipe: variables, members of its `struct sched_ext_ops`,
//! sizes and elements of maps, programs that it runs. What a recipe cannot say is a comment.

use keel_object::{MapDef, Object, StructOps, Variable};
use keel_program::{Fill, Loaded};
use keel_recipe::FLAGS;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::fs::FileExt;

/// Bytes of a name in the kernel, less the one that ends it.
const NAME_BYTES: usize = 15;
/// Integer members of `struct sched_ext_ops` that a recipe sets.
const MEMBERS: [&str; 3] = ["timeout_ms", "dispatch_max_batch", "exit_dump_len"];
/// The most elements of a map that are written.
const MOST_ELEMENTS: usize = 4096;
/// The most integers of a list in a recipe.
const MOST_OF_A_LIST: usize = 1 << 16;
/// The address of the kernel's configuration, which loaders do not set.
const KCONFIG: &str = ".kconfig";

/// What was set up.
#[derive(Default)]
pub(super) struct Record {
    maps: Vec<Map>,
    fills: Vec<Fill>,
    runs: Vec<Run>,
    pub(super) ops: Option<StructOps>,
}

/// A program that was run.
struct Run {
    program: String,
    context: Vec<u8>,
    value: u32,
}

/// A map as it was when the program first used what it has loaded.
struct Map {
    def: MapDef,
    /// Of global data its bytes.
    bytes: Vec<u8>,
}

impl Record {
    pub(super) fn loaded(&mut self, loaded: &Loaded) {
        for (number, def) in (0..).zip(&loaded.object.maps) {
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
        self.fills.clone_from(&loaded.fills);
    }

    /// A program was run with this context, and returned this.
    pub(super) fn ran(&mut self, program: &str, context: &[u8], value: u32) {
        self.runs.push(Run { program: program.to_owned(), context: context.to_vec(), value });
    }

    /// The recipe for `object`, which is what the program has loaded, before it set anything.
    pub(super) fn recipe(&self, object: &Object) -> String {
        let mut text = String::new();
        for part in [self.set(object), self.members(object), self.elements(object), self.programs()] {
            if !part.is_empty() && !text.is_empty() {
                text.push('\n');
            }
            text += &part;
        }
        text
    }

    /// The loaded map that was the object's: libbpf puts the object's name before global data, and the kernel cuts names.
    fn map_of(&self, own: &MapDef) -> Option<(u32, &Map)> {
        let name = &own.name.as_bytes()[..own.name.len().min(NAME_BYTES)];
        let is_it = |map: &Map| match own.name.starts_with('.') {
            true => map.def.name.as_bytes().ends_with(name),
            false => map.def.name.as_bytes() == name,
        };
        (0..).zip(&self.maps).find(|(_, map)| is_it(map))
    }

    fn set(&self, object: &Object) -> String {
        let mut lines = String::new();
        for variable in &object.variables {
            let Some(own) = object.maps.get(variable.map as usize).filter(|map| map.name != KCONFIG) else {
                continue;
            };
            let Some((_, map)) = self.map_of(own).filter(|(_, map)| !map.bytes.is_empty()) else { continue };
            let (mut before, after) =
                (bytes_of(variable, own, &own.initial), bytes_of(variable, own, &map.bytes));
            if after.len() > before.len() {
                let _ = writeln!(lines, "# {}: has grown to {} bytes", variable.name, after.len());
                before.resize(after.len(), 0);
            }
            if before == after {
                continue;
            }
            lines += &match value(variable, &before, &after) {
                Some(value) => format!("{} = {value}\n", variable.name),
                None => format!("# {}: {} bytes that no recipe can set\n", variable.name, after.len()),
            };
        }
        if lines.is_empty() { lines } else { format!("[set]\n{lines}") }
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
                lines += &entries(fills.into_values());
            }
            if !lines.is_empty() {
                let gap = if text.is_empty() { "" } else { "\n" };
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

/// libbpf calls a struct_ops map by its variable, as far as the kernel takes the name.
fn same_name(own: &str, loaded: &str) -> bool {
    own.as_bytes()[..own.len().min(NAME_BYTES)] == *loaded.as_bytes()
}

/// A variable's bytes in its map; an array that has its section for itself may have grown.
fn bytes_of(variable: &Variable, own: &MapDef, bytes: &[u8]) -> Vec<u8> {
    let (from, size) = (variable.offset as usize, variable.size as usize);
    let is_alone = variable.offset == 0 && variable.size == own.value_size && variable.elements.is_some();
    let end = if is_alone { bytes.len().max(size) } else { from + size };
    (from..end).map(|at| bytes.get(at).copied().unwrap_or(0)).collect()
}

/// In a recipe's notation; an array up to its last element that differs.
fn value(variable: &Variable, before: &[u8], after: &[u8]) -> Option<String> {
    if let Some(signed) = variable.signed {
        return Some(number(integer(after, signed)));
    }
    let elements = variable.elements?;
    let size = elements.size.max(1) as usize;
    let last = after.iter().enumerate().rposition(|(at, byte)| before.get(at) != Some(byte))?;
    if last / size >= MOST_OF_A_LIST {
        return None;
    }
    let parts = after.chunks(size).take(last / size + 1).map(|part| number(integer(part, elements.signed)));
    Some(format!("[{}]", parts.collect::<Vec<_>>().join(", ")))
}

fn entries<'a>(fills: impl Iterator<Item = &'a Fill>) -> String {
    let mut lines = String::from("entries = [\n");
    for (nth, fill) in fills.enumerate() {
        if nth == MOST_ELEMENTS {
            lines += "    # there are more\n";
            break;
        }
        let first = fill.values.first().map_or(&[][..], Vec::as_slice);
        if fill.values.iter().any(|value| value != first) {
            lines += "    # another value on each CPU, which no recipe can set\n";
            continue;
        }
        let _ = writeln!(lines, "    {{ key = {}, value = {} }},", whole(&fill.key), whole(first));
    }
    lines + "]\n"
}

/// Bytes as one number, or as equal parts.
fn whole(bytes: &[u8]) -> String {
    if matches!(bytes.len(), 1 | 2 | 4 | 8) {
        return number(integer(bytes, false));
    }
    let size = [8, 4, 2, 1].into_iter().find(|size| bytes.len().is_multiple_of(*size)).unwrap_or(1);
    let parts: Vec<String> = bytes.chunks(size).map(|part| number(integer(part, false))).collect();
    format!("[{}]", parts.join(", "))
}

/// Little-endian; longer ones are cut.
fn integer(bytes: &[u8], signed: bool) -> i128 {
    let len = bytes.len().min(8);
    let fill =
        if signed && bytes.get(len.wrapping_sub(1)).is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut word = [fill; 16];
    word[..len].copy_from_slice(&bytes[..len]);
    i128::from_le_bytes(word)
}

/// TOML's own numbers end at 63 bits.
fn number(value: i128) -> String {
    match i64::try_from(value) {
        Ok(value) => value.to_string(),
        Err(_) => format!("\"{value:#x}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_object::model::Elements;

    fn variable(name: &str, offset: u32, size: u32, signed: Option<bool>, element: Option<u32>) -> Variable {
        let elements = element.map(|size| Elements { size, signed: false, boolean: false });
        let (words, len) = (Vec::new(), element.map_or(1, |element| size / element));
        Variable { name: name.into(), map: 0, offset, size, len, signed, boolean: false, elements, words }
    }

    fn map(name: &str, value_size: u32, initial: Vec<u8>) -> MapDef {
        MapDef { name: name.into(), key_size: 4, value_size, max_entries: 1, initial, ..MapDef::default() }
    }

    #[test]
    fn what_differs_is_in_the_recipe() {
        let ops = |name: &str, flags: u64| StructOps {
            variable: name.into(),
            fields: vec![("flags".into(), flags.to_le_bytes().to_vec())],
            ..StructOps::default()
        };
        let object = Object {
            maps: vec![map(".rodata", 24, vec![0; 24]), map("a_map_with_a_long_name", 8, Vec::new())],
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
            maps: vec![loaded(map("bpf_bpf.rodata", 24, Vec::new()), bytes), loaded(larger, Vec::new())],
            fills: vec![Fill { map: 1, key: vec![3, 0, 0, 0], values: vec![vec![0xff; 8]; 2] }],
            runs: vec![
                Run { program: "setup".into(), context: vec![1, 0, 0, 0, 0, 0, 0, 0, 2], value: 0 },
                Run { program: "probe".into(), context: Vec::new(), value: u32::MAX },
            ],
            ops: Some(ops("my_very_long_op", 10)),
        };
        let expected = "[set]\nslice_ns = -2\nlist = [0, 7]\n# pair: 8 bytes that no recipe can set\n\n\
            [ops]\nflags = [\"SCX_OPS_SWITCH_PARTIAL\"]\n\n\
            [[map]]\nname = \"a_map_with_a_long_name\"\nmax_entries = 64\nentries = [\n    \
            { key = 3, value = \"0xffffffffffffffff\" },\n]\n\n\
            [[run]]\nprogram = \"setup\"\nargs = [1, 2]\n\n# probe was run, too, and returned -1\n";
        assert_eq!(record.recipe(&object), expected);
        // It is one that can be read.
        keel_recipe::Recipe::read("r.toml", expected).expect("a recipe");
        let nothing =
            Record { maps: vec![loaded(map("x.rodata", 24, Vec::new()), vec![0; 24])], ..Record::default() };
        assert_eq!(nothing.recipe(&object), "");
    }
}
