//! Turns one function's instructions into operations, and refuses malformed ones.

use super::op::{Alu, Atomic, Callee, Cond, NO_SITE, Op, Operand, Size};
use super::tables::Tables;
use crate::error::LoadError;
use crate::known::Known;
use keel_object::model::{
    Function, Insn, Object, POISON_HELPER, PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_KFUNC, PSEUDO_KSYM, PSEUDO_MAP,
    PSEUDO_MAP_VALUE,
};

/// Decodes the object's function number `index`.
pub(super) fn function(object: &Object, index: u32, tables: &mut Tables) -> Result<Vec<Op>, LoadError> {
    let function = &object.functions[index as usize];
    let mut decoder = Decoder { object, function, index, tables, at: 0 };
    let mut ops = Vec::with_capacity(function.insns.len());
    while (decoder.at as usize) < function.insns.len() {
        ops.push(decoder.op().map_err(|e| decoder.error(e))?);
        if function.insns[decoder.at as usize].code == LD_IMM64 {
            ops.push(Op::Hole);
            decoder.at += 1;
        }
        decoder.at += 1;
    }
    check_flow(&ops).map_err(|(at, why)| {
        decoder.at = at;
        decoder.error(Wrong::Bad(why))
    })?;
    Ok(ops)
}

/// Every jump must land on an operation, and the last operation must not fall through.
fn check_flow(ops: &[Op]) -> Result<(), (u32, String)> {
    for (at, op) in ops.iter().enumerate() {
        let Some(target) = op.target() else { continue };
        match ops.get(target as usize) {
            None => return Err((at as u32, "it jumps out of the function".into())),
            Some(Op::Hole) => return Err((at as u32, "it jumps into the middle of ld_imm64".into())),
            Some(_) => {}
        }
    }
    match ops.last() {
        Some(op) if op.ends() => Ok(()),
        _ => Err((ops.len().saturating_sub(1) as u32, "control falls off the function's end".into())),
    }
}

const LD_IMM64: u8 = 0x18;
const MOV64_X: u8 = 0xbf;
/// `BPF_ADDR_SPACE_CAST`.
const ADDR_SPACE_CAST: i16 = 1;

enum Wrong {
    Bad(String),
    Unsupported(String),
}

fn bad<T>(why: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Bad(why.into()))
}

struct Decoder<'a> {
    object: &'a Object,
    function: &'a Function,
    index: u32,
    tables: &'a mut Tables,
    at: u32,
}

