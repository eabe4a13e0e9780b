//! Converts a stream's events to tapes, in one pass.

use crate::changes::Changes;
use crate::confidence::{Causes, Confidence};
use crate::groups::Groups;
use crate::limits::Limits;
use crate::overheads::Overheads;
use crate::pairs::Pairs;
use crate::pipes::{Nth, Pipes};
use crate::stuck::halts;
use crate::task::{Doing, Meanwhile, Task};
use keel_abi::cgroup::Cgroup;
use keel_abi::tape::{Begin, Op, Recorded, Tape};
use keel_abi::task::{Step, TaskSpec, Workload};
use keel_abi::{CpuId, CpuSet, Instant, Noise, Span, TaskId, Topology};
use keel_trace::{Call, Class, Event, Meta, Sink, Source, TaskInfo, What};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of tasks of a replay.
pub(crate) const MAX_TASKS: usize = 1_000_000;

/// Why a recording cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The recording has no beginning.
    #[error("the recording does not say what machine it was taken on, so it cannot be replayed")]
    NoStart,
    /// No task did anything.
    #[error("no task runs in the recording, so there is nothing to replay")]
    Nothing,
    /// None of the requested tasks occurs in the recording.
    #[error("no task of the recording has the name or pid that --keep asks for")]
    NoneKept,
    /// There are too many tasks.
    #[error("the recording has more than {MAX_TASKS} tasks, which is more than a replay can have")]
    TooMany,
}

/// A workload made from a recording, and how much of it is known.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The workload that replays the recording.
    pub workload: Workload,
    /// How reliable it is.
    pub confidence: Confidence,
    /// How long the recording is.
    pub duration: Span,
    /// The machine on which it was recorded.
    pub topology: Topology,
    /// The scheduler that ran during the recording.
    pub scheduler: String,
    /// The workload that ran, if the recording is of a simulated run.
    pub simulated: Option<String>,
    /// The seed and noise, if the recording is of a simulated run with noise.
    pub chance: Option<(u64, Noise)>,
}

/// A sink that writes a tape for each task of a recording.
#[derive(Debug)]
pub struct Builder {
    pub(crate) overheads: Overheads,
    keep: Option<BTreeSet<TaskId>>,
    start: Option<Start>,
    pub(crate) now: Instant,
    /// When the changes from outside that follow were due, if recorded.
    pub(crate) due: Option<Instant>,
    /// Whether the stream records what each task itself did.
    pub(crate) exact: bool,
    /// Whether the stream records requests to the kernel. If so, every other change was the kernel's own.
    pub(crate) tells_requests: bool,
    pub(crate) tasks: Vec<Task>,
    /// The replay's number of each task, by its id in the stream.
    numbers: FxHashMap<TaskId, u32>,
    pub(crate) pairs: Pairs,
    pub(crate) pipes: Pipes,
    pub(crate) causes: Causes,
    pub(crate) changes: Changes,
    limits: Limits,
    pub(crate) groups: Groups,
    /// What each CPU does.
    pub(crate) running: Vec<Runs>,
    counts: bool,
    too_many: bool,
    knows_affinity: bool,
    chance: Option<(u64, Noise)>,
}

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// It idles.
    Nothing,
    /// It runs the task of this number.
    Task(u32),
    /// It runs a task that is left out.
    Another,
}

#[derive(Debug)]
struct Start {
    topology: Topology,
    siblings: Vec<CpuSet>,
    scheduler: String,
    workload: String,
    unit: String,
}

impl Builder {
    /// Creates a builder for all tasks, or only those in `keep`. `overheads` are those of the machine that replays.
    pub fn new(overheads: Overheads, keep: Option<BTreeSet<TaskId>>) -> Self {
        Self {
            overheads,
            keep,
            start: None,
            now: Instant::ZERO,
            due: None,
            exact: false,
            tells_requests: false,
            tasks: Vec::new(),
            numbers: FxHashMap::default(),
            pairs: Pairs::default(),
            pipes: Pipes::default(),
            causes: Causes::default(),
            changes: Changes::default(),
            limits: Limits::default(),
            groups: Groups::default(),
            running: Vec::new(),
            counts: false,
            too_many: false,
            knows_affinity: true,
            chance: None,
        }
    }

