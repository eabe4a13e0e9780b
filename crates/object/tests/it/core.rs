//! CO-RE relocations of every kind, against types that differ from the object's.

use keel_object::{Btf, LoadOptions, load};

use crate::common::{kernel, object, types};

const TYPES: &str = r"
struct sched_ext_entity { u32 weight; u64 slice; } CORE;
struct task_struct {
    int pid;
    struct sched_ext_entity scx;
    char comm[16];
    u64 counters[4];
    u32 flag_a : 3;
    u32 flag_b : 7;
    s32 flag_signed : 9;
    u64 narrow;
    struct task_struct *parent;
    float real;
} CORE;
struct task_struct___flavoured { u64 last; struct task_struct *parent; } CORE;
struct task_struct___old { u64 was_here_once; int state; } CORE;
struct task_struct___same { u64 last; } CORE;
struct flexible { u64 items[]; } CORE;
typedef struct { int counter; } CORE atomic_t;
union either { u32 narrow; } CORE;
struct nowhere { int x; } CORE;
enum scx_enq_flags { SCX_ENQ_LAST = 3, SCX_ENQ_NEVER = 9 };
enum scx_enq_flags___flavoured { SCX_ENQ_WAKEUP___flavoured = 77 };
enum small { SMALL_A = 1, SMALL_NEGATIVE = -1 };
struct list { struct list *next, *prev; } CORE;
";

/// What `return EXPRESSION;` loads: a constant, or the offset and size of the last memory access.
#[derive(Debug, PartialEq, Eq)]
enum Loads {
    Constant(i64),
    /// Offset and bytes.
    Memory(i16, u32),
}

fn loads_for(kernel: &Btf, expression: &str) -> Loads {
    let source = format!("{TYPES} SEC(\"syscall\") long f(struct task_struct *p) {{ return {expression}; }}");
    let object = load(&object(&source), kernel, &LoadOptions::default()).unwrap();
    let function = &object.functions[0];
    assert_eq!(function.poison, [], "{expression}");
    let sizes = [4, 2, 1, 8];
    for (at, insn) in function.insns.iter().enumerate().rev() {
        match insn.code {
            0x61 | 0x69 | 0x71 | 0x79 => {
                return Loads::Memory(insn.off, sizes[usize::from(insn.code >> 3 & 3)]);
            }
            0xb4 | 0xb7 | 0x07 => return Loads::Constant(i64::from(insn.imm)),
            0x18 => {
                let high = i64::from(function.insns[at + 1].imm) << 32;
                return Loads::Constant(high | i64::from(insn.imm as u32));
            }
            _ => {}
        }
    }
    panic!("{expression} loads nothing");
}

fn constant(expression: &str, expected: i64) {
    assert_eq!(loads_for(kernel(), expression), Loads::Constant(expected), "{expression}");
}

fn memory(expression: &str, offset: i16, size: u32) {
    assert_eq!(loads_for(kernel(), expression), Loads::Memory(offset, size), "{expression}");
}

#[test]
fn accesses_take_the_kernels_offsets() {
    memory("p->pid", 12, 4);
    memory("p->scx.slice", 48, 8);
    memory("p->comm[3]", 67, 1);
    memory("p->counters[2]", 112, 8);
    memory("p->narrow", 164, 4);
    memory("(long)p->parent", 184, 8);
    memory("((struct task_struct___flavoured *)p)->last", 200, 8);
    memory("((atomic_t *)p)->counter", 4, 4);
    memory("((union either *)p)->narrow", 0, 4);
    memory("((struct flexible *)p)->items[5]", 48, 8);
    memory("p[1].pid", 220, 4);
    memory("(p->flag_b)", 160, 4);
}

#[test]
fn offsets_and_sizes_are_answered() {
    constant("__builtin_preserve_field_info(p->scx.slice, BPF_FIELD_BYTE_OFFSET)", 48);
    constant("__builtin_preserve_field_info(p->comm, BPF_FIELD_BYTE_SIZE)", 32);
    constant("__builtin_preserve_field_info(p->comm[2], BPF_FIELD_BYTE_SIZE)", 1);
    constant("bpf_core_field_size(p->narrow)", 4);
    constant("__builtin_preserve_field_info(p->narrow, BPF_FIELD_SIGNED)", 0);
    constant("__builtin_preserve_field_info(p->pid, BPF_FIELD_SIGNED)", 1);
}

