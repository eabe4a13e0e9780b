//! The instructions that the emitter uses, and how each is encoded.
//!
//! The names are those of [`iced_x86::Code`]. Debug builds compare each instruction with what that crate's encoder
//! makes of it, which takes ten times as long.

use iced_x86::Code;

/// Where an instruction's opcode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    Plain,
    /// After the byte 0F.
    Escaped,
    /// Behind a VEX prefix with this map of opcodes and this implied prefix.
    Vex(u8, u8),
}

/// Which field has which operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fields {
    /// No operand.
    Nothing,
    /// The only register is a part of the opcode.
    Opcode,
    /// The first operand may be memory; the field of the other one extends the opcode.
    Extended(u8),
    /// The first operand may be memory, the second one is a register.
    RmReg,
    /// The first operand is a register, the second one may be memory.
    RegRm,
    /// As `RegRm`, with a third operand in the VEX prefix.
    RegRmVex,
    /// As `RegRm`, with the second operand in the VEX prefix and the third one in the place of memory.
    RegVexRm,
}

/// How an instruction is encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// A prefix that selects the instruction; 0 is none.
    pub(super) prefix: u8,
    pub(super) map: Map,
    pub(super) opcode: u8,
    /// Operands have 64 bits.
    pub(super) wide: bool,
    /// The operand that may be memory has 8 bits; so has the other one with `RmReg`.
    pub(super) bytes: bool,
    pub(super) fields: Fields,
    /// The bytes of the immediate operand, or of the distance of a jump.
    pub(super) immediate: u8,
}

const PLAIN: Form = Form {
    prefix: 0,
    map: Map::Plain,
    opcode: 0,
    wide: false,
    bytes: false,
    fields: Fields::Nothing,
    immediate: 0,
};

impl Form {
    const fn new(opcode: u8, fields: Fields) -> Self {
        Self { opcode, fields, ..PLAIN }
    }

    /// One whose first operand may be memory, and whose other field is a part of the opcode.
    const fn extended(opcode: u8, extension: u8) -> Self {
        Self::new(opcode, Fields::Extended(extension))
    }

    const fn escaped(opcode: u8, fields: Fields) -> Self {
        Self { map: Map::Escaped, ..Self::new(opcode, fields) }
    }

    /// A jump or call over a distance of 32 bits.
    const fn near(opcode: u8) -> Self {
        Self::new(opcode, Fields::Nothing).with(4)
    }

    /// A jump if a condition holds.
    const fn near_if(condition: u8) -> Self {
        Self::escaped(0x80 + condition, Fields::Nothing).with(4)
    }

    /// One with a VEX prefix, of operands of 32 bits.
    const fn vex(map: u8, implied: u8, opcode: u8, fields: Fields) -> Self {
        Self { map: Map::Vex(map, implied), ..Self::new(opcode, fields) }
    }

    const fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    const fn bytes(self) -> Self {
        Self { bytes: true, ..self }
    }

    /// Also has an immediate operand of so many bytes.
    const fn with(self, immediate: u8) -> Self {
        Self { immediate, ..self }
    }

    const fn after(self, prefix: u8) -> Self {
        Self { prefix, ..self }
    }
}

