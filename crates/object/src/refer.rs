//! Resolves references between parts: relocations by symbol, and calls by distance.

use crate::ObjectError;
use crate::budget::Budget;
use crate::code::{CALL, LD_IMM64, Places, SLOT};
use crate::data::SectionMaps;
use crate::elf::{Elf, Reloc, Section, Symbol};
use crate::externs::{Extern, Externs, is_extern};
use crate::maps::MapOffsets;
use crate::model::{
    Function, Insn, Kfunc, Ksym, Object, PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_KFUNC, PSEUDO_KSYM, PSEUDO_MAP,
    PSEUDO_MAP_VALUE, Poison,
};
use crate::relo::POISON;

/// The parts against which references are resolved.
pub(crate) struct Parts<'a> {
    pub(crate) elf: &'a Elf<'a>,
    pub(crate) places: &'a Places,
    pub(crate) externs: &'a Externs,
    /// The map `.kconfig`.
    pub(crate) kconfig: Option<u32>,
    pub(crate) maps: &'a MapOffsets,
    pub(crate) data: &'a SectionMaps,
    pub(crate) budget: &'a Budget,
}

/// Resolves every reference of every function.
pub(crate) fn resolve(parts: &Parts<'_>, object: &mut Object) -> Result<(), ObjectError> {
    let mut resolver =
        Resolver { parts, kfuncs: Indexed::default(), ksyms: Indexed::default(), resolved: Vec::new() };
    resolver.resolved = object.functions.iter().map(|f| vec![false; f.insns.len()]).collect();
    for (index, section) in parts.elf.sections.iter().enumerate().filter(|(_, section)| section.code) {
        for reloc in &section.relocs {
            resolver.relocation(index, section, reloc, object)?;
        }
    }
    for (function, place) in parts.places.iter() {
        resolver.plain_calls(function, place.section, &mut object.functions[function])?;
        object.functions[function].poison.sort_by_key(|poison| poison.insn);
    }
    object.kfuncs = resolver.kfuncs.items;
    object.ksyms = resolver.ksyms.items;
    Ok(())
}

/// Items in order of first use, each once.
struct Indexed<T> {
    items: Vec<T>,
    index: std::collections::BTreeMap<String, u32>,
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Indexed { items: Vec::new(), index: std::collections::BTreeMap::new() }
    }
}

impl<T> Indexed<T> {
    fn of(&mut self, key: &str, make: impl FnOnce() -> T) -> i32 {
        if let Some(&index) = self.index.get(key) {
            return index as i32;
        }
        let index = self.items.len() as u32;
        self.index.insert(key.to_owned(), index);
        self.items.push(make());
        index as i32
    }
}

struct Resolver<'a> {
    parts: &'a Parts<'a>,
    kfuncs: Indexed<Kfunc>,
    ksyms: Indexed<Ksym>,
    /// For each function and slot, whether a relocation has resolved it.
    resolved: Vec<Vec<bool>>,
}

