//! Every object of ours, compiled and loaded against the kernel's own types: what it calls is
//! served, and the faults that show at load are named.

use keel_bpfc::Compiler;
use keel_kernel::layout::KERNEL_BTF;
use keel_object::{Btf, LoadOptions, Object, ObjectError, load};
use std::path::Path;

fn compiler() -> Compiler {
    Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf")
}

fn loaded(source: &str) -> Result<Object, ObjectError> {
    let bytes = compiler().compile(source).unwrap_or_else(|e| panic!("{e}"));
    load(&bytes, &Btf::parse(KERNEL_BTF).unwrap(), &LoadOptions::default())
}

fn sources(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(Path::new("../..").join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut sources: Vec<_> =
        names.filter(|name| name.ends_with(".bpf.c")).map(|name| format!("{folder}/{name}")).collect();
    sources.sort();
    sources
}

#[test]
fn every_object_loads_and_calls_what_is_served() {
    for source in [sources("schedulers"), sources("tests/objects")].concat() {
        if source.ends_with("/unknown_kfunc.bpf.c") {
            continue;
        }
        let object = loaded(&source).unwrap_or_else(|e| panic!("{source}: {e}"));
        for kfunc in &object.kfuncs {
            assert!(keel_kernel::kfunc(&kfunc.name).is_some(), "{source} calls {}", kfunc.name);
        }
        let poisoned: Vec<_> = object.functions.iter().flat_map(|function| &function.poison).collect();
        assert!(poisoned.iter().all(|poison| !poison.missing.is_empty()), "{source}: {poisoned:?}");
        let schedulers = usize::from(!source.ends_with("/wrong_type.bpf.c"));
        assert_eq!(object.struct_ops.len(), schedulers, "{source}");
        let name = Path::new(&source).file_name().unwrap().to_str().unwrap().trim_end_matches(".bpf.c");
        assert!(object.struct_ops.iter().all(|ops| ops.name() == name), "{source}");
    }
}

#[test]
fn an_unknown_kfunc_is_named() {
    let error = loaded("tests/objects/unknown_kfunc.bpf.c").unwrap_err().to_string();
    assert!(error.contains("scx_bpf_no_such_kfunc"), "{error}");
}
