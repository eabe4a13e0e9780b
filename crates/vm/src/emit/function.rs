//! A function, operation by operation.

use super::asm::{Asm, Label};
use super::carried;
use super::count;
use super::early::{self, Looks};
use super::elements::{self, Elements, Instead};
use super::entry;
use super::held::{self, Held, Places};
use super::iterators::Iteration;
use super::live::{self, Set};
use super::moves::Movers;
use super::order::Order;
use super::registers::{A, CONTEXT, DELTA, FRAME, at, field, half, whole};
use super::repeats::Repeats;
use super::rounds::Rounds;
use super::together::Together;
use super::values::{self, Data, Registers, Value};
use super::zeros;
use crate::code::op::{Callee, Op, Operand, Size};
use crate::context::{Context, FIRST_ADDRESSES};
use crate::memory::LineForm;
use iced_x86::{Code, Register};
use std::mem::offset_of;

/// Code off the hot path, which is emitted behind the function.
pub(super) type Cold<'a> = Box<dyn FnOnce(&mut Emitter<'a>) + 'a>;

/// What all functions of an object have in common.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) lines: LineForm,
    pub(super) has_arena: bool,
    pub(super) has_may_goto: bool,
    pub(super) movers: Movers,
    pub(super) data: &'a dyn Data,
    /// As [`carried::served`].
    pub(super) served: &'a [bool],
    /// The function only begins as a callback ([`Code::takes_context`](crate::code::Code::takes_context)).
    pub(super) is_callback: bool,
    /// As [`Data::is_leaf`].
    pub(super) is_leaf: bool,
    /// The function may run in the deepest frame.
    pub(super) is_deepest: bool,
}

impl Target<'_> {
    /// Returns whether an access at this offset from a register is certainly within the object's global data, or the
    /// callback's stack. Neither is in an arena, whose pages may be unbacked.
    pub(super) fn is_within(&self, value: Value, off: i32, size: Size) -> bool {
        let bytes = size.bytes();
        value.is_in_stack(off, bytes) || value.is_within(off, bytes, self.data)
    }

    /// Returns whether emitted code serves the call with this number before another CPU runs.
    pub(super) fn is_served(&self, number: u32) -> bool {
        self.served.get(number as usize).is_some_and(|&served| served)
    }

    /// What registers hold where the function begins: the context of a callback is behind its first frame.
    pub(super) fn entry(&self) -> Registers {
        let mut registers = [Value::Any; 10];
        if self.is_callback {
            registers[1] = Value::Frame(0);
        }
        registers
    }
}

/// Emits one function.
pub(super) struct Emitter<'a> {
    pub(super) asm: &'a mut Asm,
    /// For each function of the object, the target of calls from emitted code.
    pub(super) functions: &'a [Label],
    pub(super) ops: &'a [Op],
    pub(super) order: Order,
    pub(super) repeats: Repeats,
    pub(super) rounds: Rounds,
    pub(super) together: Together,
    pub(super) elements: Elements,
    pub(super) target: Target<'a>,
    /// What the registers hold at the current operation, and at jump targets.
    pub(super) values: Registers,
    values_at: Vec<Option<Box<Registers>>>,
    pub(super) held: Held,
    held_at: Places,
    /// What the ways into loops look at.
    pub(super) looks: Looks,
    /// For each operation, the target of jumps to it.
    targets: Vec<Option<Label>>,
    /// For each operation, the registers that it reads.
    pub(super) reads: Vec<Set>,
    live: Vec<Set>,
    /// Like `live`, without registers that are only read as addresses in the stack: emitted code needs no register for
    /// these, but the interpreter does.
    pub(super) needed: Vec<Set>,
    /// Registers that are read after the current operation.
    pub(super) read_later: Set,
    /// Registers that are 0, but have not been zeroed yet; and those at jump targets.
    pub(super) owed: Set,
    pub(super) owed_at: Vec<Set>,
    /// Whether costs may be carried, and the same at jump targets.
    pub(super) carried: bool,
    carried_at: Vec<bool>,
    /// Those of R6 to R9 that the function changes.
    kept: Vec<u8>,
    /// Instructions that the context does not count yet.
    pub(super) pending: i32,
    /// The same at jump targets, once a way there is known.
    pub(super) pending_at: Vec<Option<i32>>,
    /// A jump whose fuel the next call looks at: its site, and how many operations that call counts since then.
    pub(super) unchecked: Option<(u32, i32)>,
    cold: Vec<Cold<'a>>,
    /// The current operation.
    pub(super) at: usize,
    /// The way to the interpreter, if there is one.
    pub(super) exit: Option<Label>,
    /// A loop's next number, whose branch comes next.
    pub(super) iteration: Option<Iteration>,
}

