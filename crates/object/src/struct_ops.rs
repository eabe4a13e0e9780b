//! Reads struct_ops variables: the program of each callback, and the values of the other members.

use std::collections::BTreeMap;

use crate::ObjectError;
use crate::btf::{Btf, Kind, Struct, TypeId, essential_name};
use crate::code::{Places, SLOT};
use crate::elf::{Elf, Objects, Section};
use crate::model::{Program, StructOps};
use crate::relo::Pair;

/// The sections that contain them. With a question mark, user space decides whether they are used.
const SECTIONS: [(&str, bool); 4] = [
    (".struct_ops", false),
    (".struct_ops.link", true),
    ("?.struct_ops", false),
    ("?.struct_ops.link", true),
];
/// The maximum number of members that are set in all variables: far more than any kernel has, and still harmless.
const MAX_SET: usize = 4096;
/// The maximum size of a member that is set, in bytes.
const MAX_MEMBER: usize = 4096;

/// What variables are read from.
pub(crate) struct Source<'a> {
    pub(crate) elf: &'a Elf<'a>,
    pub(crate) objects: &'a Objects<'a>,
    pub(crate) pair: Pair<'a>,
    pub(crate) places: &'a Places,
    pub(crate) programs: &'a [Program],
}

/// Reads every struct_ops variable.
pub(crate) fn collect(source: &Source<'_>) -> Result<Vec<StructOps>, ObjectError> {
    let mut found = Vec::new();
    for (name, link) in SECTIONS {
        let Some(index) = source.elf.sections.iter().position(|s| s.name == name) else { continue };
        let section = &source.elf.sections[index];
        let targets = targets(source, section)?;
        for (variable, ty) in variables(source.pair.local, name) {
            let bad =
                |why: &str| ObjectError::StructOps { variable: variable.to_owned(), why: why.to_owned() };
            let start = *source.objects.get(&(index, variable)).ok_or_else(|| bad("it has no symbol"))?;
            let reader = Reader { source, section, targets: &targets, variable, start };
            let budget = MAX_SET - found.iter().map(set).sum::<usize>().min(MAX_SET);
            found.push(reader.read(ty, link, budget)?);
        }
    }
    Ok(found)
}

fn set(ops: &StructOps) -> usize {
    ops.callbacks.len() + ops.fields.len() + 1
}

fn variables<'a>(btf: &'a Btf, section: &str) -> Vec<(&'a str, TypeId)> {
    btf.variables().filter(|(found, _, _)| *found == section).map(|(_, name, ty)| (name, ty)).collect()
}

/// Returns the programs that the section's relocations name, by the offsets of the pointers.
fn targets(source: &Source<'_>, section: &Section<'_>) -> Result<BTreeMap<u64, u32>, ObjectError> {
    let bad = |why| ObjectError::Section { section: section.name.to_owned(), why };
    let programs: BTreeMap<u32, u32> =
        source.programs.iter().enumerate().map(|(program, p)| (p.function, program as u32)).collect();
    let mut targets = BTreeMap::new();
    for reloc in &section.relocs {
        let symbol = source.elf.symbol(section, reloc)?;
        let addend = word(section.data, reloc.offset).ok_or(bad("a relocation lies outside it"))?;
        let code = symbol.section.filter(|&index| source.elf.sections[index].code);
        let code = code.ok_or(bad("a member points to something that is not a program"))?;
        let offset = symbol.value.checked_add(addend).filter(|offset| offset.is_multiple_of(SLOT));
        let function = offset.and_then(|offset| source.places.starting(code, offset / SLOT));
        let program = function.and_then(|function| programs.get(&(function as u32)));
        targets
            .insert(reloc.offset, *program.ok_or(bad("a member points to something that is not a program"))?);
    }
    Ok(targets)
}

fn word(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let found = bytes.get(at..at.checked_add(8)?)?;
    found.try_into().ok().map(u64::from_le_bytes)
}

struct Reader<'a> {
    source: &'a Source<'a>,
    section: &'a Section<'a>,
    targets: &'a BTreeMap<u64, u32>,
    variable: &'a str,
    /// The offset from the section's start, in bytes.
    start: u64,
}

impl Reader<'_> {
    fn read(&self, ty: TypeId, link: bool, budget: usize) -> Result<StructOps, ObjectError> {
        let btf = self.source.pair.local;
        let ty = btf.skip_modifiers(ty);
        let Kind::Struct(definition) = btf.kind(ty) else { return Err(self.bad("it is not a struct")) };
        let type_name = essential_name(btf.name(ty)).to_owned();
        let kernel_type =
            self.source.pair.kernel.find_kind(&type_name, |kind| matches!(kind, Kind::Struct(_)));
        let kernel_type = kernel_type.ok_or_else(|| ObjectError::StructOpsType {
            variable: self.variable.to_owned(),
            type_name: type_name.clone(),
        })?;
        let mut ops =
            StructOps { variable: self.variable.to_owned(), type_name, link, ..StructOps::default() };
        let end = self.start.checked_add(u64::from(definition.size));
        if end.is_none_or(|end| end > self.section.data.len() as u64) {
            return Err(self.bad("it reaches beyond its section"));
        }
        for index in 0..definition.members.len() {
            self.member(definition, index, kernel_type, &mut ops)?;
            if set(&ops) > budget {
                return Err(ObjectError::TooLarge { what: "set struct_ops members", limit: MAX_SET as u64 });
            }
        }
        Ok(ops)
    }

    fn member(
        &self,
        definition: &Struct,
        index: usize,
        kernel_type: TypeId,
        ops: &mut StructOps,
    ) -> Result<(), ObjectError> {
        let (btf, member) = (self.source.pair.local, &definition.members[index]);
        let name = btf.member_name(member);
        let Some(size) = btf.size_of(member.ty) else { return Err(self.bad("a member has no size")) };
        let offset = self.start + u64::from(member.bit_offset / 8);
        if u64::from(member.bit_offset / 8) + u64::from(size) > u64::from(definition.size) {
            return Err(self.bad("a member reaches beyond its end"));
        }
        // Members of a hostile type may all cover the same bytes.
        let spent = self.source.pair.budget.spend(1 + u64::from(size) / 64);
        spent.map_err(|_| ObjectError::TooComplex)?;
        let target = self.targets.get(&offset).filter(|_| size == 8);
        let bytes = &self.section.data[offset as usize..(offset + u64::from(size)) as usize];
        if target.is_none() && bytes.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        if member.bit_size > 0 || name.is_empty() {
            return Err(self.bad("it sets a bit-field or a member without a name, which is not read"));
        }
        if self.source.pair.kernel.field_of(kernel_type, name).is_none() {
            return Err(ObjectError::StructOpsMember {
                variable: self.variable.to_owned(),
                type_name: ops.type_name.clone(),
                member: name.to_owned(),
            });
        }
        if bytes.len() > MAX_MEMBER {
            return Err(ObjectError::TooLarge {
                what: "struct_ops member in bytes",
                limit: MAX_MEMBER as u64,
            });
        }
        match target {
            Some(&program) => ops.callbacks.push((name.to_owned(), program)),
            None => ops.fields.push((name.to_owned(), bytes.to_vec())),
        }
        Ok(())
    }

    fn bad(&self, why: &str) -> ObjectError {
        ObjectError::StructOps { variable: self.variable.to_owned(), why: why.to_owned() }
    }
}
