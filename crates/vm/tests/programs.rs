//! Small programs with their expected R0 and instruction count, on each engine.

mod common;

use common::asm::{
    add, add_r, alu, alu_r, atomic, call, exit, function, goto, helper, imm64, insn, jump, jump_r, kfunc,
    load, load_signed, mov, mov_r, seq, store, store_imm,
};
use common::host::Mock;
use common::{MODES, config, done, load as load_vm, object, run};
use keel_object::model::Insn;

/// Every engine gives this R0 after this many instructions.
#[track_caller]
fn check(functions: Vec<Vec<Insn>>, expected: (u64, u64)) {
    check_args(functions, &[], expected);
}

#[track_caller]
fn check_args(functions: Vec<Vec<Insn>>, args: &[u64], expected: (u64, u64)) {
    let object = object(functions);
    for mode in MODES {
        let mut vm = load_vm(&object, config(mode)).expect("the program loads");
        let (value, usage) = done(run(&mut vm, &mut Mock::default(), args));
        assert_eq!((value, usage.insns), expected, "{mode:?}: {value:#x}");
    }
}

/// One operation on R0 = `a`, R1 = `b`.
#[track_caller]
fn check_op(op: Insn, a: u64, b: u64, expected: u64) {
    check(vec![seq(&[&imm64(0, a), &imm64(1, b), &[op, exit()]])], (expected, 4));
}

const MIN: u64 = 1 << 63;

#[test]
fn arithmetic() {
    let x = |op: u8, off: i16| insn(op << 4 | 0xf, 0, 1, off, 0);
    let x32 = |op: u8, off: i16| insn(op << 4 | 0xc, 0, 1, off, 0);
    check_op(x(0, 0), u64::MAX, 2, 1);
    check_op(x32(0, 0), u64::MAX, 2, 1);
    check_op(x(1, 0), 1, 2, u64::MAX);
    check_op(x32(1, 0), 1, 2, 0xffff_ffff);
    check_op(x(2, 0), 1 << 40, 1 << 30, 0);
    check_op(x32(2, 0), 0x1_0000_0003, 5, 15);
    check_op(x(3, 0), 100, 7, 14);
    check_op(x(3, 0), 100, 0, 0);
    check_op(x32(3, 0), 0x5_0000_0064, 0x3_0000_0007, 14);
    check_op(x32(3, 0), 0x5_0000_0064, 0x3_0000_0000, 0);
    check_op(x(3, 1), -100i64 as u64, 7, -14i64 as u64);
    check_op(x(3, 1), MIN, u64::MAX, MIN);
    check_op(x(3, 1), 5, 0, 0);
    check_op(x32(3, 1), 0x8000_0000, u64::MAX, 0x8000_0000);
    check_op(x32(3, 1), -100i64 as u64, 7, (-14i32) as u32 as u64);
    check_op(x(9, 0), 100, 7, 2);
    check_op(x(9, 0), 100, 0, 100);
    check_op(x32(9, 0), 0x7_0000_0064, 0, 100);
    check_op(x(9, 1), -100i64 as u64, 7, -2i64 as u64);
    check_op(x(9, 1), MIN, u64::MAX, 0);
    check_op(x(9, 1), -3i64 as u64, 0, -3i64 as u64);
    check_op(x32(9, 1), 0x8000_0000, u64::MAX, 0);
    check_op(x(4, 0), 0xf0, 0x0f, 0xff);
    check_op(x32(5, 0), u64::MAX, u64::MAX, 0xffff_ffff);
    check_op(x(0xa, 0), 0xff, 0x0f, 0xf0);
    check_op(x(6, 0), 1, 65, 2);
    check_op(x32(6, 0), 3, 31, 0x8000_0000);
    check_op(x32(6, 0), 3, 33, 6);
    check_op(x(7, 0), MIN, 63, 1);
    check_op(x32(7, 0), u64::MAX, 36, 0x0fff_ffff);
    check_op(x(0xc, 0), MIN, 63, u64::MAX);
    check_op(x32(0xc, 0), 0x8000_0000, 31, 0xffff_ffff);
    check_op(insn(0x87, 0, 0, 0, 0), 1, 0, u64::MAX);
    check_op(insn(0x84, 0, 0, 0, 0), 1, 0, 0xffff_ffff);
    check_op(alu(5, 0, -1), 0x1234_5678_9abc_def0, 0, 0x1234_5678_9abc_def0);
    check_op(insn(0xb4, 0, 0, 0, -1), 0, 0, 0xffff_ffff);
    check_op(insn(0x34, 0, 0, 0, 0), 9, 0, 0);
    check_op(insn(0x97, 0, 0, 0, 0), 9, 0, 9);
    check_op(insn(0x37, 0, 0, 1, -1), MIN, 0, MIN);
    check_op(alu_r(0xb, 0, 1), 0, 77, 77);
}