impl<'a> Emitter<'a> {
    /// `carried_at` is as in [`carried::at_targets`].
    pub(super) fn new(
        asm: &'a mut Asm,
        functions: &'a [Label],
        ops: &'a [Op],
        target: Target<'a>,
        carried_at: Vec<bool>,
    ) -> Self {
        let mut targets = vec![None; ops.len()];
        for target in ops.iter().filter_map(|op| op.target()) {
            targets[target as usize].get_or_insert_with(|| asm.label());
        }
        let reads = live::reads(ops, target.data);
        let live = live::before(ops, &reads);
        let written =
            ops.iter().fold(0, |set, &op| set | live::uses(op).1) | live.first().copied().unwrap_or(0);
        // Who begins a callback expects no register to be kept.
        let kept = live::each(written, 6..=9).filter(|_| !target.is_callback).collect();
        let values_at = values::at_targets(ops, target.entry(), target.data);
        let mut looks = early::all(ops, &values_at, &target);
        let bases = values::bases(ops, &values_at, target.entry(), target.data);
        let held_at = held::at_targets(ops, &values_at, &bases, &mut looks, &target);
        let (values, held) = (target.entry(), Held::new());
        let needed = needed(ops, (&reads, &live), &bases);
        let (pending, cold) = (0, Vec::new());
        let (repeats, order) = (Repeats::new(ops), Order::new(ops, target.data.counts()));
        let rounds = Rounds::new(ops, &values_at, &live, (&order, &repeats), &target);
        let pending_at = count::at_targets(ops, &order, &repeats);
        Self {
            asm,
            functions,
            ops,
            owed_at: zeros::at_targets(ops, &live, &reads, &repeats),
            together: Together::new(ops, &values_at, (&order, &repeats), &pending_at, &target),
            elements: elements::all(ops, &live, |at| rounds.is_silent(at)),
            pending_at,
            repeats,
            rounds,
            target,
            values,
            values_at,
            held,
            held_at,
            looks,
            targets,
            reads,
            live,
            needed,
            read_later: 0,
            owed: 0,
            carried: true,
            carried_at,
            kept,
            pending,
            order,
            unchecked: None,
            cold,
            at: 0,
            exit: None,
            iteration: None,
        }
    }

    /// Emits the function, which starts at a label, and returns where it begins as a callback.
    pub(super) fn function(mut self, label: Label) -> Label {
        let start = entry::emit_start(self.asm, label, &self.target, self.live_at(0));
        self.asm.bind(label);
        self.enter();
        // Is the operation the second one of a pair?
        let mut is_done = false;
        let mut open = true;
        for at in std::mem::take(&mut self.order.ops) {
            let op = self.ops[at];
            if let Some(number) = self.together.left(self.at, at).filter(|_| open) {
                self.give_back_aside(number);
            }
            if let Some(target) = self.targets[at].filter(|_| !self.repeats.has(at)) {
                if open {
                    self.pay(self.zero_at(at));
                    self.agree(at as u32);
                    self.look_at(&self.looks_before(at));
                }
                let round = self.round(at);
                if open && round.is_some() {
                    self.asm.to(Code::Jmp_rel32_64, target);
                }
                self.asm.bind(round.unwrap_or(target));
                (open, self.owed, self.carried) = (true, self.owed_at[at], self.carried_at[at]);
                self.pending = self.pending_at[at].unwrap_or(0);
                self.values = self.values_at[at].as_deref().copied().unwrap_or([Value::Any; 10]);
                self.held.meet(self.held_at[at].as_deref(), at as u32);
            }
            if !open || matches!(op, Op::Hole) {
                continue;
            }
            self.pending += 1;
            self.at = at;
            self.read_later = live::after(self.ops, &self.live, at);
            self.charge_ahead();
            self.pay_before(at, op);
            if !std::mem::take(&mut is_done) && !self.rounds.is_silent(at) {
                is_done = self.one_or_two(at, op);
            }
            self.forget_written(op);
            values::after(op, &mut self.values, self.target.data);
            self.held.after(op, at as u32, &self.target);
            self.held.find_arena(self.ops, at);
            self.carried = carried::after(op, self.carried);
            open = !op.ends() || self.order.follows(at);
        }
        while let Some(cold) = self.cold.pop() {
            cold(&mut self);
        }
        let number = self.functions.iter().position(|&function| function == label);
        self.leave_to_interpreter(number.expect("it is one of them") as u32);
        // Nothing falls through the last piece, and every label precedes an instruction.
        self.asm.bare(Code::Ud2);
        start
    }

