//! `keel lab --sensitivity`: halves and doubles each machine constant, and shows the effect on each experiment's first
//! ratio.

use super::{page, partial, worst};
use crate::args::LabArgs;
use crate::experiments::{self, Made};
use crate::failure::{Code, Failure};
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::output::Output;
use crate::outputs::both;
use crate::progress::Bar;
use crate::show;
use keel_experiment::{ArmFigures, ClaimVerdict, Experiment, judge};
use keel_lab::RunSpec;
use keel_lab::machines::Scale;
use keel_report::sensitivity::ConstantReport;
use keel_report::{SensitivityReport, lab_page};

/// One varied constant; `None` for the unmodified machines.
type Varied = Option<(&'static str, Scale)>;

/// The arms of one experiment's first claim on varied machines.
struct Cell {
    experiment: usize,
    varied: Varied,
    arms: Vec<(usize, Result<RunSpec, Failure>)>,
}

pub(super) fn run(args: &LabArgs, lab: &Lab, experiments: &[Experiment]) -> Result<Code, Failure> {
    let mut output = page::reserve(args)?;
    let work = interrupt::work();
    let constants = (lab.constants)();
    let cells = cells(args, lab, experiments, &constants);
    let seeds = args.runs.unwrap_or(1);
    let jobs: Vec<(usize, usize, u32)> = cells
        .iter()
        .enumerate()
        .flat_map(|(at, cell)| (0..cell.arms.len()).map(move |arm| (at, arm)))
        .flat_map(|(at, arm)| (0..seeds).map(move |run| (at, arm, run)))
        .collect();
    let longest = jobs.iter().map(|&(at, ..)| experiments[cells[at].experiment].until.longest());
    let bar = Bar::new(longest.sum());
    let made: Vec<Option<Made>> = keel_lab::each(&jobs, super::jobs(args), |&(at, arm, run)| {
        let experiment = &experiments[cells[at].experiment];
        let seed = experiment.seed.wrapping_add(u64::from(run));
        experiments::make(lab, experiment, &cells[at].arms[arm].1, seed, &bar)
    });
    drop(bar);
    let cut = partial(&made);
    let code = worst(&made);
    let ratios = ratios(experiments, &cells, &jobs, made);
    let reports: Vec<SensitivityReport> = experiments
        .iter()
        .enumerate()
        .map(|(at, experiment)| report(at, experiment, &constants, &cells, &ratios))
        .collect();
    let written = page::write(&mut output, || lab_page::of_sensitivity(&reports));
    drop(work);
    both(written, show::sensitivity(&reports, cut.as_ref(), args.json))?;
    output.map_or(Ok(()), Output::keep)?;
    Ok(interrupt::code(true, code))
}

/// Returns every experiment, unmodified and with each constant of its machines varied.
fn cells(args: &LabArgs, lab: &Lab, experiments: &[Experiment], constants: &[&'static str]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (at, experiment) in experiments.iter().enumerate() {
        let claim = &experiment.claims[0];
        let arms = experiments::arms(lab, experiment, &args.programs, &Process).into_iter().enumerate();
        let arms: Vec<_> =
            arms.filter(|(arm, _)| [Some(claim.of), claim.to, claim.less].contains(&Some(*arm))).collect();
        cells.push(Cell { experiment: at, varied: None, arms: arms.clone() });
        for &name in constants {
            for scale in [Scale::Halved, Scale::Doubled] {
                if let Some(arms) = varied(lab, &arms, name, scale) {
                    cells.push(Cell { experiment: at, varied: Some((name, scale)), arms });
                }
            }
        }
    }
    cells
}

/// Returns the arms on machines with one constant varied, or `None` if that changes no machine.
fn varied(
    lab: &Lab,
    arms: &[(usize, Result<RunSpec, Failure>)],
    name: &str,
    scale: Scale,
) -> Option<Vec<(usize, Result<RunSpec, Failure>)>> {
    let mut changed = false;
    let mut arms = arms.to_vec();
    for spec in arms.iter_mut().filter_map(|(_, spec)| spec.as_mut().ok()) {
        if let Some(machine) = (lab.scaled)(&spec.machine, name, scale) {
            spec.machine = machine;
            changed = true;
        }
    }
    changed.then_some(arms)
}

/// Returns the first ratio of each cell.
fn ratios(
    experiments: &[Experiment],
    cells: &[Cell],
    jobs: &[(usize, usize, u32)],
    made: Vec<Option<Made>>,
) -> Vec<Option<f64>> {
    let empty = |cell: &Cell| vec![ArmFigures::default(); experiments[cell.experiment].arms.len()];
    let mut figures: Vec<Vec<ArmFigures>> = cells.iter().map(empty).collect();
    for (&(at, arm, _), made) in jobs.iter().zip(made) {
        figures[at][cells[at].arms[arm].0].runs.extend(made.map(|made| made.figures));
    }
    let ratio = |(cell, arms): (&Cell, &Vec<ArmFigures>)| first(&experiments[cell.experiment], arms).ours;
    cells.iter().zip(&figures).map(ratio).collect()
}

/// Returns the verdict on the first claim alone, without arms that turn the mechanism off.
fn first(experiment: &Experiment, arms: &[ArmFigures]) -> ClaimVerdict {
    let mut experiment = experiment.clone();
    experiment.claims.truncate(1);
    experiment.claims[0].off = None;
    judge(&experiment, arms).claims.remove(0)
}

fn report(
    at: usize,
    experiment: &Experiment,
    constants: &[&'static str],
    cells: &[Cell],
    ratios: &[Option<f64>],
) -> SensitivityReport {
    let ratio = |wanted: Varied| {
        let found = cells.iter().position(|cell| cell.experiment == at && cell.varied == wanted);
        found.and_then(|cell| ratios[cell])
    };
    let constant = |&name: &&'static str| ConstantReport {
        name: name.to_owned(),
        halved: ratio(Some((name, Scale::Halved))),
        doubled: ratio(Some((name, Scale::Doubled))),
    };
    SensitivityReport {
        id: experiment.id.clone(),
        base: ratio(None),
        band: first(experiment, &vec![ArmFigures::default(); experiment.arms.len()]).band,
        constants: constants.iter().map(constant).collect(),
    }
}
