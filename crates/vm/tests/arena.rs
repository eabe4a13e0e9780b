//! Casts and accesses in an arena: both engines give the same results and counts.

mod common;

use common::asm::{add_r, exit, insn, load, mov, mov_r, seq, store_imm, wide};
use common::host::Mock;
use common::{MODES, config, load as load_vm, object, run};
use keel_abi::bpf::{Ea, Engine, FaultKind, InvalidPlace, MapId, Progress, Usage, World};
use keel_object::model::{Insn, MapDef, Object, PSEUDO_MAP_VALUE};

const ARENA: u32 = 33;
const MMAPABLE: u32 = 1 << 10;
const NO_USER_CONV: u32 = 1 << 18;
const START: u64 = 1 << 44;

fn with_arena(flags: u32, functions: Vec<Vec<Insn>>) -> Object {
    let arena = MapDef {
        name: "arena".into(),
        kind: ARENA,
        max_entries: 4,
        flags: MMAPABLE | flags,
        extra: START,
        initial: vec![1, 2, 3, 4, 5, 6, 7, 8],
        ..MapDef::default()
    };
    Object { maps: vec![arena], ..object(functions) }
}

fn to_kernel(dst: u8, src: u8) -> Insn {
    insn(0xbf, dst, src, 1, 1)
}

fn to_user(dst: u8, src: u8) -> Insn {
    insn(0xbf, dst, src, 1, 1 << 16)
}

/// Every engine gives this R0, and this number of invalid accesses.
#[track_caller]
fn check(flags: u32, main: Vec<Insn>, expected: (u64, u64)) {
    let object = with_arena(flags, vec![main]);
    let mut usages: Vec<Usage> = Vec::new();
    for mode in MODES {
        let mut vm = load_vm(&object, config(mode)).unwrap();
        vm.world().arena_alloc(MapId(0), Ea(START + 4096), 1).unwrap();
        let Progress::Done { value, usage } = run(&mut vm, &mut Mock::default(), &[]) else {
            panic!("{mode:?} fails")
        };
        assert_eq!((value, vm.bad_accesses()), expected, "{mode:?}");
        usages.push(usage);
    }
    assert!(usages.windows(2).all(|pair| pair[0] == pair[1]), "{usages:?}");
}

fn number(reg: u8, value: u64) -> Vec<Insn> {
    wide(reg, 0, value as i32, (value >> 32) as i32).to_vec()
}

#[test]
fn casts() {
    let user = |value| seq(&[&number(1, value), &[to_user(0, 1), exit()]]);
    check(0, user(5), (START + 5, 0));
    check(0, user(0xffff_ffff_0000_0005), (START + 5, 0));
    check(0, user(7 << 32), (0, 0));
    check(NO_USER_CONV, user(7 << 32 | 5), (5, 0));
    let there_and_back = |value| seq(&[&number(1, value), &[to_kernel(1, 1), to_user(0, 1), exit()]]);
    check(0, there_and_back(START + 4096), (START + 4096, 0));
    check(0, there_and_back(4096), (START + 4096, 0));
    let null = vec![mov(1, 0), to_kernel(0, 1), exit()];
    check(0, null, (0, 0));
}

#[test]
fn variables_are_at_user_addresses() {
    let main = seq(&[&wide(1, PSEUDO_MAP_VALUE, 0, 4), &[to_kernel(2, 1), load(4, 0, 2, 0), exit()]]);
    check(0, main, (0x0807_0605, 0));
}

#[test]
fn pages_that_hold_nothing_read_0_and_take_nothing() {
    let read = |at, off| seq(&[&number(1, at), &[to_kernel(1, 1), load(8, 0, 1, off), exit()]]);
    check(0, read(START, 0), (0, 1));
    check(0, read(START + 4096, 0), (0, 0));
    check(0, read(START + 4096, -8), (0, 1));
    check(0, read(START + 4096, 4096), (0, 1));
    check(0, read(START + 0xffff_f000, 0x7fff), (0, 1));
    check(0, read(START, -0x8000), (0, 1));
    let store = |at| {
        let body =
            [to_kernel(1, 1), store_imm(8, 1, 0, 7), load(8, 0, 1, 0), load(8, 2, 1, 0), add_r(0, 2), exit()];
        seq(&[&number(1, at), &body])
    };
    check(0, store(START + 4096), (14, 0));
    check(0, store(START + 8192), (0, 3));
    // The old value of missing memory is 0.
    let fetch = seq(&[
        &number(1, START + 8192),
        &[to_kernel(1, 1), mov(2, 5), insn(0xdb, 1, 2, 0, 1), mov_r(0, 2), exit()],
    ]);
    check(0, fetch, (0, 1));
}

#[test]
fn casts_need_an_arena_and_its_address_spaces() {
    let refused = |object: &Object, expected: &str| {
        for mode in MODES {
            let error = load_vm(object, config(mode)).err().expect("it is refused").to_string();
            assert_eq!(error, expected);
        }
    };
    refused(
        &object(vec![vec![to_kernel(1, 1), exit()]]),
        "function `f0`, instruction 0: addr_space_cast in an object that has no arena",
    );
    refused(
        &with_arena(0, vec![vec![insn(0xbf, 1, 1, 1, 2), exit()]]),
        "function `f0`, instruction 0: addr_space_cast between other address spaces than 0 and 1",
    );
}

#[test]
fn the_checked_mode_stops_at_a_page_that_holds_nothing() {
    let main = seq(&[&number(1, START + 8), &[to_kernel(1, 1), store_imm(4, 1, 0, 7), exit()]]);
    let mut config = config(keel_vm::Mode::Interpreted);
    config.checked = true;
    let mut vm = load_vm(&with_arena(0, vec![main]), config).unwrap();
    let Progress::Failed { fault, .. } = run(&mut vm, &mut Mock::default(), &[]) else {
        panic!("it goes on")
    };
    let kind = FaultKind::OutOfBounds { at: Ea(START + 8), len: 4, write: true, place: InvalidPlace::Arena };
    assert_eq!(fault.kind, kind);
    assert_eq!(fault.insn, 3);
}
