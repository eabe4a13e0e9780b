//! What happened during each of a few waits.

use super::{WaitKey, WaitSums};
use crate::cpus::Cpus;
use crate::finding::{called, kept};
use crate::origin::{Act, Decision, Origin};
use crate::place::Queue;
use crate::table::Tasks;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId};
use keel_trace::{Chooser, Class, Event, Meta, Sink, What, Why};

/// The most moves of one wait that are described.
pub const MOST_MOVES: usize = 8;
/// How many tasks that ran during a wait are distinguished; further ones are summed.
const MOST_RUNNERS: usize = 32;

/// How a wait began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    /// It was woken or created: the decision shows which task woke or forked it, and where.
    Woken,
    /// It lost its CPU to another task.
    Preempted {
        /// The other task; [`TaskId::IDLE`] if none came.
        by: TaskId,
    },
    /// It gave up its CPU.
    Yielded,
    /// It was throttled before.
    Unthrottled,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A CPU ran it after another task, or after idling.
    Ran {
        /// The CPU.
        cpu: CpuId,
        /// The task that ran there before.
        after: TaskId,
        /// Why that task stopped.
        why: Why,
    },
    /// It exited before it ran.
    Gone,
    /// It was throttled.
    Throttled,
    /// It had not ended when the stream did.
    Not,
}

/// One wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// The task, the beginning and the length.
    pub key: WaitKey,
    /// Its pid.
    pub pid: Pid,
    /// Its name in a sentence; safe to print.
    pub task: String,
    /// How it began.
    pub began: Began,
    /// The name in a sentence of the task that took its CPU; empty if none did.
    pub by: String,
    /// The name in a sentence of the task that woke or created it; empty for an interrupt.
    pub waker: String,
    /// The last decision, before or at the beginning of the wait, that put it where it waited.
    pub decision: Option<Decision>,
    /// The CPU in whose queue it waited first.
    pub on: CpuId,
    /// Its moves during the wait, the first [`MOST_MOVES`].
    pub moves: Vec<Decision>,
    /// The number of moves.
    pub moved: u64,
    /// The tasks that ran on the CPU in whose queue it was, by name, and for how long, longest first.
    pub ran: Vec<(String, Span)>,
    /// The CPUs that it may use and that idled during the wait, longest first.
    pub idled: Vec<(CpuId, Span)>,
    /// How it ended.
    pub ended: Ended,
    /// The name in a sentence of the task that ran before it; empty if none did.
    pub after: String,
}

#[derive(Clone, Debug)]
struct Row {
    pid: Pid,
    name: String,
    cpus: CpuSet,
    rq: CpuId,
    asleep: bool,
    runs: bool,
    origin: Origin,
}

impl From<TaskId> for Row {
    fn from(task: TaskId) -> Self {
        Self {
            pid: Pid(0),
            name: String::new(),
            cpus: CpuSet::new(),
            rq: CpuId(0),
            asleep: true,
            runs: false,
            origin: Origin::new(task),
        }
    }
}

#[derive(Clone, Debug)]
struct Cpu {
    running: TaskId,
    since: Instant,
    idled: Span,
    offline: bool,
    /// While it idles, it does so on purpose.
    reserved: bool,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            running: TaskId::IDLE,
            since: Instant::ZERO,
            idled: Span::ZERO,
            offline: false,
            reserved: false,
        }
    }
}

impl Cpu {
    fn idled_until(&self, at: Instant) -> Span {
        let idles = self.running.is_idle() && !self.offline && !self.reserved;
        if idles { self.idled + at.since(self.since) } else { self.idled }
    }

    /// The CPU changes its state.
    fn turn(&mut self, at: Instant, running: TaskId, offline: bool) {
        self.idled = self.idled_until(at);
        (self.running, self.since, self.offline) = (running, at, offline);
    }

    fn reserve(&mut self, at: Instant, on: bool) {
        self.idled = self.idled_until(at);
        (self.since, self.reserved) = (at, on);
    }
}

