//! A scheduler that refers to CPUs by cids (`struct sched_ext_ops_cid`): the arguments of its callbacks, the effect of
//! its return values, and what it may not do. The messages are those of Linux 7.2.13.

use crate::harness::*;
use keel_abi::scx::ExitKind;
use keel_lab::{Engine, Machine, machines};

/// Two nodes of two cores, whose siblings are far apart: CPU 0 and CPU 4 share a core, and so on.
fn far_siblings() -> Machine {
    let text = "name = 'far siblings'\n\
                [topology]\n\
                nodes = 2\n\
                cores_per_llc = 2\n\
                threads_per_core = 2\n\
                numbering = 'threads-last'\n";
    machines::read("m.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

/// Tasks of all kinds: some that wake often, one that is bound to a CPU, two that never sleep.
fn scene(machine: Machine) -> Scenario {
    let base = with_source("tests/objects/cids").on(machine).millis(1000);
    let base = base.task(repeat("worker", [run(400), sleep(300)]).instances(10));
    base.task(repeat("pinned", [run(200), sleep(2000)]).on([1])).task(hog("hog").instances(2))
}

fn check(fault: &str, kind: ExitKind, words: &str) {
    for engine in [Engine::Native, Engine::Interpreter] {
        scene(machines::of_cpus(4)).set("fault", fault).engine(engine).ends(kind, words);
    }
}

#[test]
fn callbacks_and_functions_agree_on_cids() {
    check("none", ExitKind::ErrorBpf, "the cids agree: CPUs 0 to 3 have 0 1 2 3");
    check("reversed", ExitKind::ErrorBpf, "the cids agree: CPUs 0 to 3 have 3 2 1 0");
}

#[test]
fn siblings_and_nodes_have_cids_in_a_row() {
    for engine in [Engine::Native, Engine::Interpreter] {
        let run = scene(far_siblings()).engine(engine).run();
        assert_eq!(run.outcome.message, "the cids agree: CPUs 0 to 3 have 0 2 4 6");
    }
}

#[test]
fn a_mapping_of_its_own_is_one_to_one_and_whole() {
    check("twice", ExitKind::Error, "cid 3 assigned to multiple cpus");
    check("outside", ExitKind::Error, "invalid cid 4");
    check("short", ExitKind::Error, "scx_bpf_cid_override: expected 16 bytes, got 4");
}

#[test]
fn a_cid_that_is_none_ends_it() {
    check("select", ExitKind::Error, "invalid cid 4096");
    check("insert", ExitKind::Error, "invalid cid 4096");
    check("kick", ExitKind::Error, "invalid cid -3");
    check("count", ExitKind::Error, "invalid cid 4096");
}

#[test]
fn it_may_not_name_cpus() {
    let run = scene(machines::of_cpus(4)).set("fault", "by-cpu").run();
    let message = run.outcome.message;
    assert!(message.starts_with("scx_bpf_kick_cpu() may not be called by a sched_ext_ops_cid"), "{message}");
}
