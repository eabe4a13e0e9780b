//! The bytes of an instruction.

use super::forms::{Fields, Form, Map};
use iced_x86::{MemoryOperand, Register};

/// An operand that may be memory.
#[derive(Clone, Copy)]
pub(super) enum Rm {
    Reg(Register),
    Mem(MemoryOperand),
}

/// An instruction's operands, by the fields that have them.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    /// The one that is always a register.
    pub(super) reg: Register,
    pub(super) rm: Option<Rm>,
    /// The one in the VEX prefix.
    pub(super) vex: Register,
    pub(super) immediate: i64,
}

/// No operands.
pub(super) const NONE: Operands =
    Operands { reg: Register::None, rm: None, vex: Register::None, immediate: 0 };

/// The first bytes of an instruction: at most six are in front of its displacement and its immediate operand.
#[derive(Default)]
struct Head {
    bytes: u64,
    len: u32,
}

impl Head {
    #[inline(always)]
    fn push(&mut self, byte: u8) {
        self.bytes |= u64::from(byte) << (8 * self.len);
        self.len += 1;
    }
}

/// Appends an instruction.
pub(super) fn append(code: &mut Vec<u8>, form: &Form, operands: &Operands) {
    let mut head = Head::default();
    let reg = match form.fields {
        Fields::Extended(extension) => extension,
        _ => number(operands.reg),
    };
    prefixes(&mut head, form, reg, operands);
    let (displacement, length) = match (form.fields, operands.rm) {
        (Fields::Opcode, _) => {
            head.push(form.opcode + (reg & 7));
            (0, 0)
        }
        (_, None) => {
            head.push(form.opcode);
            (0, 0)
        }
        (_, Some(rm)) => {
            head.push(form.opcode);
            push_rm(&mut head, reg & 7, rm)
        }
    };
    // Words are written at once, each over what is too much of the one before. Nothing is longer than 7 bytes, except
    // for the immediate operand, which is last; and a copy of constant length takes few instructions.
    let mut bytes = [0; 24];
    let behind_head = head.len as usize & 7;
    let behind_displacement = behind_head + (length & 7);
    bytes[..8].copy_from_slice(&head.bytes.to_le_bytes());
    bytes[behind_head..behind_head + 8].copy_from_slice(&displacement.to_le_bytes());
    bytes[behind_displacement..behind_displacement + 8].copy_from_slice(&operands.immediate.to_le_bytes());
    let end = code.len() + behind_displacement + usize::from(form.immediate);
    code.extend_from_slice(&bytes);
    code.truncate(end);
}

/// A register's number, of whichever size it is. No register has number 0.
fn number(reg: Register) -> u8 {
    NUMBERS[usize::from(reg as u8)]
}

/// The number of each register.
static NUMBERS: [u8; 256] = {
    let mut numbers = [0; 256];
    let mut reg = Register::AL as usize;
    while reg < numbers.len() {
        numbers[reg] = if reg >= Register::XMM0 as usize {
            (reg - Register::XMM0 as usize) as u8
        } else if reg >= Register::AX as usize {
            // The registers of 16, 32 and 64 bits follow one another, 16 of each.
            (reg - Register::AX as usize) as u8 % 16
        } else if reg >= Register::SPL as usize {
            // The high bytes of the first four have numbers of their own.
            (reg - Register::AH as usize) as u8
        } else {
            (reg - Register::AL as usize) as u8
        };
        reg += 1;
    }
    numbers
};

/// All bytes before the opcode.
#[inline(always)]
fn prefixes(to: &mut Head, form: &Form, reg: u8, operands: &Operands) {
    let (base, index) = match operands.rm {
        None => (0, 0),
        Some(Rm::Reg(rm)) => (number(rm), 0),
        Some(Rm::Mem(mem)) => (number(mem.base), number(mem.index)),
    };
    // The register in the opcode extends as a base does.
    let (reg, base) = if form.fields == Fields::Opcode { (0, reg) } else { (reg, base) };
    let extended = u8::from(form.wide) << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3;
    if let Map::Vex(map, implied) = form.map {
        to.push(0xc4);
        to.push(!extended << 5 | map);
        to.push(u8::from(form.wide) << 7 | (!number(operands.vex) & 15) << 3 | implied);
        return;
    }
    if form.prefix != 0 {
        to.push(form.prefix);
    }
    if extended != 0 || form.bytes && needs_rex(operands, form) {
        to.push(0x40 | extended);
    }
    if form.map == Map::Escaped {
        to.push(0x0f);
    }
}

/// Returns whether one of the operands would be the high byte of another register without a REX prefix.
fn needs_rex(operands: &Operands, form: &Form) -> bool {
    let is_low = |reg| (Register::SPL..=Register::DIL).contains(&reg);
    let rm = matches!(operands.rm, Some(Rm::Reg(rm)) if is_low(rm));
    rm || form.fields == Fields::RmReg && is_low(operands.reg)
}

/// Appends the operand that may be memory, with the other field. Returns the displacement, and how long it is.
#[inline(always)]
fn push_rm(to: &mut Head, reg: u8, rm: Rm) -> (i64, usize) {
    let mem = match rm {
        Rm::Reg(rm) => {
            to.push(0xc0 | reg << 3 | number(rm) & 7);
            return (0, 0);
        }
        Rm::Mem(mem) => mem,
    };
    let (base, displacement) = (number(mem.base) & 7, mem.displacement);
    if mem.base == Register::RIP {
        to.push(reg << 3 | 5);
        return (displacement, 4);
    }
    // Without a base, there is always a displacement. That of RBP or R13 cannot be omitted.
    let (mode, length) = match mem.base {
        Register::None => (0, 4),
        _ if displacement == 0 && base != 5 => (0, 0),
        _ if i8::try_from(displacement).is_ok() => (1 << 6, 1),
        _ => (2 << 6, 4),
    };
    if mem.index == Register::None && mem.base != Register::None && base != 4 {
        to.push(mode | reg << 3 | base);
    } else {
        let index = if mem.index == Register::None { 4 } else { number(mem.index) & 7 };
        let base = if mem.base == Register::None { 5 } else { base };
        to.push(mode | reg << 3 | 4);
        to.push((mem.scale.trailing_zeros() as u8) << 6 | index << 3 | base);
    }
    (displacement, length)
}