/// An open wait.
#[derive(Clone, Debug)]
struct Active {
    story: Story,
    rq: CpuId,
    /// Since when the current task has been running there and this task has been in that queue.
    since: Instant,
    ran: Vec<(TaskId, Span)>,
    others: Span,
    idled: Vec<Span>,
}

/// Describes what happened during the waits that were found.
#[derive(Clone, Debug)]
pub struct WaitStories {
    now: Instant,
    /// The waits that have not begun.
    keys: Vec<WaitKey>,
    cpus: Cpus<Cpu>,
    tasks: Tasks<Row>,
    active: Vec<Active>,
    done: Vec<Story>,
}

impl WaitStories {
    /// Describes these waits, in the same stream.
    pub fn of(sums: &WaitSums) -> Self {
        Self {
            now: Instant::ZERO,
            keys: sums.longest.clone(),
            cpus: Cpus::default(),
            tasks: Tasks::default(),
            active: Vec::new(),
            done: Vec::new(),
        }
    }

    /// The stories, longest first.
    pub fn stories(&mut self) -> Vec<Story> {
        while let Some(active) = self.active.pop() {
            self.finish(self.now, active, Ended::Not);
        }
        let mut stories = std::mem::take(&mut self.done);
        stories.sort_by_key(|story| (std::cmp::Reverse(story.key.length), story.key.start));
        stories
    }

    fn called(&self, task: TaskId) -> String {
        match self.tasks.peek(task) {
            Some(row) => called(&row.name, row.pid, task),
            None if task.is_idle() => String::new(),
            None => "a task that has exited".to_owned(),
        }
    }

    fn begins(&mut self, at: Instant, task: TaskId, rq: CpuId, began: Began) {
        if let Some(row) = self.tasks.get(task) {
            (row.rq, row.asleep, row.runs) = (rq, false, false);
        }
        let Some(nth) = self.keys.iter().position(|key| (key.task, key.start) == (task, at)) else { return };
        let key = self.keys.swap_remove(nth);
        let by = match began {
            Began::Preempted { by } => self.called(by),
            Began::Woken | Began::Yielded | Began::Unthrottled => String::new(),
        };
        let Some(row) = self.tasks.peek(task) else { return };
        let waker = match (began, row.origin.decision()) {
            (Began::Woken, Some(decision)) => self.called(decision.waker),
            _ => String::new(),
        };
        let story = Story {
            key,
            pid: row.pid,
            task: called(&row.name, row.pid, task),
            began,
            by,
            waker,
            decision: row.origin.decision(),
            on: rq,
            moves: Vec::new(),
            moved: 0,
            ran: Vec::new(),
            idled: Vec::new(),
            ended: Ended::Not,
            after: String::new(),
        };
        let idled = self.cpus.iter().map(|cpu| cpu.idled_until(at)).collect();
        self.active.push(Active { story, rq, since: at, ran: Vec::new(), others: Span::ZERO, idled });
    }

    /// The task on `cpu` changes: its running time is counted for the tasks that wait there.
    fn count(&mut self, at: Instant, cpu: CpuId) {
        let running = self.cpus.get(cpu).running;
        for active in self.active.iter_mut().filter(|active| active.rq == cpu) {
            active.count(at, running);
        }
    }

    fn ends(&mut self, at: Instant, task: TaskId, ended: Ended) {
        if let Some(nth) = self.active.iter().position(|active| active.story.key.task == task) {
            let active = self.active.swap_remove(nth);
            self.finish(at, active, ended);
        }
    }

