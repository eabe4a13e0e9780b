//! Reads an object's section headers, symbols and relocations, with the raw structures of the `object` crate on
//! crates.io.

use object::LittleEndian as Le;
use object::elf::{
    self, ELFCLASS64, ELFDATA2LSB, FileHeader64, Rel64, SHF_ALLOC, SHF_EXECINSTR, SHN_UNDEF, SHT_NOBITS,
    SHT_REL, SHT_RELA, SHT_SYMTAB, STB_LOCAL, STB_WEAK, STT_FUNC, STT_NOTYPE, STT_OBJECT, STT_SECTION,
    SectionHeader64, Sym64,
};
use object::read::elf::{FileHeader as _, Rel as _, SectionHeader as _, Sym as _};

use super::{EM_BPF, Elf, MAX_OBJECT, Reloc, Section, Symbol, SymbolKind};
use crate::ObjectError;

/// The maximum length of a name, so that many names that share their bytes cost little.
const MAX_NAME: usize = 1024;

/// A file's section headers, with their names.
pub(super) struct Headers<'a> {
    bytes: &'a [u8],
    pub(super) machine: u16,
    headers: &'a [SectionHeader64<Le>],
    names: &'a [u8],
}

impl<'a> Headers<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Headers<'a>, ObjectError> {
        check_encoding(bytes)?;
        let header = FileHeader64::<Le>::parse(bytes).map_err(broken)?;
        let headers = header.section_headers(Le, bytes).map_err(broken)?;
        let names = match header.shstrndx(Le, bytes) {
            Ok(index) => headers.get(index as usize),
            Err(_) => None,
        };
        let names = names.map_or(Ok(&[][..]), |section| section.data(Le, bytes).map_err(broken))?;
        Ok(Headers { bytes, machine: header.e_machine(Le).0, headers, names })
    }

    pub(super) fn named(&self) -> impl Iterator<Item = (&'a str, &'a SectionHeader64<Le>)> + '_ {
        self.headers.iter().map(|header| (string(self.names, header.sh_name(Le)).unwrap_or(""), header))
    }

    pub(super) fn data(&self, header: &'a SectionHeader64<Le>) -> Result<&'a [u8], ObjectError> {
        header.data(Le, self.bytes).map_err(broken)
    }
}

fn check_encoding(bytes: &[u8]) -> Result<(), ObjectError> {
    const CLASS_64: u8 = ELFCLASS64.0;
    const LITTLE_ENDIAN: u8 = ELFDATA2LSB.0;
    if bytes.get(..4) != Some(&elf::ELFMAG[..]) {
        return Err(ObjectError::Elf("it doesn't start like one".to_owned()));
    }
    match (bytes.get(4), bytes.get(5)) {
        (Some(&CLASS_64), Some(&LITTLE_ENDIAN)) => Ok(()),
        (Some(&CLASS_64), Some(_)) => Err(ObjectError::Encoding("big-endian")),
        (Some(_), Some(_)) => Err(ObjectError::Encoding("32-bit")),
        _ => Err(ObjectError::Elf("it ends within its header".to_owned())),
    }
}

impl<'a> Elf<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Elf<'a>, ObjectError> {
        if bytes.len() > MAX_OBJECT {
            return Err(ObjectError::TooLarge { what: "size in bytes", limit: MAX_OBJECT as u64 });
        }
        let headers = Headers::parse(bytes)?;
        if headers.machine != EM_BPF {
            return Err(ObjectError::Machine(headers.machine));
        }
        let mut sections = Vec::with_capacity(headers.headers.len());
        for (name, header) in headers.named() {
            sections.push(section(&headers, name, header)?);
        }
        let symbols = symbols(&headers, sections.len())?;
        relocations(&headers, &mut sections)?;
        Ok(Elf { sections, symbols })
    }
}

