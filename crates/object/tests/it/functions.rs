//! Programs, subprograms, callbacks.

use crate::common::{compile_with, kernel, show, try_load};

#[test]
fn subprograms_and_callbacks_are_found_by_index() {
    let source = r#"
        u64 total;
        static __noinline long add(u64 by) { total += by; return total; }
        __noinline long twice(u64 by) { return add(by) + add(by + 1); }
        static long every(u32 index, void *data) { total += index; return 0; }
        __noinline long global_every(u32 index, void *data) { total -= index; return 0; }
        SEC("syscall") long first(void *ctx) { return twice(7); }
        SEC("fentry.s/bpf_scx_reg") long second(void *ctx) {
            bpf_loop(3, every, 0, 0);
            bpf_loop(3, global_every, 0, 0);
            return add(1);
        }
        SEC("?struct_ops/maybe") long third(void *ctx) { return 0; }
    "#;
    insta::assert_snapshot!(show(&try_load(source).unwrap()));
}

#[test]
fn functions_of_one_section_call_each_other_by_distance() {
    let source = r#"
        SEC("syscall") __noinline long callee(void *ctx) { return *(long *)ctx; }
        SEC("syscall") long caller(void *ctx) { return callee(ctx) + 1; }
    "#;
    let object = try_load(source).unwrap();
    let caller = object.functions.iter().find(|f| f.name == "caller").unwrap();
    let call = caller.insns.iter().find(|i| i.code == 0x85).unwrap();
    assert_eq!((call.src, object.functions[call.imm as usize].name.as_str()), (1, "callee"));
}

/// The loaded functions among these: the names of those with more than `r0 = 0; exit`.
fn check_loaded(source: &str, expected: &[&str]) {
    let object = try_load(source).unwrap();
    let loaded = object.functions.iter().filter(|f| f.insns.len() > 2).map(|f| f.name.as_str());
    assert_eq!(loaded.collect::<Vec<_>>(), expected);
}

#[test]
fn a_function_that_no_program_reaches_is_left_out() {
    let called = r#"
        u64 total;
        __noinline long deep(u64 by) { total += by; return total; }
        __noinline long called(u64 by) { return deep(by) * 3; }
        __noinline long every(u32 index, void *data) { total += index; return total & 1; }
        __noinline long unused(u64 by) { return deep(by) * 5; }
        SEC("syscall") long first(void *ctx) { return called(7) + 1; }
    "#;
    check_loaded(called, &["deep", "called", "first"]);
    let by_address = called.replace("return called(7) + 1", "return bpf_loop(3, every, 0, 0)");
    check_loaded(&by_address, &["every", "first"]);
}

#[test]
fn an_object_without_types_loads_too() {
    let source = "__attribute__((section(\"syscall\"))) long f(long *p) { return *p + 1; }";
    let bytes = compile_with(source, &["-target", "bpf", "-g0"]);
    let object = keel_object::load(&bytes, kernel(), &Default::default()).unwrap();
    assert_eq!(object.programs.len(), 1);
}