#[test]
fn sign_extension_and_byte_order() {
    check_op(insn(0xbf, 0, 1, 8, 0), 0, 0x1280, 0xffff_ffff_ffff_ff80);
    check_op(insn(0xbf, 0, 1, 16, 0), 0, 0x1_8000, 0xffff_ffff_ffff_8000);
    check_op(insn(0xbf, 0, 1, 32, 0), 0, 0x8000_0000, 0xffff_ffff_8000_0000);
    check_op(insn(0xbc, 0, 1, 8, 0), 0, 0x80, 0xffff_ff80);
    check_op(insn(0xbc, 0, 1, 16, 0), 0, 0x7fff, 0x7fff);
    let v = 0x0102_0304_0506_0708;
    check_op(insn(0xd4, 0, 0, 0, 16), v, 0, 0x0708);
    check_op(insn(0xd4, 0, 0, 0, 32), v, 0, 0x0506_0708);
    check_op(insn(0xd4, 0, 0, 0, 64), v, 0, v);
    check_op(insn(0xdc, 0, 0, 0, 16), v, 0, 0x0807);
    check_op(insn(0xdc, 0, 0, 0, 32), v, 0, 0x0807_0605);
    check_op(insn(0xd7, 0, 0, 0, 64), v, 0, 0x0807_0605_0403_0201);
    check_op(insn(0xd7, 0, 0, 0, 16), v, 0, 0x0807);
}

#[test]
fn jumps() {
    // (opcode's high nibble, a, b, taken as 64 bits, taken as 32 bits)
    let high = 1 << 32;
    let table: [(u8, u64, u64, bool, bool); 14] = [
        (1, high, 0, false, true),
        (1, 5, 5, true, true),
        (5, high, 0, true, false),
        (2, high, 1, true, false),
        (3, 1, 1, true, true),
        (0xa, 1, high, true, false),
        (0xb, high, 1, false, true),
        (4, high | 1, high, true, false),
        (6, u64::MAX, 0, false, false),
        (6, 0x7fff_ffff, 0x8000_0000, false, true),
        (7, 0, u64::MAX, true, true),
        (0xc, u64::MAX, 0, true, true),
        (0xc, 0x8000_0000, 0, false, true),
        (0xd, 3, 3, true, true),
    ];
    for (op, a, b, wide, narrow) in table {
        for (class, taken) in [(0xd, wide), (0xe, narrow)] {
            let program = seq(&[
                &imm64(1, a),
                &imm64(2, b),
                &[mov(0, 1), insn(op << 4 | class, 1, 2, 1, 0), mov(0, 0), exit()],
            ]);
            check(vec![program], if taken { (1, 5) } else { (0, 6) });
        }
    }
    check(vec![vec![mov(0, 7), insn(0x06, 0, 0, 0, 1), mov(0, 1), exit()]], (7, 3));
}

#[test]
fn loops() {
    // for (i = 0, s = 0; i < 10; i++) s += i;
    let sum = vec![mov(0, 0), mov(1, 0), add_r(0, 1), add(1, 1), jump(0xa, 1, 10, -3), exit()];
    check(vec![sum], (45, 33));
    // while may_goto: R0++
    let program = vec![mov(0, 0), add(0, 1), insn(0xe5, 0, 0, 1, 0), goto(-3), exit()];
    check(vec![program], ((8 << 20) + 1, 3 * (8 << 20) + 4));
}

#[test]
fn memory_of_the_frame_and_beyond() {
    let v = 0x8182_8384_8586_8788u64;
    for (bytes, mask) in [(1, 0xff), (2, 0xffff), (4, 0xffff_ffff), (8, u64::MAX)] {
        let program =
            seq(&[&imm64(1, v), &[mov(0, 0), store(bytes, 10, -16, 1), load(bytes, 0, 10, -16), exit()]]);
        check(vec![program], (v & mask, 5));
        // The same through a copy of r10, which is checked.
        let program = seq(&[
            &imm64(1, v),
            &[mov_r(2, 10), add(2, -32), store(bytes, 2, 16, 1), load(bytes, 0, 2, 16), exit()],
        ]);
        check(vec![program], (v & mask, 6));
        if bytes < 8 {
            let shift = 64 - 8 * u32::from(bytes);
            let program =
                seq(&[&imm64(1, v), &[store(bytes, 10, -16, 1), load_signed(bytes, 0, 10, -16), exit()]]);
            check(vec![program], (((v << shift) as i64 >> shift) as u64, 4));
        }
    }
    check(vec![vec![store_imm(8, 10, -8, -2), load(8, 0, 10, -8), exit()]], (-2i64 as u64, 3));
    check_args(vec![vec![load(8, 0, 1, 8), exit()]], &[11, 22], (22, 2));
}

#[test]
fn out_of_bounds_reads_nothing_and_writes_nothing() {
    let base = keel_vm::memory::BASE;
    for at in [0, 1, 8, base - 1, base - 8, base.wrapping_add(1 << 46), u64::MAX, u64::MAX - 7, 1 << 63] {
        for bytes in [1, 2, 4, 8] {
            let program = seq(&[
                &imm64(1, at),
                &[mov(0, 5), mov(2, 9), store(bytes, 1, 0, 2), load(bytes, 0, 1, 0), exit()],
            ]);
            check(vec![program], (0, 6));
        }
        let program = seq(&[&imm64(1, at), &[mov(2, 9), atomic(8, 0x01, 1, 0, 2), mov_r(0, 2), exit()]]);
        check(vec![program], (0, 5));
        let program = seq(&[&imm64(1, at), &[mov(0, 3), mov(2, 9), atomic(4, 0xf1, 1, 0, 2), exit()]]);
        check(vec![program], (0, 5));
    }
}