impl Resolver<'_> {
    fn relocation(
        &mut self,
        section_index: usize,
        section: &Section<'_>,
        reloc: &Reloc,
        object: &mut Object,
    ) -> Result<(), ObjectError> {
        let symbol = self.parts.elf.symbol(section, reloc)?;
        if !reloc.offset.is_multiple_of(SLOT) {
            let why = "a relocation lies within an instruction";
            return Err(ObjectError::Section { section: section.name.to_owned(), why });
        }
        // Code outside functions is never executed.
        let Some((index, at)) = self.parts.places.holding(section_index, reloc.offset / SLOT) else {
            return Ok(());
        };
        let Object { functions, maps, .. } = object;
        let function = &mut functions[index];
        let name = function.name.clone();
        let elf = self.parts.elf;
        let bad = |why| ObjectError::Relocation {
            function: name.clone(),
            insn: at as u32,
            symbol: elf.symbol_name(symbol),
            why,
        };
        if self.resolved[index][at] {
            return Err(bad("its instruction has another relocation"));
        }
        match function.insns[at] {
            Insn { code: CALL, src, .. } => {
                if is_extern(symbol) {
                    self.extern_call(symbol, function, at)?;
                } else if src == PSEUDO_CALL {
                    let target = self.function(symbol, i64::from(function.insns[at].imm) + 1).map_err(bad)?;
                    function.insns[at].imm = target;
                } else {
                    return Err(bad("its instruction calls a helper"));
                }
            }
            Insn { code: LD_IMM64, .. } if at + 1 < function.insns.len() => {
                let address = self.address(symbol, function.insns[at], maps).map_err(bad)?;
                address.write(&mut function.insns[at..at + 2]);
                self.resolved[index][at + 1] = true;
            }
            _ => return Err(bad("its instruction neither calls nor loads an address")),
        }
        self.resolved[index][at] = true;
        Ok(())
    }

    /// Returns the function that starts this many slots after a symbol.
    fn function(&self, symbol: &Symbol<'_>, slots: i64) -> Result<i32, &'static str> {
        let Some(section) = symbol.section else { return Err("it isn't defined") };
        if !symbol.value.is_multiple_of(SLOT) {
            return Err("it lies within an instruction");
        }
        let slot = (symbol.value / SLOT).checked_add_signed(slots);
        let target = slot.and_then(|slot| self.parts.places.starting(section, slot));
        target.map(|index| index as i32).ok_or("no function starts there")
    }

    fn extern_call(
        &mut self,
        symbol: &Symbol<'_>,
        function: &mut Function,
        at: usize,
    ) -> Result<(), ObjectError> {
        let insn = &mut function.insns[at];
        match self.parts.externs.by_name.get(symbol.name) {
            Some(Extern::Kfunc(name)) => {
                insn.src = PSEUDO_KFUNC;
                insn.off = 0;
                insn.imm = self
                    .kfuncs
                    .of(symbol.name, || Kfunc { name: name.clone(), symbol: symbol.name.to_owned() });
                Ok(())
            }
            Some(Extern::Null(missing)) => {
                *insn = POISON;
                // With a text of its own, it uses more memory than the few bytes of a relocation.
                let spent = self.parts.budget.spend(missing.len() as u64);
                spent.map_err(|_| ObjectError::TooComplex)?;
                function.poison.push(Poison { insn: at as u32, missing: missing.clone() });
                Ok(())
            }
            _ => Err(ObjectError::Relocation {
                function: function.name.clone(),
                insn: at as u32,
                symbol: symbol.name.to_owned(),
                why: "it is called, but is not a function of the kernel",
            }),
        }
    }

    /// Returns what an `ld_imm64` with this symbol loads.
    fn address(
        &mut self,
        symbol: &Symbol<'_>,
        insn: Insn,
        maps: &[crate::MapDef],
    ) -> Result<Address, &'static str> {
        if is_extern(symbol) {
            return self.extern_address(symbol, insn);
        }
        let Some(section) = symbol.section else { return Err("it isn't defined") };
        let offset = i64::try_from(symbol.value).unwrap_or(i64::MAX).saturating_add(i64::from(insn.imm));
        if self.parts.elf.sections[section].code {
            if insn.imm % SLOT as i32 != 0 {
                return Err("it lies within an instruction");
            }
            let index = self.function(symbol, i64::from(insn.imm) / SLOT as i64)?;
            return Ok(Address { src: PSEUDO_FUNC, low: index, high: 0 });
        }
        if self.parts.maps.section == Some(section) {
            let index = u64::try_from(offset).ok().and_then(|offset| self.parts.maps.by_offset.get(&offset));
            let index = *index.ok_or("no map lies there")?;
            return Ok(Address { src: PSEUDO_MAP, low: index as i32, high: 0 });
        }
        let Some(map) = self.parts.data.get(section) else {
            return Err("its section is neither code, nor maps, nor global data");
        };
        let size = match &maps[map as usize] {
            map if map.initial.is_empty() => map.value_size as usize,
            map => map.initial.len(),
        };
        match i32::try_from(offset) {
            Ok(high) if high >= 0 && high as usize <= size => {
                Ok(Address { src: PSEUDO_MAP_VALUE, low: map as i32, high })
            }
            _ => Err("it lies outside its section"),
        }
    }

    fn extern_address(&mut self, symbol: &Symbol<'_>, insn: Insn) -> Result<Address, &'static str> {
        let mut ksym = |name: &str, is_function| {
            let index = self.ksyms.of(name, || Ksym { name: name.to_owned(), is_function });
            Ok(Address { src: PSEUDO_KSYM, low: index, high: 0 })
        };
        match self.parts.externs.by_name.get(symbol.name) {
            Some(Extern::Kfunc(name)) => ksym(name, true),
            Some(Extern::Variable(name)) => ksym(name, false),
            Some(Extern::Untyped { name, is_function }) => ksym(name, *is_function),
            Some(Extern::Null(_)) => Ok(Address { src: 0, low: 0, high: 0 }),
            Some(Extern::Kconfig(offset, size)) => {
                let map = self.parts.kconfig.ok_or("there is no .kconfig")?;
                let within = u32::try_from(insn.imm).ok().filter(|within| within <= size);
                let within = within.ok_or("it lies outside its variable")?;
                Ok(Address { src: PSEUDO_MAP_VALUE, low: map as i32, high: (offset + within) as i32 })
            }
            None => Err("it isn't declared"),
        }
    }

    /// Resolves calls within a section, which need no relocation: their immediate is the distance.
    fn plain_calls(&self, index: usize, section: usize, function: &mut Function) -> Result<(), ObjectError> {
        let start = self.parts.places.get(index).start as i64;
        for at in 0..function.insns.len() {
            let insn = &mut function.insns[at];
            let bad = |name: &str, why: &str| ObjectError::Instruction {
                function: name.to_owned(),
                insn: at as u32,
                why: why.to_owned(),
            };
            let resolved = self.resolved[index][at];
            if insn.code == LD_IMM64 && insn.src != 0 && !resolved {
                return Err(bad(&function.name, "ld_imm64 names something without a relocation"));
            }
            if insn.code != CALL || resolved {
                continue;
            }
            match insn.src {
                0 => {}
                PSEUDO_CALL => {
                    let slot = u64::try_from(start + at as i64 + 1 + i64::from(insn.imm)).ok();
                    let target = slot.and_then(|slot| self.parts.places.starting(section, slot));
                    match target {
                        Some(target) => insn.imm = target as i32,
                        None => return Err(bad(&function.name, "it calls where no function starts")),
                    }
                }
                _ => return Err(bad(&function.name, "it calls a kfunc without a relocation")),
            }
        }
        Ok(())
    }
}

/// The operand of an `ld_imm64`.
struct Address {
    src: u8,
    low: i32,
    high: i32,
}

impl Address {
    fn write(&self, slots: &mut [Insn]) {
        slots[0].src = self.src;
        slots[0].imm = self.low;
        slots[1].imm = self.high;
    }
}