fn section<'a>(
    headers: &Headers<'a>,
    name: &'a str,
    header: &'a SectionHeader64<Le>,
) -> Result<Section<'a>, ObjectError> {
    let flags = header.sh_flags(Le);
    let alloc = flags.contains(SHF_ALLOC);
    // .BTF.ext and .BTF are not in memory at run time, but are read here.
    let data = headers.data(header)?;
    let data_kind = header.sh_type(Le);
    Ok(Section {
        name,
        code: alloc && flags.contains(SHF_EXECINSTR),
        alloc,
        zeroes: data_kind == SHT_NOBITS,
        data,
        size: header.sh_size(Le),
        relocs: Vec::new(),
    })
}

fn symbols<'a>(headers: &Headers<'a>, sections: usize) -> Result<Vec<Symbol<'a>>, ObjectError> {
    let Some(table) = headers.headers.iter().find(|header| header.sh_type(Le) == SHT_SYMTAB) else {
        return Ok(Vec::new());
    };
    let symbols: &[Sym64<Le>] = table.data_as_array(Le, headers.bytes).map_err(broken)?;
    let names = headers.headers.get(table.sh_link(Le) as usize);
    let names = names.map_or(Ok(&[][..]), |section| headers.data(section))?;
    symbols.iter().map(|symbol| parse_symbol(symbol, names, sections)).collect()
}

fn parse_symbol<'a>(symbol: &Sym64<Le>, names: &'a [u8], sections: usize) -> Result<Symbol<'a>, ObjectError> {
    let name = string(names, symbol.st_name(Le))
        .ok_or_else(|| ObjectError::Elf("a symbol's name cannot be read".to_owned()))?;
    let index = symbol.st_shndx(Le);
    let section = usize::from(index.0);
    Ok(Symbol {
        name,
        section: (index != SHN_UNDEF && section < sections).then_some(section),
        undefined: index == SHN_UNDEF,
        kind: match symbol.st_type() {
            STT_FUNC => SymbolKind::Function,
            STT_OBJECT => SymbolKind::Object,
            STT_SECTION => SymbolKind::Section,
            STT_NOTYPE => SymbolKind::Untyped,
            _ => SymbolKind::Other,
        },
        local: symbol.st_bind() == STB_LOCAL,
        weak: symbol.st_bind() == STB_WEAK,
        value: symbol.st_value(Le),
        size: symbol.st_size(Le),
    })
}

fn relocations(headers: &Headers<'_>, sections: &mut [Section<'_>]) -> Result<(), ObjectError> {
    let with_addend = |h: &SectionHeader64<Le>| {
        h.sh_type(Le) == SHT_RELA && sections.get(h.sh_info(Le) as usize).is_some_and(|s| s.alloc)
    };
    if headers.headers.iter().any(with_addend) {
        return Err(ObjectError::Elf("its relocations have addends, which BPF's do not have".to_owned()));
    }
    let mut left = headers.bytes.len() / size_of::<Rel64<Le>>();
    for header in headers.headers.iter().filter(|header| header.sh_type(Le) == SHT_REL) {
        let relocs: &[Rel64<Le>] = header.data_as_array(Le, headers.bytes).map_err(broken)?;
        left = left
            .checked_sub(relocs.len())
            .ok_or_else(|| ObjectError::Elf("its relocation sections overlap".to_owned()))?;
        let Some(target) = sections.get_mut(header.sh_info(Le) as usize) else {
            return Err(ObjectError::Elf("a relocation section applies to no section".to_owned()));
        };
        target.relocs.extend(relocs.iter().map(|r| Reloc { offset: r.r_offset(Le), symbol: r.r_sym(Le) }));
    }
    Ok(())
}

fn string(table: &[u8], offset: u32) -> Option<&str> {
    if offset == 0 {
        return Some("");
    }
    let rest = table.get(offset as usize..)?;
    let rest = &rest[..rest.len().min(MAX_NAME)];
    let text = std::ffi::CStr::from_bytes_until_nul(rest).ok()?.to_str().ok()?;
    // Names are printed in messages, so they must not contain line breaks or terminal escapes.
    (!text.contains(char::is_control)).then_some(text)
}

fn broken(error: object::Error) -> ObjectError {
    ObjectError::Elf(error.to_string())
}
