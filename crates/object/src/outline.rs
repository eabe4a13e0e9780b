//! Reads the contents of an object without any kernel's types, for callers that leave loading to a real kernel.

use crate::btf::{Btf, Kind, TypeId};
use crate::code::Places;
use crate::elf::{Elf, bpf_object};
use crate::load::programs;
use crate::model::{Object, Program, SCHEDULERS};
use crate::{ObjectError, data, maps, variables};

/// An object that is not loaded.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The `.bpf.o` itself, without the binary that contained it.
    pub bytes: Vec<u8>,
    /// Its types.
    pub btf: Btf,
    /// Global data with its variables, and programs without their functions. Nothing is relocated.
    pub object: Object,
}

/// Reads an object without a kernel: see [`load`](crate::load()) for what `bytes` may be.
///
/// # Errors
/// [`ObjectError`], one sentence that says what is wrong.
pub fn outline(bytes: &[u8]) -> Result<Outline, ObjectError> {
    let bytes = bpf_object(bytes)?;
    let elf = Elf::parse(bytes)?;
    let btf = match elf.section(".BTF") {
        Some(section) => Btf::parse(section.data)?,
        None => Btf::default(),
    };
    let (places, _) = Places::collect(&elf)?;
    let programs = programs(&elf, &places);
    let mut object = Object { programs, ..Object::default() };
    // A real kernel may accept kinds of maps that are rejected here, so errors are ignored.
    let _ = maps::collect(&elf, &btf, &mut object.maps);
    let data = data::collect(&elf, &mut object.maps)?;
    object.variables = variables::collect(&elf, &elf.objects(), &btf, &data, &object.maps)?;
    Ok(Outline { bytes: bytes.to_vec(), btf, object })
}

impl Outline {
    /// Returns the `struct sched_ext_ops` that it defines: each variable's name and type.
    pub fn schedulers(&self) -> Vec<(&str, TypeId)> {
        let named = |ty: TypeId| crate::btf::essential_name(self.btf.name(self.btf.skip_modifiers(ty)));
        let in_section = |section: &str| section.trim_start_matches('?').starts_with(".struct_ops");
        let found = self
            .btf
            .variables()
            .filter(|(section, _, ty)| in_section(section) && SCHEDULERS.contains(&named(*ty)));
        found.map(|(_, name, ty)| (name, ty)).collect()
    }

    /// Returns the struct type of a global variable.
    pub fn struct_of(&self, variable: &str) -> Option<TypeId> {
        let (_, _, ty) = self.btf.variables().find(|(_, name, _)| *name == variable)?;
        let ty = self.btf.skip_modifiers(ty);
        matches!(self.btf.kind(ty), Kind::Struct(_)).then_some(ty)
    }

    /// Returns a program by its name.
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.object.programs.iter().find(|program| program.name == name)
    }

    /// Fills the constants that schedulers of the scx repository leave to their loader: see [`load`](crate::load()).
    /// Returns false, without calling `kernel`, if there are none.
    pub fn fill_constants(&mut self, kernel: impl FnOnce() -> Option<Btf>) -> bool {
        let is_constant = |name: &str| name.starts_with("__SCX_");
        if !self.object.variables.iter().any(|variable| is_constant(&variable.name)) {
            return false;
        }
        kernel()
            .map(|kernel| variables::fill_constants(&kernel, &self.object.variables, &mut self.object.maps))
            .is_some()
    }
}
