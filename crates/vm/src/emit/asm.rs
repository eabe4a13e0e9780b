//! Instructions in order, with labels, until their addresses are known.

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

/// The longest instruction of this processor, in bytes.
const MOST_BYTES: usize = 15;

/// Not bound yet.
const NOWHERE: u32 = u32::MAX;

/// Code without an address.
#[derive(Default)]
pub(super) struct Asm {
    instructions: Vec<Instruction>,
    /// For each label, the instruction after it.
    labels: Vec<u32>,
    /// Instructions that jump to a label.
    branches: Vec<(u32, Label)>,
    /// Instructions that use an entry of the table of addresses, with that entry.
    tabled: Vec<(u32, usize)>,
}

/// Code with an address.
pub(super) struct Bytes {
    code: Vec<u8>,
    offsets: Vec<u32>,
    labels: Vec<u32>,
}

impl Asm {
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(NOWHERE);
        Label(self.labels.len() as u32 - 1)
    }

    /// Places the label here.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.instructions.len() as u32;
    }

    fn push(&mut self, made: Result<Instruction, IcedError>) {
        self.instructions.push(made.expect("the operands fit the opcode"));
    }

    pub(super) fn bare(&mut self, code: Code) {
        self.instructions.push(Instruction::with(code));
    }

    pub(super) fn reg(&mut self, code: Code, reg: Register) {
        self.push(Instruction::with1(code, reg));
    }

    pub(super) fn mem(&mut self, code: Code, mem: MemoryOperand) {
        self.push(Instruction::with1(code, mem));
    }

    pub(super) fn reg_reg(&mut self, code: Code, a: Register, b: Register) {
        self.push(Instruction::with2(code, a, b));
    }

    pub(super) fn reg_reg_reg(&mut self, code: Code, a: Register, b: Register, c: Register) {
        self.push(Instruction::with3(code, a, b, c));
    }

    pub(super) fn reg_reg_imm(&mut self, code: Code, a: Register, b: Register, imm: i32) {
        self.push(Instruction::with3(code, a, b, imm));
    }

    pub(super) fn reg_mem(&mut self, code: Code, reg: Register, mem: MemoryOperand) {
        self.push(Instruction::with2(code, reg, mem));
    }

    pub(super) fn mem_reg(&mut self, code: Code, mem: MemoryOperand, reg: Register) {
        self.push(Instruction::with2(code, mem, reg));
    }

    pub(super) fn reg_imm(&mut self, code: Code, reg: Register, imm: i32) {
        self.push(Instruction::with2(code, reg, imm));
    }

    pub(super) fn reg_imm64(&mut self, code: Code, reg: Register, imm: u64) {
        self.push(Instruction::with2(code, reg, imm));
    }

    pub(super) fn mem_imm(&mut self, code: Code, mem: MemoryOperand, imm: i32) {
        self.push(Instruction::with2(code, mem, imm));
    }

    /// A jump or call to a label.
    pub(super) fn to(&mut self, code: Code, label: Label) {
        self.branches.push((self.instructions.len() as u32, label));
        self.push(Instruction::with_branch(code, 0));
    }

    /// Calls the address in an entry of the table.
    pub(super) fn call_tabled(&mut self, entry: usize) {
        self.tabled.push((self.instructions.len() as u32, entry));
        self.mem(Code::Call_rm64, MemoryOperand::with_base_displ(Register::RIP, 0));
    }

    /// Jumps to the address in an entry of the table.
    pub(super) fn jump_tabled(&mut self, entry: usize) {
        self.tabled.push((self.instructions.len() as u32, entry));
        self.mem(Code::Jmp_rm64, MemoryOperand::with_base_displ(Register::RIP, 0));
    }

    /// An upper bound for the code's bytes.
    pub(super) fn most_bytes(&self) -> usize {
        MOST_BYTES * self.instructions.len()
    }

    /// The code for the address `code_at`, with the table of addresses at `table_at`.
    pub(super) fn encode(mut self, code_at: u64, table_at: u64) -> Bytes {
        for &(at, entry) in &self.tabled {
            self.instructions[at as usize].set_memory_displacement64(table_at + 8 * entry as u64);
        }
        let mut encoder = Encoder::try_with_capacity(64, 8 * self.instructions.len())
            .expect("there are encoders for 64 bits");
        let mut offsets = Vec::with_capacity(self.instructions.len());
        let mut branches = self.branches.iter().peekable();
        let mut jumps = Vec::with_capacity(self.branches.len());
        let mut end = 0;
        for (at, instruction) in self.instructions.iter_mut().enumerate() {
            offsets.push(end as u32);
            let branch = branches.next_if(|(branch, _)| *branch as usize == at);
            if branch.is_some() {
                // A near placeholder: the target is known when all instructions have their places.
                instruction.set_near_branch64(code_at);
            }
            end += encoder.encode(instruction, code_at + end as u64).expect("the operands fit the opcode");
            jumps.extend(branch.map(|&(_, label)| (end, label)));
        }
        let mut code = encoder.take_buffer();
        for (end, label) in jumps {
            let target = self.labels[label.0 as usize];
            assert_ne!(target, NOWHERE, "every label that is used is bound");
            let distance = i64::from(offsets[target as usize]) - end as i64;
            let distance = i32::try_from(distance).expect("an object's code is shorter than 2 GiB");
            // The distance to the target is in an instruction's last four bytes.
            code[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        }
        Bytes { code, offsets, labels: self.labels }
    }
}

impl Bytes {
    pub(super) fn code(&self) -> &[u8] {
        &self.code
    }

    /// The offset of a label.
    pub(super) fn offset(&self, label: Label) -> usize {
        self.offsets[self.labels[label.0 as usize] as usize] as usize
    }
}
