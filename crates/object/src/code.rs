//! Splits the code sections into functions, at their function symbols.

use crate::ObjectError;
use crate::elf::{Elf, SymbolKind};
use crate::model::Insn;

/// The size of an instruction slot, in bytes.
pub(crate) const SLOT: u64 = 8;
/// The opcode of `ld_imm64`, which takes two slots.
pub(crate) const LD_IMM64: u8 = 0x18;
/// The opcode of a call.
pub(crate) const CALL: u8 = 0x85;

/// The maximum number of functions.
const MAX_FUNCTIONS: usize = 1 << 15;

/// A function's position in the ELF file.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// The index of its section.
    pub(crate) section: usize,
    /// The first slot, from the section's start.
    pub(crate) start: u64,
    /// The number of slots.
    pub(crate) len: u64,
}

/// All functions, by section and start. None overlap.
#[derive(Debug)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    /// Finds the functions. The second value contains the instructions of each.
    pub(crate) fn collect(elf: &Elf<'_>) -> Result<(Places, Vec<Vec<Insn>>), ObjectError> {
        let mut places = Vec::new();
        for symbol in elf.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Function) {
            let Some(section) = symbol.section.filter(|&index| elf.sections[index].code) else { continue };
            let bad = |why| ObjectError::Function { function: elf.symbol_name(symbol), why };
            if !symbol.value.is_multiple_of(SLOT) || !symbol.size.is_multiple_of(SLOT) {
                return Err(bad("its symbol doesn't cover whole instructions"));
            }
            if symbol.size == 0 {
                return Err(bad("it has no instructions"));
            }
            let size = elf.sections[section].data.len() as u64;
            if symbol.value.checked_add(symbol.size).is_none_or(|end| end > size) {
                return Err(bad("its symbol reaches beyond its section"));
            }
            if places.len() >= MAX_FUNCTIONS {
                return Err(ObjectError::TooLarge {
                    what: "number of functions",
                    limit: MAX_FUNCTIONS as u64,
                });
            }
            let name = symbol.name.to_owned();
            let (start, len) = (symbol.value / SLOT, symbol.size / SLOT);
            places.push((symbol.local, Place { name, section, start, len }));
        }
        // If a function has two names, the global one counts. Relocations refer to it by position anyway.
        places.sort_by(|(local_a, a), (local_b, b)| {
            (a.section, a.start, a.len, local_a).cmp(&(b.section, b.start, b.len, local_b))
        });
        let mut places: Vec<Place> = places.into_iter().map(|(_, place)| place).collect();
        places.dedup_by(|a, b| (a.section, a.start, a.len) == (b.section, b.start, b.len));
        for pair in places.windows(2) {
            if pair[0].section == pair[1].section && pair[0].start + pair[0].len > pair[1].start {
                let function = pair[1].name.clone();
                return Err(ObjectError::Function { function, why: "it overlaps another function" });
            }
        }
        let insns = places.iter().map(|place| decode(elf, place)).collect();
        Ok((Places(places), insns))
    }

    /// Returns all of them, in the order of the functions' indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Place)> {
        self.0.iter().enumerate()
    }

    pub(crate) fn get(&self, function: usize) -> &Place {
        &self.0[function]
    }

    /// Returns the function that contains a slot of a section, and the slot's index in it.
    pub(crate) fn holding(&self, section: usize, slot: u64) -> Option<(usize, usize)> {
        let after = self.0.partition_point(|place| (place.section, place.start) <= (section, slot));
        let index = after.checked_sub(1)?;
        let place = &self.0[index];
        let within = slot.checked_sub(place.start)?;
        (place.section == section && within < place.len).then_some((index, within as usize))
    }

    /// Returns the function that starts at a slot of a section.
    pub(crate) fn starting(&self, section: usize, slot: u64) -> Option<usize> {
        self.holding(section, slot).filter(|&(_, within)| within == 0).map(|(index, _)| index)
    }
}

fn decode(elf: &Elf<'_>, place: &Place) -> Vec<Insn> {
    let (start, end) = (place.start * SLOT, (place.start + place.len) * SLOT);
    let bytes = &elf.sections[place.section].data[start as usize..end as usize];
    let insn = |b: &[u8]| Insn {
        code: b[0],
        dst: b[1] & 0xf,
        src: b[1] >> 4,
        off: i16::from_le_bytes([b[2], b[3]]),
        imm: i32::from_le_bytes([b[4], b[5], b[6], b[7]]),
    };
    bytes.chunks_exact(SLOT as usize).map(insn).collect()
}

/// Checks that `ld_imm64` has its second slot and that jumps stay within the function.
pub(crate) fn check(function: &str, insns: &[Insn]) -> Result<(), ObjectError> {
    let bad = |at: usize, why: &str| ObjectError::Instruction {
        function: function.to_owned(),
        insn: at as u32,
        why: why.to_owned(),
    };
    let mut second = vec![false; insns.len()];
    let mut at = 0;
    while at < insns.len() {
        if insns[at].code == LD_IMM64 {
            match second.get_mut(at + 1) {
                Some(slot) if insns[at + 1].code == 0 => *slot = true,
                _ => return Err(bad(at, "ld_imm64 lacks its second half")),
            }
            at += 1;
        }
        at += 1;
    }
    for (at, insn) in insns.iter().enumerate().filter(|&(at, _)| !second[at]) {
        let Some(by) = jump(insn) else { continue };
        let target = usize::try_from(at as i64 + 1 + by).ok();
        match target.and_then(|target| second.get(target)) {
            Some(false) => {}
            Some(true) => return Err(bad(at, "it jumps into the middle of ld_imm64")),
            None => return Err(bad(at, "it jumps out of its function")),
        }
    }
    Ok(())
}

/// Returns how far an instruction may jump, if it may.
fn jump(insn: &Insn) -> Option<i64> {
    const JMP: u8 = 0x05;
    const JMP32: u8 = 0x06;
    const EXIT: u8 = 0x90;
    match (insn.code & 0x07, insn.code & 0xf0) {
        (JMP | JMP32, 0x80 | EXIT) => None,
        (JMP32, 0x00) => Some(i64::from(insn.imm)),
        (JMP | JMP32, _) => Some(i64::from(insn.off)),
        _ => None,
    }
}
