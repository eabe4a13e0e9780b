//! The checked mode stops a scheduler at its first invalid access, and reports what is at the address and the source
//! line. Without it the same access reads 0 or stores nothing, is counted, and the run continues, as on a real kernel.

mod common;

use common::{object, spec, workload};
use keel_abi::scx::ExitKind;
use keel_lab::{Engine, Outcome, machines};
use keel_trace::Fanout;
use std::fmt::Write;

/// The number of faults that `tests/objects/bad_access.bpf.c` can cause.
const FAULTS: u32 = 14;

const MANY: &str = "{ 'tasks': { 'worker': { 'instance': 20, 'run': 100, 'sleep': 100, 'loop': 5 } } }";

fn run(fault: u32, checked: bool, engine: Engine) -> Outcome {
    let machine = machines::of_cpus(8);
    let workload = workload(MANY, &machine);
    let mut spec = spec(object("bad_access"), workload, machine, 5, 1);
    (spec.checked, spec.engine) = (checked, engine);
    spec.settings = vec![("fault".into(), fault.to_string())];
    keel_lab::run(&spec, &mut Fanout::new(), &mut |_| {}).unwrap_or_else(|e| panic!("fault {fault}: {e}"))
}

#[test]
fn every_planted_invalid_access_is_named_with_its_line() {
    let mut reported = String::new();
    for fault in 1..=FAULTS {
        let outcome = run(fault, true, Engine::Native);
        assert_eq!(outcome.exit, ExitKind::Error, "fault {fault}: {}", outcome.message);
        writeln!(reported, "{fault}: {}", outcome.message).unwrap();
    }
    insta::assert_snapshot!(reported);
}

#[test]
fn valid_accesses_are_left_alone() {
    let outcome = run(0, true, Engine::Native);
    assert_eq!((outcome.exit, outcome.message.as_str()), (ExitKind::None, ""));
    assert_eq!(outcome.counters.bad_accesses, 0);
}

#[test]
fn unchecked_runs_go_on_and_count_what_leads_nowhere() {
    // Invalid accesses within the region, such as to a freed element, are not distinguished from live objects.
    for fault in [1, 2, 6, 7, 12, 13] {
        let outcomes = [Engine::Native, Engine::Interpreter].map(|engine| run(fault, false, engine));
        assert_eq!(outcomes[0].exit, ExitKind::None, "fault {fault}: {}", outcomes[0].message);
        assert!(outcomes[0].counters.bad_accesses > 0, "fault {fault}");
        assert_eq!(outcomes[0], outcomes[1], "fault {fault}");
    }
}