    /// Returns the replay's number of a task, or `None` for the idle task and those that are left out.
    pub(crate) fn number(&mut self, task: TaskId) -> Option<u32> {
        if task.is_idle() || self.keep.as_ref().is_some_and(|keep| !keep.contains(&task)) {
            return None;
        }
        if let Some(&number) = self.numbers.get(&task) {
            return Some(number);
        }
        if self.tasks.len() >= MAX_TASKS {
            self.too_many = true;
            return None;
        }
        let number = self.tasks.len() as u32;
        self.numbers.insert(task, number);
        self.tasks.push(Task::new(task.0));
        Some(number)
    }

    pub(crate) fn task(&mut self, number: u32) -> &mut Task {
        &mut self.tasks[number as usize]
    }

    /// Returns the machine, once the stream has begun.
    pub(crate) fn topology(&self) -> Option<&Topology> {
        self.start.as_ref().map(|start| &start.topology)
    }

    /// Returns the CPUs that share a core with `cpu`.
    pub(crate) fn siblings(&self, cpu: CpuId) -> Option<&CpuSet> {
        self.start.as_ref()?.siblings.get(cpu.index())
    }

    /// Notes that the task starts on its own, on `cpu` at `at`, unless something started it earlier.
    pub(crate) fn begins(&mut self, number: u32, at: Instant, cpu: CpuId) {
        let task = self.task(number);
        if !task.comes() {
            task.begin = Some(Begin { at, cpu });
        }
        if task.doing == Doing::Unseen {
            task.doing = Doing::Runnable;
        }
    }

    /// Notes that `waker` wakes `wakee`, which waits or was about to. Returns the wait, if it is on the tape.
    pub(crate) fn wakes(&mut self, cpu: CpuId, waker: u32, wakee: u32, sync: bool) -> Option<Nth> {
        let is_ending = self.task(waker).leaves && self.task(waker).doing == Doing::Gone;
        if waker == wakee || self.task(waker).ended && !is_ending {
            // This only happens in damaged recordings.
            self.woken_from_outside(wakee, false, cpu);
            return None;
        }
        let semaphore = self.pairs.of(waker, wakee);
        let inferred = !self.exact;
        let by = self.task(waker);
        match (by.leaves, by.doing) {
            // It woke the other task before it left its CPU.
            (leaves, Doing::Waits(_)) if leaves || inferred => {
                by.meanwhile.push(Meanwhile { semaphore, sync })
            }
            (true, _) => by.tape.push(Op::PostMeanwhile { semaphore, sync }),
            (false, _) if by.posts => by.tape.push(Op::PostMeanwhile { semaphore, sync }),
            (false, _) => {
                by.tape.push(Op::Post { semaphore, sync });
                by.posts = !inferred;
            }
        }
        self.causes.by_task += 1;
        self.begins(wakee, Instant::ZERO, cpu);
        let task = self.task(wakee);
        task.put_wait(Op::Await(semaphore));
        task.doing = Doing::Runnable;
        task.leaves = false;
        Some((semaphore, self.pairs.nth(semaphore)))
    }

    /// Notes that the task is woken by an unknown source.
    pub(crate) fn woken_from_outside(&mut self, number: u32, waker_is_left_out: bool, cpu: CpuId) {
        let (now, late, exact) = (self.now, self.overheads.timer, self.exact);
        let begun = self.task(number).comes();
        self.begins(number, Instant::ZERO, cpu);
        let task = self.task(number);
        let due = Instant::from_ns(now.as_ns().saturating_sub(late.as_ns()));
        let seen = match task.doing {
            Doing::Waits(since) if begun => Some(since),
            _ => None,
        };
        let slept = due.since(seen.unwrap_or(Instant::ZERO).min(due));
        let waited = task.waited.take();
        let in_pipe = waited.is_some_and(|(call, _)| call.is_of_pipe()) && seen.is_some() && !exact;
        if !in_pipe {
            task.reads.clear();
        }
        if in_pipe {
            self.waits_in_pipe_for_nobody(number, slept, waited);
        } else if matches!(waited, Some((Call::SleepUntil, Source::Timer))) && seen.is_some() {
            task.put_wait(Op::SleepUntil(due));
        } else {
            if !exact {
                // Which of the two applies is only known at the end.
                task.tape.push(Op::SleepUntil(due));
            }
            task.put_wait(Op::Sleep(slept));
            if seen.is_some() {
                task.sleeps.add(slept, due);
            }
        }
        let task = &mut self.tasks[number as usize];
        (task.doing, task.leaves) = (Doing::Runnable, false);
        *match (seen, waker_is_left_out, waited) {
            _ if in_pipe && !waker_is_left_out => &mut self.causes.by_task,
            (None, ..) => &mut self.causes.unbegun,
            (Some(_), true, _) => &mut self.causes.left_out,
            (Some(_), false, Some((_, Source::Timer))) => &mut self.causes.timers,
            (Some(_), false, Some((Call::Disk, _))) => &mut self.causes.disks,
            (Some(_), false, _) => &mut task.outside,
        } += 1;
    }

