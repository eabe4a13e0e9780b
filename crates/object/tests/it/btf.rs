//! Queries of a kernel's types.

use keel_object::btf::Bits;

use crate::common::kernel;

#[test]
fn members_lie_where_the_compiler_put_them() {
    let check = |path, expected| {
        let found = kernel().field("task_struct", path).map(|f| (f.offset, f.size, f.bits));
        assert_eq!(found, expected, "{path}");
    };
    check("state", Some((0, 8, None)));
    check("pid", Some((12, 4, None)));
    check("other", Some((12, 4, None)));
    check("scx", Some((16, 48, None)));
    check("scx.slice", Some((48, 8, None)));
    check("comm", Some((64, 32, None)));
    check("flag_b", Some((160, 4, Some(Bits { offset: 1283, size: 7 }))));
    check("cgroups", Some((192, 8, None)));
    check("nowhere", None);
    check("scx.nowhere", None);
    check("state.deeper", None);
    check("", None);
}

#[test]
fn sizes_and_enum_values_go_by_name() {
    let kernel = kernel();
    assert_eq!(kernel.struct_size("task_struct"), Some(208));
    assert_eq!(kernel.struct_size("atomic_t"), Some(8), "a typedef of a struct without a name");
    assert_eq!(kernel.field("atomic_t", "counter").map(|f| f.offset), Some(4));
    assert_eq!(kernel.struct_size("nowhere"), None);
    assert_eq!(kernel.enum_value("scx_enq_flags", "SCX_ENQ_LAST"), Some(1 << 41));
    assert_eq!(kernel.enum_value("small", "SMALL_NEGATIVE"), Some(-7i64 as u64));
    assert_eq!(kernel.enum_value("small", "SCX_ENQ_LAST"), None);
    assert_eq!(kernel.enumerator("SCX_DSQ_LOCAL"), Some((1 << 63) | 2));
    assert_eq!(kernel.enumerator("SCX_DSQ_NOWHERE"), None);
    assert_eq!(kernel.enumerators("scx_enq_flags").count(), 2);
}

#[test]
fn kfuncs_are_the_tagged_functions() {
    let kernel = kernel();
    let tagged: Vec<&str> =
        kernel.functions().filter(|f| kernel.has_tag(f.id, "bpf_kfunc")).map(|f| f.name).collect();
    let expected =
        ["scx_bpf_create_dsq", "scx_bpf_dsq_insert", "scx_bpf_dsq_move_to_local", "scx_bpf_kick_cpu"];
    assert_eq!(tagged, expected);
    let insert = kernel.function("scx_bpf_dsq_insert").unwrap();
    let proto = kernel.prototype(insert.proto).unwrap();
    let names: Vec<&str> = proto.params.iter().map(|p| kernel.param_name(p)).collect();
    assert_eq!(names, ["p", "dsq_id", "slice", "enq_flags"]);
    assert!(kernel.function("scx_bpf_untagged").is_some());
}

#[test]
fn variables_are_listed_with_their_section() {
    let found: Vec<(&str, &str)> = kernel()
        .variables()
        .filter(|(section, _, _)| *section == ".data..percpu")
        .map(|(section, name, _)| (section, name))
        .collect();
    assert_eq!(found, [(".data..percpu", "sd_llc_id"), (".data..percpu", "runqueues")]);
}