impl Decoder<'_> {
    fn error(&self, wrong: Wrong) -> LoadError {
        let function = self.function.name.clone();
        match wrong {
            Wrong::Bad(why) => LoadError::BadInstruction { function, insn: self.at, why },
            Wrong::Unsupported(what) => LoadError::Unsupported { what, function },
        }
    }

    fn op(&mut self) -> Result<Op, Wrong> {
        let insn = self.function.insns[self.at as usize];
        if self.function.poison.iter().any(|p| p.insn == self.at) {
            return Ok(self.call(Callee::Poison, None));
        }
        match insn.code & 7 {
            0 => self.load_immediate(insn),
            1 => load(insn),
            2 => store(insn, Operand::Imm(i64::from(insn.imm))),
            3 if insn.code >> 5 == 6 => atomic(insn),
            3 => store(insn, Operand::Reg(readable(insn.src)?)),
            4 => alu(insn, false),
            5 => self.jump(insn, true),
            6 => self.jump(insn, false),
            _ if insn.code == MOV64_X && insn.off == ADDR_SPACE_CAST => self.cast(insn),
            _ => alu(insn, true),
        }
    }

    /// `addr_space_cast`, whose immediate is the new address space and the old one.
    fn cast(&self, insn: Insn) -> Result<Op, Wrong> {
        const TO_KERNEL: i32 = 1;
        const TO_USER: i32 = 1 << 16;
        let (dst, src) = (writable(insn.dst)?, readable(insn.src)?);
        let Some(high) = self.object.maps.iter().find_map(crate::maps::user_half) else {
            return bad("addr_space_cast in an object that has no arena");
        };
        match insn.imm {
            TO_KERNEL => Ok(Op::CastToKernel { dst, src }),
            TO_USER => Ok(Op::CastToUser { dst, src, high }),
            _ => bad("addr_space_cast between other address spaces than 0 and 1"),
        }
    }

    fn load_immediate(&mut self, insn: Insn) -> Result<Op, Wrong> {
        match insn.code >> 5 {
            0 if insn.code == LD_IMM64 => {}
            1 | 2 => {
                return Err(Wrong::Unsupported(format!("the packet load instruction {:#04x}", insn.code)));
            }
            _ => return unknown(insn),
        }
        let Some(second) = self.function.insns.get(self.at as usize + 1) else {
            return bad("ld_imm64 lacks its second half");
        };
        if second.code != 0 || second.dst != 0 || second.src != 0 || second.off != 0 {
            return bad("ld_imm64 has a bad second half");
        }
        let dst = writable(insn.dst)?;
        let index = insn.imm as u32;
        let o = self.object;
        let exists = |len: usize, what: &str| {
            if (index as usize) < len { Ok(()) } else { bad(format!("there is no {what} number {index}")) }
        };
        let address = match insn.src {
            0 => {
                let value = u64::from(index) | u64::from(second.imm as u32) << 32;
                return Ok(Op::Const { dst, value });
            }
            PSEUDO_FUNC => {
                exists(o.functions.len(), "function")?;
                return Ok(Op::Const { dst, value: super::function_address(index) });
            }
            PSEUDO_MAP => {
                exists(o.maps.len(), "map")?;
                super::Address::Map(index)
            }
            PSEUDO_MAP_VALUE => {
                exists(o.maps.len(), "map")?;
                super::Address::MapValue(index, second.imm as u32)
            }
            PSEUDO_KSYM => {
                exists(o.ksyms.len(), "kernel symbol")?;
                super::Address::Ksym(index)
            }
            other => return bad(format!("ld_imm64 of unknown kind {other}")),
        };
        Ok(Op::Address { dst, slot: self.tables.address(address, self.index) })
    }

    fn jump(&mut self, insn: Insn, wide: bool) -> Result<Op, Wrong> {
        let cond = match insn.code >> 4 {
            0x0 => {
                let by = if wide { i64::from(insn.off) } else { i64::from(insn.imm) };
                let target = self.target(by)?;
                return Ok(Op::Jump { target, site: self.jump_site(target) });
            }
            0x1 => Cond::Eq,
            0x2 => Cond::Gt,
            0x3 => Cond::Ge,
            0x4 => Cond::Set,
            0x5 => Cond::Ne,
            0x6 => Cond::SignedGt,
            0x7 => Cond::SignedGe,
            0x8 if wide && insn.code == 0x85 => return self.callee(insn),
            0x8 if wide => return Err(Wrong::Unsupported("a call through a register".into())),
            0x9 if insn.code == 0x95 => return Ok(Op::Exit),
            0xa => Cond::Lt,
            0xb => Cond::Le,
            0xc => Cond::SignedLt,
            0xd => Cond::SignedLe,
            0xe if insn.code == 0xe5 && insn.src == 0 => {
                let target = self.target(i64::from(insn.off))?;
                return Ok(Op::MayGoto { target, site: self.jump_site(target) });
            }
            _ => return unknown(insn),
        };
        let a = readable(insn.dst)?;
        let b = operand(insn)?;
        let target = self.target(i64::from(insn.off))?;
        Ok(Op::Branch { wide, cond, a, b, target, site: self.jump_site(target) })
    }

    fn target(&self, by: i64) -> Result<u32, Wrong> {
        let target = i64::from(self.at) + 1 + by;
        match u32::try_from(target) {
            Ok(target) if (target as usize) < self.function.insns.len() => Ok(target),
            _ => bad(format!("it jumps to {target}, out of the function")),
        }
    }

    /// A program that never ends is caught at backward jumps.
    fn jump_site(&mut self, target: u32) -> u32 {
        if target <= self.at { self.tables.site(self.index, self.at, None) } else { NO_SITE }
    }

    fn call(&mut self, callee: Callee, import: Option<u32>) -> Op {
        Op::Call { callee, site: self.tables.site(self.index, self.at, import) }
    }

    fn callee(&mut self, insn: Insn) -> Result<Op, Wrong> {
        let index = insn.imm as u32;
        match insn.src {
            0 if insn.imm == POISON_HELPER => Ok(self.call(Callee::Poison, None)),
            0 => {
                let import = self.tables.import(super::Needed::Helper(insn.imm), self.index);
                let callee = match insn.imm {
                    super::HELPER_LOOP => Callee::Loop,
                    super::HELPER_FOR_EACH => Callee::ForEach,
                    super::HELPER_DRAIN => Callee::Drain,
                    number => Known::helper(number).map_or(Callee::Host, Callee::Known),
                };
                Ok(self.call(callee, Some(import)))
            }
            PSEUDO_CALL if (index as usize) < self.object.functions.len() => {
                Ok(self.call(Callee::Function(index), None))
            }
            PSEUDO_CALL => bad(format!("there is no function number {index}")),
            PSEUDO_KFUNC => match self.object.kfuncs.get(index as usize) {
                Some(kfunc) => {
                    let import = self.tables.import(super::Needed::Kfunc(kfunc.name.clone()), self.index);
                    let callee = match kfunc.name.as_str() {
                        super::KFUNC_RBTREE_ADD => Callee::RbtreeAdd,
                        super::KFUNC_NUM_NEXT => Callee::NumNext,
                        name => Known::kfunc(name).map_or(Callee::Host, Callee::Known),
                    };
                    Ok(self.call(callee, Some(import)))
                }
                None => bad(format!("there is no kfunc number {index}")),
            },
            other => bad(format!("a call of unknown kind {other}")),
        }
    }
}

fn unknown<T>(insn: Insn) -> Result<T, Wrong> {
    bad(format!("{:#04x} is not a known instruction", insn.code))
}

fn readable(reg: u8) -> Result<u8, Wrong> {
    if reg <= 10 { Ok(reg) } else { bad(format!("there is no register r{reg}")) }
}

