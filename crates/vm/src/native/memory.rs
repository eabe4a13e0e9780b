//! Loads, stores and atomics: one comparison for the bounds, one test of the line's sharers, and everything else off
//! the hot path.

use super::translate::Translator;
use crate::code::op::{Access, Atomic, Size, in_frame};
use crate::context::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, Type, Value};
use std::mem::offset_of;

/// BPF code may access any alignment.
pub(super) fn unaligned() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

fn int(size: Size) -> Type {
    [I8, I16, I32, I64][usize::from(size.0)]
}

/// The place of an access.
struct Place {
    /// The process's address, and a displacement.
    at: Value,
    off: i32,
    /// Where control continues if the access is out of bounds.
    skip: Option<Block>,
}

impl Translator<'_> {
    pub(super) fn load(&mut self, dst: u8, base: u8, off: i32, size: Size, signed: bool) {
        let place = self.place(base, off, size, Access::Load, true);
        let value = self.load_at(&place, size, signed);
        let value = self.join_value(&place, value);
        self.set_reg(dst, value);
    }

    pub(super) fn store(&mut self, base: u8, off: i32, size: Size, value: Value) {
        let place = self.place(base, off, size, Access::Store, false);
        self.store_at(&place, size, value);
        self.join(&place);
    }

    pub(super) fn atomic(&mut self, base: u8, off: i32, size: Size, op: Atomic, src: u8, fetch: bool) {
        let operand = self.reg(src);
        let place = self.place(base, off, size, Access::Atomic, fetch);
        let old = self.load_at(&place, size, false);
        let new = self.combine(op, size, old, operand);
        self.store_at(&place, size, new);
        if !fetch {
            return self.join(&place);
        }
        let old = self.join_value(&place, old);
        self.set_reg(if op == Atomic::CompareExchange { 0 } else { src }, old);
    }

    fn combine(&mut self, op: Atomic, size: Size, old: Value, operand: Value) -> Value {
        match op {
            Atomic::Add => self.b.ins().iadd(old, operand),
            Atomic::Or => self.b.ins().bor(old, operand),
            Atomic::And => self.b.ins().band(old, operand),
            Atomic::Xor => self.b.ins().bxor(old, operand),
            Atomic::Exchange => operand,
            Atomic::CompareExchange => {
                let mut expected = self.reg(0);
                if size.0 == 2 {
                    let low = self.b.ins().ireduce(I32, expected);
                    expected = self.b.ins().uextend(I64, low);
                }
                let equal = self.b.ins().icmp(IntCC::Equal, old, expected);
                self.b.ins().select(equal, operand, old)
            }
        }
    }

    fn load_at(&mut self, place: &Place, size: Size, signed: bool) -> Value {
        let value = self.b.ins().load(int(size), unaligned(), place.at, place.off);
        match (size.0, signed) {
            (3, _) => value,
            (_, true) => self.b.ins().sextend(I64, value),
            (_, false) => self.b.ins().uextend(I64, value),
        }
    }

    fn store_at(&mut self, place: &Place, size: Size, value: Value) {
        let value = if size.0 == 3 { value } else { self.b.ins().ireduce(int(size), value) };
        self.b.ins().store(unaligned(), value, place.at, place.off);
    }

    /// Continues where an access out of bounds continues.
    fn join(&mut self, place: &Place) {
        if let Some(skip) = place.skip {
            self.b.ins().jump(skip, &[]);
            self.b.switch_to_block(skip);
        }
    }

    /// Like `join`, with the access's value, which is 0 out of bounds.
    fn join_value(&mut self, place: &Place, value: Value) -> Value {
        let Some(skip) = place.skip else { return value };
        self.b.ins().jump(skip, &[BlockArg::Value(value)]);
        self.b.switch_to_block(skip);
        self.b.block_params(skip)[0]
    }

    /// Checks an access; control continues if it is in bounds. `gives`: it has a value.
    fn place(&mut self, base: u8, off: i32, size: Size, access: Access, gives: bool) -> Place {
        let fixed = self.fixed();
        if in_frame(base, off, size) {
            return Place { at: fixed.frame, off, skip: None };
        }
        if access == Access::Atomic {
            // The engine asks how far the callback has got.
            self.flush();
        }
        let address = self.reg(base);
        let offset = self.b.ins().iadd(address, fixed.minus_base);
        let displacement = self.number(i64::from(off));
        let offset = self.b.ins().iadd(offset, displacement);
        let limit = self.field(offset_of!(Context, limits) + 8 * usize::from(size.0));
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, offset, limit);
        let (held, within) = (self.b.create_block(), self.b.create_block());
        let (outside, moves) = (self.cold_block(), self.cold_block());
        let skip = self.b.create_block();
        self.b.ins().brif(inside, within, &[], outside, &[]);

        self.b.switch_to_block(outside);
        self.call_cold(self.symbols.out_of_bounds, &[self.context]);
        if gives {
            let nothing = self.number(0);
            self.b.append_block_param(skip, I64);
            self.b.ins().jump(skip, &[BlockArg::Value(nothing)]);
        } else {
            self.b.ins().jump(skip, &[]);
        }

        self.b.switch_to_block(within);
        match access {
            Access::Atomic => {
                self.b.ins().jump(moves, &[]);
            }
            Access::Load | Access::Store => {
                let free = self.is_held(offset, access == Access::Store);
                self.b.ins().brif(free, held, &[], moves, &[]);
            }
        }

        self.b.switch_to_block(moves);
        let touch = match access {
            Access::Load => self.symbols.touch_read,
            Access::Store => self.symbols.touch_write,
            Access::Atomic => self.symbols.touch_atomically,
        };
        self.call_cold(touch, &[self.context, offset]);
        if self.target.has_arena {
            let denied = self.field(offset_of!(Context, denied));
            self.b.ins().brif(denied, outside, &[], held, &[]);
        } else {
            self.b.ins().jump(held, &[]);
        }

        self.b.switch_to_block(held);
        let at = self.b.ins().iadd(fixed.base, offset);
        Place { at, off: 0, skip: Some(skip) }
    }

    /// Emits the test whether the CPU already holds the line at this offset, so that it may read or write it.
    fn is_held(&mut self, offset: Value, write: bool) -> Value {
        let fixed = self.fixed();
        let line_log2 = self.number(i64::from(self.target.lines.log2));
        let line = self.b.ins().ushr(offset, line_log2);
        let three = self.number(3);
        let word = self.b.ins().ishl(line, three);
        let word = self.b.ins().iadd(fixed.sharers, word);
        let sharers = self.b.ins().load(I64, super::translate::trusted(), word, 0);
        if !write {
            return self.b.ins().band(sharers, fixed.shared);
        }
        // Up to 64 CPUs both words are the same, and one of them is in a register.
        let alone = match self.target.lines.grouped {
            true => self.field(offset_of!(Context, place.alone)),
            false => fixed.shared,
        };
        self.b.ins().icmp(IntCC::Equal, sharers, alone)
    }
}
