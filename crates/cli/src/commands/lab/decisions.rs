//! `keel lab --decisions`: what each callback of a scheduler costs, from few waiting tasks to very
//! many; and what those dispatches cost that end a round, by the schedulers' own counters.

use crate::args::LabArgs;
use crate::failure::{Code, Failure};
use crate::inputs;
use crate::lab::Lab;
use crate::progress::Bar;
use crate::show;
use keel_abi::scx::{ExitKind, Op};
use keel_abi::{Instant, Span};
use keel_check::{CountedCalls, DecisionCost, Decisions};
use keel_lab::machines::Machine;
use keel_lab::watch::Counted;
use keel_lab::{Engine, Outcome, RunSpec, SchedulerSource};
use keel_report::DecisionsReport;
use keel_trace::{Class, Event, Meta, Sink};

/// Tasks that wait.
const CROWDS: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
/// How long decisions are looked at, once everybody is there.
const WINDOW: Span = Span::from_ms(500);
const SEED: u64 = 1;

/// By when a crowd has come: to start a task takes 10 to 50 us on one CPU of our machines.
const fn arrival(tasks: u32) -> Span {
    Span::from_us(200_000 + 60 * tasks as u64)
}

/// The crowd: hogs of a nice value that lets the wakers of `crowd:1` by.
fn crowd(tasks: u32) -> String {
    format!("crowd:1+hogs:{}:{HOGS_NICE}", tasks - 1)
}

/// The rounds: hogs whose turn is as short as a nice value makes it.
const HOGS_NICE: i8 = 18;
/// How long a turn is at that nice value under both `goodness` and `o1`; `ule`'s is a fifth longer.
const TURN: Span = Span::from_ms(10);
/// So many rounds at most, each with time for decisions that cost as much again as a turn.
const ROUNDS: u64 = 3;
/// As many dispatches that end a round are enough.
const ENOUGH: u64 = 32;
/// How often the counters are read: less than two dispatches of a CPU are apart.
const STEP: Span = Span::from_us(20);

/// Counters of schedulers, by CPU, and what a dispatch does that counts there.
const COUNTERS: [(&str, &str); 3] = [
    ("array_switches", "array switch"),
    ("queue_switches", "queue switch"),
    ("recalculations", "recalculation"),
];

/// One scheduler with so many waiting tasks.
type Job = (usize, u32);

pub(super) fn run(args: &LabArgs, lab: &Lab) -> Result<Code, Failure> {
    let machine = inputs::machine(lab, &args.machine)?;
    let sources: Vec<SchedulerSource> =
        args.decisions.iter().map(|given| inputs::scheduler(lab, given)).collect::<Result<_, _>>()?;
    // The longest first, so that none of them is left for the end.
    let jobs: Vec<Job> = CROWDS
        .iter()
        .rev()
        .flat_map(|&tasks| (0..sources.len()).map(move |source| (source, tasks)))
        .collect();
    let total = |tasks| arrival(tasks) + WINDOW + rounds(&machine, tasks);
    let bar = Bar::new(jobs.iter().map(|&(_, tasks)| total(tasks)).sum());
    let made = keel_lab::each(&jobs, args.jobs, |&(source, tasks)| {
        let costs = costs(lab, &sources[source], &machine, tasks);
        bar.advance(arrival(tasks) + WINDOW);
        let ends = round_ends(lab, &sources[source], &machine, tasks);
        bar.advance(rounds(&machine, tasks));
        Ok::<_, Failure>(costs?.into_iter().chain(ends?).collect::<Vec<_>>())
    });
    drop(bar);
    let mut reports: Vec<DecisionsReport> =
        sources.iter().map(|source| DecisionsReport::new(&source.name, &machine.name)).collect();
    for (&(source, tasks), costs) in jobs.iter().zip(made).rev() {
        reports[source].add(tasks, &costs?);
    }
    show::decisions(&reports, args.json)?;
    Ok(Code::Done)
}

/// What is run for the decisions of a scheduler.
fn spec(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    workload: &str,
    duration: Span,
) -> Result<RunSpec, Failure> {
    Ok(RunSpec {
        scheduler: scheduler.clone(),
        settings: Vec::new(),
        workload: inputs::workload(lab, workload, machine)?,
        machine: machine.clone(),
        duration,
        seed: SEED,
        engine: Engine::Native,
        checked: false,
    })
}

fn costs(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    tasks: u32,
) -> Result<Vec<DecisionCost>, Failure> {
    let arrived = arrival(tasks);
    let spec = spec(lab, scheduler, machine, &crowd(tasks), arrived + WINDOW)?;
    let mut decisions = Decisions::since(Instant::ZERO + arrived);
    let outcome = (lab.run)(&spec, &mut decisions, &mut |_| {}).map_err(Failure::from_lab)?;
    in_charge(scheduler, tasks, &outcome)?;
    Ok(decisions.costs())
}

/// How long the rounds may take.
fn rounds(machine: &Machine, tasks: u32) -> Span {
    let turns = u64::from(tasks.div_ceil(machine.topology.cpus())) + 10;
    TURN * (2 * ROUNDS * turns)
}

/// The calls in which the counter rose, until there are enough.
struct RoundEnds(CountedCalls);

impl Sink for RoundEnds {
    fn wants(&self) -> Class {
        self.0.wants()
    }

    fn events(&mut self, events: &[Event]) {
        self.0.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.0.meta(at, meta);
    }
}

impl Counted for RoundEnds {
    fn counts(&mut self, counts: &[u64]) -> bool {
        self.0.read(counts);
        self.0.calls() < ENOUGH
    }
}

/// What the dispatches cost that end a round of everybody who waits; none where the scheduler does not count them.
fn round_ends(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    tasks: u32,
) -> Result<Option<DecisionCost>, Failure> {
    let arrived = arrival(tasks);
    let hogs = format!("hogs:{tasks}:{HOGS_NICE}");
    let spec = spec(lab, scheduler, machine, &hogs, arrived + rounds(machine, tasks))?;
    let mut known = None;
    for (counter, told) in COUNTERS {
        if keel_lab::watch::declares(&spec, counter).map_err(Failure::from_lab)? {
            known = Some((counter, told));
        }
    }
    let Some((counter, told)) = known else { return Ok(None) };
    let from = Instant::ZERO + arrived;
    let mut ends = RoundEnds(CountedCalls::of(Op::Dispatch, from));
    let outcome = keel_lab::watch::run_counted(&spec, counter, from, STEP, &mut ends);
    let outcome = outcome.map_err(Failure::from_lab)?;
    // A round that the kernel's watchdog does not wait for has no end to tell of.
    if outcome.exit != ExitKind::ErrorStall {
        in_charge(scheduler, tasks, &outcome)?;
    }
    Ok(ends.0.cost(told))
}

/// Errs where the scheduler failed.
fn in_charge(scheduler: &SchedulerSource, tasks: u32, outcome: &Outcome) -> Result<(), Failure> {
    match outcome.exit.is_failure() {
        true => Err(Failure::scheduler(format!(
            "{} failed with {tasks} tasks: {} ({})",
            scheduler.name,
            outcome.exit.reason(),
            outcome.message
        ))),
        false => Ok(()),
    }
}
