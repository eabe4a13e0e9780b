//! The same spec gives the same bytes: again, on any number of threads, with either engine, in every build and on every
//! host.
#![forbid(unsafe_code)]

mod common;

use common::{compiled, fifo, source, spec, trace, two_nodes, workload};
use keel_abi::scx::ExitKind;
use keel_abi::{Noise, Span};
use keel_lab::{Engine, RunSpec};

const SEED: u64 = 42;
const BUSY: &str = include_str!("data/busy.json");
const EVENTFUL: &str = include_str!("data/eventful.json");
/// `fifo` without its DWARF, kept as bytes so that compilers' choices of instructions don't matter: `llvm-strip-19 -g`
/// of clang's output for schedulers/fifo.bpf.c.
const KEPT_FIFO: &[u8] = include_bytes!("data/fifo.bpf.o");
/// The hash of [`kept`]'s trace. It changes whenever a rule, cost or event changes. If the change is intended, run the
/// test, check that both engines and `--release` agree with the printed hash, write it here, and say in the commit what
/// changed it.
const KEPT_HASH: u64 = 0xfb63_6a05_451d_982a;

fn busy(seed: u64) -> RunSpec {
    let machine = two_nodes();
    spec(fifo(), workload(BUSY, &machine), machine, 200, seed)
}

fn kept() -> RunSpec {
    RunSpec { scheduler: source("kept fifo", KEPT_FIFO), duration: Span::from_ms(50), ..busy(SEED) }
}

