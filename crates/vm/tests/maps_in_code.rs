//! Code that refers to maps: their handles, their values, walks over them.

mod common;

use common::asm::{
    add, add_r, exit, function, helper, insn, jump, load, mov, mov_r, seq, store, store_imm, wide,
};
use common::host::Mock;
use common::{MODES, config, done, load as load_vm, object, run};
use keel_abi::bpf::{FaultKind, MapId, Progress, World};
use keel_object::model::{Insn, MapDef, Object, PSEUDO_MAP, PSEUDO_MAP_VALUE};

const ARRAY: u32 = 2;

fn with_maps(functions: Vec<Vec<Insn>>) -> Object {
    let array = MapDef {
        name: "numbers".into(),
        kind: ARRAY,
        key_size: 4,
        value_size: 8,
        max_entries: 5,
        ..MapDef::default()
    };
    let initial = [7u64, 8, 9].iter().flat_map(|w| w.to_le_bytes()).collect();
    let data = MapDef {
        name: ".rodata".into(),
        kind: ARRAY,
        key_size: 4,
        value_size: 24,
        max_entries: 1,
        initial,
        read_only: true,
        ..MapDef::default()
    };
    Object { maps: vec![array, data], ..object(functions) }
}

/// Every engine gives this R0 after this many instructions.
#[track_caller]
fn check(functions: Vec<Vec<Insn>>, expected: (u64, u64)) {
    let object = with_maps(functions);
    for mode in MODES {
        let mut vm = load_vm(&object, config(mode)).unwrap();
        let (value, usage) = done(run(&mut vm, &mut Mock::default(), &[]));
        assert_eq!((value, usage.insns), expected, "{mode:?}");
    }
}

#[test]
fn global_data_is_at_its_address() {
    let main =
        seq(&[&wide(1, PSEUDO_MAP_VALUE, 1, 8), &[load(8, 0, 1, 0), load(8, 2, 1, 8), add_r(0, 2), exit()]]);
    check(vec![main], (17, 5));
}

#[test]
fn map_pointers_reach_the_host_as_handles() {
    let object = with_maps(vec![seq(&[&wide(1, PSEUDO_MAP, 1, 0), &[helper(9), exit()]])]);
    for mode in MODES {
        let mut vm = load_vm(&object, config(mode)).unwrap();
        let mut host = Mock::default();
        run(&mut vm, &mut host, &[]);
        let handle = keel_abi::bpf::Ea(host.calls[0].args[0]);
        assert_eq!(vm.world_ref().map_at(handle), Some(MapId(1)));
    }
}

/// Adds index and value to the caller's sum and writes the index into the value; stops at index 3.
fn adder() -> Vec<Insn> {
    vec![
        load(4, 5, 2, 0),
        load(8, 6, 3, 0),
        add_r(6, 5),
        load(8, 7, 4, 0),
        add_r(7, 6),
        store(8, 4, 0, 7),
        store(8, 3, 0, 5),
        mov(0, 0),
        jump(5, 5, 3, 1),
        mov(0, 1),
        exit(),
    ]
}

fn walk(map: Vec<Insn>, flags: i32) -> Vec<Insn> {
    seq(&[
        &[store_imm(8, 10, -8, 1000)],
        &map,
        &function(2, 1),
        &[mov_r(3, 10), add(3, -8), mov(4, flags), helper(164), load(8, 1, 10, -8)],
        &[insn(0x27, 1, 0, 0, 10), add_r(0, 1), exit()],
    ])
}

#[test]
fn for_each_walks_an_array_until_the_callback_stops_it() {
    let array = || wide(1, PSEUDO_MAP, 0, 0).to_vec();
    // Indices 0 to 3: sum 6, four elements; ten instructions a round and one more in the last.
    check(vec![walk(array(), 0), adder()], (10_060 + 4, 11 + 41));
    check(vec![walk(array(), 1), adder()], (10_000 - 22, 11));
}

#[test]
fn for_each_over_no_map_is_a_bad_call() {
    let object = with_maps(vec![walk(vec![mov(1, 5)], 0), adder()]);
    for mode in MODES {
        let mut vm = load_vm(&object, config(mode)).unwrap();
        let progress = run(&mut vm, &mut Mock::default(), &[]);
        let Progress::Failed { fault, .. } = progress else { panic!("{progress:?}") };
        let why = "bpf_for_each_map_elem was given 0x5, which is not a map".into();
        assert_eq!((fault.kind, fault.insn), (FaultKind::BadCall(why), 7));
    }
}