    fn finish(&mut self, at: Instant, mut active: Active, ended: Ended) {
        let running = self.cpus.get(active.rq).running;
        active.count(at, running);
        active.ran.sort_by_key(|&(task, span)| (std::cmp::Reverse(span), task));
        let Active { mut story, ran, others, idled, .. } = active;
        story.ran = ran.into_iter().map(|(task, span)| (self.called(task), span)).collect();
        if others > Span::ZERO {
            story.ran.push(("others".to_owned(), others));
        }
        let may = self.tasks.peek(story.key.task).map(|row| row.cpus.clone()).unwrap_or_default();
        let allowed = |cpu: CpuId| may.is_empty() || may.contains(cpu);
        let now = self.cpus.iter().map(|cpu| cpu.idled_until(at));
        let spans = now.zip(idled.into_iter().chain(std::iter::repeat(Span::ZERO)));
        let spans = spans.enumerate().map(|(cpu, (now, then))| (CpuId(cpu as u32), now.saturating_sub(then)));
        story.idled = spans.filter(|&(cpu, span)| span > Span::ZERO && allowed(cpu)).collect();
        story.idled.sort_by_key(|&(cpu, span)| (std::cmp::Reverse(span), cpu));
        if let Ended::Ran { after, .. } = ended {
            story.after = self.called(after);
        }
        story.ended = ended;
        self.done.push(story);
    }

    fn switch(&mut self, at: Instant, cpu: CpuId, prev: TaskId, why: Why, next: TaskId) {
        if prev == next {
            return;
        }
        self.count(at, cpu);
        self.ends(at, next, Ended::Ran { cpu, after: prev, why });
        let offline = self.cpus.get(cpu).offline;
        self.cpus.get(cpu).turn(at, next, offline);
        if let Some(row) = self.tasks.get(next) {
            (row.runs, row.asleep) = (true, false);
            row.origin.runs(cpu);
        }
        if matches!(why, Why::Preempted | Why::Yielded)
            && let Some(row) = self.tasks.get(prev)
        {
            row.origin.leaves(at, cpu, why);
        }
        match why {
            Why::Preempted => self.begins(at, prev, cpu, Began::Preempted { by: next }),
            Why::Yielded => self.begins(at, prev, cpu, Began::Yielded),
            Why::Exited => drop(self.tasks.end(prev)),
            Why::Blocked | Why::WasIdle => {
                self.ends(at, prev, Ended::Gone);
                self.tasks.get(prev).into_iter().for_each(|row| (row.asleep, row.runs) = (true, false));
            }
        }
    }

    fn unthrottled(&mut self, at: Instant, task: TaskId) {
        if let Some(rq) = self.tasks.get(task).filter(|row| !row.asleep).map(|row| row.rq) {
            self.begins(at, task, rq, Began::Unthrottled);
        }
    }

    fn wakes(&mut self, at: Instant, by: CpuId, act: Act, task: TaskId, to: CpuId, waker: TaskId) {
        let Some(row) = self.tasks.get(task).filter(|row| row.asleep) else { return };
        row.origin.wakes(act, at, by, to, waker);
        self.begins(at, task, to, Began::Woken);
    }

    /// It continues to wait on the runqueue of `to`, by the decision now in force; if there is none, nothing has
    /// changed.
    fn moves(&mut self, at: Instant, task: TaskId, to: CpuId, before: Option<Decision>) {
        let Some(row) = self.tasks.get(task) else { return };
        let decision = row.origin.decision().filter(|now| Some(*now) != before);
        let from = std::mem::replace(&mut row.rq, to);
        if self.active.iter().all(|active| active.story.key.task != task) {
            return;
        }
        self.count(at, from);
        for active in self.active.iter_mut().filter(|active| active.story.key.task == task) {
            active.rq = to;
            active.since = at;
            active.story.moved += u64::from(decision.is_some());
            if active.story.moves.len() < MOST_MOVES {
                active.story.moves.extend(decision);
            }
        }
    }

    fn migrates(&mut self, at: Instant, by: CpuId, task: TaskId, from: CpuId, to: CpuId) {
        let Some(row) = self.tasks.get(task) else { return };
        let before = row.origin.decision();
        row.origin.migrates(at, by, from, to);
        self.moves(at, task, to, before);
    }

    fn placed(&mut self, at: Instant, by: CpuId, task: TaskId, (prev, to): (CpuId, CpuId), chooser: Chooser) {
        let Some(row) = self.tasks.get(task) else { return };
        if row.asleep {
            return row.origin.chosen(chooser, prev);
        }
        if row.runs {
            return;
        }
        let before = row.origin.decision();
        row.origin.dispatched(at, by, row.rq, to);
        self.moves(at, task, to, before);
    }

