//! Recording the directions of branches changes nothing else.

use keel_abi::{Noise, Span, Stop};
use keel_lab::prepared::{KernelTypes, Prepared};
use keel_lab::{Engine, RunSpec, SchedulerSource, machines, schedulers};
use keel_recipe::Recipe;
use keel_trace::{NullSink, Writer};

fn spec(fifo: u32, ms: u64) -> RunSpec {
    let bytes = schedulers::built_in("fifo").expect("it is built in");
    let machine = machines::of_cpus(2);
    RunSpec {
        scheduler: SchedulerSource { name: "fifo".into(), bytes: bytes.into(), recipe: Recipe::default() },
        settings: vec![("fifo".into(), fifo.to_string())],
        workload: keel_workload::mix(6, 2, 90, 40),
        machine,
        duration: Span::from_ms(ms),
        seed: 1,
        noise: Noise::Quiet,
        engine: Engine::Native,
        order: None,
        checked: false,
    }
}

/// The directions of branches, as the indices of set bytes.
fn ways(spec: &RunSpec) -> Vec<usize> {
    let prepared = Prepared::new(&KernelTypes::read().unwrap(), spec).unwrap();
    let (_, branches) = prepared.run_covered(spec, &mut NullSink, Stop::default(), &mut |_| {}).unwrap();
    branches.iter().enumerate().filter(|(_, way)| **way != 0).map(|(at, _)| at).collect()
}

#[test]
fn another_setting_takes_other_branches() {
    let (by_vtime, by_arrival) = (ways(&spec(0, 20)), ways(&spec(1, 20)));
    assert!(!by_vtime.is_empty() && by_vtime != by_arrival, "{by_vtime:?} {by_arrival:?}");
    let short = ways(&spec(0, 1));
    assert!(short.iter().all(|way| by_vtime.contains(way)), "a longer run takes what a shorter one did");
}

#[test]
fn a_run_is_the_same_whether_it_is_covered_or_not() {
    let spec = spec(0, 20);
    let prepared = Prepared::new(&KernelTypes::read().unwrap(), &spec).unwrap();
    let (mut plain, mut covered) = (Writer::new(Vec::new()), Writer::new(Vec::new()));
    let a = prepared.run(&spec, None, &mut plain).unwrap();
    let (b, _) = prepared.run_covered(&spec, &mut covered, Stop::default(), &mut |_| {}).unwrap();
    assert_eq!(a, b);
    assert!(plain.finish().unwrap() == covered.finish().unwrap());
}
