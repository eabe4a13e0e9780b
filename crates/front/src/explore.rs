//! `keel explore`: repeats one run in many orders until one fails.

use crate::asked::Asked as Name;
use crate::caller::{Caller, work};
use crate::execute::executed;
use crate::failure::{Code, Failure};
use crate::fuzz::{Judging, writable, write};
use crate::inputs::{Scene, recipe_file, specs, workload_files};
use crate::lab::Lab;
use crate::order;
use crate::races::{self, RaceFound};
use crate::spare::spare;
use crate::text::{shown, shown_path};
use crate::timeline;
use keel_abi::Stop;
use keel_abi::bpf::CallPlace;
use keel_abi::numbers::{counted, figures};
use keel_abi::order::{Holds, Order, Point, Step};
use keel_check::Judge;
use keel_lab::prepared::KernelTypes;
use keel_lab::races::RaceTable;
use keel_lab::{LabError, Outcome, Prepared, RunSpec};
use keel_report::QueueNames;
use keel_search::explore::{Explore, Failing, Method, Orders, Tried};
use keel_search::fuzz::ROUND;
use keel_search::orders::{Choice, Chooser, Hold};
use keel_trace::{Fanout, Sink};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A run, and the places of its calls in the object.
type Made = Result<(Outcome, Vec<Option<CallPlace>>), LabError>;

/// What is known of one run in an order.
struct Told {
    tried: Tried,
    /// The place of each hold in the object.
    holds: Vec<Option<String>>,
    /// The steps within the watched spans, each with its place in the object.
    steps: Vec<(Step, Option<String>)>,
}

/// The maximum number of places that are printed, the last ones; the order's file has all.
const MOST_PLACES: usize = 12;
/// The maximum number of runs for shrinking an order.
const SHRINK_RUNS: usize = 500;

/// The request.
pub struct Asked<'a> {
    /// The scheduler, an object.
    pub scheduler: &'a str,
    /// Its recipe.
    pub recipe: Option<&'a Path>,
    /// The run.
    pub scene: Scene,
    /// How orders are chosen.
    pub method: Method,
    /// For how long a callback is suspended.
    pub window: keel_abi::Span,
    /// The seed of the search.
    pub seed: u64,
    /// The maximum number of orders.
    pub runs: u64,
    /// The maximum time.
    pub time: Duration,
    /// What counts as a failure.
    pub judging: Judging,
    /// Where a failing order is written.
    pub out: PathBuf,
    /// Whether to look for data races.
    pub races: bool,
    /// The number of parallel runs.
    pub jobs: Option<NonZeroUsize>,
}

/// The result.
#[derive(Debug, Serialize)]
pub struct Explored {
    /// The scheduler.
    pub scheduler: String,
    /// Points of the plain run at which callbacks may be suspended.
    pub points: u64,
    /// Orders tried.
    pub orders: u64,
    /// Whether all orders within the bound have been tried.
    pub exhausted: bool,
    /// A lower bound on the probability that one order exposes a bug of the requested depth; PCT only.
    pub least_probability: Option<f64>,
    /// The time it took on the host, in nanoseconds.
    pub wall_ns: u64,
    /// Ways in which the plain run already fails; the search ignores these.
    pub plain: Vec<String>,
    /// The order that fails.
    pub failing: Option<FailingOrder>,
    /// Pairs of lines that race, summed over all runs; `None` unless requested.
    pub races: Option<Vec<RaceFound>>,
    /// Whether a signal ended it early.
    pub stopped: bool,
}

/// An order that fails.
#[derive(Debug, Serialize)]
pub struct FailingOrder {
    /// The failure.
    pub what: String,
    /// How many orders were tried before it was found.
    pub after: u64,
    /// The number of holds when it was found.
    pub before: usize,
    /// The number of holds after shrinking.
    pub after_shrinking: usize,
    /// Which callbacks are suspended where, and what runs first, in order. Consecutive holds at one place share a line.
    pub holds: Vec<String>,
    /// The steps of callbacks near the last holds: one line per step, one column per CPU.
    pub timeline: Vec<String>,
    /// The number of runs that shrinking took.
    pub shrink_runs: usize,
    /// The path of the order's file.
    pub file: String,
}

