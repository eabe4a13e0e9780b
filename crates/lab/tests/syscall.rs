//! `SEC("syscall")` programs: which functions they may call, before and while a scheduler is attached.
#![forbid(unsafe_code)]

mod common;

use common::{spec, two_nodes, workload};
use keel_abi::scx::ExitKind;
use keel_lab::{Engine, LabError, Outcome, RunSpec, SchedulerSource};
use keel_recipe::Recipe;

type Ran = Result<(Outcome, Vec<(String, u64)>), LabError>;

fn run(recipe: &str) -> Ran {
    let compiler =
        keel_bpfc::Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf");
    let bytes = compiler.compile("tests/sim/recipe/syscall.bpf.c").unwrap_or_else(|e| panic!("{e}"));
    let recipe = Recipe::read("r", recipe).unwrap_or_else(|e| panic!("{e}"));
    let scheduler = SchedulerSource { name: "syscall".into(), bytes: bytes.into(), recipe };
    let machine = two_nodes();
    let workload = workload(
        "{ 'tasks': { 't': { 'loop': -1, 'run': 2000, 'sleep': 500 }, 'short': { 'loop': 1, 'run': 10 } } }",
        &machine,
    );
    let mut spec = spec(scheduler, workload, machine, 105, 1);
    let once = |spec: &RunSpec| keel_lab::run_and_read(spec, &mut keel_trace::Fanout::new(), &mut |_| {});
    let native = once(&spec);
    spec.engine = Engine::Interpreter;
    assert_eq!(native, once(&spec), "both engines do the same");
    native
}

fn variable(ran: &Ran, name: &str) -> i64 {
    let (_, variables) = ran.as_ref().unwrap();
    variables.iter().find(|(other, _)| other == name).map(|(_, value)| *value as i64).unwrap()
}

#[test]
fn kfuncs_fail_before_a_scheduler_is_attached() {
    const ENODEV: i64 = -19;
    let ran = run("[[run]]\nprogram = 'before'\nargs = [8, 7]");
    assert_eq!(ran.as_ref().unwrap().0.exit, ExitKind::None, "the error was nobody's");
    for (name, expected) in [
        ("created_before", ENODEV),
        ("queued_before", ENODEV),
        ("chosen_before", ENODEV),
        ("saw_task", 1),
        ("saw_init", 0),
        ("inits", 1),
    ] {
        assert_eq!(variable(&ran, name), expected, "{name}");
    }
}

#[test]
fn the_attached_scheduler_answers() {
    let ran = run("[[run]]\nprogram = 'during'\nevery_ms = 10");
    assert_eq!(ran.as_ref().unwrap().0.exit, ExitKind::None);
    for (name, expected) in [("runs", 10), ("created", 0), ("queued", 0), ("found", 1)] {
        assert_eq!(variable(&ran, name), expected, "{name}");
    }
    assert!((0..8).contains(&variable(&ran, "chosen")), "some idle CPU");
}

#[test]
fn a_program_can_end_the_scheduler() {
    let (outcome, _) = run("[[run]]\nprogram = 'ends'\nargs = [5]\nevery_ms = 10").unwrap();
    assert_eq!((outcome.exit, outcome.message.as_str()), (ExitKind::ErrorBpf, "code 5"));
    assert!(outcome.end.as_ns() < 11_000_000, "{}", outcome.end);
}

#[test]
fn what_needs_a_locked_runqueue_is_refused() {
    let check = |program: &str, expected: &str| {
        for often in ["", "\nevery_ms = 10"] {
            let reported = run(&format!("[[run]]\nprogram = '{program}'{often}")).unwrap_err();
            assert!(matches!(&reported, LabError::Program(why) if why.starts_with(expected)), "{reported}");
        }
    };
    check(
        "inserts",
        "syscall: program inserts failed: scx_bpf_dsq_insert() may not be called from a syscall program, in inserts insn",
    );
    check(
        "moves",
        "syscall: program moves failed: scx_bpf_dsq_move_to_local() may not be called from a syscall program, in moves insn",
    );
}

#[test]
fn forks_wait_until_the_scheduler_is_enabled() {
    let ran = run("[set]\ninit_loops = 2000");
    let outcome = &ran.as_ref().unwrap().0;
    assert_eq!((outcome.exit, outcome.message.as_str()), (ExitKind::None, ""));
    assert_eq!(variable(&ran, "forked"), 2);
}

#[test]
fn no_queue_is_made_in_exit_task() {
    let (outcome, _) = run("[set]\nexit_task_creates = true").unwrap();
    let reported = "scx_bpf_create_dsq() may not be called from ops.exit_task()";
    assert!(outcome.exit == ExitKind::Error && outcome.message.starts_with(reported), "{}", outcome.message);
}