fn writable(reg: u8) -> Result<u8, Wrong> {
    match reg {
        0..=9 => Ok(reg),
        10 => bad("r10 is read-only"),
        _ => bad(format!("there is no register r{reg}")),
    }
}

/// The source operand by the instruction's `BPF_X` bit.
fn operand(insn: Insn) -> Result<Operand, Wrong> {
    match insn.code & 8 {
        0 => Ok(Operand::Imm(i64::from(insn.imm))),
        _ => Ok(Operand::Reg(readable(insn.src)?)),
    }
}

fn size(insn: Insn) -> Size {
    Size([2, 1, 0, 3][usize::from(insn.code >> 3 & 3)])
}

fn load(insn: Insn) -> Result<Op, Wrong> {
    let signed = match insn.code >> 5 {
        3 => false,
        4 if size(insn).0 < 3 => true,
        _ => return unknown(insn),
    };
    let (dst, base) = (writable(insn.dst)?, readable(insn.src)?);
    Ok(Op::Load { dst, base, off: i32::from(insn.off), size: size(insn), signed })
}

fn store(insn: Insn, src: Operand) -> Result<Op, Wrong> {
    match insn.code >> 5 {
        3 => Ok(Op::Store { base: readable(insn.dst)?, off: i32::from(insn.off), size: size(insn), src }),
        _ => unknown(insn),
    }
}

fn atomic(insn: Insn) -> Result<Op, Wrong> {
    let off = i32::from(insn.off);
    let size = size(insn);
    match insn.imm {
        0x100 => {
            let (dst, base) = (writable(insn.dst)?, readable(insn.src)?);
            return Ok(Op::Load { dst, base, off, size, signed: false });
        }
        0x110 => {
            let src = Operand::Reg(readable(insn.src)?);
            return Ok(Op::Store { base: readable(insn.dst)?, off, size, src });
        }
        _ => {}
    }
    if size.0 < 2 {
        return bad("an atomic operation on less than 4 bytes");
    }
    let fetch = insn.imm & 1 != 0;
    let op = match (insn.imm & !1, fetch) {
        (0x00, _) => Atomic::Add,
        (0x40, _) => Atomic::Or,
        (0x50, _) => Atomic::And,
        (0xa0, _) => Atomic::Xor,
        (0xe0, true) => Atomic::Exchange,
        (0xf0, true) => Atomic::CompareExchange,
        _ => return bad(format!("{:#x} is not a known atomic operation", insn.imm)),
    };
    let writes_src = fetch && op != Atomic::CompareExchange;
    let src = if writes_src { writable(insn.src)? } else { readable(insn.src)? };
    Ok(Op::Atomic { base: readable(insn.dst)?, off, size, op, src, fetch })
}

fn alu(insn: Insn, wide: bool) -> Result<Op, Wrong> {
    let dst = writable(insn.dst)?;
    let plain = insn.off == 0;
    let op = match insn.code >> 4 {
        0x0 if plain => Alu::Add,
        0x1 if plain => Alu::Sub,
        0x2 if plain => Alu::Mul,
        0x3 if plain => Alu::Div,
        0x3 if insn.off == 1 => Alu::SignedDiv,
        0x4 if plain => Alu::Or,
        0x5 if plain => Alu::And,
        0x6 if plain => Alu::Lsh,
        0x7 if plain => Alu::Rsh,
        0x8 if plain && insn.code & 8 == 0 => {
            return Ok(Op::Alu { wide, op: Alu::Neg, dst, src: Operand::Imm(0) });
        }
        0x9 if plain => Alu::Mod,
        0x9 if insn.off == 1 => Alu::SignedMod,
        0xa if plain => Alu::Xor,
        0xb => return mov(insn, wide, dst),
        0xc if plain => Alu::Arsh,
        0xd if plain => return end(insn, wide, dst),
        _ => return unknown(insn),
    };
    Ok(Op::Alu { wide, op, dst, src: operand(insn)? })
}

fn mov(insn: Insn, wide: bool, dst: u8) -> Result<Op, Wrong> {
    let from_register = insn.code & 8 != 0;
    let op = match insn.off {
        0 => Alu::Mov,
        8 | 16 if from_register => Alu::MovSigned(insn.off as u8),
        32 if from_register && wide => Alu::MovSigned(32),
        _ => return unknown(insn),
    };
    Ok(Op::Alu { wide, op, dst, src: operand(insn)? })
}

/// Byte order: to little endian truncates, to big endian or unconditionally swaps.
fn end(insn: Insn, wide: bool, dst: u8) -> Result<Op, Wrong> {
    let bits = match insn.imm {
        16 | 32 | 64 => insn.imm as u8,
        _ => return bad(format!("a byte swap of {} bits", insn.imm)),
    };
    let op = match (wide, insn.code & 8 != 0) {
        (false, false) => Alu::Truncate(bits),
        (false, true) | (true, false) => Alu::Swap(bits),
        (true, true) => return unknown(insn),
    };
    Ok(Op::Alu { wide: true, op, dst, src: Operand::Imm(0) })
}
