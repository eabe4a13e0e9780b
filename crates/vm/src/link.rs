//! Connects the helpers, kfuncs, maps and variables that an object's code names to the kernel's.

use crate::code::{Address, Code, NO_IMPORT, Needed};
use crate::error::LoadError;
use crate::memory::VmWorld;
use keel_abi::bpf::{Ea, FuncId, MapId};
use keel_object::model::Object;

/// Something that an object needs from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import<'a> {
    /// A helper, by its number.
    Helper(i32),
    /// A kfunc, by its name.
    Kfunc(&'a str),
}

/// Knows what the kernel has.
pub trait Linker<W> {
    /// The host's number for a helper or kfunc; `None` if it doesn't exist.
    fn function(&mut self, import: Import<'_>) -> Option<FuncId>;
    /// The address of a kernel variable, placed in the world if necessary.
    fn variable(&mut self, world: &mut W, name: &str) -> Option<Ea>;
}

/// For each site, the number of the function called there.
pub(crate) fn functions(code: &Code, linker: &mut dyn Linker<VmWorld>) -> Result<Box<[FuncId]>, LoadError> {
    let mut numbers = Vec::with_capacity(code.imports.len());
    for (needed, user) in &code.imports {
        let (import, what) = match needed {
            Needed::Helper(n) => (Import::Helper(*n), format!("helper {n}")),
            Needed::Kfunc(name) => (Import::Kfunc(name), format!("kfunc {name}")),
        };
        let number = linker.function(import).ok_or_else(|| unsupported(code, what, *user))?;
        numbers.push(number);
    }
    let at = |import: u32| if import == NO_IMPORT { FuncId(u32::MAX) } else { numbers[import as usize] };
    Ok(code.sites.iter().map(|s| at(s.import)).collect())
}

/// For each slot of the address table, its address in this world.
pub(crate) fn addresses(
    code: &Code,
    object: &Object,
    world: &mut VmWorld,
    linker: &mut dyn Linker<VmWorld>,
) -> Result<Box<[u64]>, LoadError> {
    let mut table = Vec::with_capacity(code.addresses.len());
    for (address, user) in &code.addresses {
        let at = match *address {
            Address::Map(map) => world.map_handle(MapId(map)),
            Address::MapValue(map, offset) => world
                .map_value_address(MapId(map), offset)
                .ok_or_else(|| unsupported(code, value_of(object, map, offset), *user))?,
            Address::Ksym(ksym) if object.ksyms[ksym as usize].is_function => {
                Ea(crate::code::kernel_function_address(ksym))
            }
            Address::Ksym(ksym) => {
                let name = &object.ksyms[ksym as usize].name;
                linker
                    .variable(world, name)
                    .ok_or_else(|| unsupported(code, format!("the kernel variable {name}"), *user))?
            }
        };
        table.push(at.0);
    }
    Ok(table.into())
}

fn unsupported(code: &Code, what: String, user: u32) -> LoadError {
    LoadError::Unsupported { what, function: code.functions[user as usize].name.clone() }
}

fn value_of(object: &Object, map: u32, offset: u32) -> String {
    format!("the address of byte {offset} of map `{}`", object.maps[map as usize].name)
}
