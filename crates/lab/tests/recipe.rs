//! Simulated runs follow host recipes.

mod common;

use common::{spec, two_nodes, workload};
use keel_abi::scx::ExitKind;
use keel_lab::{LabError, Outcome, SchedulerSource};
use keel_recipe::Recipe;

const RECIPE: &str = include_str!("../../../tests/sim/recipe/halved.keel.toml");

fn halved(recipe: &str) -> SchedulerSource {
    scheduler("halved", recipe)
}

fn scheduler(name: &str, recipe: &str) -> SchedulerSource {
    let compiler =
        keel_bpfc::Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf");
    let bytes = compiler.compile(format!("tests/sim/recipe/{name}.bpf.c")).unwrap_or_else(|e| panic!("{e}"));
    let recipe = Recipe::read("r", recipe).unwrap_or_else(|e| panic!("{e}"));
    SchedulerSource { name: name.into(), bytes: bytes.into(), recipe }
}

#[test]
fn one_of_several_schedulers_is_chosen() {
    let machine = two_nodes();
    let text = "{ 'tasks': { 't': { 'run': 100 } },
                  'evenkeel': { 'timeline': [ { 'at': 5000, 'offline': [3] } ] } }";
    let workload = workload(text, &machine);
    let run = |recipe: &str| {
        let spec = spec(scheduler("two", recipe), workload.clone(), machine.clone(), 10, 1);
        let outcome = keel_lab::run(&spec, &mut keel_trace::Fanout::new(), &mut |_| {});
        outcome.map(|outcome| (outcome.exit, outcome.message))
    };
    assert_eq!(run("[ops]\nvariable = 'stays_ops'"), Ok((ExitKind::None, String::new())));
    let words = "cpu 3 going offline, exiting scheduler".to_owned();
    assert_eq!(run("[ops]\nvariable = 'goes_ops'"), Ok((ExitKind::UnregKern, words)));
    let refused = |recipe: &str, why: &str| {
        assert_eq!(run(recipe), Err(LabError::BadInput(format!("two: {why}"))));
    };
    refused("", "more than one scheduler in it; name one in a recipe: [ops] variable = \"NAME\"");
    refused(
        "[ops]\nvariable = 'x'",
        "the recipe attaches x, which is not a struct sched_ext_ops of the object",
    );
}

#[test]
fn programs_run_before_and_while_the_scheduler_is_attached() {
    let machine = two_nodes();
    let workload = workload("{ 'tasks': { 't': { 'loop': -1, 'run': 2000, 'sleep': 500 } } }", &machine);
    let spec = spec(halved(RECIPE), workload, machine, 1100, 1);
    let run = || keel_lab::run_and_read(&spec, &mut keel_trace::Fanout::new(), &mut |_| {}).unwrap();
    let (outcome, variables) = run();
    let variable = |name: &str| variables.iter().find(|(other, _)| other == name).map(|(_, value)| *value);
    assert_eq!((outcome.exit, outcome.message.as_str()), (ExitKind::None, ""));
    assert_eq!((variable("setup_arg"), variable("nr_ticks")), (Some(2), Some(4)), "2 nodes; every 250 ms");
    assert_eq!(run(), (outcome, variables), "runs are the same");
}

#[test]
fn programs_that_fail_end_the_run() {
    let check = |from: &str, to: &str, expected: &str| {
        let recipe = RECIPE.replace(from, to);
        assert_eq!(outcome(&recipe, &[]).unwrap_err(), LabError::Program(expected.into()), "{to}");
    };
    check("args = [\"nodes\"]", "args = [0]", "halved: program setup failed: it returned 1");
    check(
        "program = \"tick\"\nevery_ms = 250",
        "program = \"setup\"\nargs = [0]\nevery_ms = 10",
        "halved: program setup failed: it returned 1",
    );
    let unknown = RECIPE.replace("\"tick\"", "\"halved_init\"");
    let reported = "halved: the recipe names syscall program halved_init, which the object does not have";
    assert_eq!(outcome(&unknown, &[]).unwrap_err(), LabError::BadInput(reported.into()));
}

/// The recipe without its programs.
fn without_programs() -> String {
    let kept = RECIPE.split("[[run]]").next().unwrap();
    kept.replace("[set]", "[set]\nwants_setup = false")
}

fn outcome(recipe: &str, settings: &[(&str, &str)]) -> Result<Outcome, LabError> {
    outcome_of("halved", recipe, settings)
}

