//! `keel compare`: several schedulers on the same machine and workload, each run with several
//! seeds, on all threads of the host.

use crate::args::{CompareArgs, OutputArgs};
use crate::execute::execute;
use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::progress::Bar;
use crate::{inputs, outputs, page, show};
use keel_lab::RunSpec;
use keel_page::{Budget, Facts, Page, RunData};
use keel_report::RunReport;
use keel_trace::Sink;

/// Schedulers that a page shows beside each other.
const MOST_IN_PAGE: usize = 4;

pub(crate) fn run(args: &CompareArgs, lab: &Lab) -> Result<Code, Failure> {
    refuse(args)?;
    let mut specs = inputs::specs(lab, &args.schedulers, &args.scene)?;
    tell_apart(&mut specs);
    let mut read = inputs::workload_files(&args.scene.workload)?;
    read.extend(args.schedulers.iter().map(String::as_str));
    read.push(&args.scene.machine);
    let mut outputs = outputs::reserve(&args.outputs, None, &read)?;
    let total = specs[0].duration * (specs.len() as u64 * u64::from(args.runs));
    let bar = Bar::new(total);
    // Of each scheduler's runs the page shows the first.
    let page = |spec: &RunSpec| {
        let shown = outputs.report.is_some() && spec.seed == args.scene.seed;
        shown.then(|| Page::new(Budget::for_runs(specs.len())))
    };
    let results = keel_lab::compare(&specs, args.runs, |spec| one(lab, spec, page(spec), &bar));
    drop(bar);
    let made = results.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    let (runs, pages): (Vec<RunReport>, Vec<Option<RunData>>) = made.into_iter().unzip();
    if let Some(output) = &mut outputs.report {
        page::write(&pages.into_iter().flatten().collect::<Vec<_>>(), output)?;
    }
    outputs.keep()?;
    show::many(&runs, args.outputs.json)?;
    let codes = runs.iter().map(|run| show::code(run, args.outputs.strict));
    Ok(codes.max_by_key(|code| *code as u8).unwrap_or(Code::Done))
}

/// One run, and what a page shows of it.
fn one(
    lab: &Lab,
    spec: &RunSpec,
    mut page: Option<Page>,
    bar: &Bar,
) -> Result<(RunReport, Option<RunData>), Failure> {
    let sinks = page.as_mut().map(|page| page as &mut dyn Sink);
    let (run, _) = execute(lab, spec, sinks.into_iter().collect(), bar)?;
    let name = page::named(&run);
    let data = page.and_then(|page| page.finish(&Facts { report: &run, notes: &[], name }));
    Ok((run, data))
}

/// Schedulers of one name (`a/x.bpf.o,b/x.bpf.o`) get numbers, so that their rows are told apart.
fn tell_apart(specs: &mut [RunSpec]) {
    let names: Vec<String> = specs.iter().map(|spec| spec.scheduler.name.clone()).collect();
    for (at, spec) in specs.iter_mut().enumerate() {
        let before = names[..at].iter().filter(|name| **name == names[at]).count();
        if before > 0 {
            spec.scheduler.name = format!("{}#{}", names[at], before + 1);
        }
    }
}

/// What one run writes is not for many, but for a page, which shows several.
fn refuse(args: &CompareArgs) -> Result<(), Failure> {
    let about_one = |option: &str, name: &str| {
        Failure::input(format!("{option} is about one run, and keel compare makes many"))
            .help(format!("use keel sim SCHED {option} {name}"))
    };
    let OutputArgs { trace, report, perfetto, .. } = &args.outputs;
    match report {
        _ if trace.is_some() => Err(about_one("--trace", "OUT")),
        _ if perfetto.is_some() => Err(about_one("--perfetto", "OUT")),
        Some(path) if page::is_picture(path) => Err(about_one("--report", "OUT.svg")),
        Some(path) if !page::is_page(path) => {
            Err(page::refused("--report", path, "keel compare writes pages", ".html"))
        }
        Some(_) if args.schedulers.len() > MOST_IN_PAGE => {
            Err(Failure::input(format!("--report: a page shows up to {MOST_IN_PAGE} schedulers"))
                .help("compare fewer at a time"))
        }
        _ if args.schedulers.iter().any(String::is_empty) => {
            Err(Failure::input("an empty name among the schedulers; write SCHED,SCHED,..."))
        }
        _ => Ok(()),
    }
}
