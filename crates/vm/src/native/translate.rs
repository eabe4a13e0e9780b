//! One function: registers become variables, operations become instructions, block by block.
//!
//! Instructions are counted in a local that is updated once per block and written to the context before calls and at
//! exits.

use super::Target;
use super::symbols::{Symbols, plain};
use crate::code::Func;
use crate::code::op::{Callee, Cond, FRAME_BYTES, NO_SITE, Op, Operand};
use crate::context::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    Block, BlockArg, FuncRef, Function, InstBuilder, MemFlagsData, SigRef, TrapCode, Value,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use std::mem::offset_of;

/// Translates a function.
pub(super) fn function(
    module: &mut JITModule,
    symbols: &Symbols,
    ids: &[FuncId],
    function: &Func,
    into: &mut Function,
    scratch: &mut FunctionBuilderContext,
    target: Target,
) {
    let mut b = FunctionBuilder::new(into, scratch);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let host_signature = b.import_signature(plain(module, 6, 1));
    let blocks = blocks(&mut b, &function.ops);
    let regs = [(); 10].map(|()| b.declare_var(I64));
    let count = b.declare_var(I64);
    let params = b.block_params(entry).to_vec();
    let mut t = Translator {
        module,
        symbols,
        ids,
        target,
        ops: &function.ops,
        b,
        blocks,
        regs,
        count,
        pending: 0,
        host_signature,
        context: params[0],
        r10: params[1],
        fixed: None,
        never_ends: None,
        too_deep: None,
        functions: vec![None; ids.len()],
    };
    t.enter(&params);
    t.body();
    t.cold_blocks();
    t.b.seal_all_blocks();
    t.b.finalize(t.module.target_config());
}

/// A block for each operation that control can reach by a jump or by falling through a branch. Unreachable operations
/// get none.
fn blocks(b: &mut FunctionBuilder<'_>, ops: &[Op]) -> Vec<Option<Block>> {
    let mut reached = vec![false; ops.len()];
    let mut blocks = vec![None; ops.len()];
    let mut todo = vec![0];
    while let Some(start) = todo.pop() {
        blocks[start] = blocks[start].or_else(|| Some(b.create_block()));
        let mut at = start;
        while !reached[at] {
            reached[at] = true;
            let op = ops[at];
            let next = at + 1 + usize::from(matches!(ops.get(at + 1), Some(Op::Hole)));
            if let Some(target) = op.target() {
                todo.push(target as usize);
                if !op.ends() {
                    todo.push(next);
                }
                break;
            }
            if op.ends() {
                break;
            }
            at = next;
        }
    }
    blocks
}

/// Values that hold for the whole function and that memory accesses need.
#[derive(Clone, Copy)]
pub(super) struct Fixed {
    pub(super) base: Value,
    pub(super) sharers: Value,
    pub(super) minus_base: Value,
    pub(super) shared: Value,
    /// The process's address of r10.
    pub(super) frame: Value,
}

pub(super) struct Translator<'a> {
    pub(super) module: &'a mut JITModule,
    pub(super) symbols: &'a Symbols,
    ids: &'a [FuncId],
    pub(super) target: Target,
    ops: &'a [Op],
    pub(super) b: FunctionBuilder<'a>,
    blocks: Vec<Option<Block>>,
    regs: [Variable; 10],
    count: Variable,
    /// Instructions of this block that are not counted yet.
    pending: i64,
    host_signature: SigRef,
    pub(super) context: Value,
    r10: Value,
    fixed: Option<Fixed>,
    never_ends: Option<Block>,
    too_deep: Option<Block>,
    functions: Vec<Option<FuncRef>>,
}

/// Fields of the context are aligned, and always present.
pub(super) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Fields that don't change while the function runs.
fn constant() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

