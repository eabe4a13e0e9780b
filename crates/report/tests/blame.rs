//! Made-up streams in which the decision that left a task waiting is known. The first line, the finding, the late
//! wakeup and JSON name it.
//!
//! CPU 5 idles all the time, and the others are busy. The victim waits briefly in several places, then for long where
//! the guilty decision had put it, then briefly elsewhere. At last CPU 5 takes it. Other tasks, which may not run on
//! CPU 5, come and go.

use keel_abi::scx::ExitKind;
use keel_abi::scx::dsq;
use keel_abi::{CpuId, CpuSet, DsqId, Instant, Pid, Span, TaskId, Topology};
use keel_check::{Figures, Judge, Limits};
use keel_report::run::{DecisionReport, FindingReport, RunFacts, RunReport};
use keel_trace::{Chooser, Event, Meta, Sink, TaskInfo, What, Why};
use proptest::prelude::*;
use std::collections::BTreeMap;

const CPUS: u32 = 6;
/// Idles until it takes the victim.
const IDLE: CpuId = CpuId(5);
const VICTIM: TaskId = TaskId(20);
const NOBODY: TaskId = TaskId::IDLE;
/// Represents one of the scheduler's own queues in place of a CPU's.
const OWN: DsqId = DsqId(7);

/// How a task comes to wait somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Woken,
    Forked,
    Pulled,
    Pushed,
    Moved,
    Dispatched,
    /// Into one of the scheduler's own queues, as it loses its CPU.
    Queued,
}

impl Way {
    fn begins(self) -> bool {
        matches!(self, Self::Woken | Self::Forked | Self::Queued)
    }

    /// The name in JSON.
    fn act(self) -> &'static str {
        match self {
            Self::Woken => "woken",
            Self::Forked => "forked",
            Self::Pulled => "pulled",
            Self::Pushed => "pushed",
            Self::Moved => "moved",
            Self::Dispatched => "dispatched",
            Self::Queued => "queued",
        }
    }
}

/// One decision about the victim, and how long it is in force.
#[derive(Clone, Copy, Debug)]
struct Step {
    way: Way,
    to: u32,
    us: u64,
}

#[derive(Clone, Debug)]
struct Scene {
    steps: Vec<Step>,
    guilty: usize,
    /// Whether CPU 5 takes it by a dispatch or by a pull, and how long it then takes to start.
    dispatched: bool,
    latency_us: u64,
    noise: Vec<(u64, u32, u8)>,
}

fn scene() -> impl Strategy<Value = Scene> {
    let begin = prop::sample::select(vec![Way::Woken, Way::Forked, Way::Queued]);
    let then = prop::sample::select(vec![Way::Pulled, Way::Pushed, Way::Moved, Way::Dispatched]);
    let short = || 0u64..400;
    let more = prop::collection::vec((then, 0..CPUS - 1, short()), 0..5);
    let noise = prop::collection::vec((0u64..50_000, 0..CPUS - 1, 0u8..3), 0..30);
    let first = (begin, 0..CPUS - 1, short());
    (first, more, any::<prop::sample::Index>(), 20_000u64..60_000, any::<bool>(), 0u64..100, noise).prop_map(
        |((way, to, us), more, guilty, long, dispatched, latency_us, noise)| {
            let mut steps = vec![Step { way, to, us }];
            for (way, to, us) in more {
                // No task is moved to where it already is.
                let here = steps[steps.len() - 1].to;
                let to = if to == here { (to + 1) % (CPUS - 1) } else { to };
                steps.push(Step { way, to, us });
            }
            let guilty = guilty.index(steps.len());
            steps[guilty].us = long;
            Scene { steps, guilty, dispatched, latency_us, noise }
        },
    )
}

/// The known truth.
#[derive(Debug, Default)]
struct Truth {
    /// When the guilty decision was made, and by which CPU.
    at_us: u64,
    by: u32,
    /// How long it waited after each. `None` stands for the scheduler's own queue.
    waited_us: BTreeMap<Option<u32>, u64>,
    end_us: u64,
}

type Line = (u64, u32, What);

