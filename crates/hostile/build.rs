//! Compiles the fuzzer's base objects: the schedulers, the objects that are wrong on purpose, and the cases of
//! `tests/bpf`.
#![forbid(unsafe_code)]

use keel_bpfc::{Case, Compiler, Error, cases};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const ROOT: &str = "../..";
/// Folders of schedulers.
const SCHEDULERS: &[&str] = &["schedulers", "tests/objects", "tests/sim/semantics"];
/// A scheduler with its own recipe.
const WITH_RECIPE: (&str, &str) = ("tests/sim/recipe", "halved");
/// Files of syscall programs, which a recipe runs one after another.
const CASES: &str = "tests/bpf";

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    if let Err(failure) = table(&out) {
        println!("cargo::error={}", failure.to_string().replace('\n', " | "));
        std::process::exit(1);
    }
}

fn compiler() -> Compiler {
    Compiler::new(ROOT).include("schedulers/include").include("crates/kernel/btf")
}

/// Writes the table of objects, with the name, recipe and bytes of each.
fn table(out: &Path) -> Result<(), Error> {
    let mut rows = String::new();
    for folder in SCHEDULERS {
        for name in compiler().names(folder)? {
            let bytes = compiler().compile(format!("{folder}/{name}.bpf.c"))?;
            row(&mut rows, out, &name, "", &bytes)?;
        }
    }
    let (folder, name) = WITH_RECIPE;
    let path = Path::new(ROOT).join(folder).join(format!("{name}.keel.toml"));
    let recipe = std::fs::read_to_string(&path).map_err(|why| Error::File { path, why })?;
    row(&mut rows, out, name, &recipe, &compiler().compile(format!("{folder}/{name}.bpf.c"))?)?;
    for name in compiler().names(CASES)? {
        let case = compiler().cpu("v4").include(CASES).define(format!("CASES=\"{name}.bpf.c\""));
        let bytes = case.compile("crates/hostile/bpf/case.bpf.c")?;
        let run = |case: Case| format!("[[run]]\nprogram = \"{}\"\n", case.name);
        let recipe: String = cases(&bytes)?.into_iter().map(run).collect();
        row(&mut rows, out, &format!("case_{name}"), &recipe, &bytes)?;
    }
    let text = format!("pub(crate) static OBJECTS: &[Base] = &[\n{rows}];\n");
    write(&out.join("objects.rs"), text.as_bytes())?;
    for watched in
        ["schedulers", "tests/objects", "tests/sim", CASES, "crates/kernel/btf", "crates/hostile/bpf"]
    {
        println!("cargo::rerun-if-changed={ROOT}/{watched}");
    }
    println!("cargo::rerun-if-env-changed={}", keel_bpfc::CLANG);
    Ok(())
}

fn row(rows: &mut String, out: &Path, name: &str, recipe: &str, bytes: &[u8]) -> Result<(), Error> {
    write(&out.join(format!("{name}.bpf.o")), bytes)?;
    let _ = writeln!(
        rows,
        "    Base {{ name: {name:?}, recipe: {recipe:?}, bytes: include_bytes!(concat!(env!(\"OUT_DIR\"), \
         \"/{name}.bpf.o\")) }},"
    );
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|why| Error::File { path: path.to_owned(), why })
}