fn outcome_of(name: &str, recipe: &str, settings: &[(&str, &str)]) -> Result<Outcome, LabError> {
    let machine = two_nodes();
    let busy = "{ 'tasks': { 't': { 'instance': 12, 'loop': -1, 'run': 2000, 'sleep': 500 } } }";
    let workload = workload(busy, &machine);
    let mut spec = spec(scheduler(name, recipe), workload, machine, 50, 1);
    spec.settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    keel_lab::run(&spec, &mut keel_trace::Fanout::new(), &mut |_| {})
}

#[test]
fn variables_maps_and_members_come_from_the_recipe() {
    let check = |recipe: &str, settings: &[(&str, &str)], kind, message: &str| {
        let outcome = outcome(recipe, settings).unwrap();
        assert_eq!((outcome.exit, outcome.message.as_str()), (kind, message), "{recipe}");
    };
    let recipe = without_programs();
    check(&recipe, &[], ExitKind::None, "");
    let other = recipe.replace("value = 7 }", "value = 6 }");
    check(&other, &[], ExitKind::ErrorBpf, "8 CPUs, the last of them on node 1, weight 6, argument 0");
    let smaller = recipe.replace("max_entries = 4", "max_entries = 9");
    check(&smaller, &[], ExitKind::None, "");
    let set = [("nr_cpus", "3")];
    let reported = "3 CPUs, the last of them on node 0, weight 7, argument 0";
    check(&recipe, &set, ExitKind::ErrorBpf, reported);
}

#[test]
fn what_cannot_be_followed_is_refused_by_name() {
    let check = |recipe: &str, expected: LabError| assert_eq!(outcome(recipe, &[]).unwrap_err(), expected);
    let absent =
        "halved: the recipe runs the tracing program probe with the scheduler, but keel does not simulate it";
    check("attach = ['probe']", LabError::Unsupported(absent.into()));
    let bad = |text: &str| LabError::BadInput(text.into());
    check(
        "[set]\nnr_cpu = 1",
        bad("halved: the recipe's set.nr_cpu: the object has no variable nr_cpu; did you mean nr_cpus?"),
    );
    check(
        "[set]\na = 'speeds'",
        bad(
            "r, line 2, set.a: a machine has no \"speeds\"; it has cpus, nodes, llcs, cores, smt, page_bytes, cpu_ids, online_cpus, node_of_cpu, llc_of_cpu, core_of_cpu, sibling_of_cpu, pairs, partner_of_cpu, pair_of_cpu, half_of_cpu",
        ),
    );
    check(
        "[[map]]\nname = 'm'\nmax_entries = 1",
        bad("halved: the recipe names map m, which the object does not have"),
    );
    let entry = |entry: &str| format!("[[map]]\nname = 'weights'\nentries = [{entry}]");
    check(&entry("{ key = 9, value = 1 }"), bad("halved: map weights does not take the recipe's element"));
    check(
        &entry("{ key = 0, value = [1, 2, 3] }"),
        bad("halved: the recipe's element for map weights does not fit its value of 8 bytes"),
    );
    check("counters = ['uei']", bad("halved: the recipe counts uei, which is not an integer of the object"));
}

#[test]
fn arrays_grow_and_maps_of_maps_are_filled() {
    let found = |recipe: &str| outcome_of("grown", recipe, &[]).map(|outcome| outcome.message);
    let map = |maps: u32| format!("[[map]]\nname = 'queues'\ninner_maps = {maps}");
    let grown = format!("[set]\nnr_cpus = 'cpus'\npartners = 'partner_of_cpu'\n{}", map(5));
    assert_eq!(found(&grown).unwrap(), "sum 28, 5 maps");
    assert_eq!(found("").unwrap(), "sum 0, 0 maps");
    let reported = "grown: the recipe's 65 inner maps of map queues are not possible: it has fewer elements";
    assert_eq!(found(&map(65)).unwrap_err(), LabError::BadInput(reported.into()));
    let weights = outcome("[[map]]\nname = 'weights'\ninner_maps = 1", &[]).unwrap_err();
    let reported =
        "halved: the recipe's 1 inner maps of map weights are not possible: it is not a map of maps";
    assert_eq!(weights, LabError::BadInput(reported.into()));
    // A variable that shares its section with others does not grow.
    let reported = "halved: the recipe's set.node_of: variable node_of holds 64 numbers, not 65";
    let long = format!("[set]\nnode_of = [{}]", vec!["1"; 65].join(", "));
    assert_eq!(outcome(&long, &[]).unwrap_err(), LabError::BadInput(reported.into()));
}
