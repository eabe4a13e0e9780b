//! Emitted code as text. `rdi` is the context: `rdi+8` and so on are its fields, in the order of
//! [`Context`](crate::context::Context).

use super::asm::Asm;
use super::carried;
use super::function::{Emitter, Target};
use super::moves::{Mover, Movers};
use super::values::Data;
use crate::code::op::{Alu, Atomic, Callee, Cond, NO_SITE, Op, Operand, Size};
use crate::known::Known;
use crate::memory::LineForm;
use iced_x86::{Decoder, DecoderOptions, Formatter, NasmFormatter};

const WORD: Size = Size(3);

/// The instructions of a compiled function, each with its offset, beside a table of addresses at 0.
fn listing(ops: &[Op]) -> String {
    listing_with(ops, &OneMap)
}

fn listing_with(ops: &[Op], data: &dyn Data) -> String {
    let mut asm = Asm::default();
    let own = asm.label();
    let lines = LineForm { log2: 6, grouped: false, crowded: false };
    let movers = Movers { read: Mover::new(&mut asm), write: Mover::new(&mut asm) };
    let carried_at = carried::at_targets(ops);
    let served = carried::served(ops, data.counts(), &carried_at);
    let target = Target {
        lines,
        has_arena: false,
        has_may_goto: false,
        movers,
        data,
        served: &served,
        is_callback: false,
        is_leaf: false,
        is_deepest: true,
    };
    Emitter::new(&mut asm, &[own], ops, target, carried_at).function(own);
    for mover in [movers.read, movers.write].map(|m| [m.by_address, m.by_number]).into_iter().flatten() {
        asm.bind(mover);
        asm.bare(iced_x86::Code::Nopd);
    }
    text_of(asm)
}

/// Every address is that of a map with 4 KiB of global data.
pub(super) struct OneMap;

impl Data for OneMap {
    fn bytes(&self, _map: u32) -> Option<u64> {
        Some(4096)
    }

    fn address(&self, _slot: u32) -> Option<(u32, u64)> {
        Some((0, 0))
    }

    fn slot_in(&self, _map: u32) -> Option<(u32, u64)> {
        Some((0, 0))
    }

    fn counts(&self) -> bool {
        true
    }

    fn tasks(&self) -> Option<u32> {
        Some(1)
    }
}

/// The same, with a price of a loop's next number.
struct Priced;

impl Data for Priced {
    fn bytes(&self, map: u32) -> Option<u64> {
        OneMap.bytes(map)
    }

    fn address(&self, slot: u32) -> Option<(u32, u64)> {
        OneMap.address(slot)
    }

    fn slot_in(&self, map: u32) -> Option<(u32, u64)> {
        OneMap.slot_in(map)
    }

    fn counts(&self) -> bool {
        true
    }

    fn number_ps(&self) -> Option<i32> {
        Some(750)
    }

    fn tasks(&self) -> Option<u32> {
        OneMap.tasks()
    }
}

fn text_of(asm: Asm) -> String {
    let at = 0x100;
    let bytes = asm.encode(at, 0);
    let mut formatter = NasmFormatter::new();
    let mut text = String::new();
    for instruction in Decoder::with_ip(64, bytes.code(), at, DecoderOptions::NONE) {
        text += &format!("{:>3X}  ", instruction.ip() - at);
        formatter.format(&instruction, &mut text);
        text.push('\n');
    }
    text
}

fn alu(op: Alu, dst: u8, src: Operand) -> Op {
    Op::Alu { wide: true, op, dst, src }
}

fn narrow(op: Alu, dst: u8, src: Operand) -> Op {
    Op::Alu { wide: false, op, dst, src }
}

fn check(name: &str, ops: &[Op]) {
    insta::assert_snapshot!(name, listing(ops));
}

#[test]
fn arithmetic_is_mostly_one_instruction() {
    let [r1, r3, ten] = [Operand::Reg(1), Operand::Reg(3), Operand::Imm(10)];
    let all = [
        alu(Alu::Mov, 0, r1),
        alu(Alu::Add, 0, ten),
        alu(Alu::Sub, 0, Operand::Imm(1000)),
        narrow(Alu::Mul, 0, r3),
        alu(Alu::Lsh, 0, r3),
        narrow(Alu::Rsh, 0, Operand::Imm(0)),
        alu(Alu::Swap(16), 0, Operand::Imm(0)),
        alu(Alu::MovSigned(8), 0, r3),
        Op::Const { dst: 2, value: 1 << 40 },
        Op::Hole,
        Op::Exit,
    ];
    check("arithmetic", &all);
}

