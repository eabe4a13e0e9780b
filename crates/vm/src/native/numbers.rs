//! `bpf_iter_num_next` inline: a loop calls it once per iteration, and a call takes longer than most iterations.

use super::memory::unaligned;
use super::translate::Translator;
use crate::code::op::FRAME_BYTES;
use crate::context::{Context, HOST_COUNTS};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value};
use std::mem::offset_of;

/// Bytes of an iterator: the number before the next one, and the end.
const PAIR_BYTES: i64 = 8;

impl Translator<'_> {
    /// Like [`crate::numbers::num_next`], which is called if the host counts, and for an iterator outside the
    /// function's own frame.
    pub(super) fn num_next(&mut self, site: u32) {
        let count = self.settle();
        self.check_fuel(count, site, None);
        let (iterator, r10) = (self.reg(1), self.reg(10));
        let from_end = self.b.ins().isub(iterator, r10);
        let from_start = self.number(FRAME_BYTES as i64);
        let from_start = self.b.ins().iadd(from_end, from_start);
        let last = self.number(FRAME_BYTES as i64 - PAIR_BYTES);
        let is_near = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, from_start, last);
        let price_ps = self.field(offset_of!(Context, num_next_ps));
        let host_counts = self.number(HOST_COUNTS as i64);
        let has_price = self.b.ins().icmp(IntCC::NotEqual, price_ps, host_counts);
        let is_here = self.b.ins().band(is_near, has_price);
        let (here, elsewhere, done) = (self.b.create_block(), self.cold_block(), self.b.create_block());
        self.b.append_block_param(done, I64);
        self.b.ins().brif(is_here, here, &[], elsewhere, &[]);

        self.b.switch_to_block(elsewhere);
        self.set_field(offset_of!(Context, insns), count);
        let value = self.call_engine(self.symbols.num_next, site);
        self.reload_count();
        self.b.ins().jump(done, &[BlockArg::Value(value)]);

        self.b.switch_to_block(here);
        let stall_ps = self.field(offset_of!(Context, stall_ps));
        let stall_ps = self.b.ins().iadd(stall_ps, price_ps);
        self.set_field(offset_of!(Context, stall_ps), stall_ps);
        let frame = self.fixed().frame;
        let at = self.b.ins().iadd(frame, from_end);
        self.count_up(at, iterator, done);

        self.b.switch_to_block(done);
        let value = self.b.block_params(done)[0];
        self.after_call(value);
    }

    /// Continues at `done` with the iterator's address, or with 0 at the end. `at` is its address in the process.
    fn count_up(&mut self, at: Value, iterator: Value, done: Block) {
        let pair = self.b.ins().load(I64, unaligned(), at, 0);
        let half = self.number(32);
        let end = self.b.ins().ushr(pair, half);
        let [before, end] = [pair, end].map(|word| self.b.ins().ireduce(I32, word));
        let one = self.b.ins().iconst(I32, 1);
        let current = self.b.ins().iadd(before, one);
        let has_more = self.b.ins().icmp(IntCC::SignedLessThan, current, end);
        let (more, over) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(has_more, more, &[], over, &[]);

        self.b.switch_to_block(more);
        self.b.ins().store(unaligned(), current, at, 0);
        self.b.ins().jump(done, &[BlockArg::Value(iterator)]);

        self.b.switch_to_block(over);
        let zero = self.number(0);
        self.b.ins().store(unaligned(), zero, at, 0);
        self.b.ins().jump(done, &[BlockArg::Value(zero)]);
    }
}
