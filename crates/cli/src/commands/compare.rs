//! `keel compare`: runs several schedulers on the same machine and workload, each with several
//! seeds, on all threads of the host.

use crate::args::CompareArgs;
use crate::asked::Asked;
use crate::execute::{Executed, Place, execute};
use crate::failure::{Code, Failure};
use crate::gate::Gate;
use crate::host;
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::outputs::{self, LogPaths, both};
use crate::progress::Bar;
use crate::run_args::OutputArgs;
use crate::{inputs, output, page, profile, show};
use keel_gate::Regression;
use keel_lab::RunSpec;
use keel_page::{Budget, Facts, Page, RunData};
use keel_profile::Profile;
use keel_report::{PartialRuns, RunReport};
use keel_trace::Sink;
use std::path::PathBuf;

pub(crate) fn run(args: &CompareArgs, lab: &Lab) -> Result<Code, Failure> {
    let asked_for = args.outputs.outputs();
    refuse(args, &asked_for)?;
    let schedulers: Vec<Asked<'_>> =
        args.schedulers.iter().map(|given| Asked::read(lab, given)).collect::<Result<_, _>>()?;
    let mut specs = inputs::specs(lab, &schedulers, None, &args.scene.scene(), &Process)?;
    number_same_names(&mut specs);
    profile::ask(&asked_for, &mut specs)?;
    let gate = Gate::new(&args.strict, &args.baseline)?;
    gate.fits(&specs, args.runs)?;
    let mut read = inputs::workload_files(&args.scene.workload)?;
    read.extend(schedulers.iter().map(|asked| asked.scheduler));
    let recipe = |asked: &Asked<'_>| inputs::recipe_file(lab, asked.scheduler, None);
    let recipes: Vec<PathBuf> = schedulers.iter().filter_map(recipe).collect();
    read.extend(recipes.iter().filter_map(|path| path.to_str()));
    read.extend(args.scene.machine.as_deref());
    read.extend(args.strict.budgets.as_deref().into_iter().chain(args.baseline.baseline.as_deref()));
    let mut outputs = outputs::reserve(&asked_for, LogPaths::default(), &read)?;
    let total = specs[0].duration * (specs.len() as u64 * u64::from(args.runs));
    let bar = Bar::new(total);
    let work = interrupt::work();
    // The page shows the first run of each scheduler.
    let page = |spec: &RunSpec| {
        let shown = outputs.report.is_some() && spec.seed == args.scene.seed;
        shown.then(|| Page::new(Budget::for_runs(specs.len())))
    };
    let results =
        keel_lab::compare(&specs, args.runs, host::jobs(None), |spec| one(lab, spec, page(spec), &bar));
    drop((bar, work));
    let asked = specs.len() * args.runs as usize;
    let made = results.into_iter().flatten().flatten().collect::<Result<Vec<_>, _>>()?;
    let mut profiles = Vec::new();
    let (mut runs, pages): (Vec<RunReport>, Vec<Option<RunData>>) = made
        .into_iter()
        .map(|(run, page, profile)| {
            profiles.extend(profile.filter(|profile| profile.about.seed == args.scene.seed).map(|it| *it));
            (run, page)
        })
        .unzip();
    let complete = runs.iter().filter(|run| run.partial.is_none()).count();
    let partial =
        interrupt::by().filter(|_| complete < asked).map(|by| PartialRuns::new(by, complete, asked));
    let pages: Vec<RunData> = pages.into_iter().flatten().collect();
    let mut written = outputs.report.as_mut().map_or(Ok(()), |output| page::write(&pages, output));
    if written.is_err() {
        outputs.report = None;
    }
    let beside = outputs.profile.as_mut().map_or(Ok(()), |output| profile::write_beside(&profiles, output));
    if beside.is_err() {
        outputs.profile = None;
    }
    written = both(written, beside);
    written = both(written, outputs.keep());
    let compared = judge(&gate, &mut runs, if partial.is_some() { None } else { Some(specs.len()) })?;
    // The comparison is printed even if the page failed.
    both(written, show::many(&runs, &compared, partial.as_ref(), asked_for.json))?;
    let codes = runs.iter().map(show::code).chain(compared.iter().map(show::regressed));
    let worst = codes.max_by_key(|code| *code as u8).unwrap_or(Code::Done);
    Ok(interrupt::code(partial.is_some(), worst))
}

