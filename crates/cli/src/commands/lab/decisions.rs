//! `keel lab --decisions`: what each callback of a scheduler costs, from few waiting tasks to very
//! many.

use crate::args::LabArgs;
use crate::failure::{Code, Failure};
use crate::inputs;
use crate::lab::Lab;
use crate::progress::Bar;
use crate::show;
use keel_abi::{Instant, Span};
use keel_check::{DecisionCost, Decisions};
use keel_lab::machines::Machine;
use keel_lab::{Engine, RunSpec, SchedulerSource};
use keel_report::DecisionsReport;

/// Tasks that wait.
const CROWDS: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
/// How long decisions are looked at, once everybody is there.
const WINDOW: Span = Span::from_ms(500);
const SEED: u64 = 1;

/// By when a crowd has come: to start a task takes 10 to 50 us on one CPU of our machines.
const fn arrival(tasks: u32) -> Span {
    Span::from_us(200_000 + 60 * tasks as u64)
}

pub(super) fn run(args: &LabArgs, lab: &Lab) -> Result<Code, Failure> {
    let machine = inputs::machine(lab, &args.machine)?;
    let sources: Vec<SchedulerSource> =
        args.decisions.iter().map(|given| inputs::scheduler(lab, given)).collect::<Result<_, _>>()?;
    let jobs: Vec<(usize, u32)> =
        (0..sources.len()).flat_map(|source| CROWDS.map(|tasks| (source, tasks))).collect();
    let bar = Bar::new(jobs.iter().map(|&(_, tasks)| arrival(tasks) + WINDOW).sum());
    let made = keel_lab::each(&jobs, args.jobs, |&(source, tasks)| {
        let costs = costs(lab, &sources[source], &machine, tasks);
        bar.advance(arrival(tasks) + WINDOW);
        costs
    });
    drop(bar);
    let mut reports: Vec<DecisionsReport> =
        sources.iter().map(|source| DecisionsReport::new(&source.name, &machine.name)).collect();
    for (&(source, tasks), costs) in jobs.iter().zip(made) {
        reports[source].add(tasks, &costs?);
    }
    show::decisions(&reports, args.json)?;
    Ok(Code::Done)
}

fn costs(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    tasks: u32,
) -> Result<Vec<DecisionCost>, Failure> {
    let arrived = arrival(tasks);
    let crowd = format!("crowd:{tasks}");
    let spec = RunSpec {
        scheduler: scheduler.clone(),
        settings: Vec::new(),
        workload: inputs::workload(lab, &crowd, machine)?,
        machine: machine.clone(),
        duration: arrived + WINDOW,
        seed: SEED,
        engine: Engine::Native,
        checked: false,
    };
    let mut decisions = Decisions::since(Instant::ZERO + arrived);
    let outcome = (lab.run)(&spec, &mut decisions, &mut |_| {}).map_err(Failure::from_lab)?;
    match outcome.exit.is_failure() {
        true => Err(Failure::scheduler(format!(
            "{} failed with {tasks} tasks: {} ({})",
            scheduler.name,
            outcome.exit.reason(),
            outcome.message
        ))),
        false => Ok(decisions.costs()),
    }
}
