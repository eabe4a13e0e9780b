//! Loads an object, in steps that each have a file of their own.

use crate::btf::{Btf, Kind};
use crate::budget::Budget;
use crate::code::{self, Places};
use crate::elf::{Elf, bpf_object};
use crate::ext::Ext;
use crate::externs::Externs;
use crate::model::{Function, Object, Program};
use crate::refer::Parts;
use crate::relo::Pair;
use crate::{LoadOptions, ObjectError, data, lines, maps, reach, refer, relo, struct_ops, variables};

/// Loads an object for a kernel with these types.
///
/// `bytes` is a `.bpf.o`, or a little-endian 64-bit ELF binary of any machine that contains one in its section
/// `.bpf.objs`.
///
/// # Errors
/// [`ObjectError`], one sentence that says what is wrong or missing. An access to a field or type that the kernel lacks
/// is not an error: it is poisoned, and listed in [`Function::poison`].
pub fn load(bytes: &[u8], kernel: &Btf, options: &LoadOptions) -> Result<Object, ObjectError> {
    let elf = Elf::parse(bpf_object(bytes)?)?;
    let btf = match elf.section(".BTF") {
        Some(section) => Btf::parse_without_index(section.data)?,
        None => Btf::default(),
    };
    let ext = match elf.section(".BTF.ext") {
        Some(section) => Ext::parse(section.data, &btf, &elf.code_sections())?,
        None => Ext::default(),
    };
    let budget = Budget::new();
    let pair = Pair { local: &btf, kernel, budget: &budget };
    let (places, code) = Places::collect(&elf)?;
    let mut object = Object { license: license(&elf), ..Object::default() };
    object.functions = functions(&places, code);
    object.programs = programs(&elf, &places);

    let map_offsets = maps::collect(&elf, &btf, &mut object.maps)?;
    let section_maps = data::collect(&elf, &mut object.maps)?;
    let mut externs = Externs::resolve(pair, &elf, options)?;
    let kconfig = std::mem::take(&mut externs.kconfig).into_map();
    let kconfig = kconfig.map(|map| {
        object.maps.push(map);
        object.maps.len() as u32 - 1
    });
    let objects = elf.objects();
    object.variables = variables::collect(&elf, &objects, &btf, &section_maps, &object.maps)?;
    variables::fill_constants(kernel, &object.variables, &mut object.maps);

    relo::apply(pair, &places, &ext.core, &mut object.functions)?;
    let parts = Parts {
        elf: &elf,
        places: &places,
        externs: &externs,
        kconfig,
        maps: &map_offsets,
        data: &section_maps,
        budget: &budget,
    };
    refer::resolve(&parts, &mut object)?;
    object.local_types = local_types(&btf, &object);
    object.queues = crate::queues::names(&btf);
    for function in &object.functions {
        code::check(&function.name, &function.insns)?;
    }
    lines::check_functions(&btf, &ext.functions)?;
    lines::attach(&btf, &places, &ext.lines, &mut object.functions)?;
    let source = struct_ops::Source {
        elf: &elf,
        objects: &objects,
        pair,
        places: &places,
        programs: &object.programs,
    };
    object.struct_ops = struct_ops::collect(&source)?;
    reach::leave_out_the_rest(&mut object);
    Ok(object)
}

/// Returns what `bpf_obj_new()` must know of the object's types, if it is called at all.
fn local_types(btf: &Btf, object: &Object) -> Vec<(u32, u32)> {
    const MAKES_OBJECTS: &str = "bpf_obj_new_impl";
    if object.kfuncs.iter().all(|kfunc| kfunc.name != MAKES_OBJECTS) {
        return Vec::new();
    }
    let structures = btf.types().filter(|(_, ty)| matches!(ty.kind, Kind::Struct(_)));
    structures.filter_map(|(id, _)| Some((id.0, btf.size_of(id)?))).collect()
}

fn license(elf: &Elf<'_>) -> String {
    let bytes = elf.section("license").map_or(&[][..], |section| section.data);
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&text[..text.len().min(256)]).into_owned()
}

fn functions(places: &Places, code: Vec<Vec<crate::Insn>>) -> Vec<Function> {
    let function = |((_, place), insns): ((usize, &code::Place), _)| Function {
        name: place.name.clone(),
        insns,
        ..Function::default()
    };
    places.iter().zip(code).map(function).collect()
}

/// Returns the programs: all functions outside `.text`.
pub(crate) fn programs(elf: &Elf<'_>, places: &Places) -> Vec<Program> {
    let program = |(index, place): (usize, &code::Place)| {
        let section = elf.sections[place.section].name;
        (section != ".text").then(|| Program {
            name: place.name.clone(),
            section: section.to_owned(),
            function: index as u32,
            sleepable: sleepable(section),
        })
    };
    places.iter().filter_map(program).collect()
}

/// Returns whether programs in this section may sleep: those whose kind ends in `.s`, and `syscall`.
fn sleepable(section: &str) -> bool {
    let kind = section.strip_prefix('?').unwrap_or(section);
    let kind = kind.split('/').next().unwrap_or_default();
    kind.ends_with(".s") || kind == "syscall"
}
