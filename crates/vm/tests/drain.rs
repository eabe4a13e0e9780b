//! `bpf_user_ringbuf_drain` on both engines.

mod common;

use common::asm::{add_r, exit, function, helper, load, mov, mov_r, seq, store, store_imm, wide};
use common::host::Mock;
use common::{MODES, config, done, load as load_vm, object, run};
use keel_abi::bpf::{Engine, Errno, MapId};
use keel_object::model::{Insn, MapDef, Object, PSEUDO_MAP};

const USER_RINGBUF: u32 = 31;
const RING: MapId = MapId(0);

/// Drains, and returns the result and a thousandth of what the callback left on the stack.
fn drains(flags: i32) -> Vec<Insn> {
    seq(&[
        &[store_imm(8, 10, -8, 0)],
        &wide(1, PSEUDO_MAP, 0, 0),
        &function(2, 1),
        &[mov_r(3, 10), common::asm::add(3, -8), mov(4, flags), helper(209)],
        &[load(8, 1, 10, -8), common::asm::alu(2, 1, 1000), add_r(0, 1), exit()],
    ])
}

/// Adds the record's first word to the word at R2, and stops at a record of 3 or more.
fn adds() -> Vec<Insn> {
    vec![
        load(8, 3, 1, 0),
        load(8, 4, 3, 0),
        load(8, 5, 2, 0),
        add_r(5, 4),
        store(8, 2, 0, 5),
        mov(0, 0),
        common::asm::jump(10, 4, 3, 1),
        mov(0, 1),
        exit(),
    ]
}

fn drained(flags: i32, records: &[u64]) -> Vec<u64> {
    drained_by(adds(), flags, records)
}

fn drained_by(callback: Vec<Insn>, flags: i32, records: &[u64]) -> Vec<u64> {
    let ring = MapDef { name: "ring".into(), kind: USER_RINGBUF, max_entries: 4096, ..MapDef::default() };
    let object = Object { maps: vec![ring], ..object(vec![drains(flags), callback]) };
    let results = MODES.map(|mode| {
        let mut vm = load_vm(&object, config(mode)).unwrap();
        for record in records {
            vm.world().put_record(RING, &record.to_le_bytes()).unwrap();
        }
        // Twice: the second time drains what the first left.
        let mut once = || done(run(&mut vm, &mut Mock::default(), &[])).0;
        vec![once(), once()]
    });
    assert_eq!(results[0], results[1], "both engines");
    results[0].clone()
}

#[test]
fn every_record_comes_once() {
    assert_eq!(drained(0, &[]), [0, 0]);
    assert_eq!(drained(0, &[1, 2, 1]), [4003, 0]);
}

#[test]
fn a_callback_stops_it_after_its_record() {
    assert_eq!(drained(0, &[1, 5, 2, 1]), [6002, 3002]);
}

#[test]
fn a_ring_being_drained_is_not_drained_again() {
    let drains_too = seq(&[
        &[mov_r(6, 2)],
        &wide(1, PSEUDO_MAP, 0, 0),
        &function(2, 1),
        &[mov(3, 0), mov(4, 0), helper(209), store(8, 6, 0, 0), mov(0, 0), exit()],
    ]);
    let busy = Errno::EBUSY.as_r0().wrapping_mul(1000);
    assert_eq!(drained_by(drains_too, 0, &[1]), [busy.wrapping_add(1), 0]);
}

#[test]
fn unknown_flags_are_refused() {
    assert_eq!(drained(4, &[1]), [Errno::EINVAL.as_r0(); 2]);
    assert_eq!(drained(3, &[1]), [1001, 0]);
}