#[test]
fn atomics() {
    // R0 = 6 in memory, R2 = 3; the operation; R0 = memory * 1000 + R2.
    let program = |bytes: u8, op: i32, through: &[Insn], base: u8| {
        seq(&[
            through,
            &[store_imm(8, 10, -8, 6), mov(2, 3), mov(0, 6), atomic(bytes, op, base, -8, 2)],
            &[
                mov_r(6, 0),
                load(8, 0, 10, -8),
                alu(2, 0, 1000),
                add_r(0, 2),
                alu(2, 6, 1_000_000),
                add_r(0, 6),
            ],
            &[exit()],
        ])
    };
    let table: [(i32, u64); 10] = [
        (0x00, 6_009_003),
        (0x01, 6_009_006),
        (0x40, 6_007_003),
        (0x41, 6_007_006),
        (0x50, 6_002_003),
        (0x51, 6_002_006),
        (0xa0, 6_005_003),
        (0xa1, 6_005_006),
        (0xe1, 6_003_006),
        (0xf1, 6_003_003),
    ];
    for (op, expected) in table {
        for bytes in [4, 8] {
            check(vec![program(bytes, op, &[], 10)], (expected, 11));
            check(vec![program(bytes, op, &[mov_r(7, 10)], 7)], (expected, 12));
        }
    }
    // A failed compare stores nothing. 32 bits compare the low half and return it zero-extended.
    let failing =
        seq(&[&[store_imm(8, 10, -8, -1), mov(2, 3), mov(0, 5), atomic(8, 0xf1, 10, -8, 2)], &[exit()]]);
    check(vec![failing], (u64::MAX, 5));
    let low =
        seq(&[&[store_imm(8, 10, -8, -1), mov(2, 3), mov(0, -1), atomic(4, 0xf1, 10, -8, 2)], &[exit()]]);
    check(vec![low], (0xffff_ffff, 5));
    // Acquire and release.
    let order = vec![mov(1, 77), atomic(8, 0x110, 10, -8, 1), insn(0xdb, 0, 10, -8, 0x100), exit()];
    check(vec![order], (77, 4));
}

#[test]
fn calls_of_functions() {
    let square = vec![mov_r(0, 1), alu_r(2, 0, 1), mov(6, 99), exit()];
    let main = vec![mov(6, 1), mov(1, 9), call(1), add_r(0, 6), add_r(0, 1), exit()];
    check(vec![main, square], (82, 10));
    // Each frame has a stack of its own.
    let child = vec![store_imm(8, 10, -8, 1), exit()];
    let parent = vec![store_imm(8, 10, -8, 5), call(1), load(8, 0, 10, -8), exit()];
    check(vec![parent, child], (5, 6));
    // Registers are zero at the entry.
    let zero = vec![add_r(0, 2), add_r(0, 3), add_r(0, 6), add_r(0, 9), exit()];
    check(vec![zero], (0, 5));
}

#[test]
fn calls_of_the_host_clear_r1_to_r5() {
    let main = seq(&[
        &[mov(1, 1), mov(2, 2), mov(3, 3), mov(4, 4), mov(5, 5), mov(6, 6), helper(2)],
        &[add_r(0, 1), add_r(0, 2), add_r(0, 3), add_r(0, 4), add_r(0, 5), add_r(0, 6), exit()],
    ]);
    check(vec![main], (1 + 2 + 3 + 4 + 5 + 6, 14));
    check(vec![vec![kfunc(0), exit()]], (1000, 2));
}

#[test]
fn bpf_loop_runs_its_callback() {
    // The callback adds its index to a number on the caller's stack and stops at 7.
    let callback = vec![
        load(8, 3, 2, 0),
        add_r(3, 1),
        store(8, 2, 0, 3),
        mov(0, 0),
        jump(5, 1, 7, 1),
        mov(0, 1),
        exit(),
    ];
    let main = |rounds: i32, flags: i32| {
        seq(&[
            &[store_imm(8, 10, -8, 0), mov(1, rounds)],
            &function(2, 1),
            &[mov_r(3, 10), add(3, -8), mov(4, flags), helper(181), load(8, 1, 10, -8), alu(2, 1, 100)],
            &[add_r(0, 1), exit()],
        ])
    };
    check(vec![main(5, 0), callback.clone()], (1005, 11 + 5 * 6));
    check(vec![main(100, 0), callback.clone()], (2808, 11 + 8 * 6 + 1));
    check(vec![main(5, 1), callback.clone()], (-22i64 as u64, 11));
    check(vec![main(9 << 20, 0), callback], (0xffff_fff9, 11));
    let _ = jump_r;
}