/// The victim's own part of the stream.
fn victim(scene: &Scene) -> (Vec<Line>, Truth) {
    let (mut lines, mut truth) = (Vec::new(), Truth::default());
    let mut at = 1000;
    let first = scene.steps[0];
    let home = CpuId(first.to);
    let hog = |cpu: CpuId| TaskId(cpu.0);
    if first.way == Way::Queued {
        lines.push((at, home.0, What::Wakeup { task: VICTIM, target: home, waker: NOBODY }));
        lines.push((at, home.0, What::Switch { prev: hog(home), why: Why::Preempted, next: VICTIM }));
        at += 500;
    }
    let mut here = home;
    for (nth, step) in scene.steps.iter().enumerate() {
        let (task, to, from) = (VICTIM, CpuId(step.to), here);
        let third = (0..CPUS - 1).map(CpuId).find(|&cpu| cpu != to && cpu != from).expect("there are five");
        let by = match step.way {
            Way::Woken | Way::Forked | Way::Moved | Way::Dispatched => third,
            Way::Pulled | Way::Queued => to,
            Way::Pushed => from,
        };
        match step.way {
            Way::Woken => lines.push((at, by.0, What::Wakeup { task, target: to, waker: hog(by) })),
            Way::Forked => {
                lines.push((at, by.0, What::Fork { child: task, target: to, parent: hog(by) }));
            }
            Way::Queued => {
                // The scheduler has it before the CPU has left it.
                lines.push((at, by.0, What::Queued { task, dsq: OWN, len: 1 }));
                lines.push((at, by.0, What::Switch { prev: task, why: Why::Preempted, next: hog(to) }));
            }
            Way::Pulled | Way::Pushed | Way::Moved => {
                lines.push((at, by.0, What::Migrate { task, from, to }))
            }
            Way::Dispatched => {
                let (chosen, by_whom) = (to, Chooser::Dispatch);
                let placed = What::Placed { task, prev: from, chosen, by: by_whom, idle: false };
                lines.push((at, by.0, placed));
                lines.push((at, by.0, What::Migrate { task, from, to }));
            }
        }
        if nth == scene.guilty {
            (truth.at_us, truth.by) = (at, by.0);
        }
        let place = (step.way != Way::Queued).then_some(step.to);
        *truth.waited_us.entry(place).or_default() += step.us;
        at += step.us;
        here = to;
    }
    lines.push((at, IDLE.0, What::Migrate { task: VICTIM, from: here, to: IDLE }));
    if scene.dispatched {
        let dsq = DsqId(dsq::LOCAL_ON | u64::from(IDLE.0));
        lines.push((at, IDLE.0, What::Queued { task: VICTIM, dsq, len: 1 }));
    } else {
        // A CPU that pulls is notified, as in recordings.
        lines.push((at, IDLE.0, What::Kick { target: IDLE, flags: 0 }));
    }
    at += scene.latency_us;
    lines.push((at, IDLE.0, What::Switch { prev: NOBODY, why: Why::WasIdle, next: VICTIM }));
    truth.end_us = at;
    (lines, truth)
}

/// Other tasks that may not use CPU 5: they arrive, are moved, and never run.
fn noise(scene: &Scene) -> Vec<Line> {
    let mut waits: BTreeMap<u32, CpuId> = BTreeMap::new();
    let mut lines = Vec::new();
    let mut all = scene.noise.clone();
    all.sort_unstable();
    for (at, cpu, kind) in all {
        let (number, here) = (u32::from(kind), CpuId(cpu));
        let task = TaskId(30 + number);
        let what = match waits.insert(number, here) {
            None => What::Wakeup { task, target: here, waker: TaskId(cpu) },
            Some(from) => What::Migrate { task, from, to: here },
        };
        lines.push((at, cpu, what));
    }
    lines
}

fn name(task: TaskId) -> String {
    match task {
        VICTIM => "victim".to_owned(),
        TaskId(n) if n < CPUS => format!("hog{n}"),
        TaskId(n) => format!("other{n}"),
    }
}

fn report(scene: &Scene) -> (RunReport, Truth) {
    let limits = Limits { delay: Some(Span::from_ms(1)), ..Limits::default() };
    let mut judge = Judge::with(Figures::new(), limits);
    let start = Meta::Start {
        topology: Topology::flat(CPUS),
        scheduler: "made-up".into(),
        workload: "blame".into(),
        unit: String::new(),
    };
    judge.meta(Instant::ZERO, &start);
    let others = CpuSet::first(CPUS - 1);
    for id in (0..CPUS - 1).chain([VICTIM.0, 30, 31, 32]) {
        let cpus = if id == VICTIM.0 { CpuSet::new() } else { others.clone() };
        let (task, pid) = (TaskId(id), Pid(1000 + id));
        judge.meta(Instant::ZERO, &Meta::Task(TaskInfo { task, pid, name: name(task), nice: 0, cpus }));
    }
    let hogs = (0..CPUS - 1).flat_map(|cpu| {
        let (task, target) = (TaskId(cpu), CpuId(cpu));
        let woken = What::Wakeup { task, target, waker: NOBODY };
        [(0, cpu, woken), (0, cpu, What::Switch { prev: NOBODY, why: Why::WasIdle, next: task })]
    });
    let (mine, truth) = victim(scene);
    let mut lines: Vec<Line> = hogs.chain(noise(scene)).chain(mine).collect();
    lines.sort_by_key(|line| line.0);
    for (us, cpu, what) in lines {
        let event = Event { at: Instant::ZERO + Span::from_us(us), cpu: CpuId(cpu), what };
        judge.events(&[event]);
    }
    let end = Instant::ZERO + Span::from_us(truth.end_us + 70_000);
    judge.meta(end, &Meta::End);
    let facts = RunFacts { exit: ExitKind::Done, ..RunFacts::default() };
    (RunReport::new(&facts, &judge.judgement()), truth)
}

