//! `keel watch`: samples this machine's CPUs at intervals, and reports cores that idle while tasks wait.
//!
//! A sample that suspects CPUs is followed by a second one shortly after, because most apparent waste is just a wakeup
//! in progress. If both samples suspect the same CPUs, keel records for a while and judges the recording
//! (`keel_check::watch`).

mod allowance;
mod kept;
mod last;
mod shown;
mod sums;

use crate::bell::Bell;
use crate::failure::{Code, Failure};
use crate::kernel;
use crate::text::shown_lines;
use crate::watch_args::WatchArgs;
use allowance::Allowance;
use keel_abi::{CpuSet, Pid, Span};
use keel_check::watch::{passed_over, sentence, suspects, waits_on};
use keel_check::{Confirm, DecisionLog, Outcome, PROFILED, Resolution};
use keel_live::Host;
use keel_live::record::Recorder;
use keel_live::watch::{Look, WatchError, Watcher};
use keel_report::looked_at::LookedAtReport;
use keel_report::watch::{WatchBegin, WatchCured, WatchFinding, WatchLine, WatchTask, WatchUnsure};
use keel_trace::story::TaskRecord;
use keel_trace::{Fanout, Sink, Writer};
use kept::Folder;
use last::Last;
use shown::Shown;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use sums::Sums;

/// The time from a sample that suspects CPUs to the second sample.
const MOMENT: Duration = Duration::from_millis(10);
/// The time to the next sample after an unconfirmed suspicion. It is short because a moment of other work on an idle
/// CPU also ends a suspicion, and the next sample detects waste that persists.
const SOON: Duration = Duration::from_millis(100);
/// The maximum number of consecutive samples at that interval.
const MOST_SOON: u32 = 4;
/// The number of tasks that a finding lists.
const TASKS: usize = 16;

pub(crate) fn run(args: &WatchArgs) -> Result<Code, Failure> {
    args.check()?;
    let bell = Bell::hang()?;
    let watcher = Watcher::begin(&Host::this()).map_err(failure)?;
    let folder = args.keep.as_deref().map(Folder::open).transpose()?;
    let cpus = watcher.cpus();
    let begin = WatchBegin {
        scheduler: watcher.scheduler(),
        cpus,
        every_ns: args.every.as_ns(),
        confirm_ns: args.confirm.as_ns(),
        unix_ns: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, ns),
    };
    let last = Last::begin(args, &bell)?;
    // The cost of a continuous recording can't be limited, and samples cost little compared with it.
    let whole_machine = last.as_ref().map(|_| cpus.saturating_mul(100));
    let allowance = Allowance::new(cpus, args.cost.or(whole_machine));
    let sums = Sums::new(watcher.cost(), allowance.share());
    let mut watch = Watch {
        args,
        bell,
        watcher,
        folder,
        last,
        allowance,
        sums,
        begun: Instant::now(),
        shown: Shown::new(args.json, begin),
    };
    let ended = watch.stay();
    let found = watch.end()?;
    ended?;
    watch.last.map_or(Ok(()), Last::end)?;
    Ok(if args.strict && found { Code::Found } else { Code::Done })
}

/// A watch in progress.
struct Watch<'a> {
    args: &'a WatchArgs,
    bell: Bell,
    watcher: Watcher,
    folder: Option<Folder>,
    last: Option<Last>,
    allowance: Allowance,
    sums: Sums,
    begun: Instant,
    shown: Shown,
}

