//! Compiles the kernel's header into its BTF, and asks the compiler where each field lies that
//! Rust reads or writes (`btf/layout.tsv`).
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "no part of a run")]

use keel_bpfc::{CLANG, Compiler, section};
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One constant of the table.
struct Row<'a> {
    module: &'a str,
    constant: &'a str,
    type_name: &'a str,
    path: Option<&'a str>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=btf");
    println!("cargo::rerun-if-env-changed={CLANG}");
    let built = build(&out);
    if let Err(failure) = &built {
        println!("cargo::error={}", failure.to_string().replace('\n', " | "));
    }
    built
}

fn build(out: &Path) -> Result<(), Box<dyn Error>> {
    let header = Compiler::new("btf").compile("kernel.btf.c")?;
    std::fs::write(out.join("kernel.btf"), section(&header, ".BTF")?)?;

    let table = std::fs::read_to_string("btf/layout.tsv")?;
    let rows = rows(&table)?;
    std::fs::write(out.join("layout.c"), question(&rows))?;
    let answer = Compiler::new("btf").include(".").compile(out.join("layout.c"))?;
    let values = section(&answer, ".rodata.layout")?;
    let values = values.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    std::fs::write(out.join("layout.rs"), constants(&rows, values))?;
    Ok(())
}

fn rows(table: &str) -> Result<Vec<Row<'_>>, String> {
    let lines = table.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            let mut words = line.split('\t');
            let mut next = || words.next().filter(|word| !word.is_empty());
            let row =
                (|| Some(Row { module: next()?, constant: next()?, type_name: next()?, path: next() }))();
            row.ok_or_else(|| format!("btf/layout.tsv:{}: module, constant and type expected", number + 1))
        })
        .collect()
}

/// C whose only data are the values asked for.
fn question(rows: &[Row]) -> String {
    let mut c = String::from(
        "#define KFUNC(...)\n#define KFUNC_VERSION(...)\n#include \"kernel.h\"\n\
         __attribute__((section(\".rodata.layout\"))) const u64 layout[] = {\n",
    );
    for Row { type_name, path, .. } in rows {
        let _ = match path {
            Some(path) => writeln!(c, "\t__builtin_offsetof({type_name}, {path}),"),
            None => writeln!(c, "\tsizeof({type_name}),"),
        };
    }
    c + "};\n"
}

/// The constants, a module a type.
fn constants(rows: &[Row], values: impl Iterator<Item = u64>) -> String {
    let mut rust = String::new();
    let mut open = "";
    for (row, value) in rows.iter().zip(values) {
        if row.module != open {
            if !open.is_empty() {
                rust.push_str("}\n");
            }
            let _ = writeln!(
                rust,
                "/// `{}`: offsets and size in bytes.\npub mod {} {{",
                row.type_name, row.module
            );
            open = row.module;
        }
        let what = row.path.map_or("Its size".to_owned(), |path| format!("`{path}`"));
        let _ = writeln!(rust, "    /// {what}.\n    pub const {}: u64 = {value};", row.constant);
    }
    rust + "}\n"
}
