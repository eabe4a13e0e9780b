//! `keel report`: recordings, whoever made them, as one page to explore, and for Perfetto.

use crate::args::ReportArgs;
use crate::commands::check::{Tally, own};
use crate::failure::{Code, Failure};
use crate::inputs::reason;
use crate::output::Output;
use crate::page;
use crate::text::shown_path;
use keel_check::{Figures, Judge, Limits};
use keel_page::{Budget, Facts, Page, RunData};
use keel_perfetto::Perfetto;
use keel_readers::Kind;
use keel_report::RunReport;
use keel_trace::{Fanout, Sink};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

pub(crate) fn run(args: &ReportArgs) -> Result<Code, Failure> {
    let mut outputs = reserve(args)?;
    let mut runs = Vec::new();
    for path in &args.traces {
        let mut page = outputs.page.is_some().then(|| Page::new(Budget::for_runs(args.traces.len())));
        let mut perfetto =
            outputs.perfetto.as_mut().map(|output| Perfetto::new(BufWriter::new(output.writer())));
        let mut sinks: Vec<&mut dyn Sink> = Vec::new();
        sinks.extend(page.as_mut().map(|page| page as &mut dyn Sink));
        sinks.extend(perfetto.as_mut().map(|perfetto| perfetto as &mut dyn Sink));
        let read = read(path, sinks)?;
        if let Some(Err(e)) = perfetto.map(Perfetto::finish) {
            return Err(Failure::input(format!("what is for Perfetto cannot be written: {e}")));
        }
        runs.extend(page.and_then(|page| data(page, path, &read)));
    }
    if let Some(output) = &mut outputs.page {
        page::write(&runs, output)?;
    }
    outputs.page.into_iter().chain(outputs.perfetto).try_for_each(Output::keep)?;
    Ok(Code::Done)
}

/// The files that are asked for.
struct Outputs {
    page: Option<Output>,
    perfetto: Option<Output>,
}

fn reserve(args: &ReportArgs) -> Result<Outputs, Failure> {
    if args.perfetto.is_some() && args.traces.len() > 1 {
        return Err(
            Failure::input("--perfetto is about one trace").help("use keel report TRACE --perfetto OUT")
        );
    }
    if let Some(path) = args.output.as_deref().filter(|path| page::is_picture(path)) {
        let shown = shown_path(path);
        return Err(Failure::input(format!("-o {shown}: keel report makes pages to explore, not pictures"))
            .help("name a file that ends in .html; keel sim --report OUT.svg draws pictures"));
    }
    if let Some(path) = args.output.as_deref().filter(|path| !page::is_page(path)) {
        return Err(page::refused("-o", path, "keel report writes pages", ".html"));
    }
    let reserve = |path: &Option<_>| path.as_deref().map(Output::reserve).transpose();
    let outputs = Outputs { page: reserve(&args.output)?, perfetto: reserve(&args.perfetto)? };
    let device = |path: &Path| std::fs::metadata(path).is_ok_and(|there| !there.is_file());
    let places: Vec<&Path> = outputs.page.iter().chain(&outputs.perfetto).map(Output::path).collect();
    if let [one, other] = places[..]
        && one == other
        && !device(one)
    {
        return Err(Failure::input(format!("-o and --perfetto both name {}", shown_path(one)))
            .help("give each a file of its own"));
    }
    for input in args.traces.iter().filter_map(|path| std::fs::canonicalize(path).ok()) {
        if places.iter().any(|place| *place == input) {
            let shown = shown_path(&input);
            return Err(Failure::input(format!("{shown} is an input, and would be overwritten")));
        }
    }
    Ok(outputs)
}

/// A recording's judgement, and what is to be said of it.
struct Read {
    report: RunReport,
    notes: Vec<String>,
}

/// Reads the whole recording, of whatever kind, with `others` listening beside the judge.
fn read(path: &Path, others: Vec<&mut dyn Sink>) -> Result<Read, Failure> {
    let told = |why: String| Failure::input(format!("{}: {why}", shown_path(path)));
    let mut file = File::open(path).map_err(|e| told(reason(&e)))?;
    let kind = keel_readers::kind(&mut file).map_err(|e| told(e.to_string()))?;
    // As keel check judges it.
    let limits = Limits { affinity_known: kind == Kind::Own, ..Limits::default() };
    let (mut judge, mut tally) = (Judge::with(Figures::new(), limits), Tally::default());
    let mut sinks = Fanout::new().with(&mut judge).with(&mut tally);
    for other in others {
        sinks = sinks.with(&mut *other);
    }
    let recording = match kind {
        Kind::Own => own(file, &mut sinks).map_err(|e| told(e.to_string()))?,
        _ => keel_readers::read(file, &mut sinks).map_err(|e| told(e.to_string()))?,
    };
    let mut report = RunReport::new(&tally.facts, &judge.judgement());
    report.affinity_unknown = kind != Kind::Own;
    Ok(Read { report, notes: recording.notes })
}

fn data(page: Page, path: &Path, read: &Read) -> Option<RunData> {
    let name = format!("{} ({})", page::named(&read.report), file_name(path));
    page.finish(&Facts { report: &read.report, notes: &read.notes, name })
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
