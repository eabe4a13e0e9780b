//! Embeds a folder of sources as a Rust table of objects.

use crate::{CLANG, Compiler, Error};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Compiles every `*.bpf.c` in `folder`, relative to the compiler's root, into `out`, and writes `out/TABLE.rs`:
/// `pub static OBJECTS: &[(&str, &[u8])]`, with the names without `.bpf.c` in alphabetical order. Call it from a build
/// script, and include the table with `include!(concat!(env!("OUT_DIR"), "/TABLE.rs"))`.
///
/// # Errors
/// Fails with the error of [`Compiler::compile`] for the first source that cannot be compiled, or if a file cannot be
/// used.
pub fn embed(compiler: &Compiler, folder: &str, out: &Path, table: &str) -> Result<(), Error> {
    println!("cargo::rerun-if-env-changed={CLANG}");
    let mut rows = String::new();
    for name in compiler.names(folder)? {
        let object = compiler.compile(format!("{folder}/{name}.bpf.c"))?;
        write(&out.join(format!("{name}.bpf.o")), &object)?;
        let _ =
            writeln!(rows, "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.bpf.o\"))),");
    }
    let text =
        format!("/// Name and bytes of each object.\npub static OBJECTS: &[(&str, &[u8])] = &[\n{rows}];\n");
    write(&out.join(format!("{table}.rs")), text.as_bytes())?;
    for watched in compiler.includes.iter().map(PathBuf::as_path).chain([Path::new(folder)]) {
        println!("cargo::rerun-if-changed={}", compiler.root.join(watched).display());
    }
    Ok(())
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|why| Error::File { path: path.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_in_the_table() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["two.bpf.c", "one.bpf.c", "header.h"] {
            std::fs::write(folder.path().join(name), "int x;\n").unwrap();
        }
        embed(&Compiler::new(folder.path()), ".", folder.path(), "table").unwrap();
        let table = std::fs::read_to_string(folder.path().join("table.rs")).unwrap();
        let one = table.find("(\"one\", include_bytes!").unwrap();
        assert!(one < table.find("(\"two\", include_bytes!").unwrap());
        assert!(folder.path().join("two.bpf.o").exists());
    }
}
