//! Reads ELF: sections with their bytes, symbols and relocations. Also finds the object within a binary.
//!
//! In a hostile file, all section headers may point to the same bytes, and all symbols to the same name, so the amount
//! that is read is limited in proportion to the file.

mod carrier;
mod read;

pub(crate) use carrier::bpf_object;

use std::collections::BTreeMap;

use crate::ObjectError;

/// ELF's machine number of BPF.
const EM_BPF: u16 = 247;
/// The maximum size of an object, in bytes.
const MAX_OBJECT: usize = 32 << 20;

/// A BPF object's ELF.
#[derive(Debug)]
pub(crate) struct Elf<'a> {
    /// Indexed by ELF's section numbers.
    pub(crate) sections: Vec<Section<'a>>,
    /// Indexed by ELF's symbol numbers.
    pub(crate) symbols: Vec<Symbol<'a>>,
}

#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    /// Whether it contains instructions.
    pub(crate) code: bool,
    /// Whether it is in memory at run time.
    pub(crate) alloc: bool,
    /// Whether it has a size but no bytes (`.bss`).
    pub(crate) zeroes: bool,
    /// Its bytes; empty for `zeroes`.
    pub(crate) data: &'a [u8],
    /// The size in bytes.
    pub(crate) size: u64,
    /// Relocations that apply to it, in the file's order.
    pub(crate) relocs: Vec<Reloc>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reloc {
    /// The offset from the section's start, in bytes.
    pub(crate) offset: u64,
    /// The index of the symbol.
    pub(crate) symbol: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Function,
    Object,
    Section,
    Untyped,
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    /// The index of its section; `None` for undefined and absolute symbols.
    pub(crate) section: Option<usize>,
    pub(crate) undefined: bool,
    pub(crate) kind: SymbolKind,
    pub(crate) local: bool,
    pub(crate) weak: bool,
    /// The offset from the section's start, in bytes.
    pub(crate) value: u64,
    /// The size in bytes.
    pub(crate) size: u64,
}

/// Positions of named objects: offsets by section and name.
pub(crate) type Objects<'a> = BTreeMap<(usize, &'a str), u64>;

impl Elf<'_> {
    /// Returns the code sections by name. If several have the same name, the first one counts.
    pub(crate) fn code_sections(&self) -> BTreeMap<&str, usize> {
        let sections = self.sections.iter().enumerate().rev();
        sections.filter(|(_, section)| section.code).map(|(index, section)| (section.name, index)).collect()
    }

    /// Returns all named objects. A name that statics of several files share refers to the last one.
    pub(crate) fn objects(&self) -> Objects<'_> {
        let objects = self.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Object);
        objects.filter_map(|symbol| Some(((symbol.section?, symbol.name), symbol.value))).collect()
    }

    /// Returns the section of this name: the first, if there are several.
    pub(crate) fn section(&self, name: &str) -> Option<&Section<'_>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Returns a relocation's symbol.
    pub(crate) fn symbol(&self, section: &Section<'_>, reloc: &Reloc) -> Result<&Symbol<'_>, ObjectError> {
        self.symbols.get(reloc.symbol as usize).ok_or_else(|| ObjectError::Section {
            section: section.name.to_owned(),
            why: "a relocation names a symbol that isn't there",
        })
    }

    /// Returns a symbol's name for messages. Section symbols have no name of their own.
    pub(crate) fn symbol_name(&self, symbol: &Symbol<'_>) -> String {
        let section = symbol.section.map_or("", |index| self.sections[index].name);
        if symbol.name.is_empty() { section.to_owned() } else { symbol.name.to_owned() }
    }
}
