//! A built-in scheduler, tasks and a machine; the judgement of the run, and when each task ran.

use crate::harness::{Spec, affinity, repeat, run, run_up_to, sleep, task};
use keel_abi::scx::ExitKind;
use keel_abi::task::{Step, Workload};
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_check::{Judge, Judgement, Kind, TaskFigures};
use keel_lab::{Engine, Machine, Outcome, RunSpec, SchedulerSource, machines, schedulers};
use keel_trace::policy::Policy;
use keel_trace::{Class, Event, Meta, Sink, TaskInfo, What};
use std::sync::Arc;

/// A scheduler, a workload and a machine.
#[derive(Clone)]
pub(crate) struct Scene {
    scheduler: SchedulerSource,
    settings: Vec<(String, String)>,
    workload: Workload,
    machine: Machine,
    duration: Span,
}

/// A task that never stops working, however long the run is.
pub(crate) fn hog(name: &str) -> Spec {
    repeat(name, [run(10_000)])
}

/// A built-in scheduler on one CPU for a second.
pub(crate) fn under(scheduler: &str) -> Scene {
    let bytes: Arc<[u8]> = schedulers::built_in(scheduler).expect("it is built in").into();
    Scene {
        scheduler: SchedulerSource {
            name: scheduler.to_owned(),
            bytes: bytes.into(),
            recipe: keel_recipe::Recipe::default(),
        },
        settings: Vec::new(),
        workload: Workload::default(),
        machine: machines::of_cpus(1),
        duration: Span::from_s(1),
    }
}

/// Twice as many hogs as CPUs share these, whether few or many.
pub(crate) fn check_hogs_share_alike(scheduler: &str) {
    for cpus in [1, 2, 8, 64] {
        let seen = under(scheduler).cpus(cpus).task(hog("h").instances(cpus * 2)).millis(3000).run();
        let times = seen.judgement.summary.tasks.iter().filter(|t| t.name == "h").map(|t| t.cpu.as_ns());
        let (least, most) = (times.clone().min().unwrap(), times.max().unwrap());
        assert!(least * 100 > most * 85, "{cpus} CPUs: {least} to {most} ns");
        assert!(seen.judgement.summary.busy_share > 0.99, "{cpus} CPUs");
        seen.assert_nobody_starves();
    }
}

/// Ten thousand processes, a hundred at a time, start, work a little and exit. Tasks that work beside them continue.
pub(crate) fn check_ten_thousand_forks(scheduler: &str) {
    let loops = |to, times, slot| Step::Loop { to, times: Some(times), slot };
    let start = [Step::Spawn(1), loops(0, 100, 0), Step::WaitChild, loops(2, 100, 1), loops(0, 100, 2)];
    let scene = under(scheduler).cpus(8).task(task("parent", start));
    let child = task("child", [run_up_to(200)]).instances(0);
    let seen = scene.task(child).task(hog("h").instances(6)).millis(4000).run();
    assert_eq!(seen.forks("parent").len(), 10_000);
    let gone = seen.core.iter().filter(|e| matches!(e.what, What::Exit { .. })).count();
    assert_eq!(gone, 10_001, "the children and their parent");
    seen.assert_nobody_starves();
}

/// Tasks that may use two CPUs of 96, `a`, and one that is moved from some to others, `b`, alongside a hundred hogs.
pub(crate) fn check_affinity(scheduler: &str, millis: u64) -> Seen {
    let seen = check_cpus(scheduler, millis);
    seen.assert_nobody_starves();
    seen
}

/// Like `check_affinity`, for schedulers that may let bound tasks wait.
pub(crate) fn check_cpus(scheduler: &str, millis: u64) -> Seen {
    let scene = under(scheduler).cpus(96).task(hog("h").instances(100));
    let scene = scene.task(repeat("a", [run(500), sleep(700)]).on([3, 80]).instances(4));
    let moves = [run(300), affinity([90]), run(300), affinity([70, 2]), sleep(100)];
    let seen = scene.task(repeat("b", moves).on([90])).millis(millis).run();
    assert!(seen.cpus("a").iter().all(|cpu| [3, 80].contains(cpu)), "{:?}", seen.cpus("a"));
    assert!(seen.cpus("b").iter().all(|cpu| [2, 70, 90].contains(cpu)), "{:?}", seen.cpus("b"));
    seen
}

/// Two tasks a CPU that come and go at random, for two seconds.
pub(crate) fn coming_and_going(scheduler: &str, cpus: u32) -> Scene {
    let some = repeat("t", [run_up_to(40_000), sleep(30_000), run_up_to(3000), sleep(3000)]);
    under(scheduler).cpus(cpus).task(some.instances(cpus * 2)).millis(2000)
}

/// Like `coming_and_going`, alongside a few that may not move from the last CPU.
pub(crate) fn coming_and_going_beside_some_pinned(scheduler: &str, cpus: u32) -> Scene {
    let pinned = repeat("pinned", [run_up_to(5000), sleep(7000)]);
    coming_and_going(scheduler, cpus).task(pinned.on([cpus - 1]).instances(2))
}

