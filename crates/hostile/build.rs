//! Compiles what the fuzzer alters: the schedulers, the objects that are wrong on purpose, the cases of `tests/bpf`.
#![forbid(unsafe_code)]

use keel_bpfc::{Compiler, Error, cases};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const ROOT: &str = "../..";
/// Sources that are schedulers, and the syscall programs that a recipe runs.
const SCHEDULERS: &[&str] = &["schedulers", "tests/objects", "tests/sim/semantics"];
const WITH_PROGRAMS: &[(&str, &[&str])] = &[("tests/sim/recipe/halved", &["setup", "tick"])];
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

/// Name, programs to run, bytes of each object.
fn table(out: &Path) -> Result<(), Error> {
    let mut rows = String::new();
    for folder in SCHEDULERS {
        for name in compiler().names(folder)? {
            let bytes = compiler().compile(format!("{folder}/{name}.bpf.c"))?;
            row(&mut rows, out, &name, &[], &bytes)?;
        }
    }
    for (path, programs) in WITH_PROGRAMS {
        let programs: Vec<String> = programs.iter().map(|&program| program.to_owned()).collect();
        let bytes = compiler().compile(format!("{path}.bpf.c"))?;
        row(&mut rows, out, path.rsplit('/').next().unwrap_or_default(), &programs, &bytes)?;
    }
    for name in compiler().names(CASES)? {
        let case = compiler().cpu("v4").include(CASES).define(format!("CASES=\"{name}.bpf.c\""));
        let bytes = case.compile("crates/hostile/bpf/case.bpf.c")?;
        let programs: Vec<String> = cases(&bytes)?.into_iter().map(|case| case.name).collect();
        row(&mut rows, out, &format!("case_{name}"), &programs, &bytes)?;
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

fn row(rows: &mut String, out: &Path, name: &str, programs: &[String], bytes: &[u8]) -> Result<(), Error> {
    write(&out.join(format!("{name}.bpf.o")), bytes)?;
    let _ = writeln!(
        rows,
        "    Base {{ name: {name:?}, programs: &{programs:?}, bytes: include_bytes!(concat!(env!(\"OUT_DIR\"), \
         \"/{name}.bpf.o\")) }},"
    );
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|why| Error::File { path: path.to_owned(), why })
}
