//! What is known about registers: small numbers, addresses within an object's own arrays of global data, and addresses
//! in the function's frame. An access that is certainly within these needs no comparison with the region's bounds.
//!
//! This is sound for any code: a value is always one that its description allows, whatever was executed before. Values
//! from memory or from a call may be anything.

use super::live::{self, Set};
use crate::code::op::{Alu, Atomic, Callee, Cond, FRAME_BYTES, Op, Operand, jump_targets};
use crate::stacks::ARGS_BYTES;
use keel_abi::bpf::Frequent;

/// Larger steps are not distinguished: no machine has longer lines.
const MOST_STEP: u64 = 64;

/// Bytes of a number iterator: the number before the next one, and the end.
pub(super) const NUMBERS_BYTES: u64 = 8;

/// Registers R0 to R9.
pub(super) type Registers = [Value; 10];

/// What a register may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Any,
    /// This number.
    Const(u64),
    /// A number up to `most` that is a multiple of `step`, a power of two.
    Number {
        most: u64,
        step: u64,
    },
    /// An offset into the global data of a map: `from` plus a multiple of `step` up to `more`.
    Data {
        map: u32,
        from: u64,
        more: u64,
        step: u64,
    },
    /// At this distance from the end of the function's own frame.
    Frame(i64),
    /// The same, or 0.
    FrameOrNull(i64),
}

/// The size of a map's global data, and the target of a slot of the table of addresses: map and offset.
pub(super) trait Data {
    /// The size, if it is a permanent array that begins at a line.
    fn bytes(&self, map: u32) -> Option<u64>;
    /// Returns whether a function needs neither the context on the stack nor a frame.
    fn is_leaf(&self, _function: u32) -> bool {
        false
    }
    /// Returns whether programs can't write to it.
    fn is_read_only(&self, _map: u32) -> bool {
        false
    }
    /// Map and offset.
    fn address(&self, slot: u32) -> Option<(u32, u64)>;
    /// A slot with an address in a map, among those that the context has, and the offset in the map.
    fn slot_in(&self, map: u32) -> Option<(u32, u64)>;
    /// Returns whether the engine has the prices of all functions that it handles itself.
    fn counts(&self) -> bool;
    /// Which function is called at a site, if it is one of those.
    fn frequent(&self, _site: u32) -> Option<Frequent> {
        None
    }
    /// Which of R1 to R5 a call at a site may read.
    fn arguments(&self, _callee: Callee, _site: u32) -> Set {
        live::ARGUMENTS
    }
    /// The price of a loop's next number, if it is not to be read from the context.
    fn number_ps(&self) -> Option<i32> {
        None
    }
    /// The map whose elements represent tasks' structures, which crowd each other out of caches on some machines.
    fn tasks(&self) -> Option<u32>;
}

impl Value {
    /// Any 32-bit number.
    const HALF: Self = Self::Number { most: u32::MAX as u64, step: 1 };

    fn number(most: u64, step: u64) -> Self {
        Self::Number { most, step: step.clamp(1, MOST_STEP) }
    }

    /// The largest possible number and a divisor; `None` for an address.
    fn most(self) -> Option<(u64, u64)> {
        match self {
            Self::Const(value) => Some((value, step_of(value))),
            Self::Number { most, step } => Some((most, step)),
            Self::Any | Self::Data { .. } | Self::Frame(_) | Self::FrameOrNull(_) => None,
        }
    }

    /// Its low half.
    fn half(self) -> Self {
        match self {
            Self::Const(value) => Self::Const(value & u64::from(u32::MAX)),
            Self::Number { most, .. } if most <= u64::from(u32::MAX) => self,
            Self::Number { step, .. } => Self::number(u64::from(u32::MAX), step),
            Self::Any | Self::Data { .. } | Self::Frame(_) | Self::FrameOrNull(_) => Self::HALF,
        }
    }

    /// A description that holds for both.
    fn join(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        if self.is_half() && other.is_half() { Self::HALF } else { Self::Any }
    }

    /// The map to whose global data, or just outside it, the value certainly points.
    pub(super) fn map(self) -> Option<u32> {
        match self {
            Self::Data { map, .. } => Some(map),
            _ => None,
        }
    }

    /// Returns whether it is certainly the address of `bytes` bytes of the function's own frame.
    pub(super) fn is_in_frame(self, off: i32, bytes: u64) -> bool {
        let Self::Frame(from) = self else { return false };
        let Some(first) = from.checked_add(off.into()) else { return false };
        (-(FRAME_BYTES as i64)..=-(bytes as i64)).contains(&first)
    }

