//! Files that are not objects, binaries that contain one, and struct_ops that the kernel lacks.

use std::process::Command;

use keel_object::{LoadOptions, load};

use crate::common::{compile, compile_with, kernel, object, refusal};

fn refused(bytes: &[u8]) -> String {
    load(bytes, kernel(), &LoadOptions::default()).unwrap_err().to_string()
}

#[test]
fn other_files_are_identified() {
    assert_eq!(refused(b""), "it is not a readable ELF file: it doesn't start like one");
    assert_eq!(refused(b"#!/bin/sh\n"), "it is not a readable ELF file: it doesn't start like one");
    assert_eq!(refused(b"\x7fELF"), "it is not a readable ELF file: it ends within its header");
    let big = compile_with("int x;", &["-target", "bpfeb"]);
    assert_eq!(refused(&big), "it is a big-endian ELF file; only little-endian 64-bit objects are read");
    let native = compile_with("int x;", &["-target", "x86_64-linux-gnu"]);
    assert_eq!(
        refused(&native),
        "it is an ELF file for x86-64, neither BPF nor a binary with a BPF object in a .bpf.objs section"
    );
}

#[test]
fn a_binary_may_carry_an_object() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let scheduler = compile(include_str!("fixtures/fifo.c"));
    // A second object, without struct_ops, comes first. Between them there is padding.
    let mut carried = object("SEC(\"syscall\") long f(void *c) { return 0; }");
    carried.resize(carried.len().next_multiple_of(16) + 16, 0);
    carried.extend_from_slice(&scheduler);
    std::fs::write(path("objs"), carried).unwrap();
    std::fs::write(path("host"), compile_with("int x;", &["-target", "x86_64-linux-gnu"])).unwrap();
    let objcopy = Command::new("llvm-objcopy-19")
        .arg(format!("--add-section=.bpf.objs={}", path("objs").display()))
        .args([path("host"), path("carrier")])
        .status()
        .expect("llvm-objcopy-19 is needed to build the fixture");
    assert!(objcopy.success());
    let carrier = std::fs::read(path("carrier")).unwrap();
    let object = load(&carrier, kernel(), &LoadOptions::default()).unwrap();
    assert_eq!(object, load(&scheduler, kernel(), &LoadOptions::default()).unwrap());
}

#[test]
fn struct_ops_that_the_kernel_lacks_are_named() {
    let check = |source: &str, expected: &str| assert_eq!(refusal(source), expected);
    check(
        "struct tcp_ops { u64 flags; }; SEC(\".struct_ops\") struct tcp_ops ops = { .flags = 1 };",
        "struct_ops variable ops is of type tcp_ops, which the kernel doesn't have",
    );
    check(
        "struct sched_ext_ops { u64 colour; }; SEC(\".struct_ops\") struct sched_ext_ops ops = { .colour = 1 };",
        "struct_ops variable ops sets colour, which the kernel's sched_ext_ops doesn't have",
    );
    check(
        "struct sched_ext_ops { u64 *flags; }; u64 x; SEC(\".struct_ops\") struct sched_ext_ops ops = { .flags = &x };",
        "section .struct_ops is malformed: a member points to something that is not a program",
    );
}

#[test]
fn a_member_that_is_not_set_may_be_unknown() {
    let source = "struct sched_ext_ops { u64 colour, flags; }; SEC(\".struct_ops\") struct sched_ext_ops ops = { .flags = 3 };";
    let object = load(&object(source), kernel(), &LoadOptions::default()).unwrap();
    assert_eq!((object.struct_ops[0].integer("flags"), object.struct_ops[0].link), (3, false));
}
