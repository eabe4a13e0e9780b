//! Every instruction, function and map that the engines support has a case, unless it is left out for a reason.

use super::FILES;
use keel_object::Insn;
use keel_object::model::PSEUDO_KFUNC;
use std::collections::BTreeSet;

/// Functions that syscall programs may not call, or that return nothing useful there. `tests/bpf/README.md` lists them.
const LEFT_OUT: &[&str] = &["bpf_ktime_get_coarse_ns", "bpf_perf_event_read_value"];
/// Prefixes of functions that only schedulers use.
const SCHEDULERS: &[&str] = &["scx_bpf_", "__scx_bpf_", "bpf_iter_scx_dsq_"];

/// An instruction: its code, and the offset or immediate that distinguishes it from others of the same code.
type Kind = (u8, i32);

fn kind(insn: &Insn) -> Kind {
    let (class, op) = (insn.code & 7, insn.code >> 4);
    let variant = match class {
        // Signed division; a move that extends the sign.
        4 | 7 if matches!(op, 0x3 | 0x9 | 0xb) => i32::from(insn.off),
        // How many bits change their order.
        4 | 7 if op == 0xd => insn.imm,
        // Which atomic operation.
        3 if insn.code >> 5 == 6 => insn.imm,
        _ => 0,
    };
    (insn.code, variant)
}

/// Every instruction of version 4 of the set, except packet accesses.
fn instructions() -> BTreeSet<Kind> {
    let mut all: BTreeSet<Kind> = BTreeSet::new();
    for class in [4, 7] {
        for source in [0, 8] {
            all.extend((0u8..=12).filter(|&op| op != 8).map(|op| (op << 4 | source | class, 0)));
            all.extend([(0x30 | source | class, 1), (0x90 | source | class, 1)]);
        }
        all.insert((0x80 | class, 0));
        all.extend([8, 16].map(|bits| (0xb8 | class, bits)));
    }
    // Moves that extend the sign of 32 bits, or change the address space.
    all.extend([(0xbf, 32), (0xbf, 1)]);
    all.extend([0xd4, 0xdc, 0xd7].iter().flat_map(|&code| [16, 32, 64].map(|bits| (code, bits))));
    for class in [5, 6] {
        let conditions = [1u8, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13];
        all.extend(conditions.iter().flat_map(|op| [0, 8].map(|source| (op << 4 | source | class, 0))));
    }
    // Jumps near and far, calls, the end, may_goto, a constant of 64 bits.
    all.extend([0x05, 0x06, 0x85, 0x95, 0xe5, 0x18].map(|code| (code, 0)));
    // Loads, with sign too, and stores, of registers and constants.
    all.extend([0x61, 0x69, 0x71, 0x79, 0x81, 0x89, 0x91].map(|code| (code, 0)));
    all.extend([0x62, 0x6a, 0x72, 0x7a, 0x63, 0x6b, 0x73, 0x7b].map(|code| (code, 0)));
    let with_or_without_the_old_value = [0x00, 0x40, 0x50, 0xa0].map(|op| [op, op | 1]).concat();
    for code in [0xc3, 0xdb] {
        all.extend(with_or_without_the_old_value.iter().chain(&[0xe1, 0xf1]).map(|&op| (code, op)));
    }
    all.extend([0xc3, 0xcb, 0xd3, 0xdb].iter().flat_map(|&code| [(code, 0x100), (code, 0x110)]));
    all
}

fn instructions_used() -> impl Iterator<Item = &'static Insn> {
    FILES.iter().flat_map(|file| &file.object.functions).flat_map(|function| &function.insns)
}

#[test]
fn every_instruction_is_in_a_case() {
    let used: BTreeSet<Kind> = instructions_used().map(kind).collect();
    let missing: Vec<_> = instructions().difference(&used).map(|(c, v)| format!("{c:#04x} {v:#x}")).collect();
    assert!(missing.is_empty(), "no case has {}", missing.join(", "));
}

#[test]
fn every_function_is_in_a_case() {
    let mut used = BTreeSet::new();
    let names: Vec<_> = keel_kernel::served().collect();
    for insn in instructions_used().filter(|insn| insn.code == 0x85 && insn.src == 0) {
        used.extend(keel_kernel::helper(insn.imm).map(|func| names[func.0 as usize]));
    }
    for file in FILES.iter() {
        let calls = file.object.functions.iter().flat_map(|function| &function.insns);
        for insn in calls.filter(|insn| insn.code == 0x85 && insn.src == PSEUDO_KFUNC) {
            used.insert(&file.object.kfuncs[insn.imm as usize].name);
        }
    }
    let left_out = |name: &str| LEFT_OUT.contains(&name) || SCHEDULERS.iter().any(|s| name.starts_with(s));
    let missing: Vec<_> = names.iter().filter(|name| !left_out(name) && !used.contains(*name)).collect();
    assert!(missing.is_empty(), "no case calls {missing:?}");
}

#[test]
fn every_kind_of_map_is_in_a_case() {
    // `enum bpf_map_type`: HASH, ARRAY, the per-CPU kinds, the LRU ones, ARRAY_OF_MAPS, QUEUE, STACK, RINGBUF,
    // TASK_STORAGE, USER_RINGBUF, CGRP_STORAGE, ARENA.
    let offered = BTreeSet::from([1, 2, 5, 6, 9, 10, 12, 22, 23, 27, 29, 31, 32, 33]);
    let used: BTreeSet<u32> = FILES.iter().flat_map(|f| &f.object.maps).map(|map| map.kind).collect();
    assert_eq!(used, offered);
}