impl Scene {
    pub(crate) fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn cpus(mut self, cpus: u32) -> Self {
        self.machine = machines::of_cpus(cpus);
        self
    }

    pub(crate) fn machine(mut self, name: &str) -> Self {
        self.machine = machines::built_in(name).expect("it is built in");
        self
    }

    pub(crate) fn ticks_per_s(mut self, hz: u32) -> Self {
        self.machine.hz = hz;
        self
    }

    pub(crate) fn millis(mut self, ms: u64) -> Self {
        self.duration = Span::from_ms(ms);
        self
    }

    pub(crate) fn task(mut self, task: Spec) -> Self {
        self.workload.tasks.push(task.0);
        self
    }

    pub(crate) fn cgroups(mut self, cgroups: Vec<keel_abi::cgroup::Cgroup>) -> Self {
        self.workload.cgroups = cgroups;
        self
    }

    pub(crate) fn timeline(mut self, timeline: Vec<keel_abi::timeline::Happening>) -> Self {
        self.workload.timeline = timeline;
        self
    }

    pub(crate) fn mix(mut self, tasks: u32, load: u32) -> Self {
        self.workload = keel_workload::mix(tasks, self.machine.topology.cpus(), load, 50);
        self
    }

    /// Runs it. The scheduler must stay attached to the end, and access only its own memory.
    pub(crate) fn run(self) -> Seen {
        let spec = RunSpec {
            scheduler: self.scheduler,
            settings: self.settings,
            workload: self.workload,
            machine: self.machine,
            duration: self.duration,
            seed: 1,
            noise: keel_abi::Noise::None,
            engine: Engine::Native,
            order: None,
            checked: false,
        };
        let mut collector = Collector::default();
        let outcome = keel_lab::run(&spec, &mut collector, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((outcome.exit, outcome.message.as_str()), (ExitKind::None, ""));
        assert_eq!(outcome.counters.bad_accesses, 0);
        Seen {
            judgement: collector.judge.judgement(),
            outcome,
            core: collector.core,
            tasks: collector.tasks,
            decisions: collector.decisions,
        }
    }
}

/// The judge, plus an observer that keeps the events.
#[derive(Default)]
struct Collector {
    judge: Judge,
    core: Vec<Event>,
    tasks: Vec<TaskInfo>,
    decisions: Vec<(Instant, Policy)>,
}

impl Sink for Collector {
    fn wants(&self) -> Class {
        self.judge.wants().with(Class::CORE).with(Class::POLICY)
    }

    fn events(&mut self, events: &[Event]) {
        self.judge.events(events);
        let kept = |e: &&Event| {
            matches!(
                e.what,
                What::Switch { .. } | What::Wakeup { .. } | What::Fork { .. } | What::Exit { .. }
            )
        };
        self.core.extend(events.iter().filter(kept).copied());
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.judge.meta(at, meta);
        if let Meta::Task(info) = meta {
            self.tasks.push(info.clone());
        }
        if let Meta::Policy(policy) = meta {
            self.decisions.push((at, (**policy).clone()));
        }
    }
}

/// The results of a run.
pub(crate) struct Seen {
    pub(crate) outcome: Outcome,
    pub(crate) judgement: Judgement,
    core: Vec<Event>,
    tasks: Vec<TaskInfo>,
    /// The scheduler's reports of its decisions, with `--set tell_policy=1`.
    pub(crate) decisions: Vec<(Instant, Policy)>,
}

/// A task's time on a CPU, from one switch to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stint {
    pub(crate) from: Instant,
    pub(crate) length: Span,
    pub(crate) cpu: CpuId,
}

impl Seen {
    /// Every instance of a name, in the order of creation.
    pub(crate) fn ids(&self, name: &str) -> Vec<TaskId> {
        let mut ids: Vec<_> = self.tasks.iter().filter(|t| t.name == name).map(|t| t.task).collect();
        ids.dedup();
        ids
    }

    fn figures<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s TaskFigures> {
        self.judgement.summary.tasks.iter().filter(move |t| t.name == name)
    }

    /// The time on CPUs of all instances of a name, in milliseconds.
    pub(crate) fn cpu_ms(&self, name: &str) -> u64 {
        self.figures(name).map(|t| t.cpu.as_ns()).sum::<u64>() / 1_000_000
    }

    /// The shares of these names in their total time, in percent.
    pub(crate) fn shares(&self, names: &[&str]) -> Vec<f64> {
        let times: Vec<f64> = names.iter().map(|name| self.cpu_ms(name) as f64).collect();
        let all: f64 = times.iter().sum();
        times.iter().map(|time| 100.0 * time / all).collect()
    }

