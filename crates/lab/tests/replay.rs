//! The replay of a simulated run under the same scheduler repeats the run.

#[path = "replay/changes.rs"]
mod changes;

use keel_abi::tape::{Begin, Op, Recorded, RecordedPipe, Room, Tape};
use keel_abi::task::{Step, TaskSpec, Workload};
use keel_abi::{CpuId, Instant, Noise, Span};
use keel_check::{Figures, Summary};
use keel_lab::{Engine, Machine, RunSpec, machines, run, schedulers, workloads};
use keel_replay::{Builder, Overheads, Replay};
use keel_trace::{Class, Event, Fanout, Meta, Sink};
use std::sync::Arc;

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
        order: None,
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

/// A figure's name, its original value and its value in the replay.
type Pair = (String, f64, f64);

fn pairs(was: &Summary, is: &Summary) -> Vec<Pair> {
    let wait = |s: &Summary| s.tasks.iter().map(|task| task.wait.as_s_f64()).sum::<f64>();
    let mut pairs = vec![
        ("switches".to_owned(), was.switches as f64, is.switches as f64),
        ("wakeups".to_owned(), was.wakeups as f64, is.wakeups as f64),
        ("forks".to_owned(), was.forks as f64, is.forks as f64),
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
    check_run(name, &spec(scheduler, workload(name, &machine), &machine, noise), MOST_OFF);
}

/// A run and its replay have the same figures, up to `most_off` thousandths.
fn check_run(name: &str, original: &RunSpec, most_off: f64) {
    let scheduler = &original.scheduler.name;
    let (was, made) = record(original);
    assert!(made.confidence.exact, "{name}");
    let again = RunSpec { workload: made.workload, ..original.clone() };
    let is = replay(&again);
    assert_eq!(was.tasks.len(), is.tasks.len(), "{name} under {scheduler}");
    let mut worst: Vec<Pair> = pairs(&was, &is);
    worst.sort_by(|a, b| off(b).total_cmp(&off(a)));
    println!("{scheduler} {name}: {:?}", &worst[..4.min(worst.len())]);
    let bad: Vec<&Pair> = worst.iter().filter(|pair| off(pair) > most_off).collect();
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

/// Some of them are working when the recording ends, and continue.
#[test]
fn tasks_that_sleep_now_and_then() {
    check("eevdf", "make:4", Noise::Quiet);
    check("eevdf", "tpch:18", Noise::Quiet);
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
    // Here they lose their CPUs between two spells of work.
    check("goodness", "chat:2:4:200", Noise::Quiet);
}

/// A program's first system calls take longer than the recording has lasted when they begin.
#[test]
fn tasks_that_execute_programs() {
    check("fifo", "lat-exec", Noise::None);
    check("o1", "lat-shell", Noise::None);
}

fn check_file(scheduler: &str, text: &str) {
    check_file_within(scheduler, text, 0.0);
}

fn check_file_within(scheduler: &str, text: &str, most_off: f64) {
    let machine = machines::of_cpus(4);
    let workload = workloads::read("file.json", text, &machine).unwrap().0;
    check_run("a file", &spec(scheduler, workload, &machine, Noise::None), most_off);
}

/// The last one wakes all others before it leaves the kernel.
#[test]
fn tasks_that_meet_at_a_barrier() {
    let text = r#"{ "tasks": {
        "meets": { "instance": 5, "run": 700, "barrier": "B" },
        "other": { "run": 3000, "sleep": 1000 } } }"#;
    check_file("bsd", text);
    check_file("mq", text);
}

#[test]
fn tasks_of_all_policies() {
    let text = r#"{ "tasks": {
        "fifo": { "instance": 2, "policy": "SCHED_FIFO", "priority": 10, "run": 500, "sleep": 1500 },
        "rr": { "instance": 3, "policy": "SCHED_RR", "priority": 5, "run": 2000, "sleep": 6000 },
        "other": { "instance": 6, "run": 700, "sleep": 200 },
        "batch": { "policy": "SCHED_BATCH", "run": 3000 },
        "idle": { "policy": "SCHED_IDLE", "run": 3000 } } }"#;
    check_file("eevdf", text);
    check_file("ule", text);
}

const LIMITS: &str = r#"{
    "evenkeel": { "cgroups": {
        "/small": { "quota_us": 30000, "weight": 300 },
        "/large": { "quota_us": 90000, "period_us": 50000 } } },
    "tasks": {
        "small": { "instance": 2, "run": 3000, "sleep": 500, "evenkeel": { "cgroup": "/small" } },
        "large": { "instance": 3, "run": 5000, "evenkeel": { "cgroup": "/large" } },
        "free": { "instance": 2, "run": 2000, "sleep": 2000 }
    } }"#;

