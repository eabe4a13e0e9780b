//! `keel lab --report OUT.html`: draws the page's pictures and writes its file.

use crate::args::LabArgs;
use crate::experiments;
use crate::failure::Failure;
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::output::Output;
use crate::page::is_page;
use crate::text::shown_path;
use keel_abi::Span;
use keel_experiment::Experiment;
use keel_lab::RunSpec;
use keel_report::lab_page::ArmPicture;
use keel_report::picture::{Caption, Picture};

/// How much virtual time of a run is drawn.
const DRAWN: Span = Span::from_ms(500);

/// Returns the page's file, if requested.
pub(super) fn reserve(args: &LabArgs) -> Result<Option<Output>, Failure> {
    let Some(path) = &args.report else { return Ok(None) };
    if !is_page(path) {
        let reported = format!("{}: keel lab writes HTML pages", shown_path(path));
        return Err(Failure::input(reported)
            .help("name a file that ends in .html; only --decisions draws pictures (.svg)"));
    }
    let output = Output::reserve(path)?;
    output.spare(&args.experiments)?;
    Ok(Some(output))
}

/// Writes the page, unless a signal has arrived: a page always covers the whole request. `output` is `None` afterwards
/// if the page was not written.
pub(super) fn write(output: &mut Option<Output>, page: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(to) = output.as_mut().filter(|_| interrupt::by().is_none()) else {
        *output = None;
        return Ok(());
    };
    let page = page();
    let written = match interrupt::by() {
        // The page's pictures are incomplete.
        Some(_) => None,
        None => Some(to.write(page.as_bytes())),
    };
    if !matches!(written, Some(Ok(()))) {
        *output = None;
    }
    written.unwrap_or(Ok(()))
}

/// Returns a picture of the first run of each arm, in the order of the arms, or `None` for a run without a picture.
pub(super) fn pictures(
    args: &LabArgs,
    lab: &Lab,
    experiments: &[Experiment],
) -> Vec<Vec<Option<ArmPicture>>> {
    let arms: Vec<(usize, usize)> = experiments
        .iter()
        .enumerate()
        .flat_map(|(at, experiment)| (0..experiment.arms.len()).map(move |arm| (at, arm)))
        .collect();
    let specs: Vec<_> = experiments
        .iter()
        .map(|experiment| experiments::arms(lab, experiment, &args.programs, &Process))
        .collect();
    let drawn = keel_lab::each(&arms, super::jobs(args), |&(at, arm)| {
        let spec = specs[at][arm].as_ref().ok()?;
        draw(lab, &experiments[at], arm, spec)
    });
    let mut drawn = drawn.into_iter();
    experiments.iter().map(|experiment| drawn.by_ref().take(experiment.arms.len()).collect()).collect()
}

fn draw(lab: &Lab, experiment: &Experiment, arm: usize, spec: &RunSpec) -> Option<ArmPicture> {
    let spec = RunSpec { seed: experiment.seed, duration: spec.duration.min(DRAWN), ..spec.clone() };
    let mut picture = Picture::new();
    // The reason for a failed run is reported where the run is judged.
    (lab.run)(&spec, &mut picture, &mut |_| {}, &interrupt::stop()).ok()?;
    let label = experiment.arms[arm].label.clone();
    let caption = Caption {
        title: format!("{label}: the first {}", spec.duration),
        subtitle: format!(
            "scheduler {} · workload {} · machine {} · seed {}",
            spec.scheduler.name, spec.workload.name, spec.machine.name, spec.seed
        ),
    };
    Some(ArmPicture { label, svg: picture.svg(&caption) })
}
