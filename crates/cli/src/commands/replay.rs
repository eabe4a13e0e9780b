//! `keel replay`: runs the workload of a recording under another scheduler. The output begins with how far you can
//! trust the replay.

use crate::asked::Asked;
use crate::commands::sim;
use crate::failure::{Code, Failure};
use crate::gate::Gate;
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::outputs::{self, LogPaths, both};
use crate::recording_args::{PartArgs, ReplayArgs};
use crate::replay::{self, Part};
use crate::{inputs, profile, show};
use keel_lab::{Machine, RunSpec, SchedulerSource};
use keel_replay::Replay;
use std::path::Path;

pub(crate) fn run(args: &ReplayArgs, lab: &Lab) -> Result<Code, Failure> {
    sim::refuse(&args.outputs)?;
    let asked = Asked::read(lab, &args.scheduler)?;
    let source = inputs::source(lab, &asked, args.host.as_deref())?;
    let gate = Gate::new(&args.strict, &args.baseline)?;
    let (recorded, machine) =
        recorded(&args.part, &args.recording, lab).map_err(|failure| exchanged(args, lab, failure))?;
    let mut spec = spec(args, &asked, source, &recorded, machine);
    profile::ask(&args.outputs, std::slice::from_mut(&mut spec))?;
    gate.fits(std::slice::from_ref(&spec), 1)?;
    let mut read = vec![asked.scheduler];
    read.extend(args.recording.to_str());
    read.extend(args.part.machine.as_deref());
    let recipe = inputs::recipe_file(lab, asked.scheduler, args.host.as_deref());
    read.extend(recipe.as_deref().and_then(Path::to_str));
    read.extend(args.strict.budgets.as_deref().into_iter().chain(args.baseline.baseline.as_deref()));
    let outputs = outputs::reserve(&args.outputs, LogPaths::default(), &read)?;
    let (mut run, written) = sim::simulate(lab, &spec, outputs)?;
    if !run.failed() {
        run.strict = gate.rule(&run.facts());
        if run.partial.is_none() {
            run.baseline = gate.compare(std::slice::from_ref(&run), 1)?;
        }
    }
    both(written, show::replay(&recorded.confidence, &run, args.outputs.json))?;
    Ok(interrupt::code(run.partial.is_some(), show::code(&run)))
}

/// Returns the recording as a workload, on the requested machine.
pub(crate) fn recorded(part: &PartArgs, trace: &Path, lab: &Lab) -> Result<(Replay, Machine), Failure> {
    let PartArgs { machine, cpus, keep, scale } = part;
    let part = Part { machine: machine.clone(), cpus: *cpus, keep: keep.clone(), scale: *scale };
    replay::recorded(&part, trace, lab, &Process)
}

/// Adds advice if the scheduler and the recording were swapped.
fn exchanged(args: &ReplayArgs, lab: &Lab, failure: Failure) -> Failure {
    let given = args.recording.to_str().unwrap_or_default();
    let is_scheduler = !args.recording.exists() && (lab.scheduler)(given).is_some();
    if is_scheduler {
        failure.help("the recording comes first: keel replay RECORDING SCHED")
    } else {
        failure
    }
}

fn spec(
    args: &ReplayArgs,
    asked: &Asked<'_>,
    source: SchedulerSource,
    recorded: &Replay,
    machine: Machine,
) -> RunSpec {
    let settings = args.settings.iter().chain(&asked.settings).cloned().collect();
    let spec = replay::spec(source, settings, recorded, machine);
    RunSpec { duration: args.duration.unwrap_or(spec.duration), seed: args.seed.unwrap_or(spec.seed), ..spec }
}