#[test]
fn tasks_in_cgroups() {
    check_file("eevdf", LIMITS);
    check_file("cfs", LIMITS);
}

/// Passes on only what another tool's recording contains: neither groups nor policies.
struct Ungrouped<'a>(&'a mut Builder);

impl Sink for Ungrouped<'_> {
    fn wants(&self) -> Class {
        self.0.wants()
    }

    fn events(&mut self, events: &[Event]) {
        self.0.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        if !matches!(meta, Meta::Group(_) | Meta::Scheduled { .. }) {
            self.0.meta(at, meta);
        }
    }
}

/// Limits that are not recorded are inferred from their effects, not to the nanosecond.
#[test]
fn limits_follow_from_when_tasks_are_throttled() {
    let machine = machines::of_cpus(4);
    let workload = workloads::read("limits.json", LIMITS, &machine).unwrap().0;
    let mut builder = Builder::new(Overheads::default(), None);
    run(&spec("eevdf", workload, &machine, Noise::None), &mut Ungrouped(&mut builder), &mut |_| {}).unwrap();
    let replay = builder.finish().unwrap();
    let limits: Vec<_> = replay.workload.cgroups.iter().map(|group| group.bandwidth).collect();
    assert_eq!(limits.iter().map(|limit| limit.period_us).collect::<Vec<_>>(), [100_000, 50_000]);
    for (limit, quota_us) in limits.iter().zip([30_000_f64, 90_000.0]) {
        assert!((limit.quota_us as f64 - quota_us).abs() * 1000.0 < quota_us * MOST_OFF, "{limits:?}");
    }
}

/// A recording of a replay equals the recording from which it was made.
#[test]
fn a_replay_can_be_replayed() {
    let machine = machines::of_cpus(4);
    let original = spec("fifo", workload("lat-fork", &machine), &machine, Noise::None);
    let (was, first) = record(&original);
    let again = RunSpec { workload: first.workload.clone(), ..original };
    let (_, second) = record(&again);
    let tapes = |replay: &Replay| replay.workload.recorded.as_ref().expect("it is a recording").tapes.clone();
    // The last one continues, for an unknown time.
    let tasks = was.tasks.len() - 2;
    assert!(tasks > 100, "{tasks}");
    assert_eq!(tapes(&first)[1..tasks], tapes(&second)[1..tasks]);
    let forks = |replay: &Replay| {
        let all = tapes(replay);
        let processes = all.iter().flat_map(|tape| tape.iter().collect::<Vec<_>>());
        processes.filter(|op| matches!(op, keel_abi::tape::Op::Fork { process: true, .. })).count()
    };
    assert!(forks(&first) > 100);
    assert_eq!(forks(&first), forks(&second));
}

/// A writer that works `work_us` before each of 50 writes, and a reader that works 100 us after each read, each on its
/// own CPU: checks how often the two are woken.
fn check_wakeups(work_us: u64, pages: u32, expected: std::ops::RangeInclusive<u64>) {
    let bytes = 4096;
    let work = |us| Op::Run(Span::from_us(us));
    let times = |ops: [Op; 2]| std::iter::repeat_n(ops, 50).flatten().collect::<Tape>();
    let writer = times([work(work_us), Op::Put { pipe: 0, bytes, packet: false }]);
    let reader = times([Op::Take { pipe: 0, bytes }, work(100)]);
    let begin = |cpu| Begin { at: Instant::ZERO, cpu: CpuId(cpu) };
    let recorded = Recorded {
        tapes: vec![writer, reader],
        begins: vec![begin(0), begin(1)],
        semaphores: 0,
        pipes: vec![RecordedPipe { room: Room::Pages(pages), held_bytes: 0 }],
    };
    let task = |name: &str, process| TaskSpec {
        name: name.to_owned(),
        instances: 1,
        process,
        steps: vec![Step::Play],
        ..TaskSpec::default()
    };
    let workload = Workload {
        tasks: vec![task("writer", 0), task("reader", 1)],
        recorded: Some(Arc::new(recorded)),
        ..Workload::default()
    };
    let spec = spec("eevdf", workload, &machines::of_cpus(4), Noise::None);
    let woken = replay(&spec).wakeups;
    assert!(expected.contains(&woken), "{work_us} {pages}: {woken}");
}

/// The faster of the two tasks waits for the other, even if the other was faster in the recording.
#[test]
fn tasks_wait_by_what_is_in_a_pipe() {
    // If the reader is faster, it waits each time. If the writer is, it waits once the pipe is full. They never both
    // wait.
    check_wakeups(1000, 16, 48..=52);
    check_wakeups(10, 4, 40..=50);
    check_wakeups(10, 64, 0..=2);
}