    pub(crate) fn is_left_out(&self, task: TaskId) -> bool {
        !task.is_idle() && self.keep.as_ref().is_some_and(|keep| !keep.contains(&task))
    }

    fn event(&mut self, event: &Event) {
        let Event { at, cpu, what } = *event;
        self.now = at;
        match what {
            What::Worked { task, user, kernel_ps } => self.worked(task, user, kernel_ps),
            What::Acts { task, act } => self.acts(cpu, task, act),
            What::Switch { prev, why, next } => {
                let comes = self.number(next);
                self.limits.switch(at, cpu, comes);
                self.switch(cpu, prev, why, next);
                if let Some(comes) = comes {
                    let task = self.task(comes);
                    task.stay_begins = task.tape.end();
                }
            }
            What::Wakeup { task, target, waker } => self.wakeup(cpu, task, target, waker),
            What::Fork { child, target, parent } => self.fork(cpu, child, target, parent),
            What::Exit { task } => {
                if let Some(number) = self.number(task) {
                    self.groups.exits(at, number);
                }
                self.exit(task);
            }
            What::Count { task, units } => {
                self.counts = true;
                if let Some(number) = self.number(task) {
                    self.task(number).put_count(units);
                }
            }
            What::Priority { task, prio, .. } => self.priority(task, prio),
            What::Online { target, up } if !self.tells_requests => {
                self.changes.online(self.due.unwrap_or(at), target, up);
            }
            What::Throttled { task, on, group } => {
                self.causes.throttled += u64::from(on);
                if let Some(number) = self.number(task) {
                    self.limits.throttled(at, number, on, group);
                }
            }
            What::Waited { task, call, source } => {
                self.causes.tells_waits = true;
                if let Some(number) = self.number(task) {
                    self.task(number).waited = Some((call, source));
                }
            }
            What::Piped { task, pipe, bytes, room, how } => {
                self.piped(cpu, task, (pipe, room), bytes, how);
            }
            What::Lost { events } => self.causes.lost += u64::from(events),
            _ => {}
        }
    }

    fn introduced(&mut self, info: &TaskInfo) {
        let at = self.due.unwrap_or(self.now);
        let Some(number) = self.number(info.task) else { return };
        let task = &mut self.tasks[number as usize];
        task.name.clone_from(&info.name);
        if task.cpus.is_empty() {
            (task.nice, task.cpus) = (info.nice, info.cpus.clone());
            return;
        }
        if self.tells_requests {
            return;
        }
        // A task's initial settings stay the same.
        self.changes.task(at, number, (task.nice, &task.cpus), (info.nice, &info.cpus));
    }

    fn starts(&mut self, topology: &Topology, scheduler: &str, workload: &str, unit: &str) {
        let siblings = |cpu: CpuId| {
            let core = topology.place(cpu).core;
            let mut same = topology.cpus_where(|place| place.core == core);
            same.remove(cpu);
            same
        };
        self.running = vec![Runs::Nothing; topology.cpus() as usize];
        self.start = Some(Start {
            topology: topology.clone(),
            siblings: topology.iter().map(siblings).collect(),
            scheduler: scheduler.to_owned(),
            workload: workload.to_owned(),
            unit: unit.to_owned(),
        });
    }