    /// The CPUs that any instance of a name ran on.
    pub(crate) fn cpus(&self, name: &str) -> Vec<u32> {
        let mut cpus: Vec<u32> = self.figures(name).flat_map(|t| &t.cpus).map(|(cpu, _)| cpu.0).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// Migrations of all instances of a name.
    pub(crate) fn migrations(&self, name: &str) -> u64 {
        self.figures(name).map(|t| t.migrations).sum()
    }

    /// The delay from each wakeup of a task to its running, in the order of wakeups.
    pub(crate) fn delays(&self, name: &str) -> Vec<(Instant, Span)> {
        let ids = self.ids(name);
        let mut woken = vec![None; self.tasks.iter().map(|t| t.task.index() + 1).max().unwrap_or(0)];
        let mut delays = Vec::new();
        for event in &self.core {
            match event.what {
                What::Wakeup { task, .. } if ids.contains(&task) => woken[task.index()] = Some(event.at),
                What::Switch { next, .. } if ids.contains(&next) => {
                    let since = woken[next.index()].take();
                    delays.extend(since.map(|since| (since, event.at.since(since))));
                }
                _ => {}
            }
        }
        delays
    }

    /// The delay within which this share of a task's wakeups ran, in microseconds.
    pub(crate) fn delay_us(&self, name: &str, per_cent: usize) -> u64 {
        let mut delays: Vec<Span> = self.delays(name).into_iter().map(|(_, delay)| delay).collect();
        delays.sort_unstable();
        assert!(delays.len() > 20, "{name} woke {} times", delays.len());
        delays[(delays.len() - 1) * per_cent / 100].as_ns() / 1000
    }

    /// When a name's first instance had a CPU.
    pub(crate) fn stints(&self, name: &str) -> Vec<Stint> {
        let task = self.ids(name)[0];
        let mut stints = Vec::new();
        let mut began = None;
        for event in &self.core {
            let What::Switch { prev, next, .. } = event.what else { continue };
            if prev == task {
                let from: Instant = began.take().expect("who leaves a CPU had it");
                stints.push(Stint { from, length: event.at.since(from), cpu: event.cpu });
            }
            if next == task {
                began = Some(event.at);
            }
        }
        stints.extend(began.map(|from| Stint {
            from,
            length: self.outcome.end.since(from),
            cpu: CpuId(u32::MAX),
        }));
        stints
    }

    /// Each fork by instances of a name: when, the CPU, the child.
    pub(crate) fn forks(&self, name: &str) -> Vec<(Instant, CpuId, TaskId)> {
        let ids = self.ids(name);
        let fork = |e: &Event| match e.what {
            What::Fork { child, parent, .. } if ids.contains(&parent) => Some((e.at, e.cpu, child)),
            _ => None,
        };
        self.core.iter().filter_map(fork).collect()
    }

    /// When and where a task first got a CPU.
    pub(crate) fn first_run(&self, task: TaskId) -> (Instant, CpuId) {
        let runs = |e: &&Event| matches!(e.what, What::Switch { next, .. } if next == task);
        let event = self.core.iter().find(runs).expect("it ran");
        (event.at, event.cpu)
    }

    /// The last instant at which a task got or left a CPU, or the end if it has one then.
    pub(crate) fn last_run(&self, task: TaskId) -> Instant {
        let about =
            |e: &&Event| matches!(e.what, What::Switch { prev, next, .. } if prev == task || next == task);
        match self.core.iter().rfind(about) {
            Some(Event { what: What::Switch { next, .. }, .. }) if *next == task => self.outcome.end,
            Some(event) => event.at,
            None => Instant::ZERO,
        }
    }

    /// The longest time that a CPU idled while a task waited, without transients.
    pub(crate) fn longest_waste(&self) -> Span {
        let wastes = self.judgement.findings.iter().filter(|f| f.kind == Kind::WastedCore);
        wastes.map(|f| f.duration).max().unwrap_or(Span::ZERO)
    }

    /// The CPUs that idled for at least this long while a task waited.
    pub(crate) fn wasted_cpus(&self, at_least: Span) -> Vec<u32> {
        let wastes = self.judgement.findings.iter().filter(|f| f.kind == Kind::WastedCore);
        let long = wastes.filter(|f| f.duration >= at_least);
        let mut cpus: Vec<u32> = long.flat_map(|f| &f.cpus).map(|cpu| cpu.0).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// Checks that the judge found no starving task.
    pub(crate) fn assert_nobody_starves(&self) {
        self.assert_nobody_starves_from(Instant::ZERO);
    }

    /// Like `assert_nobody_starves` for starvation that began at `from` or later.
    pub(crate) fn assert_nobody_starves_from(&self, from: Instant) {
        let starved =
            self.judgement.findings.iter().filter(|f| f.kind == Kind::Starvation && f.start >= from);
        assert_eq!(starved.map(|f| f.text.as_str()).collect::<Vec<_>>(), [""; 0]);
    }

    /// Core time wasted, in percent of the machine.
    pub(crate) fn wasted_percent(&self) -> f64 {
        100.0 * self.judgement.waste.share
    }
}

/// Whether the shares are as expected, to within this much of each.
pub(crate) fn check_shares(got: &[f64], expected: &[f64], slack: f64) {
    let all: f64 = expected.iter().sum();
    for (got, expected) in got.iter().zip(expected) {
        let expected = 100.0 * expected / all;
        let close = (got - expected).abs() <= slack * expected;
        assert!(close, "got {got:.1} %, expected {expected:.1} %");
    }
}
