//! ELF: sections with their bytes, symbols, relocations; and finding the object inside a binary.
//!
//! In a hostile file, all section headers may point at the same bytes, and all symbols at the same name, so the amount
//! read is kept in proportion to the file.

mod carrier;
mod read;

pub(crate) use carrier::bpf_object;

use std::collections::BTreeMap;

use crate::ObjectError;

/// ELF's machine number of BPF.
const EM_BPF: u16 = 247;
/// An object's bytes at most.
const MAX_OBJECT: usize = 32 << 20;

/// A BPF object's ELF.
#[derive(Debug)]
pub(crate) struct Elf<'a> {
    /// By ELF's own section numbers.
    pub(crate) sections: Vec<Section<'a>>,
    /// By ELF's own symbol numbers.
    pub(crate) symbols: Vec<Symbol<'a>>,
}

#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    /// Does it hold instructions?
    pub(crate) code: bool,
    /// Does it hold bytes that are there at run time?
    pub(crate) alloc: bool,
    /// Has it a size, but no bytes (`.bss`)?
    pub(crate) zeroes: bool,
    /// Its bytes; empty for `zeroes`.
    pub(crate) data: &'a [u8],
    /// Bytes.
    pub(crate) size: u64,
    /// Relocations that apply to it, in the file's order.
    pub(crate) relocs: Vec<Reloc>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reloc {
    /// Bytes from the section's start.
    pub(crate) offset: u64,
    /// Index into the symbols.
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
    /// Index into the sections; `None` for undefined and absolute symbols.
    pub(crate) section: Option<usize>,
    pub(crate) undefined: bool,
    pub(crate) kind: SymbolKind,
    pub(crate) local: bool,
    pub(crate) weak: bool,
    /// Bytes from the section's start.
    pub(crate) value: u64,
    /// Bytes.
    pub(crate) size: u64,
}

/// Positions of named objects: offsets by section and name.
pub(crate) type Objects<'a> = BTreeMap<(usize, &'a str), u64>;

impl Elf<'_> {
    /// Code sections by name; of several with one name the first.
    pub(crate) fn code_sections(&self) -> BTreeMap<&str, usize> {
        let sections = self.sections.iter().enumerate().rev();
        sections.filter(|(_, section)| section.code).map(|(index, section)| (section.name, index)).collect()
    }

    /// Every named object; a name that statics of several files share refers to the last one.
    pub(crate) fn objects(&self) -> Objects<'_> {
        let objects = self.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Object);
        objects.filter_map(|symbol| Some(((symbol.section?, symbol.name), symbol.value))).collect()
    }

    /// The section of that name; the first, if there are several.
    pub(crate) fn section(&self, name: &str) -> Option<&Section<'_>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// A relocation's symbol.
    pub(crate) fn symbol(&self, section: &Section<'_>, reloc: &Reloc) -> Result<&Symbol<'_>, ObjectError> {
        self.symbols.get(reloc.symbol as usize).ok_or_else(|| ObjectError::Section {
            section: section.name.to_owned(),
            why: "a relocation names a symbol that isn't there",
        })
    }

    /// What to call a symbol in a message: section symbols have no name of their own.
    pub(crate) fn symbol_name(&self, symbol: &Symbol<'_>) -> String {
        let section = symbol.section.map_or("", |index| self.sections[index].name);
        if symbol.name.is_empty() { section.to_owned() } else { symbol.name.to_owned() }
    }
}