/// Traces of equal runs must be equal. Reports the first difference instead of thousands of bytes.
fn same(what: &str, seed: u64, one: &[u8], other: &[u8]) {
    let parted = one.iter().zip(other).position(|(a, b)| a != b);
    let at = parted.or((one.len() != other.len()).then(|| one.len().min(other.len())));
    let lengths = (one.len(), other.len());
    assert!(
        at.is_none(),
        "{what}, seed {seed}: traces of {lengths:?} bytes part at byte {}",
        at.unwrap_or(0)
    );
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn a_run_repeats_and_does_something() {
    let (first, outcome) = trace(&busy(SEED));
    let (again, outcome_again) = trace(&busy(SEED));
    same("twice", SEED, &first, &again);
    assert_eq!(outcome, outcome_again, "seed {SEED}");
    assert_eq!(outcome.exit, ExitKind::None, "seed {SEED}: {}", outcome.message);
    let counters = outcome.counters;
    assert!(counters.switches > 1_000 && counters.wakeups > 1_000, "seed {SEED}: {counters:?}");
    assert!(counters.suspensions > 100, "seed {SEED}: callbacks must overlap: {counters:?}");
    assert!(outcome.overhead.lock_wait > Span::ZERO, "seed {SEED}: locks must be contended");
}

#[test]
fn no_sink_changes_a_run() {
    let (_, with_sink) = trace(&busy(SEED));
    let silent = keel_lab::run(&busy(SEED), &mut keel_trace::NullSink, &mut |_| {});
    assert_eq!(silent, Ok(with_sink), "seed {SEED}");
}

#[test]
fn threads_of_the_host_change_nothing() {
    let traces = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be had");
        let specs = [busy(SEED), RunSpec { duration: Span::from_ms(70), ..busy(SEED) }];
        pool.install(|| keel_lab::compare(&specs, 3, None, |spec| trace(spec).0))
    };
    let (alone, together) = (traces(1), traces(2));
    assert_eq!(alone.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
    for (number, (one, other)) in alone.iter().flatten().zip(together.iter().flatten()).enumerate() {
        same("1 and 2 threads", SEED + number as u64 % 3, one, other);
    }
    same("compared and alone", SEED, &alone[0][0], &trace(&busy(SEED)).0);
}

#[test]
fn both_engines_make_the_same_run() {
    for seed in [SEED, 7] {
        let native = trace(&busy(seed));
        for checked in [false, true] {
            let interpreted = trace(&RunSpec { engine: Engine::Interpreter, checked, ..busy(seed) });
            same("native and interpreted", seed, &native.0, &interpreted.0);
            assert_eq!(native.1, interpreted.1, "seed {seed}, checked {checked}");
        }
    }
}

/// Emitted code charges for some of these loops together.
#[test]
fn loops_over_numbers_take_as_long_on_every_engine() {
    let spec = RunSpec { scheduler: compiled("tests/sim/semantics", "number_loops"), ..busy(SEED) };
    let (native, outcome) = trace(&spec);
    assert_eq!(outcome.exit, ExitKind::None, "{}", outcome.message);
    for engine in [Engine::Cranelift, Engine::Interpreter] {
        let (other, other_outcome) = trace(&RunSpec { engine, ..spec.clone() });
        same("native and another engine", SEED, &native, &other);
        assert_eq!(outcome, other_outcome, "{engine:?}");
    }
}

#[test]
fn straight_paths_make_the_same_run_as_single_steps() {
    for spec in [busy(SEED), busy(7), in_turns(SEED), eventful(SEED), noisy(Noise::Busy, 3)] {
        let (straight, outcome) = trace(&spec);
        let (stepped, stepped_outcome) = trace(&RunSpec { engine: Engine::Frames, ..spec.clone() });
        same("straight and stepped", spec.seed, &straight, &stepped);
        assert_eq!(outcome, stepped_outcome, "seed {}", spec.seed);
    }
}

/// On CPUs that take turns on an emulator's thread.
fn in_turns(seed: u64) -> RunSpec {
    let mut spec = busy(seed);
    spec.machine.costs.turn_ns = 100_000;
    spec
}

/// Every kind of event from outside, and a scheduler that survives them.
fn eventful(seed: u64) -> RunSpec {
    let machine = two_nodes();
    let o1 = source("o1", keel_lab::schedulers::built_in("o1").expect("o1 is built in"));
    spec(o1, workload(EVENTFUL, &machine), machine, 100, seed)
}

#[test]
fn what_happens_from_outside_happens_again() {
    let (first, outcome) = trace(&eventful(SEED));
    assert_eq!(outcome.exit, ExitKind::None, "seed {SEED}: {}", outcome.message);
    same("twice", SEED, &first, &trace(&eventful(SEED)).0);
    let interpreted = RunSpec { engine: Engine::Interpreter, ..eventful(SEED) };
    same("native and interpreted", SEED, &first, &trace(&interpreted).0);
    let without = {
        let mut spec = eventful(SEED);
        spec.workload.timeline.clear();
        trace(&spec).0
    };
    assert!(first != without, "seed {SEED}: the timeline does nothing");
}

/// Noise of every kind, and CPUs that go offline, whose kernel threads move.
fn noisy(noise: Noise, seed: u64) -> RunSpec {
    RunSpec { noise, duration: Span::from_ms(200), ..eventful(seed) }
}

#[test]
fn noise_follows_from_the_seed() {
    for noise in [Noise::Quiet, Noise::Busy] {
        let (first, _) = trace(&noisy(noise, SEED));
        same("twice", SEED, &first, &trace(&noisy(noise, SEED)).0);
        let interpreted = RunSpec { engine: Engine::Interpreter, ..noisy(noise, SEED) };
        same("native and interpreted", SEED, &first, &trace(&interpreted).0);
        assert!(first != trace(&noisy(noise, SEED + 1)).0, "{noise}: seeds make no difference");
        assert!(first != trace(&noisy(Noise::None, SEED)).0, "{noise}: it makes no difference");
    }
}

#[test]
fn another_seed_makes_another_run() {
    let (one, other) = (trace(&busy(SEED)).0, trace(&busy(SEED + 1)).0);
    assert!(one != other, "seeds {SEED} and {} give the same {} bytes", SEED + 1, one.len());
}

#[test]
fn every_build_and_host_gives_the_kept_bytes() {
    for engine in [Engine::Native, Engine::Interpreter] {
        let (bytes, outcome) = trace(&RunSpec { engine, ..kept() });
        let found = hash(&bytes);
        assert!(
            found == KEPT_HASH,
            "seed {SEED}, {engine:?}: the trace of {} bytes has hash {found:#x}, not {KEPT_HASH:#x}; \
             where a rule, a cost or an event was meant to change, renew KEPT_HASH: {outcome:?}",
            bytes.len()
        );
    }
}
