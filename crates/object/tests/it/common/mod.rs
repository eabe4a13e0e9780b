//! Compiles fixtures, and shows objects in a readable form.

mod show;

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use keel_object::{Btf, LoadOptions, Object, ObjectError, btf_section, load};

pub(crate) use show::{show, show_function};

/// Compiles C to a BPF object.
pub(crate) fn compile(source: &str) -> Vec<u8> {
    compile_with(source, &["-target", "bpf", "-mcpu=v3"])
}

/// Compiles C for another machine, or with other arguments.
pub(crate) fn compile_with(source: &str, arguments: &[&str]) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fixture.c"), source).unwrap();
    let clang = Command::new(std::env::var("CLANG").unwrap_or_else(|_| "clang-19".to_owned()))
        .args(["-O2", "-g", "-Wall", "-Wno-unused", "-fno-ident", "-I"])
        .arg(&fixtures)
        .args(arguments)
        .args(["-fdebug-compilation-dir=.", "-c", "fixture.c", "-o", "fixture.o"])
        .current_dir(&folder)
        .status()
        .expect("clang-19 is needed to build the fixtures");
    assert!(clang.success(), "clang refused the fixture");
    std::fs::read(folder.path().join("fixture.o")).unwrap()
}

/// Compiles C that starts with the prelude.
pub(crate) fn object(source: &str) -> Vec<u8> {
    compile(&format!("#include \"prelude.h\"\n{source}"))
}

/// The types of the small kernel.
pub(crate) fn kernel() -> &'static Btf {
    static KERNEL: OnceLock<Btf> = OnceLock::new();
    KERNEL.get_or_init(|| types(include_str!("../fixtures/kernel.c")))
}

/// The types of a kernel, from its C.
pub(crate) fn types(source: &str) -> Btf {
    Btf::parse(&btf_section(&compile(source)).unwrap()).unwrap()
}

/// Compiles with the prelude and loads for the small kernel.
pub(crate) fn try_load(source: &str) -> Result<Object, ObjectError> {
    load(&object(source), kernel(), &LoadOptions::default())
}

/// The sentence with which an object is rejected.
pub(crate) fn refusal(source: &str) -> String {
    try_load(source).expect_err("it loads").to_string()
}