    /// Saves the registers that the caller expects to keep, and zeroes those that are read before they are written.
    fn enter(&mut self) {
        for nth in 0..self.kept.len() {
            self.asm.reg(Code::Push_r64, whole(self.kept[nth]));
        }
        // Where calls find it again.
        for _ in 0..self.words() {
            self.asm.reg(Code::Push_r64, CONTEXT);
        }
        let read = self.live.first().copied().unwrap_or(0);
        for reg in live::each(read, 0..=9).filter(|reg| !(1..=5).contains(reg)) {
            self.zero(reg);
        }
    }

    /// How often the context is on the function's stack: with the return address, an even number of words keeps that
    /// aligned. A callback begins with the context in front of the return address, and an aligned stack.
    fn words(&self) -> usize {
        if self.target.is_callback || self.target.is_leaf { 0 } else { self.aligning_words() }
    }

    /// How many words behind the kept registers align the stack.
    pub(super) fn aligning_words(&self) -> usize {
        1 + self.kept.len() % 2
    }

    /// Reloads the context from the stack after a call of a C function.
    pub(super) fn reload_context(&mut self) {
        let above = if self.target.is_callback { 8 } else { 0 };
        self.asm.reg_mem(Code::Mov_r64_rm64, CONTEXT, at(Register::RSP, above));
    }

    fn exit(&mut self) {
        self.settle();
        self.leave();
    }

    /// Returns to the caller.
    pub(super) fn leave(&mut self) {
        let words = self.words();
        if words > 0 {
            self.asm.reg_imm(Code::Add_rm64_imm8, Register::RSP, 8 * words as i32);
        }
        for nth in (0..self.kept.len()).rev() {
            self.asm.reg(Code::Pop_r64, whole(self.kept[nth]));
        }
        self.asm.bare(Code::Retnq);
    }

    fn op(&mut self, number: usize, op: Op) {
        match op {
            Op::Alu { wide, op, dst, src } => self.alu(wide, op, dst, src),
            Op::Const { dst, value } => self.constant(dst, value),
            Op::CastToKernel { dst, src } => self.cast_to_kernel(dst, src),
            Op::CastToUser { dst, src, high } => self.cast_to_user(dst, src, high),
            Op::Address { dst, slot } => self.tabled_address(whole(dst), slot),
            Op::Load { dst, base, off, size, signed } => self.load(dst, base, off, size, signed),
            Op::Store { base, off, size, src } => self.store(base, off, size, src),
            Op::Atomic { base, off, size, op, src, fetch } => self.atomic(base, off, size, op, src, fetch),
            Op::Jump { site, .. } if self.order.follows(number) => self.go_on(number, site),
            Op::Jump { target, site } => {
                if let Some(loop_left) = self.together.left(number, target as usize) {
                    self.give_back_aside(loop_left);
                }
                self.settle_before_jump(target, site);
                self.jump(target, site);
            }
            Op::Branch { wide, cond, a, b, target, site } => {
                let past = self.past_repeat(number);
                if past.is_none() && !self.order.is_aside(number) {
                    self.settle_before_jump(target, site);
                }
                self.branch(wide, cond, (a, b), target, site, past);
            }
            Op::MayGoto { target, site } => {
                self.settle();
                self.may_goto(target, site);
            }
            Op::Call { callee, site } => {
                if callee == Callee::NumNext {
                    self.begin_iteration();
                    self.settle_round();
                }
                self.settle();
                self.call(callee, site, self.read_later);
            }
            Op::Exit => self.exit(),
            Op::Hole => {}
        }
    }

