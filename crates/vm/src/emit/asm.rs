//! Instructions in order, as bytes, with labels until the addresses are known.

use super::encode::{self, NONE, Operands, Rm};
use super::forms::{Fields, form};
use iced_x86::{Code, MemoryOperand, Register};

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

/// Not bound yet.
const NOWHERE: u32 = u32::MAX;

/// Code without an address.
#[derive(Default)]
pub(super) struct Asm {
    code: Vec<u8>,
    /// For each label, its offset.
    labels: Vec<u32>,
    /// The ends of instructions that jump to a label. The distance is in the last four bytes.
    jumps: Vec<(u32, Label)>,
    /// The ends of instructions that use an entry of the table of addresses, which also end with a distance, and that
    /// entry.
    tabled: Vec<(u32, usize)>,
}

/// Code with an address.
pub(super) struct Bytes {
    code: Vec<u8>,
    labels: Vec<u32>,
}

impl Asm {
    /// With space for the code of this many operations: to move it whenever it grows takes longer than to ask for more
    /// memory than it mostly needs, of which the rest is never touched.
    pub(super) fn for_ops(ops: usize) -> Self {
        Self {
            code: Vec::with_capacity(20 * ops),
            labels: Vec::with_capacity(ops),
            jumps: Vec::with_capacity(ops),
            tabled: Vec::new(),
        }
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(NOWHERE);
        Label(self.labels.len() as u32 - 1)
    }

    /// Places the label here.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.end();
    }

    /// The offset behind the last instruction.
    fn end(&self) -> u32 {
        u32::try_from(self.code.len()).expect("an object's code is shorter than 2 GiB")
    }

    fn push(&mut self, code: Code, operands: Operands) {
        #[cfg(debug_assertions)]
        let start = self.code.len();
        encode::append(&mut self.code, form(code), &operands);
        #[cfg(debug_assertions)]
        super::oracle::check(code, &operands, &self.code[start..]);
    }

    pub(super) fn bare(&mut self, code: Code) {
        self.push(code, NONE);
    }

    pub(super) fn reg(&mut self, code: Code, reg: Register) {
        self.reg_imm(code, reg, 0);
    }

    pub(super) fn mem(&mut self, code: Code, mem: MemoryOperand) {
        self.mem_imm(code, mem, 0);
    }

    pub(super) fn reg_reg(&mut self, code: Code, a: Register, b: Register) {
        let (reg, rm) = if form(code).fields == Fields::RmReg { (b, a) } else { (a, b) };
        self.push(code, Operands { reg, rm: Some(Rm::Reg(rm)), ..NONE });
    }

    pub(super) fn reg_reg_reg(&mut self, code: Code, a: Register, b: Register, c: Register) {
        let (rm, vex) = if form(code).fields == Fields::RegVexRm { (c, b) } else { (b, c) };
        self.push(code, Operands { reg: a, rm: Some(Rm::Reg(rm)), vex, ..NONE });
    }

    pub(super) fn reg_reg_imm(&mut self, code: Code, a: Register, b: Register, imm: i32) {
        self.push(code, Operands { reg: a, rm: Some(Rm::Reg(b)), immediate: imm.into(), ..NONE });
    }

    pub(super) fn reg_mem(&mut self, code: Code, reg: Register, mem: MemoryOperand) {
        self.push(code, Operands { reg, rm: Some(Rm::Mem(mem)), ..NONE });
    }

    pub(super) fn mem_reg(&mut self, code: Code, mem: MemoryOperand, reg: Register) {
        self.reg_mem(code, reg, mem);
    }

    pub(super) fn reg_imm(&mut self, code: Code, reg: Register, imm: i32) {
        self.reg_imm64(code, reg, i64::from(imm) as u64);
    }

    pub(super) fn reg_imm64(&mut self, code: Code, reg: Register, imm: u64) {
        let immediate = imm as i64;
        let operands = match form(code).fields {
            Fields::Opcode => Operands { reg, immediate, ..NONE },
            _ => Operands { rm: Some(Rm::Reg(reg)), immediate, ..NONE },
        };
        self.push(code, operands);
    }

    pub(super) fn mem_imm(&mut self, code: Code, mem: MemoryOperand, imm: i32) {
        self.push(code, Operands { rm: Some(Rm::Mem(mem)), immediate: imm.into(), ..NONE });
    }

    /// A jump or call to a label.
    pub(super) fn to(&mut self, code: Code, label: Label) {
        self.push(code, NONE);
        self.jumps.push((self.end(), label));
    }

    /// Calls the address in an entry of the table.
    pub(super) fn call_tabled(&mut self, entry: usize) {
        self.with_tabled(Code::Call_rm64, entry);
    }

    /// Jumps to the address in an entry of the table.
    pub(super) fn jump_tabled(&mut self, entry: usize) {
        self.with_tabled(Code::Jmp_rm64, entry);
    }

    fn with_tabled(&mut self, code: Code, entry: usize) {
        self.mem(code, MemoryOperand::with_base_displ(Register::RIP, 0));
        self.tabled.push((self.end(), entry));
    }

    /// The code's bytes.
    pub(super) fn len(&self) -> usize {
        self.code.len()
    }

    /// The code for the address `code_at`, with the table of addresses at `table_at`.
    pub(super) fn encode(mut self, code_at: u64, table_at: u64) -> Bytes {
        for &(end, label) in &self.jumps {
            let target = self.labels[label.0 as usize];
            assert_ne!(target, NOWHERE, "every label that is used is bound");
            set_distance(&mut self.code, end, i64::from(target) - i64::from(end));
        }
        for &(end, entry) in &self.tabled {
            let from_code = table_at.wrapping_sub(code_at).wrapping_add(8 * entry as u64) as i64;
            set_distance(&mut self.code, end, from_code - i64::from(end));
        }
        Bytes { code: self.code, labels: self.labels }
    }
}

/// Sets the distance in the last four bytes of the instruction that ends there.
fn set_distance(code: &mut [u8], end: u32, distance: i64) {
    let distance = i32::try_from(distance).expect("an object's code is shorter than 2 GiB");
    let end = end as usize;
    code[end - 4..end].copy_from_slice(&distance.to_le_bytes());
}

impl Bytes {
    pub(super) fn code(&self) -> &[u8] {
        &self.code
    }

    /// The offset of a label.
    pub(super) fn offset(&self, label: Label) -> usize {
        self.labels[label.0 as usize] as usize
    }
}
