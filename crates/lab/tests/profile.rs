//! A profile's sums are the run's own counts, and it changes nothing.
#![forbid(unsafe_code)]

mod common;

use common::{fifo, source, spec, trace, two_nodes, workload};
use keel_abi::scx::ExitKind;
use keel_bpfc::Compiler;
use keel_lab::{Engine, Outcome, RunSpec, machines, schedulers};
use keel_profile::{Profile, folded, lines};
use keel_trace::NullSink;

const BUSY: &str = include_str!("data/busy.json");

fn run(spec: &RunSpec) -> Outcome {
    keel_lab::run(spec, &mut NullSink, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"))
}

fn profiled(spec: RunSpec) -> (Outcome, Profile) {
    let mut outcome = run(&RunSpec { engine: Engine::Profiler, ..spec });
    let profile = *outcome.profile.take().expect("a profile was kept");
    (outcome, profile)
}

/// The counts by instruction match the run's counts by callback.
fn assert_whole(name: &str, outcome: &Outcome, profile: &Profile) {
    let taken = outcome.overhead;
    assert!(taken.instructions > 1000, "{name} ran");
    assert_eq!(profile.instructions(), taken.instructions, "{name}");
    assert_eq!(profile.callback_ps(), taken.callback.as_ns() * 1000, "{name}");
    // The rounding is less than a nanosecond per callback.
    let most_ps = 1000 * outcome.counters.callbacks;
    assert!(profile.rounding_ps.unsigned_abs() <= most_ps, "{name}: {} ps", profile.rounding_ps);
    assert_eq!(profile.moved(), (profile.totals.line_moves, profile.totals.line_ps), "{name}");
    let calls: u64 = profile.in_callbacks().filter(|n| n.caller.is_none()).map(|n| n.calls).sum();
    assert_eq!(calls, outcome.counters.callbacks, "{name}");
    let by_line = lines::lines(profile);
    assert_eq!(by_line.values().map(|line| line.executed).sum::<u64>(), taken.instructions, "{name}");
    assert_eq!(by_line.values().map(lines::Line::ps).sum::<u64>(), profile.callback_ps(), "{name}");
    let folded = folded::folded(profile);
    let of_stacks = folded.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    assert_eq!(of_stacks.sum::<u64>(), taken.callback.as_ns(), "{name}");
    let waited: u64 = profile.waits.iter().map(|wait| wait.ns).sum();
    assert!(waited <= taken.lock_wait.as_ns(), "{name}: {waited} ns");
}

#[test]
fn sums_are_the_runs_own_counts_for_each_scheduler() {
    for (name, _) in schedulers::list() {
        if name == schedulers::EEVDF {
            continue;
        }
        let machine = two_nodes();
        let source = schedulers::source(&name).expect("built in");
        let spec = spec(source, workload(BUSY, &machine), machine, 100, 7);
        let (outcome, profile) = profiled(spec.clone());
        assert_whole(&name, &outcome, &profile);
        // Native code counts the same.
        let native = run(&spec);
        assert_eq!((native.overhead, native.counters), (outcome.overhead, outcome.counters), "{name}");
        assert_eq!(native.lines, outcome.lines, "{name}");
    }
}

/// Callbacks that the run's end cuts short are in neither count.
#[test]
fn sums_are_the_runs_own_counts_where_callbacks_are_under_way() {
    let mut suspended = 0;
    for duration_ms in [11, 13, 17, 19] {
        let machine = machines::of_cpus(128);
        let tasks = keel_workload::mix(1280, 128, 125, 80);
        let o1 = schedulers::source("o1").expect("built in");
        let (outcome, profile) = profiled(spec(o1, tasks, machine, duration_ms, 1));
        assert_whole("o1", &outcome, &profile);
        suspended += outcome.counters.suspensions;
    }
    assert!(suspended > 1000, "callbacks overlap: {suspended}");
}

#[test]
fn a_profile_changes_nothing_and_repeats() {
    let machine = two_nodes();
    let spec = spec(fifo(), workload(BUSY, &machine), machine, 100, 7);
    let (plain, _) = trace(&spec);
    let (kept, first) = trace(&RunSpec { engine: Engine::Profiler, ..spec.clone() });
    assert!(plain == kept, "the events are the same");
    let (_, again) = trace(&RunSpec { engine: Engine::Profiler, ..spec });
    assert_eq!(first.profile, again.profile);
}

fn fight() -> keel_lab::SchedulerSource {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let compiler = Compiler::new(root).include("schedulers/include").include("crates/kernel/btf");
    let bytes = compiler.compile("tests/sim/profile/fight.bpf.c").unwrap_or_else(|e| panic!("{e}"));
    source("fight", &bytes)
}

/// Two counters in one cache line, written by two callbacks: both source lines are found, as a pair.
#[test]
fn two_lines_that_fight_for_a_cache_line_are_named() {
    let machine = machines::of_cpus(8);
    let tasks = keel_workload::mix(40, 8, 125, 50);
    let (outcome, profile) = profiled(spec(fight(), tasks, machine, 200, 1));
    assert_eq!(outcome.exit, ExitKind::None, "{}", outcome.message);
    assert_whole("fight", &outcome, &profile);
    let text = |place: Option<keel_profile::Place>| {
        let place = place?;
        let function = &profile.functions[place.function as usize];
        Some(function.line(place.insn)?.text.trim().to_owned())
    };
    let mut pairs: Vec<_> = profile
        .conflicts
        .iter()
        .filter(|conflict| conflict.distance != "memory")
        .filter_map(|conflict| Some((conflict.ps, text(conflict.from)?, text(conflict.to)?, &conflict.name)))
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.0));
    let (one, other) = ("nr_running++;", "nr_stopping++;");
    // A CPU that takes a task has mostly had one before, so ops.stopping counts before ops.running.
    assert_eq!((pairs[0].1.as_str(), pairs[0].2.as_str()), (one, other), "{pairs:?}");
    assert!(pairs.iter().any(|pair| pair.1 == other && pair.2 == one), "{pairs:?}");
    assert!(pairs.iter().all(|pair| pair.3.starts_with("nr_")), "{pairs:?}");
}

/// `o1` with the optimization from its profile on 512 CPUs: it makes the same decisions in less time.
#[test]
fn o1_with_its_crowd_takes_less_time_on_a_large_machine() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let compiler = Compiler::new(root).include("schedulers/include").include("crates/kernel/btf");
    let bytes = compiler.define("CROWD").compile("schedulers/o1.bpf.c").unwrap_or_else(|e| panic!("{e}"));
    let o1 = schedulers::source("o1").expect("built in");
    let [before, after] = [o1, source("o1", &bytes)].map(|source| {
        let machine = machines::of_cpus(256);
        let tasks = keel_workload::mix(2560, 256, 125, 80);
        let outcome = run(&spec(source, tasks, machine, 60, 1));
        assert_eq!(outcome.exit, ExitKind::None, "{}", outcome.message);
        outcome
    });
    let [was, is] = [&before, &after].map(|outcome| outcome.overhead.callback.as_ns());
    assert!(is < was, "{was} ns, then {is} ns");
    let [was, is] = [&before, &after].map(|outcome| outcome.counters.wakeups as f64);
    assert!((0.95..1.05).contains(&(is / was)), "{was} wakeups, then {is}");
}
