//! Instructions in their order, with labels, until it is known where they go.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, IcedError, Instruction, InstructionBlock, MemoryOperand,
    Register,
};

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
    /// Per label the instruction that it stands before.
    labels: Vec<u32>,
    /// Instructions that go to a label.
    branches: Vec<(u32, Label)>,
    /// Instructions that use an entry of the table of addresses, and which.
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

    /// The label stands here.
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

    /// Calls what is at an entry of the table of addresses.
    pub(super) fn call_tabled(&mut self, entry: usize) {
        self.tabled.push((self.instructions.len() as u32, entry));
        self.mem(Code::Call_rm64, MemoryOperand::with_base_displ(Register::RIP, 0));
    }

    /// Goes on at what is at an entry of the table of addresses.
    pub(super) fn jump_tabled(&mut self, entry: usize) {
        self.tabled.push((self.instructions.len() as u32, entry));
        self.mem(Code::Jmp_rm64, MemoryOperand::with_base_displ(Register::RIP, 0));
    }

    /// More bytes than the code can have.
    pub(super) fn most_bytes(&self) -> usize {
        MOST_BYTES * self.instructions.len()
    }

    /// The code for an address, with the table of addresses at another.
    pub(super) fn encode(mut self, code_at: u64, table_at: u64) -> Bytes {
        // What an instruction is called by those that go to it.
        let name = |at: u32| u64::from(at) + 1;
        for (at, instruction) in self.instructions.iter_mut().enumerate() {
            instruction.set_ip(name(at as u32));
        }
        for &(at, label) in &self.branches {
            let target = self.labels[label.0 as usize];
            assert_ne!(target, NOWHERE, "every label that is used is bound");
            self.instructions[at as usize].set_near_branch64(name(target));
        }
        for &(at, entry) in &self.tabled {
            let place = table_at + 8 * entry as u64;
            self.instructions[at as usize].set_memory_displacement64(place);
        }
        let block = InstructionBlock::new(&self.instructions, code_at);
        let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS);
        let encoded = encoded.expect("instructions of the emitter can be encoded");
        Bytes { code: encoded.code_buffer, offsets: encoded.new_instruction_offsets, labels: self.labels }
    }
}

impl Bytes {
    pub(super) fn code(&self) -> &[u8] {
        &self.code
    }

    /// Where a label came to be.
    pub(super) fn offset(&self, label: Label) -> usize {
        self.offsets[self.labels[label.0 as usize] as usize] as usize
    }
}