    /// A task enters a queue; a running task leaves its CPU at the same time, and waits in the queue.
    fn enters(&mut self, at: Instant, by: CpuId, task: TaskId, queue: impl Fn(CpuId) -> Queue) {
        let Some(row) = self.tasks.get(task).filter(|row| !row.asleep) else { return };
        if row.runs {
            return row.origin.will_be_in(Some(queue(by)));
        }
        let (before, rq) = (row.origin.decision(), row.rq);
        row.origin.enters(at, by, rq, queue(rq));
        if row.origin.decision() != before {
            self.moves(at, task, rq, before);
        }
    }

    fn unqueued(&mut self, task: TaskId) {
        let Some(row) = self.tasks.get(task).filter(|row| row.runs) else { return };
        row.origin.will_be_in(None);
    }

    fn event(&mut self, event: &Event) {
        let Event { at, cpu, what } = *event;
        match what {
            What::Switch { prev, why, next } => self.switch(at, cpu, prev, why, next),
            What::Wakeup { task, target, waker } => self.wakes(at, cpu, Act::Woken, task, target, waker),
            What::Fork { child, target, parent } => self.wakes(at, cpu, Act::Forked, child, target, parent),
            What::Migrate { task, from, to } => {
                self.migrates(at, cpu, task, from, to);
            }
            What::Placed { task, prev, chosen, by, .. } => self.placed(at, cpu, task, (prev, chosen), by),
            What::Queued { task, dsq, .. } => self.enters(at, cpu, task, |rq| Queue::from_dsq(dsq, rq)),
            What::Held { task } => self.enters(at, cpu, task, |_| Queue::HELD),
            What::Unqueued { task, .. } => self.unqueued(task),
            What::Exit { task } => {
                self.ends(at, task, Ended::Gone);
                // A task that is still running ends with the switch that follows.
                if self.tasks.peek(task).is_some_and(|row| row.asleep) {
                    self.tasks.end(task);
                }
            }
            What::Throttled { task, on: true, .. } => self.ends(at, task, Ended::Throttled),
            What::Throttled { task, on: false, .. } => self.unthrottled(at, task),
            What::Reserved { target, on } => self.cpus.get(target).reserve(at, on),
            What::Online { target, up } => {
                let running = self.cpus.get(target).running;
                self.cpus.get(target).turn(at, running, !up);
            }
            _ => {}
        }
    }
}

impl Active {
    /// `running` has run before it until now.
    fn count(&mut self, at: Instant, running: TaskId) {
        let span = at.since(std::mem::replace(&mut self.since, at));
        if running.is_idle() || span == Span::ZERO {
            return;
        }
        match self.ran.iter().position(|&(task, _)| task == running) {
            Some(nth) => self.ran[nth].1 += span,
            None if self.ran.len() < MOST_RUNNERS => self.ran.push((running, span)),
            None => self.others += span,
        }
    }
}

impl Sink for WaitStories {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::DECISIONS).with(Class::PLACES)
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.now = event.at;
            self.event(event);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.now = at;
        match meta {
            Meta::Start { topology, .. } => {
                self.cpus.grow(topology.cpus());
                for cpu in topology.iter() {
                    self.cpus.get(cpu).since = at;
                }
            }
            Meta::Task(info) => {
                let Some(row) = self.tasks.get(info.task) else { return };
                (row.pid, row.name, row.cpus) = (info.pid, kept(&info.name), info.cpus.clone());
            }
            Meta::Clock { .. }
            | Meta::Chance { .. }
            | Meta::Queue { .. }
            | Meta::Member { .. }
            | Meta::Asks { .. }
            | Meta::Group(_)
            | Meta::Scheduled { .. } => {}
            Meta::Unknown(_) | Meta::SchedulerExit { .. } | Meta::Policy(_) | Meta::End => {}
        }
    }
}
