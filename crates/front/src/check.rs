//! Judges a recording or part of it.

use crate::caller::Caller;
use crate::failure::Failure;
use crate::moment::{Extent, Moment};
use crate::recording::{Reading, Source, unreadable};
use keel_abi::Instant;
use keel_check::{Figures, Judge, Limits, WaitStories, Waits, Wanted};
use keel_readers::Recording;
use keel_report::{CheckReport, RunFacts, RunReport, StoppedBy, WaitsReport};
use keel_trace::{Class, Cut, Event, Fanout, Meta, Sink, What};
use std::ops::Range;
use std::path::PathBuf;

/// Why a stop leaves no waits: the longest ones of a part are not those of the whole.
const UNREAD: &str = "before all waits were read; keel check without --task can judge part of a recording";

/// The part of a recording to judge.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The file.
    pub trace: PathBuf,
    /// Only events from this moment on.
    pub from: Option<Moment>,
    /// Only events before this moment.
    pub until: Option<Moment>,
}

/// Returns the requested part of the trace. If a time was given, reads the trace once to find its length and its
/// recorder's clock.
fn range(part: &Part, source: &Source, caller: &dyn Caller) -> Result<Range<Instant>, Failure> {
    let (start, end) = (Instant::ZERO, Instant::from_ns(u64::MAX));
    if part.from.is_none() && part.until.is_none() {
        return Ok(start..end);
    }
    let mut extent = Extent::default();
    source.read(&mut extent, caller)?.whole(caller, UNREAD)?;
    let within = |name: &str, moment: Option<Moment>, otherwise| match moment {
        Some(moment) => {
            moment.within(extent).map_err(|why| unreadable(&part.trace)(format!("--{name}: {why}")))
        }
        None => Ok(otherwise),
    };
    let (from, until) = (within("from", part.from, start)?, within("until", part.until, end)?);
    match from < until {
        true => Ok(from..until),
        false => {
            let [from, until] = [from, until].map(|at| at.since(start));
            Err(Failure::input(format!("--until {until} is not later than --from {from}")))
        }
    }
}

/// Passes the requested part of the recording to `sink`.
fn read(
    part: &Part,
    source: &Source,
    range: Range<Instant>,
    sink: &mut dyn Sink,
    caller: &dyn Caller,
) -> Result<Reading, Failure> {
    let from = range.start.since(Instant::ZERO);
    let mut cut = Cut::new(range, sink);
    let reading = source.read(&mut cut, caller)?;
    match (cut.has_begun(), caller.stopped_by()) {
        (true, _) => Ok(reading),
        (false, Some(by)) if reading.partial.is_some() => {
            Err(Failure::stopped(by, &format!("before {from}, where --from starts")))
        }
        (false, _) => Err(unreadable(&part.trace)(format!("it ends before {from}, where --from starts"))),
    }
}

/// Explains why the tasks with this name or pid waited. One pass finds the `top` longest waits; another describes what
/// happened during them.
pub fn waits(part: &Part, task: &str, top: usize, caller: &dyn Caller) -> Result<WaitsReport, Failure> {
    let source = Source::open(&part.trace)?;
    let range = range(part, &source, caller)?;
    let mut longest = Waits::new(Wanted(task.to_owned()), top);
    let mut tally = Tally::default();
    let mut sinks = Fanout::new().with(&mut longest).with(&mut tally);
    read(part, &source, range.clone(), &mut sinks, caller)?.whole(caller, UNREAD)?;
    let sums = longest.sums();
    if sums.tasks == 0 {
        return Err(unreadable(&part.trace)(format!(
            "no task has the name or pid '{}'; keel check without --task lists the names",
            keel_check::escape(task)
        )));
    }
    let mut stories = WaitStories::of(&sums);
    read(part, &source, range, &mut stories, caller)?.whole(caller, UNREAD)?;
    Ok(WaitsReport::new(task, &sums, &stories.stories()).counted_from(tally.clock_ns))
}

/// Judges the requested part of a recording. The content determines the format.
pub fn judge(part: &Part, limits: Limits, caller: &dyn Caller) -> Result<CheckReport, Failure> {
    let source = Source::open(&part.trace)?;
    let (mut judge, mut tally) = (Judge::with(Figures::new(), limits), Tally::default());
    let mut sinks = Fanout::new().with(&mut judge).with(&mut tally);
    let range = range(part, &source, caller)?;
    let Reading { recording, partial } = read(part, &source, range, &mut sinks, caller)?;
    // A part may be quiet: what happened before it goes on.
    let is_whole = part.from.is_none() && part.until.is_none();
    if tally.events == 0 && is_whole {
        return Err(without_events(part, partial.and(caller.stopped_by())));
    }
    let run = RunReport { partial, ..RunReport::new(&tally.facts, &judge.judgement()) };
    let Recording { notes, doubts, lost, .. } = recording;
    let lost = tally.lost.max(lost);
    let report = CheckReport::new(run, tally.events, lost).of(source.kind.name(), notes, &doubts);
    Ok(report.counted_from(tally.clock_ns))
}

/// Returns the failure of a recording without events, which must not pass: nothing was judged.
fn without_events(part: &Part, stopped: Option<StoppedBy>) -> Failure {
    match stopped {
        Some(by) => Failure::stopped(by, "before any events were judged"),
        None => unreadable(&part.trace)(
            "it has no events; it may have been cut off, or nothing was recorded".to_owned(),
        ),
    }
}

/// Facts that no check collects: the number of events, and the origin of the stream.
#[derive(Default)]
pub struct Tally {
    events: u64,
    /// Events that the recorder lost.
    pub lost: u64,
    /// The facts that the stream records about itself.
    pub facts: RunFacts,
    /// The recorder's clock at time 0.
    pub clock_ns: Option<u64>,
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
            Meta::Clock { ns } => self.clock_ns = Some(*ns),
            Meta::Chance { seed, noise } => (self.facts.seed, self.facts.noise) = (*seed, *noise),
            Meta::Queue { id, name } => self.facts.queues.name(*id, name),
            Meta::Unknown(_)
            | Meta::Task(_)
            | Meta::Member { .. }
            | Meta::Asks { .. }
            | Meta::Group(_)
            | Meta::Scheduled { .. }
            | Meta::Policy(_)
            | Meta::End => {}
        }
    }
}