    /// Returns the replay, once the stream has ended.
    ///
    /// # Errors
    /// There is nothing to replay.
    pub fn finish(mut self) -> Result<Replay, ReplayError> {
        let Some(start) = self.start.take() else { return Err(ReplayError::NoStart) };
        if self.too_many {
            return Err(ReplayError::TooMany);
        }
        self.put_open_work();
        self.note_open_writes();
        let (counts, knows_affinity) = (self.counts, self.knows_affinity);
        let all = CpuSet::first(start.topology.cpus());
        let settled = self.settled_tapes();
        let (mut specs, mut tapes, mut begins) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (task, tape)) in self.tasks.iter_mut().zip(settled).enumerate() {
            let Task { sleeps, .. } = task;
            let follows_a_clock = sleeps.follow_a_clock();
            let written = Written { follows_a_clock, exact: self.exact, counts };
            tapes.push(written.tape(tape));
            let ended = std::mem::take(&mut task.outside);
            *if follows_a_clock { &mut self.causes.clocked } else { &mut self.causes.outside } += ended;
            begins.extend(task.begin);
            specs.push(spec(number as u32, task, &all, knows_affinity));
        }
        if specs.iter().all(|spec| spec.instances == 0) {
            return Err(if self.keep.is_some() { ReplayError::NoneKept } else { ReplayError::Nothing });
        }
        let cgroups = self.cgroups(&mut specs);
        let pipes = self.pipes.recorded();
        let recorded = Recorded { tapes, begins, semaphores: self.pairs.len(), pipes };
        let (timeline, left_out) = self.changes.timeline();
        self.causes.changes_left_out = left_out;
        let duration = self.now.since(Instant::ZERO);
        let workload = Workload {
            name: format!("replay of {}", start.workload),
            tasks: specs,
            cgroups,
            duration: Some(duration),
            unit: if counts { start.unit } else { "waits".to_owned() },
            timeline,
            recorded: Some(Arc::new(recorded)),
            ..Workload::default()
        };
        let confidence =
            Confidence { causes: self.causes, exact: self.exact, knows_affinity, incomplete: None };
        Ok(Replay {
            workload,
            confidence,
            duration,
            topology: start.topology,
            scheduler: start.scheduler,
            simulated: self.exact.then_some(start.workload),
            chance: self.chance,
        })
    }

    /// Returns all tapes as they are played. If tasks would block at a pipe forever, the recording has missed some
    /// transfers through it. The pipe is then replayed by its wakeups: a waker wakes as it did in the recording.
    fn settled_tapes(&mut self) -> Vec<Tape> {
        let raw: Vec<Tape> = self.tasks.iter_mut().map(|task| std::mem::take(&mut task.tape)).collect();
        if self.pipes.is_empty() {
            return raw;
        }
        let (never, whole) = (self.pairs.of(u32::MAX, u32::MAX), self.pipes.whole());
        let mut recorded = Recorded { semaphores: self.pairs.len(), ..Recorded::default() };
        loop {
            let settled = |(task, tape): (usize, &Tape)| self.pipes.settled(task as u32, tape);
            recorded.tapes = raw.iter().enumerate().map(settled).collect();
            recorded.pipes = self.pipes.recorded();
            let begins = |task: usize| self.tasks[task].begin.is_some();
            let (Some(halted), left) = (halts(&recorded, begins, never), self.pipes.whole()) else { break };
            match (halted.cut.is_empty(), left.is_empty()) {
                (false, _) => halted.cut.into_iter().for_each(|(task, pipe)| self.pipes.is_cut(task, pipe)),
                (true, true) => break,
                (true, false) => {
                    let guilty = if halted.pipes.is_empty() { left } else { halted.pipes };
                    guilty.into_iter().for_each(|pipe| self.pipes.is_shared(pipe));
                }
            }
        }
        self.causes.pipes = whole.len() as u64;
        self.causes.pipes_by_wakeups = (whole.len() - self.pipes.whole().len()) as u64;
        recorded.tapes
    }

    /// Returns the cgroups in the recording, or else those whose limits follow from it.
    fn cgroups(&mut self, specs: &mut [TaskSpec]) -> Vec<Cgroup> {
        let (cgroups, kept) = self.groups.cgroups(self.now, specs);
        self.causes.groups = kept;
        if kept.told {
            return cgroups;
        }
        let (cgroups, unknown_limits) = self.limits.groups(specs);
        (self.causes.limits, self.causes.unknown_limits) = (cgroups.len() as u64, unknown_limits);
        cgroups
    }

    /// Writes the work that had not ended when the recording did.
    fn put_open_work(&mut self) {
        let rest = self.now.since(Instant::ZERO);
        for number in 0..self.tasks.len() as u32 {
            self.settle_time(number);
            let worked = if self.exact { Span::ZERO } else { self.task(number).put_work() };
            self.causes.work += worked;
            let (never, exact) = (self.pairs.of(u32::MAX, u32::MAX), self.exact);
            let task = self.task(number);
            if task.doing == Doing::Runnable {
                // It is unknown how much more it had to do.
                let left = if exact { rest } else { task.likely_left(rest) };
                task.tape.push(Op::Run(left));
            }
            if matches!(task.doing, Doing::Waits(_) | Doing::Runnable | Doing::Sleeps) {
                // Nothing is known about it from here on, so it does nothing more.
                let waits = matches!(task.doing, Doing::Waits(_));
                task.put_wait(Op::Await(never));
                self.causes.open += u64::from(waits);
            }
        }
    }
}

