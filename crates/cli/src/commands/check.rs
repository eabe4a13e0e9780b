//! `keel check`: the judgement of a recording, whoever made it.

use crate::args::CheckArgs;
use crate::failure::{Code, Failure};
use crate::inputs::reason;
use crate::show;
use crate::text::shown_path;
use keel_abi::{Instant, Span};
use keel_check::{Figures, Judge, Limits, WaitStories, Waits, Wanted};
use keel_readers::{Kind, Recording};
use keel_report::{CheckReport, RunFacts, RunReport, WaitsReport};
use keel_trace::{Class, Cut, Event, Fanout, Meta, Reader, Sink, TraceError, What, relayed};
use std::fs::File;
use std::io::Seek;
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Shorter traces are read before a thread has begun.
const LARGE: u64 = 1 << 20;

pub(crate) fn run(args: &CheckArgs) -> Result<Code, Failure> {
    if let Some(task) = &args.task {
        return waits(args, task);
    }
    let report = judge(args)?;
    show::check(&report, args.json)?;
    Ok(match (report.failed(), args.strict && report.found_something()) {
        (true, _) => Code::Scheduler,
        (false, true) => Code::Found,
        (false, false) => Code::Done,
    })
}

/// The part of the trace that is asked for.
fn range(args: &CheckArgs) -> Result<Range<Instant>, Failure> {
    let from = args.from.unwrap_or(Span::ZERO);
    let until = args.until.unwrap_or(Span::from_ns(u64::MAX));
    match from < until {
        true => Ok(Instant::ZERO + from..Instant::ZERO + until),
        false => Err(Failure::input(format!("--until {until} is not later than --from {from}"))),
    }
}

/// Why the task waited: one walk finds its longest waits, another tells what happened during them.
fn waits(args: &CheckArgs, task: &str) -> Result<Code, Failure> {
    let path = &args.trace;
    let (mut file, kind) = open(path)?;
    let mut longest = Waits::new(Wanted(task.to_owned()), args.top as usize);
    read(path, &mut file, kind, range(args)?, &mut longest)?;
    let sums = longest.sums();
    if sums.tasks == 0 {
        return Err(told(path)(format!(
            "no task is named '{}' or has that pid; keel check without --task lists names",
            keel_check::escape(task)
        )));
    }
    file.rewind().map_err(|e| told(path)(reason(&e)))?;
    let mut stories = WaitStories::of(&sums);
    read(path, &mut file, kind, range(args)?, &mut stories)?;
    let report = WaitsReport::new(task, kind == Kind::Own, &sums, &stories.stories());
    show::waits(&report, args.json)?;
    Ok(Code::Done)
}

/// What is wrong with the file, as people are told.
fn told(path: &Path) -> impl Fn(String) -> Failure {
    move |why| Failure::input(format!("{}: {why}", shown_path(path)))
}

/// A recording, and of what kind it is.
fn open(path: &Path) -> Result<(File, Kind), Failure> {
    let is = std::fs::metadata(path).map_err(|e| told(path)(reason(&e)))?.file_type();
    if is.is_dir() {
        return Err(told(path)("it is a folder, not a recording".to_owned()));
    }
    // Nobody waits for one to be opened.
    if is.is_fifo() || is.is_socket() {
        return Err(told(path)("it is a pipe, and recordings are gone through twice".to_owned())
            .help("write it into a file first, and name that"));
    }
    let mut file = File::open(path).map_err(|e| told(path)(reason(&e)))?;
    let kind = keel_readers::kind(&mut file).map_err(|e| told(path)(e.to_string()))?;
    Ok((file, kind))
}

/// Hands a part of the recording to `sink`.
fn read(
    path: &Path,
    file: &mut File,
    kind: Kind,
    range: Range<Instant>,
    sink: &mut dyn Sink,
) -> Result<Recording, Failure> {
    let told = told(path);
    let from = range.start.since(Instant::ZERO);
    let file = file.try_clone().map_err(|e| told(reason(&e)))?;
    let mut part = Cut::new(range, sink);
    let recording = match kind {
        Kind::Own => own(file, &mut part).map_err(|e| told(e.to_string()))?,
        _ => keel_readers::read(file, &mut part).map_err(|e| told(e.to_string()))?,
    };
    if !part.has_begun() {
        return Err(told(format!("it is over before {from}, where --from begins")));
    }
    Ok(recording)
}

/// Reads the whole recording, of whatever kind its content says that it is.
fn judge(args: &CheckArgs) -> Result<CheckReport, Failure> {
    let (mut file, kind) = open(&args.trace)?;
    let limits = Limits { delay: args.delay, affinity_known: kind == Kind::Own };
    let (mut judge, mut tally) = (Judge::with(Figures::new(), limits), Tally::default());
    let mut sinks = Fanout::new().with(&mut judge).with(&mut tally);
    let recording = read(&args.trace, &mut file, kind, range(args)?, &mut sinks)?;
    let run = RunReport::new(&tally.facts, &judge.judgement());
    let Recording { notes, lost, .. } = recording;
    Ok(CheckReport::new(run, tally.events, tally.lost.max(lost)).of(kind.name(), notes, kind == Kind::Own))
}

/// Evenkeel's own trace; a large one is read on a thread of its own.
pub(crate) fn own(file: File, sink: &mut dyn Sink) -> Result<Recording, TraceError> {
    let is_large = file.metadata().is_ok_and(|file| file.len() >= LARGE);
    let mut reader = Reader::new(file)?;
    let wrong = match is_large {
        true => relayed(sink, |sink| reader.pump_what_is_left(sink))?,
        false => reader.pump_what_is_left(sink)?,
    };
    let note = |wrong| format!("{wrong}; what comes before is judged, and no checksum vouches for it");
    Ok(Recording { kind: Kind::Own, notes: wrong.map(note).into_iter().collect(), lost: 0 })
}

/// What no check counts: the events themselves, and what the stream is of.
#[derive(Default)]
pub(crate) struct Tally {
    events: u64,
    lost: u64,
    pub(crate) facts: RunFacts,
}

impl Sink for Tally {
    fn wants(&self) -> Class {
        Class::ALL
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            match event.what {
                What::Lost { events } => self.lost += u64::from(events),
                _ => self.events += 1,
            }
        }
    }

    fn meta(&mut self, _: Instant, meta: &Meta) {
        match meta {
            Meta::Start { scheduler, workload, .. } => {
                self.facts.scheduler.clone_from(scheduler);
                self.facts.workload.clone_from(workload);
            }
            Meta::SchedulerExit { kind, message } => {
                self.facts.exit = *kind;
                self.facts.message.clone_from(message);
            }
            Meta::Task(_) | Meta::Policy(_) | Meta::End => {}
        }
    }
}
