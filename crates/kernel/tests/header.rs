//! The header, the constants that are generated from it, and the words of `keel_abi::scx` agree.

use keel_abi::scx::{self, ExitKind, Op};
use keel_kernel::layout::{self, KERNEL_BTF};
use keel_object::Btf;

fn btf() -> Btf {
    Btf::parse(KERNEL_BTF).expect("the kernel's own BTF")
}

#[test]
fn constants_are_those_of_abi() {
    let btf = btf();
    let check = |name: &str, expected: u64| assert_eq!(btf.enumerator(name), Some(expected), "{name}");

    check("SCX_DSQ_FLAG_BUILTIN", scx::dsq::FLAG_BUILTIN);
    check("SCX_DSQ_FLAG_LOCAL_ON", scx::dsq::FLAG_LOCAL_ON);
    check("SCX_DSQ_INVALID", scx::dsq::INVALID.0);
    check("SCX_DSQ_GLOBAL", scx::dsq::GLOBAL.0);
    check("SCX_DSQ_LOCAL", scx::dsq::LOCAL.0);
    check("SCX_DSQ_BYPASS", scx::dsq::BYPASS.0);
    check("SCX_DSQ_LOCAL_ON", scx::dsq::LOCAL_ON);
    check("SCX_DSQ_LOCAL_CPU_MASK", scx::dsq::LOCAL_CPU_MASK);

    check("SCX_ENQ_WAKEUP", scx::enq::WAKEUP);
    check("SCX_ENQ_HEAD", scx::enq::HEAD);
    check("SCX_ENQ_CPU_SELECTED", scx::enq::CPU_SELECTED);
    check("SCX_ENQ_PREEMPT", scx::enq::PREEMPT);
    check("SCX_ENQ_IMMED", scx::enq::IMMED);
    check("SCX_ENQ_REENQ", scx::enq::REENQ);
    check("SCX_ENQ_LAST", scx::enq::LAST);
    check("SCX_ENQ_CLEAR_OPSS", scx::enq::CLEAR_OPSS);
    check("SCX_ENQ_DSQ_PRIQ", scx::enq::DSQ_PRIQ);

    check("SCX_DEQ_SLEEP", scx::deq::SLEEP);
    check("SCX_DEQ_CORE_SCHED_EXEC", scx::deq::CORE_SCHED_EXEC);
    check("SCX_DEQ_SCHED_CHANGE", scx::deq::SCHED_CHANGE);

    check("SCX_KICK_IDLE", scx::kick::IDLE);
    check("SCX_KICK_PREEMPT", scx::kick::PREEMPT);
    check("SCX_KICK_WAIT", scx::kick::WAIT);
    check("SCX_WAKE_FORK", scx::wake::FORK);
    check("SCX_WAKE_TTWU", scx::wake::TTWU);
    check("SCX_WAKE_SYNC", scx::wake::SYNC);
    check("SCX_PICK_IDLE_CORE", scx::pick_idle::CORE);
    check("SCX_PICK_IDLE_IN_NODE", scx::pick_idle::IN_NODE);

    check("SCX_OPS_KEEP_BUILTIN_IDLE", scx::ops_flags::KEEP_BUILTIN_IDLE);
    check("SCX_OPS_ENQ_LAST", scx::ops_flags::ENQ_LAST);
    check("SCX_OPS_ENQ_EXITING", scx::ops_flags::ENQ_EXITING);
    check("SCX_OPS_SWITCH_PARTIAL", scx::ops_flags::SWITCH_PARTIAL);
    check("SCX_OPS_ENQ_MIGRATION_DISABLED", scx::ops_flags::ENQ_MIGRATION_DISABLED);
    check("SCX_OPS_ALLOW_QUEUED_WAKEUP", scx::ops_flags::ALLOW_QUEUED_WAKEUP);
    check("SCX_OPS_BUILTIN_IDLE_PER_NODE", scx::ops_flags::BUILTIN_IDLE_PER_NODE);
    check("SCX_OPS_ALWAYS_ENQ_IMMED", scx::ops_flags::ALWAYS_ENQ_IMMED);
    check("SCX_OPS_TID_TO_TASK", scx::ops_flags::TID_TO_TASK);

    check("SCX_TASK_QUEUED", scx::ent::QUEUED.into());
    check("SCX_TASK_IMMED", scx::ent::IMMED.into());
    check("SCX_TASK_STATE_MASK", scx::ent::STATE_MASK.into());
    check("SCX_TASK_REENQ_REASON_MASK", scx::ent::REENQ_REASON_MASK.into());
    check("SCX_TASK_REENQ_KFUNC", scx::ent::REENQ_KFUNC.into());
    check("SCX_TASK_REENQ_IMMED", scx::ent::REENQ_IMMED.into());
    check("SCX_TASK_REENQ_PREEMPTED", scx::ent::REENQ_PREEMPTED.into());
    check("SCX_REENQ_LOCAL_MAX_REPEAT", scx::REENQ_LOCAL_MAX_REPEAT.into());
    check("SCX_TASK_RESET_RUNNABLE_AT", scx::ent::RESET_RUNNABLE_AT.into());
    check("SCX_TASK_DEQD_FOR_SLEEP", scx::ent::DEQD_FOR_SLEEP.into());
    check("SCX_TASK_STATE_SHIFT", scx::ent::STATE_SHIFT.into());
    check("SCX_TASK_INIT", scx::ent::STATE_INIT.into());
    check("SCX_TASK_READY", scx::ent::STATE_READY.into());
    check("SCX_TASK_ENABLED", scx::ent::STATE_ENABLED.into());

    check("SCX_SLICE_DFL", scx::SLICE_DFL_NS);
    check("SCX_SLICE_BYPASS", scx::SLICE_BYPASS_NS);
    check("SCX_SLICE_INF", scx::SLICE_INF);
    check("SCX_DSP_DFL_MAX_BATCH", scx::DSP_DFL_MAX_BATCH.into());
    check("SCX_DSP_MAX_LOOPS", scx::DSP_MAX_LOOPS.into());

    check("SCX_EXIT_NONE", ExitKind::None as u64);
    check("SCX_EXIT_DONE", ExitKind::Done as u64);
    check("SCX_EXIT_UNREG", ExitKind::Unreg as u64);
    check("SCX_EXIT_UNREG_BPF", ExitKind::UnregBpf as u64);
    check("SCX_EXIT_UNREG_KERN", ExitKind::UnregKern as u64);
    check("SCX_EXIT_ERROR", ExitKind::Error as u64);
    check("SCX_EXIT_ERROR_BPF", ExitKind::ErrorBpf as u64);
    check("SCX_EXIT_ERROR_STALL", ExitKind::ErrorStall as u64);
}