#[test]
fn a_pair_of_operations_may_be_one_instruction() {
    let copy = |src| alu(Alu::Mov, 1, Operand::Reg(src));
    let all = [
        copy(6),
        alu(Alu::Add, 1, Operand::Imm(-7)),
        copy(7),
        narrow(Alu::Add, 1, Operand::Reg(2)),
        copy(7),
        alu(Alu::Lsh, 1, Operand::Imm(3)),
        copy(7),
        alu(Alu::Mul, 1, Operand::Imm(12)),
        narrow(Alu::Lsh, 1, Operand::Imm(24)),
        narrow(Alu::Arsh, 1, Operand::Imm(24)),
        // Not these: the sum has more bits than the copy, and the second register is the result's.
        narrow(Alu::Mov, 1, Operand::Reg(7)),
        alu(Alu::Add, 1, Operand::Imm(1)),
        copy(7),
        alu(Alu::Add, 1, Operand::Reg(1)),
        alu(Alu::Lsh, 1, Operand::Imm(4)),
        alu(Alu::Rsh, 1, Operand::Imm(4)),
        Op::Exit,
    ];
    check("pairs", &all);
}

#[test]
fn division_keeps_the_registers_that_it_needs() {
    let all = [alu(Alu::Div, 3, Operand::Reg(1)), narrow(Alu::SignedMod, 0, Operand::Imm(7)), Op::Exit];
    check("division", &all);
}

#[test]
fn the_frame_needs_no_check() {
    let all = [
        Op::Store { base: 10, off: -8, size: WORD, src: Operand::Imm(5) },
        Op::Load { dst: 0, base: 10, off: -8, size: Size(2), signed: true },
        alu(Alu::Mov, 1, Operand::Reg(10)),
        Op::Exit,
    ];
    check("frame", &all);
}

#[test]
fn other_memory_is_checked_for_bounds_and_line() {
    let all = [
        Op::Load { dst: 0, base: 1, off: 16, size: WORD, signed: false },
        Op::Store { base: 2, off: 0, size: Size(0), src: Operand::Reg(0) },
        Op::Exit,
    ];
    check("memory", &all);
}

#[test]
fn what_is_certainly_in_bounds_is_checked_once_a_line() {
    let load = |dst, off| Op::Load { dst, base: 1, off, size: WORD, signed: false };
    let all = [
        alu(Alu::And, 2, Operand::Imm(31)),
        alu(Alu::Lsh, 2, Operand::Imm(7)),
        Op::Address { dst: 1, slot: 0 },
        Op::Hole,
        alu(Alu::Add, 1, Operand::Reg(2)),
        load(3, 8),
        load(4, 56),
        load(5, 64),
        Op::Store { base: 1, off: 0, size: WORD, src: Operand::Reg(3) },
        Op::Exit,
    ];
    check("within", &all);
}

#[test]
fn an_atomic_instruction_waits_for_its_turn() {
    let add = |fetch| Op::Atomic { base: 1, off: 0, size: WORD, op: Atomic::Add, src: 2, fetch };
    check("atomic", &[add(false), add(true), Op::Exit]);
}

#[test]
fn jumps_backwards_look_at_the_fuel() {
    let back = Op::Branch { wide: true, cond: Cond::Ne, a: 1, b: Operand::Imm(0), target: 0, site: 7 };
    let skip = Op::Branch { wide: false, cond: Cond::Lt, a: 1, b: Operand::Reg(2), target: 3, site: NO_SITE };
    check("jumps", &[alu(Alu::Sub, 1, Operand::Imm(1)), skip, back, Op::Exit]);
}

#[test]
fn a_branch_that_repeats_another_one_needs_no_code() {
    let branch =
        |target, site| Op::Branch { wide: false, cond: Cond::Gt, a: 1, b: Operand::Reg(2), target, site };
    let all = [branch(2, NO_SITE), alu(Alu::Mov, 3, Operand::Reg(4)), branch(0, 7), Op::Exit];
    check("repeat", &all);
}

#[test]
fn the_way_into_a_loop_looks_at_what_every_round_begins_with() {
    let back = Op::Branch { wide: true, cond: Cond::Ne, a: 1, b: Operand::Imm(0), target: 2, site: 7 };
    let load = Op::Load { dst: 3, base: 6, off: 8, size: WORD, signed: false };
    let all =
        [Op::Address { dst: 6, slot: 0 }, Op::Hole, load, alu(Alu::Sub, 1, Operand::Imm(1)), back, Op::Exit];
    check("early", &all);
}

#[test]
fn calls_leave_arguments_alone_and_zero_what_is_read_later() {
    let call = |callee| Op::Call { callee, site: 3 };
    let all = [call(Callee::Host), alu(Alu::Mov, 6, Operand::Reg(2)), call(Callee::Function(0)), Op::Exit];
    check("calls", &all);
}

#[test]
fn a_loop_counts_in_place() {
    check("numbers", &[Op::Call { callee: Callee::NumNext, site: 3 }, Op::Exit]);
}

#[test]
fn a_place_near_another_one_is_probably_in_its_line() {
    let load = |dst, off| Op::Load { dst, base: 6, off, size: WORD, signed: false };
    check("near", &[load(1, 16), load(2, 8), Op::Exit]);
}

#[test]
fn the_call_for_a_number_also_looks_at_the_fuel_for_the_jump_back() {
    let call = Op::Call { callee: Callee::NumNext, site: 3 };
    let back = Op::Branch { wide: true, cond: Cond::Ne, a: 0, b: Operand::Imm(0), target: 0, site: 4 };
    let address = [alu(Alu::Mov, 1, Operand::Reg(10)), alu(Alu::Add, 1, Operand::Imm(-8))];
    let copy = alu(Alu::Mov, 7, Operand::Reg(6));
    check("iteration", &[address[0], address[1], call, copy, back, Op::Exit]);
}

