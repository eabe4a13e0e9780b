//! Kernel functions and variables.

use crate::common::{refusal, show, try_load};

#[test]
fn kernel_symbols_resolve_by_libbpfs_rule() {
    let source = r#"
        struct task_struct;
        struct rq { u32 nr_running; } CORE;
        extern const int sd_llc_id __ksym;
        extern struct rq runqueues __ksym __weak;
        extern const int nowhere_typed __ksym __weak;
        extern const void runqueues___void __ksym;
        extern const void scx_bpf_untagged___void __ksym;
        extern const void nowhere_void __ksym __weak;
        extern void scx_bpf_untagged(s32 cpu) __ksym __weak;
        extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
        extern void scx_bpf_kick_cpu___short(s32 cpu) __ksym __weak;
        SEC("syscall") long f(void *ctx) {
            long sum = sd_llc_id + (long)&runqueues + (long)&nowhere_typed;
            sum += (long)&runqueues___void + (long)&scx_bpf_untagged___void + (long)&nowhere_void;
            scx_bpf_kick_cpu(1, 2);
            if (bpf_ksym_exists(scx_bpf_untagged)) scx_bpf_untagged(1);
            if (bpf_ksym_exists(scx_bpf_kick_cpu___short)) scx_bpf_kick_cpu___short(1);
            return sum;
        }
    "#;
    insta::assert_snapshot!(show(&try_load(source).unwrap()));
}

#[test]
fn what_a_strong_one_lacks_is_named() {
    let check = |declaration: &str, call: &str, expected: &str| {
        let source = format!("{declaration} SEC(\"syscall\") long f(void *c) {{ return (long){call}; }}");
        assert_eq!(refusal(&source), expected);
    };
    check(
        "extern int scx_bpf_nowhere(void) __ksym;",
        "scx_bpf_nowhere()",
        "the object needs the kfunc scx_bpf_nowhere, which the kernel doesn't have",
    );
    check(
        "extern int scx_bpf_untagged(s32 cpu) __ksym;",
        "scx_bpf_untagged(1)",
        "the object needs the kfunc scx_bpf_untagged, which the kernel doesn't have",
    );
    check(
        "extern int scx_bpf_kick_cpu(s32 cpu) __ksym;",
        "scx_bpf_kick_cpu(1)",
        "the object needs the kfunc scx_bpf_kick_cpu with another prototype than the kernel's",
    );
    check(
        "extern const int nowhere __ksym;",
        "&nowhere",
        "the object needs the kernel symbol nowhere, which the kernel doesn't have",
    );
    check(
        "extern const int *sd_llc_id __ksym __weak;",
        "&sd_llc_id",
        "the object declares the kernel variable sd_llc_id with another type than the kernel's",
    );
    check(
        "extern int unmarked(void);",
        "unmarked()",
        "unmarked is declared but not defined; mark it __ksym or __kconfig, or link the object that defines it",
    );
}