/// Runs the exploration.
///
/// # Errors
/// The requested run can't be made, or the file can't be written.
pub fn explore(lab: &Lab, asked: &Asked<'_>, caller: &dyn Caller) -> Result<Explored, Failure> {
    let name = Name::read(lab, asked.scheduler)?;
    let recipe = recipe_file(lab, name.scheduler, asked.recipe);
    let mut inputs = workload_files(&asked.scene.workload)?;
    inputs.extend([name.scheduler].into_iter().chain(asked.scene.machine.as_deref()));
    inputs.extend(recipe.as_deref().and_then(Path::to_str));
    spare(&asked.out, inputs)?;
    writable(asked.out.parent().unwrap_or(Path::new("")))?;
    let spec = specs(lab, &[name], asked.recipe, &asked.scene, caller)?.remove(0);
    if spec.scheduler.bytes.get().is_none() {
        let text = format!("{}: keel explore needs a scheduler's object", shown(asked.scheduler));
        return Err(
            Failure::unsupported(text).help("eevdf and schedulers' own programs run in only one order here")
        );
    }
    let types = KernelTypes::read().map_err(Failure::from_lab)?;
    let prepared = Prepared::new(&types, &spec).map_err(Failure::from_lab)?;
    let runs = Runs { spec, prepared, asked, caller, failed: Mutex::default(), raced: Mutex::default() };
    let _work = work(caller);
    let begun = Instant::now();
    let mut search = Explore::new(&runs, asked.method, asked.seed);
    let mut failing = None;
    while failing.is_none() && !runs.is_over(begun) && search.tried() < asked.runs {
        let most = (asked.runs - search.tried()).min(ROUND as u64);
        let Some(found) = search.round(&runs, most as usize) else { break };
        failing = found.into_iter().next();
    }
    let failing = failing.map(|failing| search.shrunk(&runs, failing, SHRINK_RUNS));
    let failing = failing.map(|failing| runs.written(&failing)).transpose()?;
    if let Some(failure) = runs.failure() {
        return Err(failure);
    }
    Ok(Explored {
        scheduler: asked.scheduler.to_owned(),
        points: search.points(),
        orders: search.tried(),
        exhausted: search.is_exhausted(),
        least_probability: search.least_probability(runs.spec.machine.topology.cpus()),
        wall_ns: u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX),
        plain: search.plain().iter().map(|failure| failure.text.clone()).collect(),
        failing,
        races: runs.races(),
        stopped: caller.stopped_by().is_some(),
    })
}

struct Runs<'a> {
    spec: RunSpec,
    prepared: Prepared,
    asked: &'a Asked<'a>,
    caller: &'a dyn Caller,
    failed: Mutex<Option<Failure>>,
    raced: Mutex<RaceTable>,
}

impl Runs<'_> {
    fn failure(&self) -> Option<Failure> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn races(&self) -> Option<Vec<RaceFound>> {
        let table = || self.raced.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.asked.races.then(|| races::found(table()))
    }

    fn is_over(&self, begun: Instant) -> bool {
        begun.elapsed() >= self.asked.time || self.caller.stopped_by().is_some() || self.failure().is_some()
    }

    /// Makes a run, and collects the steps of its callbacks within these spans of time.
    fn one(
        &self,
        choice: &Choice,
        looks: bool,
        watched: Vec<Range<keel_abi::Instant>>,
    ) -> Result<Told, Failure> {
        let cpus = self.spec.machine.topology.cpus();
        let (chooser, record) = Chooser::new(self.asked.window, choice.clone(), cpus);
        let chooser = chooser.watching(watched);
        let record = || record.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (mut judge, mut queues) = (Judge::default(), QueueNames::default());
        let mut sinks = Fanout::new().with(&mut judge).with(&mut queues);
        let calls = || {
            let record = record();
            let holds = record.holds.iter().map(|hold| hold.point.call);
            holds.chain(record.steps.iter().map(|step| step.call)).collect()
        };
        let order = Box::new(chooser);
        let made = match looks {
            true => self.watched(order, &mut sinks),
            false => self.prepared.run_ordered(&self.spec, order, &mut sinks, Stop::default(), &calls),
        };
        drop(sinks);
        let (outcome, places) = made.map_err(Failure::from_lab)?;
        let run = executed(&self.spec, outcome, 0, &mut judge, queues, self.caller).report;
        let failures = self.asked.judging.failures(&run, None)?;
        let record = record();
        let source =
            |place: CallPlace| place.source.unwrap_or(format!("{} insn {}", place.program, place.insn));
        let mut places = places.into_iter().map(|place| place.map(source));
        let holds = places.by_ref().take(record.holds.len()).collect();
        let steps = record.steps.into_iter().zip(places).collect();
        Ok(Told { tried: Tried { points: record.points, holds: record.holds, failures }, holds, steps })
    }

    /// Makes a run, and adds its races to those of the other runs. The places of its holds are not looked up.
    fn watched(&self, order: Box<dyn Order>, sink: &mut dyn Sink) -> Made {
        let (outcome, races) = self.prepared.run_watched(&self.spec, order, sink, Stop::default())?;
        self.raced.lock().unwrap_or_else(PoisonError::into_inner).add(races);
        Ok((outcome, Vec::new()))
    }

    fn written(&self, failing: &Failing) -> Result<FailingOrder, Failure> {
        let points: Vec<u64> = failing.holds.iter().map(|hold| hold.number).collect();
        let shown = timeline::last_of(&failing.holds);
        let spans = timeline::spans(shown, self.asked.window);
        let told = self.one(&Choice::Given(points.clone()), false, spans)?;
        let line = |(hold, source): (&Hold, &Option<String>)| {
            words(hold.point, source.as_deref().unwrap_or("an atomic instruction"))
        };
        let words: Vec<String> = told.tried.holds.iter().zip(&told.holds).map(line).collect();
        let held = told.tried.holds.iter().copied().zip(told.holds);
        let held = held.skip(failing.holds.len() - shown.len());
        let events = timeline::events(held, told.steps.into_iter());
        let holds = Holds { window: self.asked.window, points };
        write(&self.asked.out, &order::text(&holds, &words))?;
        Ok(FailingOrder {
            what: failing.failure.text.clone(),
            after: failing.after,
            before: failing.before,
            after_shrinking: failing.holds.len(),
            holds: places(failing, words),
            timeline: timeline::lines(&events, self.asked.window),
            shrink_runs: failing.shrink_runs,
            file: self.asked.out.to_string_lossy().into_owned(),
        })
    }
}