impl Watch<'_> {
    /// Takes samples until the time is over, a stop is requested, or nobody reads the output any more.
    fn stay(&mut self) -> Result<(), Failure> {
        self.shown.begin()?;
        let mut in_vain = 0;
        loop {
            let looked = Instant::now();
            let look = self.watcher.look().map_err(failure)?;
            self.sums.looks += 1;
            let suspected = suspects(&look.idle_cpus(), &look.tasks_waiting);
            let came_to_nothing = !suspected.is_empty() && !self.suspect(&look, &suspected)?;
            in_vain = if came_to_nothing { (in_vain + 1) % (MOST_SOON + 1) } else { 0 };
            self.sums.count(self.watcher.cost());
            self.shown.look(&self.watcher.scheduler(), &look, &self.sums.end(self.begun.elapsed()))?;
            self.sleep(looked, in_vain > 0)?;
            if self.is_over() {
                return Ok(());
            }
        }
    }

    fn is_over(&self) -> bool {
        self.bell.asked() || self.shown.is_unread() || self.left().is_some_and(|left| left.is_zero())
    }

    /// Returns the remaining time, or `None` without a limit.
    fn left(&self) -> Option<Duration> {
        Some(time(self.args.duration?).saturating_sub(self.begun.elapsed()))
    }

    /// Sleeps until the next sample.
    fn sleep(&mut self, looked: Instant, is_soon: bool) -> Result<(), Failure> {
        let due = time(self.args.every).saturating_sub(looked.elapsed());
        let due = if is_soon { due.min(SOON) } else { due };
        let pause = due.max(self.allowance.pause(self.begun.elapsed(), self.sums.spent()));
        self.wait(pause)
    }

    /// Waits, but not beyond the end of the watch. Unrelated signals end the wait too.
    fn wait(&mut self, pause: Duration) -> Result<(), Failure> {
        let until = Instant::now() + self.left().map_or(pause, |left| pause.min(left));
        while !self.bell.asked() {
            if let Some(last) = &mut self.last {
                last.drain()?;
                if self.bell.wanted() {
                    last.write(&self.bell)?;
                    self.sums.recordings = last.files();
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.bell.wait(self.last.as_ref().map(Last::filled), left);
        }
        Ok(())
    }

    /// Checks whether CPUs that idled while tasks waited still do so shortly after, and whether that lasts. Returns
    /// whether there is a finding.
    fn suspect(&mut self, look: &Look, suspected: &CpuSet) -> Result<bool, Failure> {
        self.sums.suspicions += 1;
        self.wait(MOMENT)?;
        let again = self.watcher.look().map_err(failure)?;
        let idle = again.idle_since(look, suspected);
        let still = suspects(&idle, &again.tasks_waiting);
        if still.is_empty() {
            self.sums.passing += 1;
            return Ok(false);
        }
        let Some(Window { outcome, decisions, trace, length }) = self.confirm(&still)? else {
            return Ok(false);
        };
        let is_finding = matches!(outcome, Outcome::Confirmed(_));
        let at_ns = ns(self.begun.elapsed());
        let cpus = || still.iter().map(|cpu| cpu.0).collect();
        let line = match outcome {
            Outcome::Resolved { after, by } => {
                *self.sums.cured.entry(by.name().to_owned()).or_default() += 1;
                WatchLine::Cured(WatchCured {
                    at_ns,
                    cpus: cpus(),
                    after_ns: after.as_ns(),
                    by: by.name().to_owned(),
                })
            }
            Outcome::Unsure { lost } => {
                self.sums.unsure += 1;
                WatchLine::Unsure(WatchUnsure { at_ns, cpus: cpus(), lost_events: lost })
            }
            Outcome::Confirmed(confirmed) => {
                self.sums.findings += 1;
                let kept = self.keep(&trace, length)?;
                let tasks = passed_over(&confirmed.cpus, &again.tasks_waiting);
                WatchLine::Finding(WatchFinding {
                    at_ns,
                    scheduler: self.watcher.scheduler(),
                    cpus: confirmed.cpus.iter().map(|cpu| cpu.0).collect(),
                    tasks: tasks.iter().take(TASKS).map(|task| watch_task(task)).collect(),
                    tasks_waiting: tasks.len() as u64,
                    watched_ns: confirmed.watched.as_ns(),
                    wasted_core_ns: confirmed.wasted.as_ns(),
                    looked_at: looked_at(&decisions, &confirmed.cpus, &tasks),
                    recording: kept.map(|path| path.to_string_lossy().into_owned()),
                    text: sentence(&confirmed.cpus, confirmed.watched, &tasks),
                })
            }
        };
        self.shown.line(line)?;
        Ok(is_finding)
    }

    /// Keeps a recording of a finding, if requested: the end of the finding, or the time before it.
    fn keep(&mut self, trace: &[u8], length: Span) -> Result<Option<PathBuf>, Failure> {
        let mut kept = None;
        if let Some(folder) = &mut self.folder {
            kept = folder.keep(trace, length)?;
            self.sums.recordings = folder.kept();
        }
        if let Some(last) = &mut self.last {
            kept = last.found(&self.bell)?;
            self.sums.recordings = last.files();
        }
        Ok(kept)
    }

    /// Records for as long as it takes to confirm the suspicion. Returns `None` if a stop is requested before.
    fn confirm(&mut self, suspected: &CpuSet) -> Result<Option<Window>, Failure> {
        let writer = self.folder.is_some().then(|| Writer::new(Vec::new()));
        let mut heard = Heard { confirm: Confirm::new(suspected), decisions: DecisionLog::default(), writer };
        let mut recorder = self.watcher.record(&mut heard.sinks()).map_err(failure)?;
        let watched = self.follow(&mut recorder, &mut heard);
        let ended = self.watcher.stop(recorder, &mut heard.sinks()).map_err(failure);
        let Heard { mut confirm, decisions, writer } = heard;
        let (is_whole, recorded) = (watched?, ended?);
        // CPUs went online or offline, which ends earlier suspicions.
        let Some(recorded) = recorded else {
            let outcome = Outcome::Resolved { after: Span::ZERO, by: Resolution::Hotplug };
            let window = Window { outcome, decisions, trace: Vec::new(), length: Span::ZERO };
            return Ok(is_whole.then_some(window));
        };
        let trace = writer.map(Writer::finish).transpose();
        let trace = trace.map_err(|e| Failure::input(format!("a recording cannot be kept: {e}")))?;
        let outcome = confirm.outcome();
        let (trace, length) = (trace.unwrap_or_default(), recorded.duration);
        Ok(is_whole.then_some(Window { outcome, decisions, trace, length }))
    }

    /// Reads the recording until the time is over or the suspicion has ended. Returns false if a stop is requested.
    fn follow(&self, recorder: &mut Recorder, heard: &mut Heard) -> Result<bool, Failure> {
        let begun = Instant::now();
        loop {
            let drained = recorder.drain(&mut heard.sinks()).map_err(|e| failure(e.into()))?;
            let left = time(self.args.confirm).saturating_sub(begun.elapsed());
            if self.bell.asked() || left.is_zero() || heard.confirm.is_resolved() {
                return Ok(!self.bell.asked());
            }
            if drained {
                self.bell.wait(Some(recorder.filled()), left);
            }
        }
    }

    /// Reports the summary. Returns whether anything was found.
    fn end(&mut self) -> Result<bool, Failure> {
        self.sums.count(self.watcher.cost());
        let end = self.sums.end(self.begun.elapsed());
        let found = end.findings > 0;
        self.shown.line(WatchLine::End(end))?;
        Ok(found)
    }
}

/// The recording of a suspicion.
struct Window {
    outcome: Outcome,
    decisions: DecisionLog,
    /// The trace; empty if none is kept.
    trace: Vec<u8>,
    length: Span,
}

/// The sinks of a short recording.
struct Heard {
    confirm: Confirm,
    decisions: DecisionLog,
    writer: Option<Writer<Vec<u8>>>,
}

impl Heard {
    fn sinks(&mut self) -> Fanout<'_> {
        let sinks = Fanout::new().with(&mut self.confirm as &mut dyn Sink).with(&mut self.decisions);
        match &mut self.writer {
            Some(writer) => sinks.with(writer),
            None => sinks,
        }
    }
}

/// Returns the decisions about these CPUs and tasks in the first 20 ms of a recording.
fn looked_at(decisions: &DecisionLog, cpus: &CpuSet, tasks: &[&TaskRecord]) -> Vec<LookedAtReport> {
    let pids: Vec<Pid> = tasks.iter().take(TASKS).map(|task| task.pid).collect();
    let rows = decisions.within(keel_abi::Instant::ZERO, PROFILED, cpus, &pids);
    rows.iter().map(LookedAtReport::new).collect()
}

fn watch_task(task: &TaskRecord) -> WatchTask {
    WatchTask { pid: task.pid.0, name: task.name.clone(), cpu: waits_on(task).map(|cpu| cpu.0) }
}

fn time(span: Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}

/// Converts a time of less than 500 years to nanoseconds.
fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn failure(error: WatchError) -> Failure {
    Failure::of(kernel::code(error.class()), shown_lines(&error.to_string()), error.help())
}