#[test]
fn a_loop_s_number_is_known_to_be_in_the_frame() {
    let all = [
        alu(Alu::Mov, 1, Operand::Reg(10)),
        alu(Alu::Add, 1, Operand::Imm(-8)),
        Op::Call { callee: Callee::NumNext, site: 3 },
        Op::Branch { wide: true, cond: Cond::Eq, a: 0, b: Operand::Imm(0), target: 5, site: NO_SITE },
        Op::Load { dst: 6, base: 0, off: 0, size: Size(2), signed: false },
        Op::Exit,
    ];
    check("number", &all);
}

#[test]
fn a_value_that_a_round_mostly_leaves_as_it_is_stays_where_it_is() {
    let branch =
        |target, site| Op::Branch { wide: false, cond: Cond::Gt, a: 6, b: Operand::Reg(1), target, site };
    let copy = |dst, src| narrow(Alu::Mov, dst, Operand::Reg(src));
    // The largest word from [R10 - 16] on and its number, which is read behind the loop, too.
    let all = [
        copy(1, 7),
        copy(2, 7),
        Op::Jump { target: 10, site: NO_SITE },
        alu(Alu::Mov, 1, Operand::Reg(10)),
        alu(Alu::Add, 1, Operand::Imm(-8)),
        Op::Call { callee: Callee::NumNext, site: 3 },
        copy(1, 6),
        copy(2, 8),
        Op::Branch { wide: true, cond: Cond::Ne, a: 0, b: Operand::Imm(0), target: 10, site: NO_SITE },
        Op::Jump { target: 17, site: NO_SITE },
        Op::Load { dst: 8, base: 0, off: 0, size: Size(2), signed: false },
        Op::Load { dst: 6, base: 10, off: -16, size: Size(2), signed: false },
        branch(14, NO_SITE),
        copy(8, 2),
        branch(3, 4),
        copy(6, 1),
        Op::Jump { target: 3, site: 5 },
        copy(0, 8),
        Op::Exit,
    ];
    check("rounds", &all);
}

/// A loop over numbers whose rounds do this.
fn rounds_of(what: Op) -> [Op; 11] {
    let address = [alu(Alu::Mov, 1, Operand::Reg(10)), alu(Alu::Add, 1, Operand::Imm(-8))];
    let call = |site| Op::Call { callee: Callee::NumNext, site };
    let branch = |cond, target, site| Op::Branch { wide: true, cond, a: 0, b: Operand::Imm(0), target, site };
    let (over, again) = (branch(Cond::Eq, 10, NO_SITE), branch(Cond::Ne, 4, 5));
    let load = Op::Load { dst: 6, base: 0, off: 0, size: Size(2), signed: false };
    [address[0], address[1], call(3), over, load, what, address[0], address[1], call(4), again, Op::Exit]
}

#[test]
fn rounds_are_charged_together() {
    insta::assert_snapshot!("together", listing_with(&rounds_of(alu(Alu::Add, 7, Operand::Reg(6))), &Priced));
}

#[test]
fn a_loop_that_shows_its_charges_or_changes_its_numbers_is_charged_each_round() {
    let check = |what: Op, expected: bool| {
        let text = listing_with(&rounds_of(what), &Priced);
        assert_eq!(text.contains("dec dword"), expected, "{what:?}: {text}");
    };
    let store = |off, size| Op::Store { base: 10, off, size, src: Operand::Imm(5) };
    check(Op::Hole, true);
    check(store(-16, WORD), true);
    check(store(-12, WORD), false);
    check(store(-1, Size(0)), false);
    check(Op::Store { base: 7, off: 0, size: WORD, src: Operand::Imm(5) }, false);
    check(Op::Call { callee: Callee::Host, site: 6 }, false);
    // It mostly ends early.
    let found =
        Op::Branch { wide: true, cond: Cond::Eq, a: 6, b: Operand::Imm(9), target: 10, site: NO_SITE };
    check(found, false);
}

#[test]
fn what_concerns_nobody_else_is_served_in_place() {
    let call = |known| Op::Call { callee: Callee::Known(known), site: 3 };
    check("known", &[call(Known::NumNew), call(Known::Now), call(Known::SmpId), Op::Exit]);
}

#[test]
fn what_is_read_before_it_is_written_is_zero() {
    let all = [alu(Alu::Add, 6, Operand::Reg(7)), alu(Alu::Mov, 0, Operand::Reg(6)), Op::Exit];
    check("unset", &all);
}

fn check_movers(name: &str, crowded: bool, has_arena: bool) {
    let mut asm = Asm::default();
    Movers::emit(&mut asm, LineForm { log2: 6, grouped: false, crowded }, has_arena);
    insta::assert_snapshot!(name, text_of(asm));
}

#[test]
fn a_line_moves_without_the_engine_where_it_can() {
    check_movers("moves", false, false);
    check_movers("moves_crowded", true, false);
    check_movers("moves_arena", false, true);
}
