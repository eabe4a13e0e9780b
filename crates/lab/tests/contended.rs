//! The cost of accesses that several CPUs make at once: compared with published figures, and with BPF code's own locks.
#![forbid(unsafe_code)]

mod common;

use common::{source, spec, workload};
use keel_abi::CpuSet;
use keel_abi::scx::ExitKind;
use keel_bpfc::Compiler;
use keel_lab::variables::Value;
use keel_lab::{Engine, RunSpec, SchedulerSource, machines};
use keel_trace::NullSink;
use std::fmt::Write;
use std::sync::LazyLock;

const PUBLISHED: &str = include_str!("../../../tests/sim/contention/published.tsv");

/// Accesses of all CPUs together.
const ACCESSES: u32 = 20_000;

static CONTENDED: LazyLock<SchedulerSource> = LazyLock::new(|| object("contended"));
static RESILIENT: LazyLock<SchedulerSource> = LazyLock::new(|| object("contended_res"));

fn object(name: &str) -> SchedulerSource {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let compiler = Compiler::new(root).cpu("v4").include("schedulers/include").include("crates/kernel/btf");
    let path = format!("tests/sim/contention/{name}.bpf.c");
    source(name, &compiler.compile(path).unwrap_or_else(|e| panic!("{e}")))
}

/// Runs it, and returns its global variables.
fn globals(spec: &RunSpec) -> Vec<Value> {
    let (outcome, globals) =
        keel_lab::run_and_read(spec, &mut NullSink, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.exit, ExitKind::None, "{}", outcome.message);
    globals
}

fn global(globals: &[Value], name: &str) -> u64 {
    globals.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name} in {globals:?}")).1
}

/// The mean nanoseconds that a CPU takes for one access while these CPUs make it at once.
fn access_ns(access: u32, cpus: &CpuSet, engine: Engine) -> f64 {
    access_of_ns(&CONTENDED, access, cpus, engine)
}

fn access_of_ns(object: &SchedulerSource, access: u32, cpus: &CpuSet, engine: Engine) -> f64 {
    let machine = machines::built_in("epyc-2x64").expect("built in");
    let task = |cpu| format!("'cpu{cpu}': {{ 'cpus': [{cpu}], 'sleep': 5000, 'run': 100, 'loop': 1 }}");
    let tasks: Vec<String> = cpus.iter().map(|cpu| task(cpu.0)).collect();
    let tasks = workload(&format!("{{ 'tasks': {{ {} }} }}", tasks.join(", ")), &machine);
    let count = cpus.len() as u32;
    let rounds = ACCESSES / count;
    let settings = [("access", access), ("rounds", rounds), ("begins_at_ns", 4_000_000)];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_string())).into();
    let spec = RunSpec { settings, engine, ..spec(object.clone(), tasks, machine, 60, 1) };
    let globals = globals(&spec);
    assert_eq!(global(&globals, "nr_done"), u64::from(count));
    global(&globals, "spent_ns") as f64 / f64::from(count * rounds)
}

/// A row of the table: what it measures, and keel's result in nanoseconds.
fn row_ns(row: &str, access: u32, cpus: &CpuSet) -> f64 {
    let once_ns = access_ns(access, cpus, Engine::Native);
    match row.split(',').next() {
        // There and back, or by turns.
        Some("ping-pong" | "lock") => once_ns / 2.0,
        // The part that the line adds.
        Some("false sharing") => once_ns - access_ns(1, cpus, Engine::Native),
        _ => once_ns,
    }
}

#[test]
fn beside_published_figures() {
    let mut table = format!("{:<26} {:>9} {:>8} {:>6}\n", "", "published", "ours", "ratio");
    for line in PUBLISHED.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let [row, access, cpus, published, factor, _] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("six columns: {line}")
        };
        let ours = row_ns(row, access.parse().expect("a number"), &cpus.parse().expect("CPUs"));
        let _ = write!(table, "{row:<26} {published:>9} {ours:>8.1}");
        if let (Ok(published), Ok(factor)) = (published.parse::<f64>(), factor.parse::<f64>()) {
            let ratio = ours / published;
            let verdict = if (1.0 / factor..=factor).contains(&ratio) { "" } else { " off" };
            let _ = write!(table, " {ratio:>6.2}{verdict}");
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}