    /// Returns whether it is certainly the address of `bytes` bytes of the callback's stack, given that this is no
    /// farther from the frame's end than a frame is long: below that is the function's own frame, and above it its
    /// caller's, or the context of the callback.
    pub(super) fn is_in_stack(self, off: i32, bytes: u64) -> bool {
        const { assert!(FRAME_BYTES <= ARGS_BYTES) };
        const FRAME: i64 = FRAME_BYTES as i64;
        let Self::Frame(from) = self else { return false };
        let Some(first) = from.checked_add(off.into()) else { return false };
        (-FRAME..=FRAME - bytes as i64).contains(&first) && (first >= 0 || first + bytes as i64 <= 0)
    }

    /// How far this offset from it is from the end of the function's frame.
    pub(super) fn frame_offset(self, off: i32) -> i64 {
        let Self::Frame(from) = self else { unreachable!("it is an address in the stack") };
        from + i64::from(off)
    }

    /// Returns whether its upper half is certainly 0.
    pub(super) fn is_half(self) -> bool {
        self.most().is_some_and(|(most, _)| most <= u64::from(u32::MAX))
    }

    /// Returns whether an access of `bytes` bytes at this offset is certainly within the data.
    pub(super) fn is_within(self, off: i32, bytes: u64, data: &dyn Data) -> bool {
        let Self::Data { map, from, more, .. } = self else { return false };
        let Some(len) = data.bytes(map) else { return false };
        let Some(first) = from.checked_add_signed(off.into()) else { return false };
        let end = first.checked_add(more).and_then(|last| last.checked_add(bytes));
        end.is_some_and(|end| end <= len)
    }

    /// The offset in a line of `line` bytes of an access at this offset, if it is the same for all possible values.
    pub(super) fn within_line(self, off: i32, line: u64) -> Option<u64> {
        match self {
            Self::Data { from, more, step, .. } => {
                (more == 0 || step % line == 0).then(|| from.wrapping_add_signed(off.into()) % line)
            }
            // Frames end at the end of a line.
            Self::Frame(from) => Some(from.checked_add(off.into())?.rem_euclid(line as i64) as u64),
            _ => None,
        }
    }
}

/// The largest power of two that divides a number, up to [`MOST_STEP`].
fn step_of(value: u64) -> u64 {
    match value.trailing_zeros() {
        n if n < MOST_STEP.trailing_zeros() => 1 << n,
        _ => MOST_STEP,
    }
}

/// What the registers hold after an operation.
pub(super) fn after(op: Op, registers: &mut Registers, data: &dyn Data) {
    match op {
        Op::Alu { wide, op, dst, src } => {
            let b = match src {
                Operand::Reg(reg) => get(registers, reg),
                Operand::Imm(imm) => Value::Const(imm as u64),
            };
            registers[usize::from(dst)] = alu(op, wide, get(registers, dst), b);
        }
        Op::Const { dst, value } => registers[usize::from(dst)] = Value::Const(value),
        Op::Address { dst, slot } => {
            let known = data.address(slot).filter(|&(map, _)| data.bytes(map).is_some());
            let place = |(map, from)| Value::Data { map, from, more: 0, step: MOST_STEP };
            registers[usize::from(dst)] = known.map_or(Value::Any, place);
        }
        Op::CastToKernel { dst, .. } | Op::CastToUser { dst, .. } => registers[usize::from(dst)] = Value::Any,
        Op::Load { dst, size, signed, .. } => {
            let is_small = size.0 < 3 && !signed;
            let small = Value::number((1 << (8 * size.bytes().min(4))) - 1, 1);
            registers[usize::from(dst)] = if is_small { small } else { Value::Any };
        }
        Op::Atomic { op: Atomic::CompareExchange, .. } => registers[0] = Value::Any,
        Op::Atomic { src, fetch: true, .. } => set_any(registers, src),
        Op::Call { callee, .. } => {
            let iterator = match registers[1] {
                Value::Frame(off) if callee == Callee::NumNext && data.counts() => Some(off),
                _ => None,
            };
            let iterator = iterator.filter(|_| registers[1].is_in_frame(0, NUMBERS_BYTES));
            registers[..6].fill(Value::Any);
            registers[0] = iterator.map_or(Value::Any, Value::FrameOrNull);
        }
        Op::Branch { .. } => {
            if let Some((reg, value)) = not_null(op, registers, Cond::Eq) {
                registers[reg] = value;
            }
        }
        Op::Store { .. } | Op::Atomic { .. } | Op::Exit | Op::Jump { .. } | Op::MayGoto { .. } | Op::Hole => {
        }
    }
}

