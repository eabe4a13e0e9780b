//! An object that grows while its callbacks are suspended.

mod common;

use common::asm::{add_r, exit, helper, insn, load, mov_r, seq, wide};
use common::host::Mock;
use common::{AnyLinker, MODES, config, done, load as load_vm, object, run};
use keel_abi::CpuId;
use keel_abi::bpf::{Engine, Entry, Progress};
use keel_object::model::{Insn, MapDef, Object, PSEUDO_MAP_VALUE, Program};
use keel_vm::{Code, LoadError, Vm, VmConfig};

const ARRAY: u32 = 2;
const ARENA: u32 = 33;

/// A map of one number.
fn number(name: &str, value: u64) -> MapDef {
    let initial = value.to_le_bytes().to_vec();
    let name = name.to_owned();
    MapDef { name, kind: ARRAY, key_size: 4, value_size: 8, max_entries: 1, initial, ..MapDef::default() }
}

/// R0 = 10 times the result of helper 2 (which suspends once) for the argument, and the number in a map.
fn adds(map: i32) -> Vec<Insn> {
    let calls = [load(8, 1, 1, 0), helper(2), mov_r(6, 0), insn(0x27, 6, 0, 0, 10)];
    seq(&[&calls, &wide(1, PSEUDO_MAP_VALUE, map, 0), &[load(8, 0, 1, 0), add_r(0, 6), exit()]])
}

fn before() -> Object {
    Object { maps: vec![number("first", 7)], ..object(vec![adds(0)]) }
}

/// Like `before`, with these maps, and a program that adds the number in the second one.
fn after(more: Vec<MapDef>) -> Object {
    let maps = [before().maps, more].concat();
    let made = object(vec![adds(0), adds(1)]);
    let second = Program { name: "second".into(), function: 1, ..made.programs[0].clone() };
    Object { maps, programs: vec![made.programs[0].clone(), second], ..made }
}

fn extend(vm: &mut Vm, object: &Object) -> Result<(), LoadError> {
    vm.extend(Code::compile(object)?, object, &mut AnyLinker)
}

#[test]
fn callbacks_go_on_where_they_were_and_new_programs_run_beside_them() {
    for mode in MODES {
        let mut vm = load_vm(&before(), VmConfig { spare_maps: 1, ..config(mode) }).unwrap();
        let mut host = Mock::default();
        // A fiber that has run and is free again, and one that is suspended.
        let value = done(run(&mut vm, &mut host, &[1])).0;
        assert_eq!(vm.start(&mut host, CpuId(0), Entry(0), &[1]), Progress::Suspended);
        assert_eq!(vm.start(&mut host, CpuId(1), Entry(0), &[1]), Progress::Suspended);
        assert_eq!(done(vm.resume(&mut host, CpuId(0))).0, value);
        extend(&mut vm, &after(vec![number("second", 500)])).unwrap();
        assert_eq!(vm.start(&mut host, CpuId(0), Entry(1), &[1]), Progress::Suspended);
        assert_eq!(done(vm.resume(&mut host, CpuId(1))).0, value, "{mode:?}");
        assert_eq!(done(vm.resume(&mut host, CpuId(0))).0, value + 493, "{mode:?}");
        // The old program, in a fiber of the new code and in one of the old.
        for cpu in [0, 1] {
            assert_eq!(vm.start(&mut host, CpuId(cpu), Entry(0), &[1]), Progress::Suspended);
        }
        for cpu in [0, 1] {
            assert_eq!(done(vm.resume(&mut host, CpuId(cpu))).0, value, "{mode:?}");
        }
    }
}

#[test]
fn the_interpreter_goes_on_counting() {
    let profiled = VmConfig { spare_maps: 1, profiled: true, ..config(keel_vm::Mode::Interpreted) };
    let mut vm = load_vm(&before(), profiled).unwrap();
    let mut host = Mock::default();
    assert_eq!(vm.start(&mut host, CpuId(1), Entry(0), &[1]), Progress::Suspended);
    extend(&mut vm, &after(vec![number("second", 500)])).unwrap();
    done(vm.resume(&mut host, CpuId(1)));
    assert_eq!(vm.start(&mut host, CpuId(0), Entry(1), &[1]), Progress::Suspended);
    done(vm.resume(&mut host, CpuId(0)));
    let profiles = vm.profiles();
    let [taken] = &profiles[..] else { panic!("{} objects were loaded", profiles.len()) };
    let calls: Vec<(u32, u64)> = taken.nodes.iter().map(|node| (node.function, node.calls)).collect();
    assert_eq!((taken.functions.len(), calls), (2, vec![(0, 1), (1, 1)]));
}

/// Later additions are rejected with these words.
#[track_caller]
fn check(more: Vec<MapDef>, expected: &str) {
    let mut vm = load_vm(&before(), VmConfig { spare_maps: 1, ..config(MODES[0]) }).unwrap();
    let error = extend(&mut vm, &after(more)).expect_err("it is refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    check(
        vec![number("second", 1), number("third", 2)],
        "map `third` exceeds the number of maps that can be added to those of the first object",
    );
    let arena =
        MapDef { name: "pages".into(), kind: ARENA, flags: 1 << 10, max_entries: 4, ..MapDef::default() };
    check(
        vec![arena],
        "map `pages` is of type ARENA, which is made with the first object, which is not supported",
    );
}
