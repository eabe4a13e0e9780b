//! Counts instructions per function, of the same C sources compiled by clang for BPF and for x86-64.

use crate::embed::write;
use crate::{Compiler, Error};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The instruction counts of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// In the BPF object.
    pub bpf: u32,
    /// In compiled C.
    pub native: u32,
}

/// What CO-RE asks of the kernel at load time is known at compile time in C.
const RELOCATIONS: [&str; 5] = [
    "__builtin_preserve_access_index(access)=(access)",
    // The attribute that marks types for it; any other that a type may have.
    "preserve_access_index=annotate(\"known\")",
    "__builtin_preserve_type_info(type,kind)=1",
    "__builtin_preserve_field_info(field,kind)=1",
    "__builtin_preserve_enum_value(value,kind)=1",
];

impl Compiler {
    /// Returns the instruction counts of each function that both builds contain, by name.
    ///
    /// # Errors
    /// Fails like [`Compiler::compile`].
    pub fn count(&self, source: &Path) -> Result<BTreeMap<String, Counts>, Error> {
        let bpf = instructions(&self.assembly(source, false)?);
        let mut native = self.clone();
        native.defines.extend(RELOCATIONS.map(str::to_owned));
        let native = instructions(&native.assembly(source, true)?);
        let both =
            |(name, bpf): (String, u32)| Some((name.clone(), Counts { bpf, native: *native.get(&name)? }));
        Ok(bpf.into_iter().filter_map(both).collect())
    }
}

/// Counts the instructions between a function's label and its end in clang's assembly, without labels, directives and
/// comments.
fn instructions(assembly: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let mut function = None;
    for line in assembly.lines() {
        if let Some(named) = line.strip_prefix("\t.type\t").and_then(|rest| rest.strip_suffix(",@function")) {
            function = Some(named.to_owned());
            counts.insert(named.to_owned(), 0);
        } else if line.starts_with("\t.size\t") {
            function = None;
        } else if line.starts_with('\t')
            && line[1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '*')
        {
            function.iter().for_each(|name| *counts.entry(name.clone()).or_insert(0) += 1);
        }
    }
    counts
}

/// Counts every `.bpf.c` in `folder`, and writes a Rust table of the counts, `COUNTS`, to `TABLE.rs` in `out`.
///
/// # Errors
/// Fails if a source cannot be compiled or a file cannot be written.
pub fn count_all(compiler: &Compiler, folder: &str, out: &Path, table: &str) -> Result<(), Error> {
    let mut rows = String::new();
    for name in compiler.names(folder)? {
        let counts = compiler.count(Path::new(&format!("{folder}/{name}.bpf.c")))?;
        let row = |(function, Counts { bpf, native }): (&String, &Counts)| {
            format!("({function:?}, {bpf}, {native})")
        };
        let list: Vec<String> = counts.iter().map(row).collect();
        let _ = writeln!(rows, "    ({name:?}, &[{}]),", list.join(", "));
    }
    let text = format!(
        "/// A function's name, and its instructions in BPF and in compiled C.\n\
         pub type Function = (&'static str, u32, u32);\n\
         /// Each scheduler's functions, with their instructions in BPF and in compiled C.\n\
         pub static COUNTS: &[(&str, &[Function])] = &[\n{rows}];\n"
    );
    write(&out.join(format!("{table}.rs")), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_counted_by_function() {
        let assembly = "\t.text\n\t.type\tone,@function\none:\n.Lfunc_begin0:\n\t.loc\t1 2 3\n\tr1 = 5\n\t*(u32 *)(r10 - 4) = r1\n\
                        \t# comment\n\texit\n.Lend:\n\t.size\tone, .Lend-one\n\tnot counted\n\t.type\ttwo,@function\ntwo:\n\tretq\n\
                        \t.size\ttwo, 1\n\t.type\tdata,@object\n\tlong 5\n";
        let expected = [("one", 3), ("two", 1)].map(|(name, count)| (name.to_owned(), count));
        assert_eq!(instructions(assembly), BTreeMap::from(expected));
    }

    #[test]
    fn the_same_source_is_counted_in_both() {
        let folder = tempfile::tempdir().unwrap();
        let source = "int twice(int x) { return 2 * x; }\nint known(void) { return __builtin_preserve_enum_value(1, 0); }\n";
        std::fs::write(
            folder.path().join("x.bpf.c"),
            source.replace("__builtin_preserve_enum_value(1, 0)", "7"),
        )
        .unwrap();
        let counts = Compiler::new(folder.path()).count(Path::new("x.bpf.c")).unwrap();
        assert_eq!(counts.keys().collect::<Vec<_>>(), ["known", "twice"]);
        assert!(
            counts.values().all(|counts| (1..10).contains(&counts.bpf) && (1..10).contains(&counts.native)),
            "{counts:?}"
        );
    }
}