impl Translator<'_> {
    pub(super) fn number(&mut self, value: i64) -> Value {
        self.b.ins().iconst(I64, value)
    }

    pub(super) fn field(&mut self, offset: usize) -> Value {
        self.b.ins().load(I64, trusted(), self.context, offset as i32)
    }

    fn fixed_field(&mut self, offset: usize) -> Value {
        self.b.ins().load(I64, constant(), self.context, offset as i32)
    }

    pub(super) fn set_field(&mut self, offset: usize, value: Value) {
        self.b.ins().store(trusted(), value, self.context, offset as i32);
    }

    pub(super) fn reg(&mut self, reg: u8) -> Value {
        if reg == 10 { self.r10 } else { self.b.use_var(self.regs[usize::from(reg)]) }
    }

    pub(super) fn set_reg(&mut self, reg: u8, value: Value) {
        self.b.def_var(self.regs[usize::from(reg)], value);
    }

    pub(super) fn operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Reg(r) => self.reg(r),
            Operand::Imm(i) => self.number(i),
        }
    }

    pub(super) fn fixed(&self) -> Fixed {
        self.fixed.expect("set on entry")
    }

    fn enter(&mut self, params: &[Value]) {
        let zero = self.number(0);
        for reg in 0..10 {
            let value = if (1..6).contains(&reg) { params[usize::from(reg) + 1] } else { zero };
            self.set_reg(reg, value);
        }
        let base = self.fixed_field(offset_of!(Context, base));
        let minus_base = self.fixed_field(offset_of!(Context, minus_base));
        let frame = self.b.ins().iadd(base, minus_base);
        let frame = self.b.ins().iadd(frame, self.r10);
        self.fixed = Some(Fixed {
            base,
            sharers: self.fixed_field(offset_of!(Context, sharers)),
            minus_base,
            shared: self.fixed_field(offset_of!(Context, place.shared)),
            frame,
        });
        self.reload_count();
        let first = self.block(0);
        self.b.ins().jump(first, &[]);
    }

    fn block(&self, at: usize) -> Block {
        self.blocks[at].expect("every operation that a jump reaches has a block")
    }

    fn body(&mut self) {
        let mut open = false;
        for (at, &op) in self.ops.iter().enumerate() {
            if let Some(block) = self.blocks[at] {
                if open {
                    self.settle();
                    self.b.ins().jump(block, &[]);
                }
                self.b.switch_to_block(block);
                open = true;
            }
            if !open || op == Op::Hole {
                continue;
            }
            self.pending += 1;
            self.op(at, op);
            open = !op.ends() && op.target().is_none();
        }
    }

    fn op(&mut self, at: usize, op: Op) {
        match op {
            Op::Alu { wide, op, dst, src } => self.alu(wide, op, dst, src),
            Op::Const { dst, value } => {
                let value = self.number(value as i64);
                self.set_reg(dst, value);
            }
            Op::CastToKernel { dst, src } => self.cast_to_kernel(dst, src),
            Op::CastToUser { dst, src, high } => self.cast_to_user(dst, src, high),
            Op::Address { dst, slot } => {
                let table = self.fixed_field(offset_of!(Context, addresses));
                let value = self.b.ins().load(I64, constant(), table, 8 * slot as i32);
                self.set_reg(dst, value);
            }
            Op::Load { dst, base, off, size, signed } => self.load(dst, base, off, size, signed),
            Op::Store { base, off, size, src } => {
                let value = self.operand(src);
                self.store(base, off, size, value);
            }
            Op::Atomic { base, off, size, op, src, fetch } => self.atomic(base, off, size, op, src, fetch),
            Op::Jump { target, site } => {
                self.settle();
                self.jump(target, site);
            }
            Op::Branch { wide, cond, a, b, target, site } => {
                let holds = self.condition(wide, cond, a, b);
                self.branch(holds, target, site, at + 1);
            }
            Op::MayGoto { target, site } => self.may_goto(target, site, at + 1),
            Op::Call { callee, site } => self.call(callee, site),
            Op::Exit => {
                self.flush();
                let r0 = self.reg(0);
                self.b.ins().return_(&[r0]);
            }
            Op::Hole => {}
        }
    }

    /// Brings the count up to date.
    pub(super) fn settle(&mut self) -> Value {
        let count = self.b.use_var(self.count);
        if self.pending == 0 {
            return count;
        }
        let pending = std::mem::take(&mut self.pending);
        let pending = self.number(pending);
        let count = self.b.ins().iadd(count, pending);
        self.b.def_var(self.count, count);
        count
    }

    /// Brings the context's count up to date.
    pub(super) fn flush(&mut self) -> Value {
        let count = self.settle();
        self.set_field(offset_of!(Context, insns), count);
        count
    }

    pub(super) fn reload_count(&mut self) {
        let count = self.field(offset_of!(Context, insns));
        self.b.def_var(self.count, count);
    }

    /// Jumps to an operation; backwards only while there is fuel.
    fn jump(&mut self, target: u32, site: u32) {
        let target = self.block(target as usize);
        if site == NO_SITE {
            self.b.ins().jump(target, &[]);
            return;
        }
        let count = self.b.use_var(self.count);
        self.check_fuel(count, site, Some(target));
    }

    /// Continues (in `then`, or in a new block) unless the fuel is used up.
    pub(super) fn check_fuel(&mut self, count: Value, site: u32, then: Option<Block>) {
        let over = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, count, 0);
        let never_ends = self.never_ends();
        let site = self.b.ins().iconst(I32, i64::from(site));
        let next = then.unwrap_or_else(|| self.b.create_block());
        self.b.ins().brif(over, never_ends, &[BlockArg::Value(count), BlockArg::Value(site)], next, &[]);
        if then.is_none() {
            self.b.switch_to_block(next);
        }
    }

    fn branch(&mut self, holds: Value, target: u32, site: u32, next: usize) {
        self.settle();
        let next = self.block(next);
        if site == NO_SITE {
            let target = self.block(target as usize);
            self.b.ins().brif(holds, target, &[], next, &[]);
            return;
        }
        let back = self.b.create_block();
        self.b.ins().brif(holds, back, &[], next, &[]);
        self.b.switch_to_block(back);
        self.jump(target, site);
    }

    fn condition(&mut self, wide: bool, cond: Cond, a: u8, b: Operand) -> Value {
        let (mut a, mut b) = (self.reg(a), self.operand(b));
        if !wide {
            a = self.b.ins().ireduce(I32, a);
            b = self.b.ins().ireduce(I32, b);
        }
        let code = match cond {
            Cond::Set => return self.b.ins().band(a, b),
            Cond::Eq => IntCC::Equal,
            Cond::Ne => IntCC::NotEqual,
            Cond::Gt => IntCC::UnsignedGreaterThan,
            Cond::Ge => IntCC::UnsignedGreaterThanOrEqual,
            Cond::Lt => IntCC::UnsignedLessThan,
            Cond::Le => IntCC::UnsignedLessThanOrEqual,
            Cond::SignedGt => IntCC::SignedGreaterThan,
            Cond::SignedGe => IntCC::SignedGreaterThanOrEqual,
            Cond::SignedLt => IntCC::SignedLessThan,
            Cond::SignedLe => IntCC::SignedLessThanOrEqual,
        };
        self.b.ins().icmp(code, a, b)
    }

    fn may_goto(&mut self, target: u32, site: u32, next: usize) {
        let left = self.field(offset_of!(Context, loops_left));
        let count = self.settle();
        let (go_on, used_up, out) = (self.b.create_block(), self.cold_block(), self.b.create_block());
        self.b.append_block_param(go_on, I64);
        self.b.ins().brif(left, go_on, &[BlockArg::Value(left)], used_up, &[]);
        self.b.switch_to_block(used_up);
        self.set_field(offset_of!(Context, insns), count);
        self.call_cold(self.symbols.refill_loops, &[self.context]);
        let left = self.field(offset_of!(Context, loops_left));
        self.b.ins().brif(left, go_on, &[BlockArg::Value(left)], out, &[]);
        self.b.switch_to_block(out);
        self.jump(target, site);
        self.b.switch_to_block(go_on);
        let left = self.b.block_params(go_on)[0];
        let minus_one = self.number(-1);
        let left = self.b.ins().iadd(left, minus_one);
        self.set_field(offset_of!(Context, loops_left), left);
        let next = self.block(next);
        self.b.ins().jump(next, &[]);
    }

    fn call(&mut self, callee: Callee, site: u32) {
        if callee == Callee::NumNext {
            return self.num_next(site);
        }
        let count = self.flush();
        let r0 = match callee {
            Callee::Function(function) => self.call_function(function, site, count),
            Callee::Host | Callee::Known(_) => {
                self.check_fuel(count, site, None);
                self.set_site(site);
                let host_call = self.field(offset_of!(Context, host_call));
                let args = self.arguments(&[]);
                let call = self.b.ins().call_indirect(self.host_signature, host_call, &args);
                self.b.inst_results(call)[0]
            }
            Callee::Loop => self.call_engine(self.symbols.bpf_loop, site),
            Callee::ForEach => self.call_engine(self.symbols.for_each, site),
            Callee::Drain => self.call_engine(self.symbols.drain, site),
            Callee::RbtreeAdd => self.call_engine(self.symbols.rbtree_add, site),
            Callee::NumNext => unreachable!("translated above"),
            Callee::Poison => {
                self.set_site(site);
                self.call_cold(self.symbols.poisoned, &[self.context]);
                self.number(0)
            }
        };
        self.after_call(r0);
        self.reload_count();
    }

    /// What a call leaves in the registers.
    pub(super) fn after_call(&mut self, r0: Value) {
        self.set_reg(0, r0);
        let zero = self.number(0);
        for reg in 1..6 {
            self.set_reg(reg, zero);
        }
    }

    /// The context, `more`, and R1 to R5.
    fn arguments(&mut self, more: &[Value]) -> Vec<Value> {
        let mut args = vec![self.context];
        args.extend_from_slice(more);
        for reg in 1..6 {
            args.push(self.reg(reg));
        }
        args
    }

    fn set_site(&mut self, site: u32) {
        let site = self.b.ins().iconst(I32, i64::from(site));
        self.set_field(offset_of!(Context, site), site);
    }

    pub(super) fn call_engine(&mut self, id: FuncId, site: u32) -> Value {
        self.set_site(site);
        self.set_field(offset_of!(Context, frame), self.r10);
        let args = self.arguments(&[]);
        let target = self.module.declare_func_in_func(id, self.b.func);
        let call = self.b.ins().call(target, &args);
        self.b.inst_results(call)[0]
    }

    fn call_function(&mut self, function: u32, site: u32, count: Value) -> Value {
        self.check_fuel(count, site, None);
        let floor = self.field(offset_of!(Context, place.floor_at));
        let frame = self.fixed().frame;
        let deepest = self.b.ins().icmp(IntCC::Equal, frame, floor);
        let too_deep = self.too_deep();
        let site = self.b.ins().iconst(I32, i64::from(site));
        let next = self.b.create_block();
        self.b.ins().brif(deepest, too_deep, &[BlockArg::Value(site)], next, &[]);
        self.b.switch_to_block(next);
        let frame = self.number(-(FRAME_BYTES as i64));
        let r10 = self.b.ins().iadd(self.r10, frame);
        let args = self.arguments(&[r10]);
        let index = function as usize;
        let target = match self.functions[index] {
            Some(target) => target,
            None => self.module.declare_func_in_func(self.ids[index], self.b.func),
        };
        self.functions[index] = Some(target);
        let call = self.b.ins().call(target, &args);
        self.b.inst_results(call)[0]
    }

    /// Calls a function of the engine that returns nothing.
    pub(super) fn call_cold(&mut self, id: FuncId, args: &[Value]) {
        let target = self.module.declare_func_in_func(id, self.b.func);
        self.b.ins().call(target, args);
    }

    /// A block off the hot path.
    pub(super) fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    fn never_ends(&mut self) -> Block {
        if let Some(block) = self.never_ends {
            return block;
        }
        let block = self.cold_block();
        self.b.append_block_param(block, I64);
        self.b.append_block_param(block, I32);
        self.never_ends = Some(block);
        block
    }

    fn too_deep(&mut self) -> Block {
        if let Some(block) = self.too_deep {
            return block;
        }
        let block = self.cold_block();
        self.b.append_block_param(block, I32);
        self.too_deep = Some(block);
        block
    }

    /// Fills the blocks that raise faults, which all jumps and calls share.
    fn cold_blocks(&mut self) {
        let unreachable = TrapCode::user(1).expect("not zero");
        if let Some(block) = self.never_ends {
            self.b.switch_to_block(block);
            let [count, site] = [0, 1].map(|i| self.b.block_params(block)[i]);
            self.set_field(offset_of!(Context, insns), count);
            self.set_field(offset_of!(Context, site), site);
            self.call_cold(self.symbols.never_ends, &[self.context]);
            self.b.ins().trap(unreachable);
        }
        if let Some(block) = self.too_deep {
            self.b.switch_to_block(block);
            let site = self.b.block_params(block)[0];
            self.set_field(offset_of!(Context, site), site);
            self.call_cold(self.symbols.too_deep, &[self.context]);
            self.b.ins().trap(unreachable);
        }
    }
}
