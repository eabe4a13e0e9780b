//! Objects as text: instructions by number, references by name.

use std::fmt::Write;

use keel_object::model::{
    POISON_HELPER, PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_KFUNC, PSEUDO_KSYM, PSEUDO_MAP, PSEUDO_MAP_VALUE,
};
use keel_object::{Function, Insn, Object};

/// Everything but plain instructions and lines.
pub(crate) fn show(object: &Object) -> String {
    let mut out = format!("license {}\n", object.license);
    for program in &object.programs {
        let sleepable = if program.sleepable { " sleepable" } else { "" };
        writeln!(out, "program {} in {}{sleepable}", program.name, program.section).unwrap();
    }
    for map in &object.maps {
        write!(out, "map {} kind {} key {}", map.name, map.kind, map.key_size).unwrap();
        write!(out, " value {} entries {} flags {:#x}", map.value_size, map.max_entries, map.flags).unwrap();
        let inner = map.inner.map_or(String::new(), |i| format!(" inner {}", object.maps[i as usize].name));
        let read_only = if map.read_only { " read-only" } else { "" };
        writeln!(out, "{inner}{read_only}").unwrap();
    }
    for ops in &object.struct_ops {
        writeln!(out, "struct_ops {} of {} link {}", ops.variable, ops.type_name, ops.link).unwrap();
        for (member, program) in &ops.callbacks {
            writeln!(out, "  {member} = {}", object.programs[*program as usize].name).unwrap();
        }
        writeln!(out, "  name: {}", ops.name()).unwrap();
        for (member, _) in ops.fields.iter().filter(|(member, _)| member != "name") {
            writeln!(out, "  {member}: {:#x}", ops.integer(member)).unwrap();
        }
    }
    for variable in &object.variables {
        let bytes =
            &object.maps[variable.map as usize].initial[variable.offset as usize..][..variable.size as usize];
        let map = &object.maps[variable.map as usize].name;
        writeln!(out, "variable {} in {map}, signed {:?}, {bytes:?}", variable.name, variable.signed)
            .unwrap();
    }
    for kfunc in &object.kfuncs {
        writeln!(out, "kfunc {} as {}", kfunc.name, kfunc.symbol).unwrap();
    }
    for ksym in &object.ksyms {
        writeln!(out, "ksym {} function {}", ksym.name, ksym.is_function).unwrap();
    }
    for function in &object.functions {
        out += &show_references(object, function);
    }
    out
}

fn show_references(object: &Object, function: &Function) -> String {
    let mut out = format!("function {}\n", function.name);
    for (at, insn) in function.insns.iter().enumerate() {
        if let Some(text) = reference(object, insn, function.insns.get(at + 1)) {
            writeln!(out, "  {text}").unwrap();
        }
    }
    for poison in &function.poison {
        assert_eq!(function.insns[poison.insn as usize].imm, POISON_HELPER);
        writeln!(out, "  poison: {}", poison.missing).unwrap();
    }
    out
}

fn reference(object: &Object, insn: &Insn, next: Option<&Insn>) -> Option<String> {
    let index = insn.imm as usize;
    let high = next.map_or(0, |next| next.imm);
    match (insn.code, insn.src) {
        (0x18, PSEUDO_MAP) => Some(format!("map {}", object.maps[index].name)),
        (0x18, PSEUDO_MAP_VALUE) => Some(format!("value {}+{high}", object.maps[index].name)),
        (0x18, PSEUDO_KSYM) => Some(format!("ksym {}", object.ksyms[index].name)),
        (0x18, PSEUDO_FUNC) => Some(format!("callback {}", object.functions[index].name)),
        (0x18, _) => Some(format!("constant {:#x}", (high as u32 as u64) << 32 | insn.imm as u32 as u64)),
        (0x85, PSEUDO_CALL) => Some(format!("call {}", object.functions[index].name)),
        (0x85, PSEUDO_KFUNC) => Some(format!("kfunc {}", object.kfuncs[index].symbol)),
        (0x85, _) if insn.imm == POISON_HELPER => None,
        (0x85, _) => Some(format!("helper {}", insn.imm)),
        _ => None,
    }
}

/// The instructions of one function.
pub(crate) fn show_function(object: &Object, name: &str) -> String {
    let function = object.functions.iter().find(|f| f.name == name).expect("there is no such function");
    let mut out = String::new();
    for (at, i) in function.insns.iter().enumerate() {
        writeln!(out, "{at}: {:#04x} dst {} src {} off {} imm {}", i.code, i.dst, i.src, i.off, i.imm)
            .unwrap();
    }
    for line in function.lines.iter() {
        writeln!(out, "line {} of insn {}: {}", line.line, line.insn, line.text).unwrap();
    }
    out
}
