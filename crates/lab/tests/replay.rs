//! What a simulated run did under a scheduler, its replay under the same does again.

use keel_abi::task::Workload;
use keel_abi::{Noise, Span};
use keel_check::{Figures, Summary};
use keel_lab::{Engine, Machine, RunSpec, machines, run, schedulers, workloads};
use keel_replay::{Builder, Overheads, Replay};
use keel_trace::Fanout;

/// How far a figure may be off, in thousandths.
const MOST_OFF: f64 = 20.0;

fn workload(name: &str, machine: &Machine) -> Workload {
    if let Some(made) = workloads::made(name, machine) {
        return made.unwrap();
    }
    let text = workloads::built_in(name).unwrap_or_else(|| panic!("{name} is built in"));
    workloads::read(name, text, machine).unwrap().0
}

fn spec(scheduler: &str, workload: Workload, machine: &Machine, noise: Noise) -> RunSpec {
    RunSpec {
        scheduler: schedulers::source(scheduler).unwrap_or_else(|| panic!("{scheduler} is built in")),
        settings: Vec::new(),
        workload,
        machine: machine.clone(),
        duration: Span::from_ms(800),
        seed: 1,
        noise,
        engine: Engine::Native,
        checked: false,
    }
}

fn record(spec: &RunSpec) -> (Summary, Replay) {
    let (mut figures, mut builder) = (Figures::new(), Builder::new(Overheads::default(), None));
    let mut both = Fanout::new().with(&mut figures).with(&mut builder);
    run(spec, &mut both, &mut |_| {}).unwrap();
    (figures.summary(), builder.finish().unwrap())
}

fn replay(spec: &RunSpec) -> Summary {
    let mut figures = Figures::new();
    run(spec, &mut figures, &mut |_| {}).unwrap();
    figures.summary()
}

/// A figure's name, what it was and what it is.
type Pair = (String, f64, f64);

fn pairs(was: &Summary, is: &Summary) -> Vec<Pair> {
    let wait = |s: &Summary| s.tasks.iter().map(|task| task.wait.as_s_f64()).sum::<f64>();
    let mut pairs = vec![
        ("switches".to_owned(), was.switches as f64, is.switches as f64),
        ("wakeups".to_owned(), was.wakeups as f64, is.wakeups as f64),
        ("busy".to_owned(), was.busy_share, is.busy_share),
        ("waiting".to_owned(), wait(was), wait(is)),
        ("median delay".to_owned(), was.wakeup_delay.p50.as_s_f64(), is.wakeup_delay.p50.as_s_f64()),
        ("99 % delay".to_owned(), was.wakeup_delay.p99.as_s_f64(), is.wakeup_delay.p99.as_s_f64()),
    ];
    for (was, is) in was.tasks.iter().zip(&is.tasks) {
        pairs.push((format!("share of {} {}", was.name, was.task), was.cpu.as_s_f64(), is.cpu.as_s_f64()));
    }
    pairs
}

fn off(&(_, was, is): &Pair) -> f64 {
    if was == is { 0.0 } else { (is - was).abs() * 1000.0 / was.abs().max(1e-9) }
}

fn check(scheduler: &str, name: &str, noise: Noise) {
    let machine = machines::of_cpus(4);
    let original = spec(scheduler, workload(name, &machine), &machine, noise);
    let (was, made) = record(&original);
    assert!(made.confidence.exact, "{name}");
    let again = RunSpec { workload: made.workload, ..original };
    let is = replay(&again);
    assert_eq!(was.tasks.len(), is.tasks.len(), "{name} under {scheduler}");
    let mut worst: Vec<Pair> = pairs(&was, &is);
    worst.sort_by(|a, b| off(b).total_cmp(&off(a)));
    println!("{scheduler} {name}: {:?}", &worst[..4.min(worst.len())]);
    let bad: Vec<&Pair> = worst.iter().filter(|pair| off(pair) > MOST_OFF).collect();
    assert!(bad.is_empty(), "{name} under {scheduler}: {bad:?}");
}

#[test]
fn tasks_that_compute() {
    check("eevdf", "hogs", Noise::None);
}

#[test]
fn tasks_that_sleep() {
    check("eevdf", "mix", Noise::Quiet);
    check("fifo", "mix", Noise::Quiet);
}

#[test]
fn tasks_that_wake_each_other() {
    check("eevdf", "pingpong", Noise::Quiet);
    check("o1", "pingpong", Noise::Quiet);
}

#[test]
fn tasks_that_talk_through_sockets() {
    check("eevdf", "chat:2:4:200", Noise::Quiet);
    check("fifo", "chat:2:4:20", Noise::None);
}
