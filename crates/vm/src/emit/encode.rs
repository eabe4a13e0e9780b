//! The bytes of an instruction.

use super::forms::{Fields, Form, Map};
use iced_x86::{MemoryOperand, Register};

/// The longest instruction, with space for writing words at once.
const MOST_BYTES: usize = 24;

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

/// Bytes of one instruction.
struct Bytes {
    bytes: [u8; MOST_BYTES],
    len: usize,
}

impl Bytes {
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Appends the low bytes of a number.
    fn push_low(&mut self, number: i64, bytes: u8) {
        self.bytes[self.len..self.len + 8].copy_from_slice(&number.to_le_bytes());
        self.len += usize::from(bytes);
    }
}

/// Appends an instruction.
pub(super) fn append(code: &mut Vec<u8>, form: Form, operands: &Operands) {
    let mut to = Bytes { bytes: [0; MOST_BYTES], len: 0 };
    let reg = match form.fields {
        Fields::Extended(extension) => extension,
        _ => number(operands.reg),
    };
    prefixes(&mut to, form, reg, operands);
    match (form.fields, operands.rm) {
        (Fields::Opcode, _) => to.push(form.opcode + (reg & 7)),
        (_, None) => to.push(form.opcode),
        (_, Some(rm)) => {
            to.push(form.opcode);
            push_rm(&mut to, reg & 7, rm);
        }
    }
    to.push_low(operands.immediate, form.immediate);
    // A copy of constant length takes few instructions.
    code.extend_from_slice(&to.bytes);
    code.truncate(code.len() - MOST_BYTES + to.len);
}

/// A register's number, of whichever size it is. No register has number 0.
fn number(reg: Register) -> u8 {
    NUMBERS[usize::from(reg as u8)]
}

/// The number of each register.
const NUMBERS: [u8; 256] = {
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
fn prefixes(to: &mut Bytes, form: Form, reg: u8, operands: &Operands) {
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
fn needs_rex(operands: &Operands, form: Form) -> bool {
    let is_low = |reg| (Register::SPL..=Register::DIL).contains(&reg);
    let rm = matches!(operands.rm, Some(Rm::Reg(rm)) if is_low(rm));
    rm || form.fields == Fields::RmReg && is_low(operands.reg)
}

/// Appends the operand that may be memory, with the other field.
fn push_rm(to: &mut Bytes, reg: u8, rm: Rm) {
    let mem = match rm {
        Rm::Reg(rm) => return to.push(0xc0 | reg << 3 | number(rm) & 7),
        Rm::Mem(mem) => mem,
    };
    let (base, displacement) = (number(mem.base) & 7, mem.displacement);
    if mem.base == Register::RIP {
        to.push(reg << 3 | 5);
        return to.push_low(displacement, 4);
    }
    // Without a base, there is always a displacement. That of RBP or R13 cannot be omitted.
    let (mode, bytes) = match mem.base {
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
    to.push_low(displacement, bytes);
}
