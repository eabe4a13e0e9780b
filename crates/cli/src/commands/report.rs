//! `keel report`: writes recordings as one interactive page, and as Perfetto traces.

use crate::failure::{Code, Failure};
use crate::interrupt;
use crate::interrupt::Process;
use crate::output::Output;
use crate::outputs::distinct;
use crate::page;
use crate::recording::{self, Reading, Source};
use crate::recording_args::ReportArgs;
use crate::text::shown_path;
use keel_check::{Figures, Judge, Limits};
use keel_front::check::Tally;
use keel_page::{Budget, Facts, Page, RunData};
use keel_perfetto::Perfetto;
use keel_report::RunReport;
use keel_trace::{Fanout, Sink};
use std::io::{BufWriter, Write};
use std::path::Path;

pub(crate) fn run(args: &ReportArgs) -> Result<Code, Failure> {
    refuse(args)?;
    let mut outputs = reserve(args)?;
    let mut runs = Vec::new();
    let mut partial = None;
    for path in &args.traces {
        let mut page = outputs.page.is_some().then(|| Page::new(Budget::for_runs(args.traces.len())));
        let mut perfetto =
            outputs.perfetto.as_mut().map(|output| Perfetto::new(BufWriter::new(output.writer())));
        let mut sinks: Vec<&mut dyn Sink> = Vec::new();
        sinks.extend(page.as_mut().map(|page| page as &mut dyn Sink));
        sinks.extend(perfetto.as_mut().map(|perfetto| perfetto as &mut dyn Sink));
        let read = read(path, sinks)?;
        if let Some(Err(e)) = perfetto.map(Perfetto::finish)
            && let Some(output) = &outputs.perfetto
        {
            return Err(output.failed(&e));
        }
        runs.extend(page.and_then(|page| data(page, path, &read)));
        partial = read.report.partial;
        if partial.is_some() {
            break;
        }
    }
    if let Some(output) = &mut outputs.page {
        page::write(&runs, output)?;
    }
    outputs.page.into_iter().chain(outputs.perfetto).try_for_each(Output::keep)?;
    if let Some(partial) = partial {
        // If stderr is closed there is nobody left to report to.
        let _ = writeln!(std::io::stderr(), "keel: {}; the page covers only this part", partial.words());
    }
    Ok(interrupt::code(partial.is_some(), Code::Done))
}

/// The requested files.
struct Outputs {
    page: Option<Output>,
    perfetto: Option<Output>,
}

/// Rejects arguments that are invalid whatever the recordings contain.
fn refuse(args: &ReportArgs) -> Result<(), Failure> {
    if args.traces.iter().filter(|path| recording::is_stdin(path)).count() > 1 {
        return Err(Failure::input("'-' is standard input, which can be read only once"));
    }
    if args.traces.len() > page::MOST_RUNS {
        let most = page::MOST_RUNS;
        return Err(Failure::input(format!(
            "a page shows up to {most} recordings, not {}",
            args.traces.len()
        ))
        .help("make several pages"));
    }
    if args.perfetto.is_some() && args.traces.len() > 1 {
        return Err(
            Failure::input("--perfetto takes a single trace").help("use keel report TRACE --perfetto OUT")
        );
    }
    if let Some(path) = args.output.as_deref().filter(|path| page::is_picture(path)) {
        let shown = shown_path(path);
        return Err(Failure::input(format!("-o {shown}: keel report writes HTML pages, not pictures"))
            .help("name a file that ends in .html; for a picture use keel sim --report OUT.svg"));
    }
    if let Some(path) = args.output.as_deref().filter(|path| !page::is_page(path)) {
        return Err(page::refused("-o", path, "keel report writes HTML pages", ".html"));
    }
    Ok(())
}

fn reserve(args: &ReportArgs) -> Result<Outputs, Failure> {
    let reserve = |path: &Option<_>| path.as_deref().map(Output::reserve).transpose();
    let outputs = Outputs { page: reserve(&args.output)?, perfetto: reserve(&args.perfetto)? };
    let named = [("-o", outputs.page.as_ref()), ("--perfetto", outputs.perfetto.as_ref())];
    let named = named.into_iter().filter_map(|(option, output)| Some((option, output?)));
    distinct(named, &args.traces)?;
    Ok(outputs)
}

/// The judgement of a recording, and the remarks about it.
struct Read {
    report: RunReport,
    notes: Vec<String>,
}

/// Reads the whole recording, of any format. `others` receive its events, as the judge does.
fn read(path: &Path, others: Vec<&mut dyn Sink>) -> Result<Read, Failure> {
    let source = Source::open(path)?;
    // Judged as keel check does.
    let (mut judge, mut tally) = (Judge::with(Figures::new(), Limits::default()), Tally::default());
    let mut sinks = Fanout::new().with(&mut judge).with(&mut tally);
    for other in others {
        sinks = sinks.with(&mut *other);
    }
    let Reading { recording, partial } = source.read(&mut sinks, &Process)?;
    drop(sinks);
    let report = RunReport::new(&tally.facts, &judge.judgement());
    let doubt = keel_report::check::doubt(&recording.doubts, tally.lost.max(recording.lost));
    let report = RunReport { partial, doubt, ..report };
    let clock = tally.clock_ns.map(keel_report::check::counted_from);
    Ok(Read { report, notes: clock.into_iter().chain(recording.notes).collect() })
}

fn data(page: Page, path: &Path, read: &Read) -> Option<RunData> {
    let name = format!("{} ({})", page::named(&read.report), file_name(path));
    page.finish(&Facts { report: &read.report, notes: &read.notes, name, profile: None })
}

fn file_name(path: &Path) -> String {
    if recording::is_stdin(path) {
        return "standard input".to_owned();
    }
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