/// What the registers hold at a jump's target, if that is something else than before the jump.
fn jumped(op: Op, registers: &Registers) -> Option<Registers> {
    let (reg, value) = not_null(op, registers, Cond::Ne)?;
    let mut taken = *registers;
    taken[reg] = value;
    Some(taken)
}

/// If a branch compares a register with 0 by `cond`, the register is not 0 on this path: it, and what it holds.
fn not_null(op: Op, registers: &Registers, by: Cond) -> Option<(usize, Value)> {
    let Op::Branch { wide: true, cond, a, b: Operand::Imm(0), .. } = op else { return None };
    match registers.get(usize::from(a)) {
        Some(&Value::FrameOrNull(off)) if cond == by => Some((usize::from(a), Value::Frame(off))),
        _ => None,
    }
}

fn get(registers: &Registers, reg: u8) -> Value {
    registers.get(usize::from(reg)).copied().unwrap_or(Value::Frame(0))
}

fn set_any(registers: &mut Registers, reg: u8) {
    if let Some(value) = registers.get_mut(usize::from(reg)) {
        *value = Value::Any;
    }
}

fn alu(op: Alu, wide: bool, a: Value, b: Value) -> Value {
    if wide {
        return alu64(op, a, b);
    }
    // Each operation on the low halves is the operation on 32-bit numbers, or gives no knowledge.
    let (a, b) = (a.half(), b.half());
    match op {
        Alu::Add | Alu::Mul | Alu::And | Alu::Or | Alu::Xor | Alu::Mov | Alu::Div | Alu::Mod => {
            alu64(op, a, b).half()
        }
        Alu::Lsh | Alu::Rsh => match b {
            Value::Const(by) if by < 32 => alu64(op, a, b).half(),
            _ => Value::HALF,
        },
        _ => Value::HALF,
    }
}

fn alu64(op: Alu, a: Value, b: Value) -> Value {
    match op {
        Alu::Mov => b,
        Alu::Add => add(a, b),
        Alu::And => and(a, b),
        Alu::Or | Alu::Xor => bits_of_either(a, b),
        Alu::Mul => product(a, b),
        Alu::Lsh => match b {
            Value::Const(by) if by < 64 => product(a, Value::Const(1 << by)),
            _ => Value::Any,
        },
        Alu::Rsh => match (a.most(), b) {
            (most, Value::Const(by)) if by < 64 => {
                Value::number(most.map_or(u64::MAX, |(most, _)| most) >> by, 1)
            }
            _ => Value::Any,
        },
        // Division by 0 gives 0, and the remainder is the number itself.
        Alu::Div => a.most().map_or(Value::Any, |(most, _)| Value::number(most, 1)),
        Alu::Mod => match (a.most(), b) {
            (_, Value::Const(by)) if by > 0 => Value::number(by - 1, 1),
            (Some((most, _)), _) => Value::number(most, 1),
            _ => Value::Any,
        },
        Alu::Truncate(bits) if bits < 64 => match a.most() {
            Some((most, _)) if most >> bits == 0 => a,
            _ => Value::number((1 << bits) - 1, 1),
        },
        _ => Value::Any,
    }
}

fn add(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Const(a), Value::Const(b)) => Value::Const(a.wrapping_add(b)),
        (Value::Data { map, from, more, step }, Value::Const(by))
        | (Value::Const(by), Value::Data { map, from, more, step }) => {
            let from = from.checked_add_signed(by as i64);
            from.map_or(Value::Any, |from| Value::Data { map, from, more, step })
        }
        (Value::Data { map, from, more, step }, Value::Number { most, step: other })
        | (Value::Number { most, step: other }, Value::Data { map, from, more, step }) => {
            let more = more.checked_add(most);
            more.map_or(Value::Any, |more| Value::Data { map, from, more, step: step.min(other) })
        }
        (Value::Frame(off), Value::Const(by)) | (Value::Const(by), Value::Frame(off)) => {
            off.checked_add(by as i64).map_or(Value::Any, Value::Frame)
        }
        _ => match (a.most(), b.most()) {
            (Some((a, step)), Some((b, other))) => {
                a.checked_add(b).map_or(Value::Any, |most| Value::number(most, step.min(other)))
            }
            _ => Value::Any,
        },
    }
}