/// How a tape is finished for playing.
#[derive(Clone, Copy)]
struct Written {
    follows_a_clock: bool,
    exact: bool,
    counts: bool,
}

impl Written {
    /// Keeps the right one of each pair of sleeps. If the recording contains no counts, counts each wait that ends.
    fn tape(self, tape: Tape) -> Tape {
        if self.exact && self.counts {
            return tape;
        }
        let mut kept = Tape::default();
        let (mut last, mut is_over) = (None, false);
        let mut ops = tape.iter().peekable();
        while let Some(op) = ops.next() {
            let is_pair = matches!((op, ops.peek()), (Op::SleepUntil(_), Some(Op::Sleep(_))));
            // Ops that belong to a wait stay with it.
            if is_over && !matches!(op, Op::PostMeanwhile { .. }) {
                kept.push(Op::Count(1));
                is_over = false;
            }
            let is_wait = match (op, last.replace(op)) {
                (Op::SleepUntil(_), _) if is_pair && !self.follows_a_clock && !self.exact => continue,
                (Op::Sleep(_), Some(Op::SleepUntil(_))) if self.follows_a_clock => continue,
                (Op::SleepUntil(_) | Op::Sleep(_) | Op::SleepDeferrable(_), _) => true,
                // A read counts whether or not it waited.
                (Op::Await(_) | Op::Take { .. }, _) => true,
                _ => false,
            };
            kept.push(op);
            is_over |= is_wait && !self.counts;
        }
        if is_over {
            kept.push(Op::Count(1));
        }
        kept
    }
}

fn spec(number: u32, task: &Task, all: &CpuSet, knows_affinity: bool) -> TaskSpec {
    let cpus = if task.cpus == *all || !knows_affinity { CpuSet::new() } else { task.cpus.clone() };
    // Without this, each task is its own process.
    let (process, session, kthread) = task.member.unwrap_or((number, 0, false));
    let steps = std::iter::once(&Step::Play).chain(&task.steps).cloned().collect();
    TaskSpec {
        name: task.name.clone(),
        instances: u32::from(task.begin.is_some()),
        nice: task.nice,
        cpus,
        steps,
        slice: task.slice,
        hint: task.hint,
        process,
        session,
        kthread,
        policy: task.scheduled.begun.unwrap_or_default(),
        ..TaskSpec::default()
    }
}

impl Sink for Builder {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::COUNTS).with(Class::ACTS).with(Class::CALLS)
    }

    fn events(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.event(event));
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.now = at;
        match meta {
            Meta::Start { topology, scheduler, workload, unit } => {
                self.starts(topology, scheduler, workload, unit);
            }
            Meta::Task(info) => self.introduced(info),
            Meta::Member { task, process, session, kthread } => {
                if let Some(number) = self.number(*task) {
                    self.task(number).member = Some((*process, *session, *kthread));
                }
            }
            Meta::Asks { task, outside, request } => self.asks(*task, *outside, request),
            Meta::Group(info) => self.groups.group(info),
            Meta::Scheduled { task, policy, group } => self.scheduled(*task, *policy, *group),
            Meta::Unknown(unknown) => self.knows_affinity = !unknown.affinity,
            Meta::Chance { seed, noise } => self.chance = Some((*seed, *noise)),
            _ => {}
        }
    }
}
