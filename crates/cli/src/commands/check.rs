//! `keel check`: the judgement of a recording of any tool.

use crate::args::CheckArgs;
use crate::failure::{Code, Failure};
use crate::gate::Gate;
use crate::interrupt;
use crate::moment::{Extent, Moment};
use crate::recording::{Reading, Source, unreadable};
use crate::show;
use keel_abi::Instant;
use keel_check::{Figures, Judge, Limits, WaitStories, Waits, Wanted};
use keel_readers::Recording;
use keel_report::{CheckReport, RunFacts, RunReport, WaitsReport};
use keel_trace::{Class, Cut, Event, Fanout, Meta, Sink, What};
use std::ops::Range;

pub(crate) fn run(args: &CheckArgs) -> Result<Code, Failure> {
    if let Some(task) = &args.task {
        return waits(args, task);
    }
    let gate = Gate::strict(&args.strict)?;
    let mut report = judge(args)?;
    if !report.failed() {
        report.strict = gate.rule(&report.facts());
    }
    show::check(&report, args.json)?;
    let passed = report.strict.as_ref().is_none_or(|ruling| ruling.passed);
    Ok(interrupt::code(report.partial.is_some(), show::code_of(report.failed(), passed)))
}

/// The part of the trace that is asked for. Where there is a question, the trace is gone through for its length and its
/// recorder's clock.
fn range(args: &CheckArgs, source: &Source) -> Result<Range<Instant>, Failure> {
    let (start, end) = (Instant::ZERO, Instant::from_ns(u64::MAX));
    if args.from.is_none() && args.until.is_none() {
        return Ok(start..end);
    }
    let mut extent = Extent::default();
    whole(source.read(&mut extent)?)?;
    let within = |name: &str, moment: Option<Moment>, otherwise| match moment {
        Some(moment) => {
            moment.within(extent).map_err(|why| unreadable(&args.trace)(format!("--{name}: {why}")))
        }
        None => Ok(otherwise),
    };
    let (from, until) = (within("from", args.from, start)?, within("until", args.until, end)?);
    match from < until {
        true => Ok(from..until),
        false => {
            let [from, until] = [from, until].map(|at| at.since(start));
            Err(Failure::input(format!("--until {until} is not later than --from {from}")))
        }
    }
}

/// Why the task waited: one walk finds its longest waits, another describes what happened during them.
fn waits(args: &CheckArgs, task: &str) -> Result<Code, Failure> {
    let path = &args.trace;
    let source = Source::open(path)?;
    let range = range(args, &source)?;
    let mut longest = Waits::new(Wanted(task.to_owned()), args.top as usize);
    let mut tally = Tally::default();
    let mut sinks = Fanout::new().with(&mut longest).with(&mut tally);
    whole(read(args, &source, range.clone(), &mut sinks)?)?;
    let sums = longest.sums();
    if sums.tasks == 0 {
        return Err(unreadable(path)(format!(
            "no task has the name or pid '{}'; keel check without --task lists the names",
            keel_check::escape(task)
        )));
    }
    let mut stories = WaitStories::of(&sums);
    whole(read(args, &source, range, &mut stories)?)?;
    let report = WaitsReport::new(task, &sums, &stories.stories()).counted_from(tally.clock_ns);
    show::waits(&report, args.json)?;
    Ok(Code::Done)
}

/// The longest waits of a part are not those of the whole.
fn whole(reading: Reading) -> Result<(), Failure> {
    match interrupt::by() {
        Some(by) if reading.partial.is_some() => Err(interrupt::nothing(
            by,
            "before all waits were read; keel check without --task can judge part of a recording",
        )),
        _ => Ok(()),
    }
}

/// Hands the part of the recording that is asked for to `sink`.
fn read(
    args: &CheckArgs,
    source: &Source,
    range: Range<Instant>,
    sink: &mut dyn Sink,
) -> Result<Reading, Failure> {
    let from = range.start.since(Instant::ZERO);
    let mut part = Cut::new(range, sink);
    let reading = source.read(&mut part)?;
    match (part.has_begun(), interrupt::by()) {
        (true, _) => Ok(reading),
        (false, Some(by)) if reading.partial.is_some() => {
            Err(interrupt::nothing(by, &format!("before {from}, where --from starts")))
        }
        (false, _) => Err(unreadable(&args.trace)(format!("it ends before {from}, where --from starts"))),
    }
}

/// Reads the whole recording, of whatever kind its content says that it is.
fn judge(args: &CheckArgs) -> Result<CheckReport, Failure> {
    let source = Source::open(&args.trace)?;
    let limits = Limits { delay: args.delay, assume_unrestricted: args.assume_unrestricted };
    let (mut judge, mut tally) = (Judge::with(Figures::new(), limits), Tally::default());
    let mut sinks = Fanout::new().with(&mut judge).with(&mut tally);
    let range = range(args, &source)?;
    let Reading { recording, partial } = read(args, &source, range, &mut sinks)?;
    let run = RunReport { partial, ..RunReport::new(&tally.facts, &judge.judgement()) };
    let Recording { notes, doubts, lost, .. } = recording;
    let lost = tally.lost.max(lost);
    let report = CheckReport::new(run, tally.events, lost).of(source.kind.name(), notes, &doubts);
    Ok(report.counted_from(tally.clock_ns))
}

/// What no check counts: the events themselves, and what the stream is of.
#[derive(Default)]
pub(crate) struct Tally {
    events: u64,
    pub(crate) lost: u64,
    pub(crate) facts: RunFacts,
    /// What the recorder's clock said at time 0.
    pub(crate) clock_ns: Option<u64>,
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
            Meta::Unknown(_) | Meta::Task(_) | Meta::Member { .. } | Meta::Policy(_) | Meta::End => {}
        }
    }
}