fn and(a: Value, b: Value) -> Value {
    match (a.most(), b.most()) {
        (Some((a, step)), Some((b, other))) => Value::number(a.min(b), step.max(other)),
        (Some((most, step)), None) | (None, Some((most, step))) => Value::number(most, step),
        (None, None) => Value::Any,
    }
}

fn bits_of_either(a: Value, b: Value) -> Value {
    let (Some((a, step)), Some((b, other))) = (a.most(), b.most()) else { return Value::Any };
    Value::number(u64::MAX.checked_shr((a | b).leading_zeros()).unwrap_or(0), step.min(other))
}

fn product(a: Value, b: Value) -> Value {
    match (a.most(), b.most()) {
        (Some((a, step)), Some((b, other))) => {
            a.checked_mul(b).map_or(Value::Any, |most| Value::number(most, step.saturating_mul(other)))
        }
        _ => Value::Any,
    }
}

/// Calls `f` with each operation that may be executed, its number, and what the registers hold before it, which is
/// `entry` at the beginning.
pub(super) fn each(
    ops: &[Op],
    values_at: &[Option<Box<Registers>>],
    entry: Registers,
    data: &dyn Data,
    mut f: impl FnMut(usize, Op, &Registers),
) {
    let mut now = Some(entry);
    for (at, &op) in ops.iter().enumerate() {
        if let Some(values) = &values_at[at] {
            now = Some(**values);
        }
        let Some(registers) = &mut now else { continue };
        f(at, op, registers);
        after(op, registers, data);
        if op.ends() {
            now = None;
        }
    }
}

/// For each load and store, what its base holds; other operations, and those that are never executed, have
/// [`Value::Any`].
pub(super) fn bases(
    ops: &[Op],
    values_at: &[Option<Box<Registers>>],
    entry: Registers,
    data: &dyn Data,
) -> Vec<Value> {
    let mut bases = vec![Value::Any; ops.len()];
    each(ops, values_at, entry, data, |at, op, registers| {
        if let Op::Load { base, .. } | Op::Store { base, .. } = op {
            bases[at] = registers.get(usize::from(base)).copied().unwrap_or(Value::Any);
        }
    });
    bases
}

/// What the registers hold at every jump target, by operation; `None` if no jump leads there. `entry` is what they hold
/// at the beginning.
pub(super) fn at_targets(ops: &[Op], entry: Registers, data: &dyn Data) -> Vec<Option<Box<Registers>>> {
    let mut known: Vec<Option<Box<Registers>>> = vec![None; ops.len()];
    let is_target = jump_targets(ops);
    // Each round begins where the one before has changed something first: all before that stays.
    let mut from = 0;
    // A description changes at most three times: to something, to any 32-bit number, and to anything.
    for _ in 0..=3 * 10 {
        let mut first = usize::MAX;
        let (mut registers, mut open) = (entry, from == 0);
        for (at, &op) in ops.iter().enumerate().skip(from) {
            if is_target[at] {
                if open {
                    merge(&mut known[at], &registers);
                }
                let Some(known) = &known[at] else { continue };
                (registers, open) = (**known, true);
            }
            if !open {
                continue;
            }
            if let Some(target) = op.target() {
                let known = &mut known[target as usize];
                let changes = match jumped(op, &registers) {
                    Some(taken) => merge(known, &taken),
                    None => merge(known, &registers),
                };
                // Other targets are still ahead.
                if changes && target as usize <= at {
                    first = first.min(target as usize);
                }
            }
            after(op, &mut registers, data);
            open = !op.ends();
        }
        if first == usize::MAX {
            return known;
        }
        from = first;
    }
    let anything = |is_target: bool| is_target.then(|| Box::new([Value::Any; 10]));
    is_target.into_iter().map(anything).collect()
}