/// Checks each run against the budgets, and the runs of each scheduler against the baseline. `schedulers` is `None` if
/// runs are missing; then nothing is compared with the baseline.
fn judge(gate: &Gate, runs: &mut [RunReport], schedulers: Option<usize>) -> Result<Vec<Regression>, Failure> {
    for run in runs.iter_mut().filter(|run| !run.failed()) {
        run.strict = gate.rule(&run.facts());
    }
    let Some(schedulers) = schedulers else { return Ok(Vec::new()) };
    let groups = runs.chunk_by(|a, b| a.scheduler == b.scheduler);
    let compared = groups.map(|group| gate.compare(group, schedulers)).collect::<Result<Vec<_>, _>>()?;
    Ok(compared.into_iter().flatten().collect())
}

/// A run, its data for a page, and its profile.
type Made = (RunReport, Option<RunData>, Option<Box<Profile>>);

/// Makes one run. Returns `None` if a signal prevents it.
fn one(lab: &Lab, spec: &RunSpec, mut page: Option<Page>, bar: &Bar) -> Option<Result<Made, Failure>> {
    if interrupt::stop().is_asked() {
        return None;
    }
    let sinks = page.as_mut().map(|page| page as &mut dyn Sink);
    Some(execute(lab, spec, sinks.into_iter().collect(), bar, Place::Here).map(
        |Executed { report: run, program, profile, .. }| {
            if let Some(program) = &program {
                output::tell(&spec.scheduler.name, program);
            }
            let name = page::named(&run);
            let view = page.as_ref().and(profile.as_deref()).map(keel_front::profile::view);
            let facts = Facts { report: &run, notes: &[], name, profile: view.as_ref() };
            let data = page.and_then(|page| page.finish(&facts));
            (run, data, profile)
        },
    ))
}

/// Numbers schedulers with the same name (`a/x.bpf.o,b/x.bpf.o`), so that their rows differ.
fn number_same_names(specs: &mut [RunSpec]) {
    let names: Vec<String> = specs.iter().map(|spec| spec.scheduler.name.clone()).collect();
    for (at, spec) in specs.iter_mut().enumerate() {
        let before = names[..at].iter().filter(|name| **name == names[at]).count();
        if before > 0 {
            spec.scheduler.name = format!("{}#{}", names[at], before + 1);
        }
    }
}

/// Rejects outputs that only one run can write, except a page, which shows several runs.
fn refuse(args: &CompareArgs, outputs: &OutputArgs) -> Result<(), Failure> {
    let about_one = |option: &str, name: &str| {
        Failure::input(format!("{option} needs a single run, but keel compare makes several"))
            .help(format!("use keel sim SCHED {option} {name}"))
    };
    let OutputArgs { trace, report, perfetto, profile, .. } = outputs;
    match report {
        _ if trace.is_some() => Err(about_one("--trace", "OUT")),
        _ if perfetto.is_some() => Err(about_one("--perfetto", "OUT")),
        _ if profile.as_ref().is_some_and(|path| !profile::is_text(path)) => {
            Err(about_one("--profile", "OUT"))
        }
        Some(path) if page::is_picture(path) => Err(about_one("--report", "OUT.svg")),
        Some(path) if !page::is_page(path) => {
            Err(page::refused("--report", path, "keel compare writes HTML pages", ".html"))
        }
        Some(_) if args.schedulers.len() > page::MOST_RUNS => {
            Err(Failure::input(format!("--report: a page shows up to {} schedulers", page::MOST_RUNS))
                .help("compare fewer schedulers at a time"))
        }
        _ if args.schedulers.iter().any(String::is_empty) => {
            Err(Failure::input("a scheduler's name is empty; write SCHED,SCHED,..."))
        }
        _ => Ok(()),
    }
}
