//! `keel lab --decisions`: measures what each callback of a scheduler costs as the numbers of waiting tasks and CPUs
//! grow, and what the dispatches that end a round cost, which schedulers count themselves.
//!
//! Every point is a separate run that ends when enough decisions have been measured, so how long a sweep takes depends
//! on its number of points, not on how loaded their machines are.

mod costs;
mod rounds;
#[cfg(test)]
mod tests;

use crate::args::LabArgs;
use crate::failure::{Code, Failure};
use crate::inputs;
use crate::interrupt::Process;
use crate::lab::Lab;
use crate::outputs::{self, both};
use crate::page::is_picture;
use crate::progress::Bar;
use crate::run_args::OutputArgs;
use crate::text::shown_path;
use crate::{interrupt, show};
use keel_abi::{Noise, Span};
use keel_check::DecisionCost;
use keel_lab::machines::Machine;
use keel_lab::{Engine, Outcome, RunSpec, SchedulerSource};
use keel_report::decisions::{Axis, Size, chart};
use keel_report::{DecisionsReport, PartialRuns};

/// Numbers of waiting tasks, on the requested machine.
const CROWDS: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
/// Numbers of CPUs, with the same load on each CPU.
const CPUS: [u32; 5] = [1, 8, 64, 256, 1_024];
/// The maximum number of BPF instructions for a point. They take a few seconds on the host.
const MOST_INSTRUCTIONS: u64 = 1_000_000_000;
/// The nice value of hogs. It makes their turns as short as possible, and lets all other tasks go first.
const HOGS_NICE: i8 = 18;
const SEED: u64 = 1;

/// One run's measurement of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// Every decision, with this many waiting tasks.
    Tasks(u32),
    /// The dispatches that end a round of this many tasks.
    Rounds(u32),
    /// Every decision, on this many CPUs.
    Cpus(u32),
}

/// The result.
struct Measured {
    axis: Axis,
    size: Size,
    costs: Vec<DecisionCost>,
    together: Option<Span>,
}

pub(super) fn run(args: &LabArgs, lab: &Lab) -> Result<Code, Failure> {
    let machine = inputs::machine(lab, &args.machine)?;
    let sources: Vec<SchedulerSource> =
        args.decisions.iter().map(|given| inputs::scheduler(lab, given)).collect::<Result<_, _>>()?;
    let mut output = reserve(args)?;
    let jobs = jobs(sources.len());
    let bar = Bar::new(Span::from_s(jobs.len() as u64));
    let work = interrupt::work();
    let made = keel_lab::each(&jobs, super::jobs(args), |&(source, point)| {
        let measured = measure(lab, &sources[source], &machine, point);
        bar.advance(Span::from_s(1));
        measured
    });
    drop((bar, work));
    let complete = made.iter().filter(|made| !matches!(made, Ok(None))).count();
    let cut = interrupt::by()
        .filter(|_| complete < jobs.len())
        .map(|by| PartialRuns::new(by, complete, jobs.len()));
    let mut reports: Vec<DecisionsReport> =
        sources.iter().map(|source| DecisionsReport::new(&source.name, &machine.name)).collect();
    for (&(source, _), measured) in jobs.iter().zip(made).rev() {
        if let Some(Measured { axis, size, costs, together }) = measured? {
            reports[source].add(axis, size, &costs, together);
        }
    }
    let written = super::page::write(&mut output.report, || chart::svg(&reports));
    both(written, show::decisions(&reports, cut.as_ref(), args.json))?;
    output.keep()?;
    Ok(interrupt::code(true, Code::Done))
}

/// Reserves the picture's file, which must not be one of the inputs.
fn reserve(args: &LabArgs) -> Result<outputs::Outputs, Failure> {
    if let Some(path) = args.report.as_ref().filter(|path| !is_picture(path)) {
        let reported = format!("{}: with --decisions, --report writes an SVG picture", shown_path(path));
        return Err(Failure::input(reported).help("name a file that ends in .svg"));
    }
    let asked =
        OutputArgs { trace: None, report: args.report.clone(), perfetto: None, profile: None, json: false };
    let inputs: Vec<&str> = args.decisions.iter().chain([&args.machine]).map(String::as_str).collect();
    outputs::reserve(&asked, outputs::LogPaths::default(), &inputs)
}

/// Returns all points of all schedulers, the longest first, so that none of them delays the end.
fn jobs(schedulers: usize) -> Vec<(usize, Point)> {
    let sizes = CROWDS.iter().zip(&CPUS).rev();
    let points =
        sizes.flat_map(|(&tasks, &cpus)| [Point::Cpus(cpus), Point::Rounds(tasks), Point::Tasks(tasks)]);
    points.flat_map(|point| (0..schedulers).map(move |source| (source, point))).collect()
}

/// Measures one point. Returns `None` if a signal arrives before there are enough decisions.
fn measure(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    point: Point,
) -> Result<Option<Measured>, Failure> {
    if interrupt::stop().is_asked() {
        return Ok(None);
    }
    let on = |tasks| Size { tasks, cpus: machine.topology.cpus() };
    match point {
        Point::Tasks(tasks) => {
            let costs = costs::of_crowd(lab, scheduler, machine, tasks)?;
            let measured =
                |(costs, together)| Measured { axis: Axis::Tasks, size: on(tasks), costs, together };
            Ok(costs.map(measured))
        }
        Point::Rounds(tasks) => {
            let ends = rounds::ends(lab, scheduler, machine, tasks)?;
            let measured = |costs| Measured { axis: Axis::Tasks, size: on(tasks), costs, together: None };
            Ok(ends.map(measured))
        }
        Point::Cpus(cpus) => {
            let machine = (lab.machine_of_cpus)(cpus);
            let costs = costs::of_machine(lab, scheduler, &machine)?;
            let size = Size { tasks: costs::TASKS_A_CPU * cpus, cpus };
            let measured = |(costs, together)| Measured { axis: Axis::Cpus, size, costs, together };
            Ok(costs.map(measured))
        }
    }
}

/// Returns the time over which this many tasks arrive: starting one takes 10 to 50 µs on one CPU of our machines.
const fn arrival(tasks: u32) -> Span {
    Span::from_us(200_000 + 60 * tasks as u64)
}

/// Returns the spec that measures a scheduler's decisions.
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
        workload: inputs::workload(lab, workload, machine, &Process)?,
        machine: machine.clone(),
        duration,
        seed: SEED,
        noise: Noise::None,
        engine: Engine::Native,
        order: None,
        checked: false,
    })
}

/// Returns an error if the scheduler failed.
fn in_charge(scheduler: &SchedulerSource, spec: &RunSpec, outcome: &Outcome) -> Result<(), Failure> {
    match outcome.exit.is_failure() {
        true => Err(Failure::scheduler(format!(
            "{} failed on {} CPUs under {}: {} ({})",
            scheduler.name,
            spec.machine.topology.cpus(),
            spec.workload.name,
            outcome.exit.reason(),
            outcome.message
        ))),
        false => Ok(()),
    }
}