/// All forms.
const FORMS: &[(Code, Form)] = {
    use Code::*;
    use Fields::*;
    &[
        // Arithmetic and tests.
        (Add_rm32_r32, Form::new(0x01, RmReg)),
        (Add_r32_rm32, Form::new(0x03, RegRm)),
        (Add_rm32_imm8, Form::extended(0x83, 0).with(1)),
        (Add_rm32_imm32, Form::extended(0x81, 0).with(4)),
        (Add_rm64_r64, Form::new(0x01, RmReg).wide()),
        (Add_r64_rm64, Form::new(0x03, RegRm).wide()),
        (Add_rm64_imm8, Form::extended(0x83, 0).wide().with(1)),
        (Add_rm64_imm32, Form::extended(0x81, 0).wide().with(4)),
        (Add_rm8_imm8, Form::extended(0x80, 0).bytes().with(1)),
        (Or_rm32_r32, Form::new(0x09, RmReg)),
        (Or_r32_rm32, Form::new(0x0b, RegRm)),
        (Or_rm32_imm8, Form::extended(0x83, 1).with(1)),
        (Or_rm32_imm32, Form::extended(0x81, 1).with(4)),
        (Or_rm64_r64, Form::new(0x09, RmReg).wide()),
        (Or_r64_rm64, Form::new(0x0b, RegRm).wide()),
        (Or_rm64_imm8, Form::extended(0x83, 1).wide().with(1)),
        (Or_rm64_imm32, Form::extended(0x81, 1).wide().with(4)),
        (Sbb_r32_rm32, Form::new(0x1b, RegRm)),
        (And_rm32_r32, Form::new(0x21, RmReg)),
        (And_r32_rm32, Form::new(0x23, RegRm)),
        (And_rm32_imm8, Form::extended(0x83, 4).with(1)),
        (And_rm32_imm32, Form::extended(0x81, 4).with(4)),
        (And_rm64_r64, Form::new(0x21, RmReg).wide()),
        (And_r64_rm64, Form::new(0x23, RegRm).wide()),
        (And_rm64_imm8, Form::extended(0x83, 4).wide().with(1)),
        (And_rm64_imm32, Form::extended(0x81, 4).wide().with(4)),
        (Sub_r32_rm32, Form::new(0x2b, RegRm)),
        (Sub_rm32_imm8, Form::extended(0x83, 5).with(1)),
        (Sub_rm32_imm32, Form::extended(0x81, 5).with(4)),
        (Sub_rm64_r64, Form::new(0x29, RmReg).wide()),
        (Sub_r64_rm64, Form::new(0x2b, RegRm).wide()),
        (Sub_rm64_imm8, Form::extended(0x83, 5).wide().with(1)),
        (Sub_rm64_imm32, Form::extended(0x81, 5).wide().with(4)),
        (Xor_rm32_r32, Form::new(0x31, RmReg)),
        (Xor_r32_rm32, Form::new(0x33, RegRm)),
        (Xor_rm32_imm8, Form::extended(0x83, 6).with(1)),
        (Xor_rm32_imm32, Form::extended(0x81, 6).with(4)),
        (Xor_rm64_r64, Form::new(0x31, RmReg).wide()),
        (Xor_r64_rm64, Form::new(0x33, RegRm).wide()),
        (Xor_rm64_imm8, Form::extended(0x83, 6).wide().with(1)),
        (Xor_rm64_imm32, Form::extended(0x81, 6).wide().with(4)),
        (Cmp_r32_rm32, Form::new(0x3b, RegRm)),
        (Cmp_rm32_imm8, Form::extended(0x83, 7).with(1)),
        (Cmp_rm32_imm32, Form::extended(0x81, 7).with(4)),
        (Cmp_r64_rm64, Form::new(0x3b, RegRm).wide()),
        (Cmp_rm64_imm8, Form::extended(0x83, 7).wide().with(1)),
        (Cmp_rm64_imm32, Form::extended(0x81, 7).wide().with(4)),
        (Test_rm32_r32, Form::new(0x85, RmReg)),
        (Test_rm32_imm32, Form::extended(0xf7, 0).with(4)),
        (Neg_rm32, Form::extended(0xf7, 3)),
        (Div_rm32, Form::extended(0xf7, 6)),
        (Idiv_rm32, Form::extended(0xf7, 7)),
        (Inc_rm32, Form::extended(0xff, 0)),
        (Dec_rm32, Form::extended(0xff, 1)),
        (Imul_r32_rm32, Form::escaped(0xaf, RegRm)),
        (Imul_r32_rm32_imm32, Form::new(0x69, RegRm).with(4)),
        (Bsf_r32_rm32, Form::escaped(0xbc, RegRm)),
        (Btr_rm32_r32, Form::escaped(0xb3, RmReg)),
        (Bswap_r32, Form::escaped(0xc8, Opcode)),
        (Shl_rm32_imm8, Form::extended(0xc1, 4).with(1)),
        (Shr_rm32_imm8, Form::extended(0xc1, 5).with(1)),
        (Sar_rm32_imm8, Form::extended(0xc1, 7).with(1)),
        (VEX_Shlx_r32_rm32_r32, Form::vex(2, 1, 0xf7, RegRmVex)),
        (VEX_Sarx_r32_rm32_r32, Form::vex(2, 2, 0xf7, RegRmVex)),
        (VEX_Shrx_r32_rm32_r32, Form::vex(2, 3, 0xf7, RegRmVex)),
        (Test_rm64_r64, Form::new(0x85, RmReg).wide()),
        (Test_rm64_imm32, Form::extended(0xf7, 0).wide().with(4)),
        (Not_rm64, Form::extended(0xf7, 2).wide()),
        (Neg_rm64, Form::extended(0xf7, 3).wide()),
        (Div_rm64, Form::extended(0xf7, 6).wide()),
        (Idiv_rm64, Form::extended(0xf7, 7).wide()),
        (Inc_rm64, Form::extended(0xff, 0).wide()),
        (Dec_rm64, Form::extended(0xff, 1).wide()),
        (Imul_r64_rm64, Form::escaped(0xaf, RegRm).wide()),
        (Imul_r64_rm64_imm32, Form::new(0x69, RegRm).wide().with(4)),
        (Bsf_r64_rm64, Form::escaped(0xbc, RegRm).wide()),
        (Bt_rm64_r64, Form::escaped(0xa3, RmReg).wide()),
        (Bswap_r64, Form::escaped(0xc8, Opcode).wide()),
        (Shl_rm64_imm8, Form::extended(0xc1, 4).wide().with(1)),
        (Shr_rm64_imm8, Form::extended(0xc1, 5).wide().with(1)),
        (Sar_rm64_imm8, Form::extended(0xc1, 7).wide().with(1)),
        (VEX_Shlx_r64_rm64_r64, Form::vex(2, 1, 0xf7, RegRmVex).wide()),
        (VEX_Sarx_r64_rm64_r64, Form::vex(2, 2, 0xf7, RegRmVex).wide()),
        (VEX_Shrx_r64_rm64_r64, Form::vex(2, 3, 0xf7, RegRmVex).wide()),
        (VEX_Andn_r64_r64_rm64, Form::vex(2, 0, 0xf2, RegVexRm).wide()),
        (VEX_Rorx_r64_rm64_imm8, Form::vex(3, 3, 0xf0, RegRm).wide().with(1)),
        (Rol_rm16_imm8, Form::extended(0xc1, 0).after(0x66).with(1)),
        (Cdq, Form::new(0x99, Nothing)),
        (Cqo, Form::new(0x99, Nothing).wide()),
        // Moves.
        (Mov_rm8_r8, Form::new(0x88, RmReg).bytes()),
        (Mov_rm16_r16, Form::new(0x89, RmReg).after(0x66)),
        (Mov_rm32_r32, Form::new(0x89, RmReg)),
        (Mov_rm64_r64, Form::new(0x89, RmReg).wide()),
        (Mov_r32_rm32, Form::new(0x8b, RegRm)),
        (Mov_r64_rm64, Form::new(0x8b, RegRm).wide()),
        (Mov_rm8_imm8, Form::extended(0xc6, 0).bytes().with(1)),
        (Mov_rm16_imm16, Form::extended(0xc7, 0).after(0x66).with(2)),
        (Mov_rm32_imm32, Form::extended(0xc7, 0).with(4)),
        (Mov_rm64_imm32, Form::extended(0xc7, 0).wide().with(4)),
        (Mov_r32_imm32, Form::new(0xb8, Opcode).with(4)),
        (Mov_r64_imm64, Form::new(0xb8, Opcode).wide().with(8)),
        (Movzx_r32_rm8, Form::escaped(0xb6, RegRm).bytes()),
        (Movzx_r32_rm16, Form::escaped(0xb7, RegRm)),
        (Movsx_r32_rm8, Form::escaped(0xbe, RegRm).bytes()),
        (Movsx_r32_rm16, Form::escaped(0xbf, RegRm)),
        (Movsx_r64_rm8, Form::escaped(0xbe, RegRm).bytes().wide()),
        (Movsx_r64_rm16, Form::escaped(0xbf, RegRm).wide()),
        (Movsxd_r64_rm32, Form::new(0x63, RegRm).wide()),
        (Lea_r32_m, Form::new(0x8d, RegRm)),
        (Lea_r64_m, Form::new(0x8d, RegRm).wide()),
        (Push_r64, Form::new(0x50, Opcode)),
        (Pop_r64, Form::new(0x58, Opcode)),
        (Movd_xmm_rm32, Form::escaped(0x6e, RegRm).after(0x66)),
        (Movdqa_xmm_xmmm128, Form::escaped(0x6f, RegRm).after(0x66)),
        (Pshufd_xmm_xmmm128_imm8, Form::escaped(0x70, RegRm).after(0x66).with(1)),
        (Packsswb_xmm_xmmm128, Form::escaped(0x63, RegRm).after(0x66)),
        (Packssdw_xmm_xmmm128, Form::escaped(0x6b, RegRm).after(0x66)),
        (Pcmpeqd_xmm_xmmm128, Form::escaped(0x76, RegRm).after(0x66)),
        (Pmovmskb_r32_xmm, Form::escaped(0xd7, RegRm).after(0x66)),
        // Jumps and calls.
        (Jmp_rel32_64, Form::near(0xe9)),
        (Call_rel32_64, Form::near(0xe8)),
        (Jb_rel32_64, Form::near_if(2)),
        (Jae_rel32_64, Form::near_if(3)),
        (Je_rel32_64, Form::near_if(4)),
        (Jne_rel32_64, Form::near_if(5)),
        (Jbe_rel32_64, Form::near_if(6)),
        (Ja_rel32_64, Form::near_if(7)),
        (Jl_rel32_64, Form::near_if(12)),
        (Jge_rel32_64, Form::near_if(13)),
        (Jle_rel32_64, Form::near_if(14)),
        (Jg_rel32_64, Form::near_if(15)),
        (Call_rm64, Form::extended(0xff, 2)),
        (Jmp_rm64, Form::extended(0xff, 4)),
        (Retnq, Form::new(0xc3, Nothing)),
        (Nopd, Form::new(0x90, Nothing)),
        (Ud2, Form::escaped(0x0b, Nothing)),
    ]
};

/// The number of the last instruction with a form, and one.
const CODES: usize = {
    let (mut most, mut at) = (0, 0);
    while at < FORMS.len() {
        let number = FORMS[at].0 as usize;
        most = if number > most { number } else { most };
        at += 1;
    }
    most + 1
};

/// For each instruction, the place of its form; `u8::MAX` has none.
static PLACES: [u8; CODES] = {
    assert!(FORMS.len() < u8::MAX as usize);
    let mut places = [u8::MAX; CODES];
    let mut at = 0;
    while at < FORMS.len() {
        places[FORMS[at].0 as usize] = at as u8;
        at += 1;
    }
    places
};

/// How an instruction is encoded.
///
/// # Panics
/// Panics if it is none of the emitter's.
pub(super) fn form(code: Code) -> &'static Form {
    &FORMS[usize::from(PLACES[code as usize])].1
}
