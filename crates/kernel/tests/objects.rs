//! Compiles every object of the project and loads it against the kernel's own types. All functions it calls exist, and
//! faults that are detected at load are named.

use keel_bpfc::Compiler;
use keel_kernel::layout::KERNEL_BTF;
use keel_object::{Btf, LoadOptions, Object, ObjectError, load};

fn compiler() -> Compiler {
    Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf")
}

fn loaded(source: &str) -> Result<Object, ObjectError> {
    let bytes = compiler().compile(source).unwrap_or_else(|e| panic!("{e}"));
    load(&bytes, &Btf::parse(KERNEL_BTF).unwrap(), &LoadOptions::default())
}

#[test]
fn every_object_loads_and_calls_what_is_served() {
    for folder in ["schedulers", "tests/objects"] {
        let names = compiler().names(folder).unwrap();
        names.iter().filter(|name| *name != "unknown_kfunc").for_each(|name| loads(folder, name));
    }
}

fn loads(folder: &str, name: &str) {
    let source = format!("{folder}/{name}.bpf.c");
    let object = loaded(&source).unwrap_or_else(|e| panic!("{source}: {e}"));
    for kfunc in &object.kfuncs {
        assert!(keel_kernel::kfunc(&kfunc.name).is_some(), "{source} calls {}", kfunc.name);
    }
    let poison: Vec<_> = object.functions.iter().flat_map(|function| &function.poison).collect();
    assert!(poison.is_empty(), "{source}: {poison:?}");
    let schedulers = usize::from(name != "wrong_type");
    assert_eq!(object.struct_ops.len(), schedulers, "{source}");
    assert!(object.struct_ops.iter().all(|ops| ops.name() == name), "{source}");
}

#[test]
fn an_unknown_kfunc_is_named() {
    let error = loaded("tests/objects/unknown_kfunc.bpf.c").unwrap_err().to_string();
    assert!(error.contains("scx_bpf_no_such_kfunc"), "{error}");
}