/// Returns the holds' lines. Consecutive holds at one place share a line.
fn places(failing: &Failing, words: Vec<String>) -> Vec<String> {
    let mut lines: Vec<(Hold, String, u32)> = Vec::new();
    for (hold, words) in failing.holds.iter().zip(words) {
        match lines.last_mut() {
            Some((last, _, times))
                if (last.point.cpu, last.point.call, last.point.op, last.number + 1)
                    == (hold.point.cpu, hold.point.call, hold.point.op, hold.number) =>
            {
                *last = *hold;
                *times += 1;
            }
            _ => lines.push((*hold, words, 1)),
        }
    }
    let line = |(_, words, times): (Hold, String, u32)| match times {
        1 => words,
        _ => format!("{words}, {times} times"),
    };
    lines.into_iter().map(line).collect()
}

/// Describes a hold: `CPU 1 at 12.345 µs in ops.dispatch, before x.bpf.c:40: ..., waits for CPU 0`.
fn words(point: Point, source: &str) -> String {
    let other = point.other.map_or("a timer".to_owned(), |cpu| format!("CPU {}", cpu.0));
    format!(
        "CPU {} at {:.3} µs in ops.{}, before {source}, waits for {other}",
        point.cpu.0,
        point.at.as_ns() as f64 / 1000.0,
        point.op.name()
    )
}

impl Orders for Runs<'_> {
    fn run(&self, choices: &[Choice]) -> Vec<Tried> {
        let one = |choice: &Choice| {
            if self.caller.stopped_by().is_some() || self.failure().is_some() {
                return Tried::default();
            }
            match self.one(choice, self.asked.races, Vec::new()) {
                Ok(told) => told.tried,
                Err(failure) if failure.code == Code::Bug => {
                    let text = failure.sentence().to_owned();
                    let failures = vec![keel_search::Failure { kind: "internal error".into(), text }];
                    Tried { failures, ..Tried::default() }
                }
                Err(failure) => {
                    self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                    Tried::default()
                }
            }
        };
        keel_lab::each(choices, crate::host::jobs(self.asked.jobs), one)
    }
}

impl FailingOrder {
    /// Returns the timeline, with a line that explains it.
    fn timeline_text(&self) -> String {
        let lines: String = self.timeline.iter().map(|line| format!("{line}\n")).collect();
        format!(
            "\nNear the last holds (X: suspended before the step, |: still suspended, o: executes the step):\n{lines}\n"
        )
    }
}

impl Explored {
    /// Returns the result as text.
    pub fn text(&self) -> String {
        let seconds = self.wall_ns as f64 / 1e9;
        let mut text = format!(
            "{}: {} of a run with {} in {seconds:.1} s ({} a second)\n",
            shown(&self.scheduler),
            counted(self.orders, "order"),
            counted(self.points, "point"),
            figures(self.orders as f64 / seconds.max(1e-9))
        );
        if let Some(least) = self.least_probability {
            text += &format!(
                "An order exposes a given bug of this depth with a probability of at least {least:.2e},\n\
                 if everything that triggers it happens within the window.\n"
            );
        }
        if self.exhausted {
            text += "All orders within the bound were tried.\n";
        }
        for plain in &self.plain {
            text += &format!("In every order: {}\n", shown(plain));
        }
        match &self.failing {
            None if self.plain.is_empty() => text += "\nNo failing order was found.\n",
            None => text += "\nNo order failed in another way.\n",
            Some(failing) => {
                text += &format!(
                    "\n{}\n  found after {} with {}, shrunk in {} to {} in {}:\n",
                    shown(&failing.what),
                    counted(failing.after, "order"),
                    counted(failing.before as u64, "hold"),
                    counted(failing.shrink_runs as u64, "run"),
                    failing.after_shrinking,
                    counted(failing.holds.len() as u64, "place"),
                );
                let left_out = failing.holds.len().saturating_sub(MOST_PLACES);
                if left_out > 0 {
                    text += &format!("    the last {MOST_PLACES} of them; all are in the file:\n");
                }
                for hold in &failing.holds[left_out..] {
                    text += &format!("    {}\n", shown(hold));
                }
                text += &failing.timeline_text();
                let file = shown_path(failing.file.as_ref());
                text += &format!("  keel sim, with the same arguments and --order {file}, runs it again.\n");
            }
        }
        if let Some(races) = &self.races {
            text += &races::text(races);
        }
        text
    }
}