#[test]
fn every_constant_has_the_value_of_linux() {
    let btf = btf();
    for line in include_str!("data/scx_constants.tsv").lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.split_once('\t').expect("name and value");
        assert_eq!(btf.enumerator(name), Some(value.parse::<i128>().expect(line) as u64), "{name}");
    }
}

#[test]
fn rust_and_bpf_agree_on_the_layout() {
    let btf = btf();
    let constants: std::collections::BTreeMap<_, _> = generated().collect();
    for line in include_str!("../btf/layout.tsv").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split('\t').collect();
        let name = words[2].strip_prefix("struct ").expect("a struct");
        let expected = match words.get(3) {
            Some(path) => btf.field(name, path).unwrap_or_else(|| panic!("{line}")).offset,
            None => btf.struct_size(name).unwrap_or_else(|| panic!("{line}")),
        };
        assert_eq!(constants[&(words[0], words[1])], u64::from(expected), "{line}");
    }
}

/// The generated constants: module, name, value.
fn generated() -> impl Iterator<Item = ((&'static str, &'static str), u64)> {
    let mut module = "";
    include_str!(concat!(env!("OUT_DIR"), "/layout.rs")).lines().filter_map(move |line| {
        if let Some(name) = line.strip_prefix("pub mod ") {
            module = name.trim_end_matches(" {");
        }
        let (name, value) = line.trim().strip_prefix("pub const ")?.split_once(": u64 = ")?;
        Some(((module, name), value.trim_end_matches(';').parse().ok()?))
    })
}

#[test]
fn what_every_switch_touches_lies_in_two_lines() {
    use layout::task;
    let hot = [
        task::SCX_SLICE,
        task::SCX_DSQ_VTIME,
        task::SCX_WEIGHT,
        task::SCX_FLAGS,
        task::FLAGS,
        task::PID,
        task::TGID,
        task::NR_CPUS_ALLOWED,
        task::CPUS_PTR,
        task::MIGRATION_DISABLED,
    ];
    assert!(hot.iter().all(|&offset| offset < 128), "{hot:?}");
    assert_eq!(task::CPUS_MASK % 64, 0);
    const { assert!(task::SIZE <= layout::TASK_STRIDE && layout::TASK_STRIDE <= 704) };
}

#[test]
fn every_callback_is_a_member_of_sched_ext_ops() {
    let btf = btf();
    for op in Op::ALL {
        assert!(btf.field("sched_ext_ops", op.name()).is_some(), "{op:?}");
    }
}

#[test]
fn kfuncs_carry_the_tag() {
    let btf = btf();
    let check = |name: &str, parameters: usize| {
        let function = btf.function(name).unwrap_or_else(|| panic!("{name} is absent"));
        assert!(btf.has_tag(function.id, "bpf_kfunc"), "{name}");
        let prototype = btf.prototype(function.proto).expect("a prototype");
        assert_eq!(prototype.params.len(), parameters, "{name}");
    };
    check("scx_bpf_dsq_insert", 4);
    check("scx_bpf_dsq_insert___v2", 4);
    check("scx_bpf_dsq_move_to_local", 1);
    check("bpf_iter_num_next", 1);
    for absent in ["scx_bpf_dispatch", "scx_bpf_consume", "scx_bpf_dispatch_vtime"] {
        assert!(btf.function(absent).is_none(), "{absent}");
    }
}

#[test]
fn every_kfunc_of_the_header_is_served() {
    let btf = btf();
    let tagged = btf.functions().filter(|function| btf.has_tag(function.id, "bpf_kfunc"));
    let absent: Vec<_> = tagged.map(|f| f.name).filter(|name| keel_kernel::kfunc(name).is_none()).collect();
    assert_eq!(absent, [""; 0], "declared but not served");
}
