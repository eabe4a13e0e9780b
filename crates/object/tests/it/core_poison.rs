//! CO-RE relocations that the kernel's types cannot satisfy.

use keel_object::model::POISON_HELPER;

use crate::common::try_load;

fn poison(declarations: &str, expression: &str, expected: &str) {
    let source =
        format!("{declarations} SEC(\"syscall\") long f(struct task_struct *p) {{ return {expression}; }}");
    let object = try_load(&source).unwrap();
    let function = &object.functions[0];
    let missing: Vec<&str> = function.poison.iter().map(|p| p.missing.as_str()).collect();
    assert_eq!(missing, [expected], "{expression}");
    let at = function.poison[0].insn as usize;
    assert_eq!((function.insns[at].code, function.insns[at].imm), (0x85, POISON_HELPER));
}

#[test]
fn what_is_missing_is_named() {
    let task = "struct inner { u64 cookie; } CORE; struct task_struct { u64 core_cookie; struct inner scx; char pid[4]; s64 narrow_signed; u64 deep[4]; int counters; } CORE;";
    poison(task, "p->core_cookie", "struct task_struct has no field core_cookie");
    poison(task, "p->scx.cookie", "struct task_struct has no field scx.cookie");
    poison(task, "p->deep[2]", "struct task_struct has no field deep[2]");
    poison(task, "p->pid[1]", "struct task_struct has no field pid[1]");
    poison(task, "p->counters", "struct task_struct has another type of field counters");
    poison(task, "p->narrow_signed", "struct task_struct has another size of field narrow_signed");
    poison(
        "struct task_struct; struct nowhere___x { int y; } CORE;",
        "((struct nowhere___x *)p)->y",
        "the kernel has no struct nowhere",
    );
    let big = "struct task_struct { u64 counters[99]; } CORE;";
    poison(big, "p->counters[50]", "struct task_struct has no field counters[50]");
    let flags = "struct task_struct; enum scx_enq_flags { SCX_ENQ_NEVER = 1 };";
    let value = "bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_NEVER)";
    poison(flags, value, "enum scx_enq_flags has no value SCX_ENQ_NEVER");
}

#[test]
fn both_halves_of_a_wide_load_are_poisoned() {
    let source = "enum scx_enq_flags { SCX_ENQ_NEVER = 1 };
        SEC(\"syscall\") long f(void *p) { return bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_NEVER); }";
    let object = try_load(source).unwrap();
    let codes: Vec<(u8, i32)> = object.functions[0].insns.iter().map(|i| (i.code, i.imm)).collect();
    assert_eq!(codes, [(0x85, POISON_HELPER), (0x85, POISON_HELPER), (0x95, 0)]);
}

#[test]
fn a_guarded_access_is_poisoned_behind_its_guard() {
    let source = "struct task_struct { u64 core_cookie; } CORE;
        SEC(\"syscall\") long f(struct task_struct *p) {
            if (bpf_core_field_exists(p->core_cookie)) return p->core_cookie;
            return 3;
        }";
    let object = try_load(source).unwrap();
    let function = &object.functions[0];
    assert_eq!(function.poison.len(), 1);
    // The guard's answer, which lets the poison be skipped.
    assert!(function.insns.iter().any(|i| matches!(i.code, 0xb7 | 0xb4) && i.imm == 0));
}