    /// Emits an operation; or, if they are a pair, also the next one, and returns true.
    fn one_or_two(&mut self, at: usize, op: Op) -> bool {
        if let Some(pair) = self.pair(at) {
            self.both(pair);
            return true;
        }
        let op = match self.elements.get(at) {
            None => op,
            Some(Instead::Op(op)) => op,
            Some(Instead::Nothing) => return false,
            Some(Instead::AddAddress { dst, slot }) => {
                self.add_tabled_address(dst, slot);
                return false;
            }
        };
        let branch = self.iteration.take_if(|iteration| iteration.branch == at);
        match branch {
            Some(iteration) => self.end_iteration(op, iteration),
            None if self.repeats.has(at) => {}
            None => self.op(at, op),
        }
        false
    }

    /// An address from the table, into a register.
    pub(super) fn tabled_address(&mut self, to: Register, slot: u32) {
        if (slot as usize) < FIRST_ADDRESSES {
            let entry = field(offset_of!(Context, first_addresses) + 8 * slot as usize);
            return self.asm.reg_mem(Code::Mov_r64_rm64, to, entry);
        }
        self.asm.reg_mem(Code::Mov_r64_rm64, A, field(offset_of!(Context, addresses)));
        self.asm.reg_mem(Code::Mov_r64_rm64, to, at(A, 8 * i64::from(slot)));
    }

    /// Returns whether jumps lead to an operation.
    pub(super) fn is_target(&self, at: usize) -> bool {
        self.targets.get(at).is_some_and(Option::is_some)
    }

    /// The target of jumps to an operation.
    pub(super) fn target(&self, at: u32) -> Label {
        self.targets[at as usize].expect("every jump's target has a label")
    }

    /// The registers that are read from an operation on.
    pub(super) fn live_at(&self, at: usize) -> Set {
        self.live.get(at).copied().unwrap_or(0)
    }

    /// Stores a piece of code for later, and returns its label.
    pub(super) fn later(&mut self, emit: impl FnOnce(&mut Emitter<'a>) + 'a) -> Label {
        let label = self.asm.label();
        self.cold.push(Box::new(move |e| {
            e.asm.bind(label);
            emit(e);
        }));
        label
    }

    /// Sets a register to 0. Changes the flags.
    pub(super) fn zero(&mut self, reg: u8) {
        self.asm.reg_reg(Code::Xor_r32_rm32, half(reg), half(reg));
    }

    /// A BPF register as it is; R10's simulated address in `into`. Changes the flags.
    pub(super) fn read(&mut self, reg: u8, into: Register) -> Register {
        if reg < 10 {
            return whole(reg);
        }
        self.asm.reg_reg(Code::Mov_r64_rm64, into, FRAME);
        self.asm.reg_reg(Code::Sub_r64_rm64, into, DELTA);
        into
    }

    /// Like `read` for an operand that is a register.
    pub(super) fn read_operand(&mut self, operand: Operand, into: Register) -> Result<Register, i32> {
        match operand {
            Operand::Reg(reg) => Ok(self.read(reg, into)),
            Operand::Imm(imm) => Err(i32::try_from(imm).expect("immediates of BPF have 32 bits")),
        }
    }
}

/// Per operation, the registers that emitted code reads from there on, given those that each one reads, `live`, and what
/// its base holds.
fn needed(ops: &[Op], (reads, live): (&[Set], &[Set]), bases: &[Value]) -> Vec<Set> {
    let needs = |((&op, &reads), base_value): ((&Op, &Set), &Value)| {
        let (base, off, size, src) = match op {
            Op::Load { base, off, size, .. } => (base, off, size, None),
            Op::Store { base, off, size, src } => (base, off, size, Some(src)),
            _ => return reads,
        };
        let is_read = !base_value.is_in_stack(off, size.bytes()) || src == Some(Operand::Reg(base));
        if is_read { reads } else { reads & !live::bit(base) }
    };
    let needs: Vec<Set> = ops.iter().zip(reads).zip(bases).map(needs).collect();
    if needs == reads { live.to_vec() } else { live::before(ops, &needs) }
}