#[test]
fn bit_fields_are_answered() {
    // In the kernel flag_b is bits 3 to 9 and flag_signed bits 10 to 18 of the word at 160.
    constant("__builtin_preserve_field_info(p->flag_b, BPF_FIELD_BYTE_OFFSET)", 160);
    constant("__builtin_preserve_field_info(p->flag_b, BPF_FIELD_BYTE_SIZE)", 4);
    constant("__builtin_preserve_field_info(p->flag_b, BPF_FIELD_LSHIFT_U64)", 64 - 10);
    constant("__builtin_preserve_field_info(p->flag_b, BPF_FIELD_RSHIFT_U64)", 64 - 7);
    constant("__builtin_preserve_field_info(p->flag_signed, BPF_FIELD_SIGNED)", 1);
    constant("__builtin_preserve_field_info(p->flag_signed, BPF_FIELD_LSHIFT_U64)", 64 - 19);
}

#[test]
fn existing_fields_and_types_are_found() {
    constant("bpf_core_field_exists(p->scx.slice)", 1);
    constant("bpf_core_field_exists(((struct task_struct___old *)p)->was_here_once)", 0);
    constant("bpf_core_field_exists(p->real)", 1);
    constant("bpf_core_field_exists(((struct nowhere *)p)->x)", 0);
    constant("bpf_core_field_exists(p->counters[3])", 1);
    constant("bpf_core_type_exists(struct task_struct)", 1);
    constant("bpf_core_type_exists(struct task_struct___old)", 1);
    constant("bpf_core_type_exists(struct nowhere)", 0);
    constant("bpf_core_type_exists(atomic_t)", 1);
    constant("bpf_core_type_exists(union either)", 1);
    constant("bpf_core_enum_value_exists(enum scx_enq_flags, SCX_ENQ_LAST)", 1);
    constant("bpf_core_enum_value_exists(enum scx_enq_flags, SCX_ENQ_NEVER)", 0);
}

#[test]
fn types_are_measured_and_numbered() {
    constant("bpf_core_type_size(struct task_struct)", 208);
    constant("bpf_core_type_size(struct nowhere)", 0);
    constant("bpf_core_type_size(atomic_t)", 8);
    let id = kernel().find_composite("task_struct").unwrap().0;
    constant("bpf_core_type_id_kernel(struct task_struct)", i64::from(id));
    constant("bpf_core_type_id_kernel(struct nowhere)", 0);
    match loads_for(kernel(), "bpf_core_type_id_local(struct task_struct)") {
        Loads::Constant(id) => assert!(id > 0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn enum_values_are_the_kernels() {
    constant("bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_LAST)", 1 << 41);
    constant("bpf_core_enum_value(enum scx_enq_flags___flavoured, SCX_ENQ_WAKEUP___flavoured)", 1);
    constant("bpf_core_enum_value(enum small, SMALL_NEGATIVE)", -7);
    constant("bpf_core_enum_value(enum small, SMALL_A)", 5);
}

#[test]
fn types_match_by_names_kinds_and_sizes() {
    constant("bpf_core_type_matches(struct task_struct___same)", 1);
    constant("bpf_core_type_matches(struct task_struct)", 0);
    constant("bpf_core_type_matches(struct task_struct___old)", 0);
    constant("bpf_core_type_matches(enum scx_enq_flags)", 0);
    constant("bpf_core_type_matches(struct nowhere)", 0);
}

#[test]
fn types_that_refer_to_themselves_end() {
    let kernel = types("struct list { int first; struct list *next, *prev; } list;");
    let check = |expression, expected| assert_eq!(loads_for(&kernel, expression), expected, "{expression}");
    check("(long)((struct list *)p)->prev", Loads::Memory(16, 8));
    check("bpf_core_type_matches(struct list)", Loads::Constant(1));
}

#[test]
fn a_struct_split_by_two_kernel_types_of_one_name_is_refused() {
    let kernel = types("struct task_struct { int pid; } task; struct task_struct___two { int x, pid; } two;");
    let source = format!("{TYPES} SEC(\"syscall\") long f(struct task_struct *p) {{ return p->pid; }}");
    let error = load(&object(&source), &kernel, &LoadOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the CO-RE relocation of instruction 0 of f is malformed: the kernel has several types of that name, which differ in it"
    );
}
