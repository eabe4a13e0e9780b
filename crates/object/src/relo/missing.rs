//! Describes what a kernel lacks: `struct task_struct has no field core_cookie`.

use super::kinds::{Ask, Subject};
use super::spec::Spec;
use crate::btf::{Btf, Kind, essential_name};

/// Describes why none of the kernel's candidates has an answer.
pub(super) fn missing(local: &Btf, kernel: &Btf, spec: &Spec, ask: Ask, candidates: usize) -> String {
    let keyword = keyword(local.kind(spec.root));
    let name = essential_name(local.name(spec.root));
    if candidates == 0 {
        return format!("the kernel has no {keyword} {name}");
    }
    let path = path(local, spec);
    match ask.subject() {
        Subject::Enum => format!("{keyword} {name} has no value {path}"),
        Subject::Type => format!("{keyword} {name} differs from the kernel's"),
        Subject::Field if kernel.field(name, &path).is_some() => {
            format!("{keyword} {name} has another type of field {path}")
        }
        Subject::Field => format!("{keyword} {name} has no field {path}"),
    }
}

/// Describes that a field exists but that this instruction would misread it.
pub(super) fn misread(local: &Btf, spec: &Spec) -> String {
    let keyword = keyword(local.kind(spec.root));
    let name = essential_name(local.name(spec.root));
    format!("{keyword} {name} has another size of field {}", path(local, spec))
}

fn keyword(kind: &Kind) -> &'static str {
    match kind {
        Kind::Struct(_) => "struct",
        Kind::Union(_) => "union",
        Kind::Enum(_) => "enum",
        Kind::Typedef(_) => "typedef",
        _ => "type",
    }
}

fn path(btf: &Btf, spec: &Spec) -> String {
    let mut path = String::new();
    for (at, step) in spec.steps.iter().enumerate() {
        let index = step.index as usize;
        let name = match btf.kind(step.ty) {
            _ if !step.named => "",
            Kind::Struct(s) | Kind::Union(s) => s.members.get(index).map_or("", |m| btf.member_name(m)),
            Kind::Enum(e) => e.values.get(index).map_or("", |v| btf.str_or_empty(v.name)),
            _ => "",
        };
        if !step.named {
            if at > 0 {
                path += &format!("[{index}]");
            }
            continue;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path += name;
    }
    path
}