/// Merges what holds on another path; returns whether that changes anything.
fn merge(known: &mut Option<Box<Registers>>, way: &Registers) -> bool {
    let Some(known) = known else {
        *known = Some(Box::new(*way));
        return true;
    };
    let mut changed = false;
    for (value, &other) in known.iter_mut().zip(way) {
        if *value != Value::Any && *value != other {
            let joined = value.join(other);
            changed |= joined != *value;
            *value = joined;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp_alu;
    use proptest::prelude::*;

    /// One map of this many bytes.
    struct One(u64);
    const BASE: u64 = 0x1000;
    const FRAME_END: u64 = 0x8000;

    impl Data for One {
        fn bytes(&self, map: u32) -> Option<u64> {
            (map == 0).then_some(self.0)
        }

        fn address(&self, slot: u32) -> Option<(u32, u64)> {
            Some((0, slot.into()))
        }

        fn slot_in(&self, _map: u32) -> Option<(u32, u64)> {
            Some((0, 0))
        }

        fn counts(&self) -> bool {
            true
        }

        fn tasks(&self) -> Option<u32> {
            None
        }
    }

    fn allows(value: Value, actual: u64) -> bool {
        match value {
            Value::Any => true,
            Value::Const(value) => value == actual,
            Value::Number { most, step } => actual <= most && actual.is_multiple_of(step),
            Value::Data { from, more, step, .. } => {
                let beyond = actual.wrapping_sub(BASE).wrapping_sub(from);
                beyond <= more && beyond.is_multiple_of(step)
            }
            Value::Frame(off) => actual == FRAME_END.wrapping_add_signed(off),
            Value::FrameOrNull(off) => actual == 0 || actual == FRAME_END.wrapping_add_signed(off),
        }
    }

    fn any_op() -> impl Strategy<Value = Op> {
        use Alu::*;
        let ops = vec![
            Add,
            Sub,
            Mul,
            Div,
            Mod,
            SignedMod,
            Or,
            And,
            Xor,
            Lsh,
            Rsh,
            Arsh,
            Mov,
            MovSigned(8),
            Neg,
            Truncate(16),
        ];
        let imm = prop_oneof![-70i64..70, Just(0x3ff), Just(0x500), any::<i32>().prop_map(i64::from)];
        let src =
            prop_oneof![(0u8..4).prop_map(Operand::Reg), Just(Operand::Reg(10)), imm.prop_map(Operand::Imm)];
        prop_oneof![
            12 => (any::<bool>(), prop::sample::select(ops), 0u8..4, src)
                .prop_map(|(wide, op, dst, src)| Op::Alu { wide, op, dst, src }),
            1 => (0u8..4, 0u32..200).prop_map(|(dst, slot)| Op::Address { dst, slot }),
            1 => (0u8..4, prop_oneof![0u64..5000, any::<u64>()]).prop_map(|(dst, value)| Op::Const { dst, value }),
        ]
    }

    /// Executes and checks these operations, and returns the known and the actual values of the registers.
    fn run(ops: &[Op], start: [u64; 4]) -> Result<(Registers, [u64; 10]), TestCaseError> {
        let (mut known, mut actual) = ([Value::Any; 10], [0u64; 10]);
        actual[..4].copy_from_slice(&start);
        for &op in ops {
            match op {
                Op::Alu { wide, op, dst, src } => {
                    let b = match src {
                        Operand::Reg(10) => FRAME_END,
                        Operand::Reg(reg) => actual[usize::from(reg)],
                        Operand::Imm(imm) => imm as u64,
                    };
                    let dst = &mut actual[usize::from(dst)];
                    *dst = interp_alu::alu(op, wide, *dst, b);
                }
                Op::Address { dst, slot } => actual[usize::from(dst)] = BASE + u64::from(slot),
                Op::Const { dst, value } => actual[usize::from(dst)] = value,
                _ => unreachable!("no other is made"),
            }
            after(op, &mut known, &One(4096));
            for (value, actual) in known.iter().zip(actual) {
                prop_assert!(allows(*value, actual), "{op:?}: {actual:#x} is not {value:?}");
            }
        }
        Ok((known, actual))
    }

    proptest! {
        #[test]
        fn what_a_register_holds_is_allowed(
            one in prop::collection::vec(any_op(), 1..30),
            other in prop::collection::vec(any_op(), 1..30),
            start in prop::array::uniform4(any::<u64>()),
        ) {
            let ((one, one_actual), (other, other_actual)) = (run(&one, start)?, run(&other, start)?);
            for reg in 0..10 {
                let either = one[reg].join(other[reg]);
                let are_allowed = allows(either, one_actual[reg]) && allows(either, other_actual[reg]);
                prop_assert!(are_allowed, "{:?} and {:?} are not {either:?}", one[reg], other[reg]);
            }
        }
    }

    #[test]
    fn an_element_of_an_array_is_within_it() {
        let element = |mask: i64| {
            let ops = [
                Op::Alu { wide: false, op: Alu::And, dst: 1, src: Operand::Imm(mask) },
                Op::Alu { wide: true, op: Alu::Mul, dst: 1, src: Operand::Imm(128) },
                Op::Address { dst: 2, slot: 64 },
                Op::Alu { wide: true, op: Alu::Add, dst: 2, src: Operand::Reg(1) },
            ];
            let mut known = [Value::Any; 10];
            ops.into_iter().for_each(|op| after(op, &mut known, &One(4096)));
            known[2]
        };
        let check = |mask, off, bytes, expected: bool| {
            assert_eq!(element(mask).is_within(off, bytes, &One(4096)), expected, "{mask} {off} {bytes}");
        };
        check(31, 56, 8, true);
        check(31, 57, 8, false);
        check(31, -64, 8, true);
        check(31, -65, 8, false);
        check(63, 0, 8, false);
        check(-1, 0, 8, false);
        assert_eq!(element(31).within_line(70, 64), Some(6));
        assert_eq!(element(31).within_line(70, 16), Some(6));
    }

    #[test]
    fn an_address_in_the_frame_is_known_to_be_there() {
        let check = |off, bytes, expected: bool| {
            let mut known = [Value::Any; 10];
            after(Op::Alu { wide: true, op: Alu::Mov, dst: 1, src: Operand::Reg(10) }, &mut known, &One(64));
            after(Op::Alu { wide: true, op: Alu::Add, dst: 1, src: Operand::Imm(-16) }, &mut known, &One(64));
            assert_eq!(known[1].is_in_frame(off, bytes), expected, "{bytes} at {off}");
        };
        check(8, 8, true);
        check(9, 8, false);
        check(-496, 4, true);
        check(-497, 4, false);
    }

    #[test]
    fn an_iterator_s_number_is_in_the_frame_where_there_is_one() {
        let skip = |cond, wide| Op::Branch {
            wide,
            cond,
            a: 0,
            b: Operand::Imm(0),
            target: 5,
            site: crate::code::op::NO_SITE,
        };
        let check = |callee, cond, wide, [there, behind]: [Value; 2]| {
            let ops = [
                Op::Alu { wide: true, op: Alu::Mov, dst: 1, src: Operand::Reg(10) },
                Op::Alu { wide: true, op: Alu::Add, dst: 1, src: Operand::Imm(-8) },
                Op::Call { callee, site: 0 },
                skip(cond, wide),
                Op::Exit,
                Op::Exit,
            ];
            let mut known = [Value::Any; 10];
            ops[..4].iter().for_each(|&op| after(op, &mut known, &One(64)));
            let target =
                at_targets(&ops, [Value::Any; 10], &One(64))[5].as_ref().expect("a jump leads there")[0];
            assert_eq!([target, known[0]], [there, behind], "{cond:?}");
        };
        let [number, either] = [Value::Frame(-8), Value::FrameOrNull(-8)];
        check(Callee::NumNext, Cond::Ne, true, [number, either]);
        check(Callee::NumNext, Cond::Eq, true, [either, number]);
        check(Callee::NumNext, Cond::Ne, false, [either, either]);
        check(Callee::NumNext, Cond::Gt, true, [either, either]);
        check(Callee::Host, Cond::Ne, true, [Value::Any, Value::Any]);
        assert!(!either.is_in_frame(0, 4), "it may be 0");
    }

    #[test]
    fn of_what_differs_where_ways_meet_at_most_the_size_is_known() {
        let set = |dst, value| Op::Const { dst, value };
        let skip = Op::Branch {
            wide: true,
            cond: crate::code::op::Cond::Eq,
            a: 0,
            b: Operand::Imm(0),
            target: 6,
            site: crate::code::op::NO_SITE,
        };
        let ops = [set(1, 5), set(2, 6), set(3, 6), skip, set(2, 7), set(3, 1 << 32), Op::Exit];
        let known = at_targets(&ops, [Value::Any; 10], &One(64));
        let at_exit = known[6].as_ref().expect("a jump leads there");
        assert_eq!(at_exit[1..4], [Value::Const(5), Value::HALF, Value::Any]);
        assert!(known[5].is_none());
    }
}