/// The finding of this kind about the victim.
fn about_victim<'a>(report: &'a RunReport, kind: &str) -> Option<&'a FindingReport> {
    let pid = 1000 + VICTIM.0;
    report.findings.iter().find(|found| found.kind == kind && found.tasks.first() == Some(&pid))
}

fn names(decision: Option<&DecisionReport>, guilty: Step, truth: &Truth) -> Result<(), TestCaseError> {
    let Some(decision) = decision else { return Err(TestCaseError::fail("no decision is named")) };
    let who = (decision.act.as_str(), decision.at_ns, decision.by_cpu, decision.to_cpu);
    prop_assert_eq!(who, (guilty.way.act(), truth.at_us * 1000, truth.by, guilty.to));
    let waker = matches!(guilty.way, Way::Woken | Way::Forked).then_some(1000 + truth.by);
    prop_assert_eq!(decision.waker, waker);
    Ok(())
}

fn holds(scene: &Scene) -> Result<(), TestCaseError> {
    let (report, truth) = report(scene);
    let guilty = scene.steps[scene.guilty];
    let place = (guilty.way != Way::Queued).then_some(guilty.to);
    let there = match place {
        Some(cpu) => format!("in the queue of CPU {cpu}"),
        None => "in the scheduler's queue 0x7".to_owned(),
    };

    let waste = about_victim(&report, "wasted_core").expect("CPU 5 idled all the while");
    prop_assert_eq!(&waste.cpus, &[IDLE.0]);
    names(waste.decision.as_ref(), guilty, &truth)?;
    prop_assert!(waste.text.contains(&there), "{}", waste.text);

    // Each microsecond counts where it was spent. The time that CPU 5 needed to start is excused.
    let of_cpus = truth.waited_us.iter().filter_map(|(&cpu, &us)| Some((cpu?, us * 1000)));
    let of_cpus: BTreeMap<u32, u64> = of_cpus.filter(|&(_, ns)| ns > 0).collect();
    let of_queue = truth.waited_us.get(&None).map_or(0, |us| us * 1000);
    prop_assert_eq!(&report.wasted_where.waited_on, &of_cpus);
    prop_assert_eq!(report.wasted_where.in_queues_ns, of_queue);

    let sentence = &report.wasted_where.sentence;
    let most = report.wasted_where.how.iter().max_by_key(|&(_, &ns)| ns).expect("a way");
    prop_assert!(most.0.starts_with(guilty.way.act()), "{:?}", report.wasted_where.how);
    prop_assert!(sentence.matches(". ").count() <= 1, "two sentences: {}", sentence);
    prop_assert!(sentence.starts_with("Core 5 idled for"), "{}", sentence);
    match place {
        Some(cpu) => prop_assert!(
            sentence.contains(&format!("core {cpu}")) || sentence.contains("cores"),
            "{}",
            sentence
        ),
        None => prop_assert!(sentence.contains("in the scheduler's queues"), "{}", sentence),
    }
    if matches!(guilty.way, Way::Woken | Way::Forked) {
        prop_assert!(sentence.contains(&format!("by hog{}", truth.by)), "{}", sentence);
    }

    if scene.steps[0].way != Way::Queued {
        let late = about_victim(&report, "long_delay").expect("it came to run late");
        names(late.decision.as_ref(), guilty, &truth)?;
        prop_assert_eq!(&late.cpus, &[guilty.to, IDLE.0]);
        let woken = format!("for CPU {}", scene.steps[0].to);
        prop_assert!(late.text.contains(&woken), "{}", late.text);
        prop_assert!(
            late.text.contains(&format!("CPU {} was running hog{}", guilty.to, guilty.to)),
            "{}",
            late.text
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_guilty_decision_is_named(scene in scene()) {
        prop_assume!(scene.steps.iter().skip(1).all(|step| !step.way.begins()));
        holds(&scene)?;
    }
}
