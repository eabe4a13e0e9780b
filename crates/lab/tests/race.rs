//! Two CPUs want the same task: a race that only shows if callbacks on different CPUs overlap.
#![forbid(unsafe_code)]

mod common;

use common::{object, spec};
use keel_abi::scx::ExitKind;
use keel_lab::{Engine, Machine, RunSpec, SchedulerSource, machines};
use keel_trace::NullSink;

/// How often `scx_bpf_dsq_move()` moved the task, and how often another CPU was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moves {
    moved: u64,
    lost: u64,
}

fn race_on(scheduler: &SchedulerSource, machine: Machine, seed: u64) -> RunSpec {
    let cpus = machine.topology.cpus();
    let workload = keel_workload::mix(cpus * 10, cpus, 125, 50);
    spec(scheduler.clone(), workload, machine, 300, seed)
}

fn moves(spec: &RunSpec) -> Moves {
    let reported = format!("seed {}", spec.seed);
    let (outcome, variables) = keel_lab::run_and_read(spec, &mut NullSink, &mut |_| {})
        .unwrap_or_else(|e| panic!("{reported}: {e}"));
    assert_eq!(outcome.exit, ExitKind::None, "{reported}: {}", outcome.message);
    let read = |name: &str| {
        let found = variables.iter().find(|(n, _)| n == name);
        found.unwrap_or_else(|| panic!("{reported}: there is no {name} in {variables:?}")).1
    };
    Moves { moved: read("nr_moved"), lost: read("nr_lost") }
}

#[test]
fn some_moves_lose_where_callbacks_overlap() {
    let scheduler = object("race");
    let mut found = Vec::new();
    for seed in [1, 2, 3] {
        let spec = race_on(&scheduler, machines::of_cpus(8), seed);
        let result = moves(&spec);
        let Moves { moved, lost } = result;
        assert!(moved > 1_000, "seed {seed}: {result:?}");
        assert!(
            lost > 0 && lost < moved,
            "seed {seed}: none, or more than every second move lost: {result:?}"
        );
        assert_eq!(moves(&spec), result, "seed {seed} must lose the same races again");
        let interpreted = RunSpec { engine: Engine::Interpreter, ..spec };
        assert_eq!(moves(&interpreted), result, "seed {seed}, interpreted");
        found.push(result);
    }
    assert!(found.windows(2).any(|pair| pair[0] != pair[1]), "every seed gives {found:?}");
}

#[test]
fn a_move_without_a_race_loses_nothing() {
    let scheduler = object("race");
    for seed in [1, 2, 3] {
        let result = moves(&race_on(&scheduler, machines::of_cpus(1), seed));
        assert!(result.moved > 100, "seed {seed}: {result:?}");
        assert_eq!(result.lost, 0, "seed {seed}: {result:?}");
    }
}