/// The counter is at most in one place, so each CPU waits for all others.
#[test]
fn contended_atomic_instructions_queue_at_their_line() {
    let counter_ns = |cpus: &str| access_ns(0, &cpus.parse().expect("CPUs"), Engine::Native);
    let own_ns = |cpus: &str| access_ns(1, &cpus.parse().expect("CPUs"), Engine::Native);
    let (two, eight) = (counter_ns("0-1"), counter_ns("0-7"));
    assert!((3.5..4.5).contains(&(eight / two)), "{two} ns on two CPUs, {eight} ns on eight");
    let (one, eight) = (own_ns("0"), own_ns("0-7"));
    assert!((0.9..1.1).contains(&(eight / one)), "{one} ns on one CPU, {eight} ns on eight, of its own");
}

#[test]
fn both_engines_wait_alike() {
    for access in 0..=4 {
        let cpus = "0-1,64".parse().expect("CPUs");
        if access == 3 {
            continue;
        }
        let [native, interpreted] =
            [Engine::Native, Engine::Interpreter].map(|engine| access_ns(access, &cpus, engine));
        assert_eq!(native, interpreted, "access {access}");
    }
}

#[test]
fn a_lock_in_bpf_code_is_held_by_one_and_its_waiters_let_the_holder_go_on() {
    for engine in [Engine::Native, Engine::Interpreter] {
        let machine = machines::of_cpus(8);
        let tasks = keel_workload::mix(80, 8, 125, 50);
        let spec = RunSpec { engine, ..spec(object("own_lock"), tasks, machine, 100, 1) };
        let globals = globals(&spec);
        let [taken, waited, shared, gave_up] =
            ["nr_taken", "nr_waited", "nr_shared", "nr_gave_up"].map(|name| global(&globals, name));
        assert!(taken > 1000 && waited > 0, "{taken} taken, {waited} after a wait");
        assert_eq!((shared, gave_up), (0, 0));
    }
}

/// The outcomes of attempts by as many CPUs as locks to take two resilient locks: got both, deadlock, timeout.
fn attempts(nr_locks: u32, engine: Engine) -> [u64; 3] {
    let machine = machines::of_cpus(nr_locks);
    let tasks = keel_workload::mix(10 * nr_locks, nr_locks, 125, 50);
    let settings = vec![("nr_locks".to_owned(), nr_locks.to_string())];
    let spec = RunSpec { settings, engine, ..spec(object("res_lock"), tasks, machine, 1000, 1) };
    let globals = globals(&spec);
    let [shared, others] = ["nr_shared", "nr_others"].map(|name| global(&globals, name));
    assert_eq!((shared, others), (0, 0), "{nr_locks} locks");
    ["nr_both", "nr_deadlocks", "nr_timeouts"].map(|name| global(&globals, name))
}

#[test]
fn resilient_locks_taken_in_two_orders_end_their_deadlocks() {
    for engine in [Engine::Native, Engine::Interpreter] {
        let [both, deadlocks, timeouts] = attempts(2, engine);
        assert!(both > 1000 && deadlocks > 10, "{both} both, {deadlocks} deadlocks");
        assert_eq!(timeouts, 0);
        let [both, deadlocks, timeouts] = attempts(3, engine);
        assert!(both > 10 && timeouts > 0, "{both} both, {timeouts} timeouts, around a circle of three");
        assert_eq!(deadlocks, 0, "only pairs are looked for");
    }
}

#[test]
fn a_resilient_lock_is_handed_over_as_a_spin_lock() {
    for cpus in ["0", "0-7", "0,64"] {
        let cpus = cpus.parse().expect("CPUs");
        let [plain, resilient] =
            [&CONTENDED, &RESILIENT].map(|object| access_of_ns(object, 4, &cpus, Engine::Native));
        assert!((0.95..1.05).contains(&(resilient / plain)), "{plain} ns and {resilient} ns on {cpus}");
    }
}
