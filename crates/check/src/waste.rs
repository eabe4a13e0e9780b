//! Wasted cores: a CPU idles while a task that may run there waits.
//!
//! **The measure.** At each instant, the most idle CPUs that could each have run a waiting task
//! of its own, affinity allowing (a maximum matching; with unrestricted tasks simply the smaller
//! of the two numbers). Its integral over time is the waste, in core-seconds, exactly.
//!
//! **Episodes.** The matching says which CPUs are wasted; an episode is as long as one CPU stays
//! so, no matter which tasks wait. Each nanosecond of waste belongs to exactly one episode.
//!
//! **Blame.** Each nanosecond belongs to the place where the task waited just then, and to the decision that had put it there.
//! A decision that moves it in the middle of its wait divides the time; the one that ends the wait is to blame for none of it.
//!
//! **Transients.** Some waste is how any scheduler works: a CPU that has been notified of its work needs a
//! moment to begin. The part of an episode within [`PENDING`] of a kick to its CPU, or of an insert into its local
//! queue, is transient; so is an episode of which less than [`SHORT`] remains. The rest is waste.
//!
//! **What is none.** A throttled task does not wait for a CPU, and a CPU that idles on purpose could not run one. Nor can
//! a CPU run a task whose group has used up its limit there: while one of the group's tasks is throttled on it.

mod episode;
mod groups;
mod task;

use crate::cpus::{Cpus, Integral};
use crate::finding::{Blame, Finding, Kind, called, kept};
use crate::matching::{self, Matching};
use crate::origin::{Act, Origin, Origins};
use crate::place::{Queue, local_cpu};
use crate::table::Tasks;
use episode::{Left, Longest, Open, Past, Pending, Seen};
pub use groups::{Groups, How, MOST_NAMES, MOST_NOTED, MOST_TASKS, Waiters, Wakers};
use groups::{Tally, note};
use keel_abi::{CpuId, DsqId, Instant, Span, TaskId};
use keel_trace::{Chooser, Class, Event, Meta, Sink, What, Why};
use task::{Row, State, Waker};

/// An episode of less than this, pending parts apart, is a transient.
pub const SHORT: Span = Span::from_us(10);

/// For how long a kick or an insert excuses its CPU: longer than an interrupt and the slowest
/// exit from idle, shorter than a tick.
pub const PENDING: Span = Span::from_us(200);

/// A place that took this share of a wait is reported as all of it.
const NEARLY_ALL: f64 = 0.95;

/// Receives every episode when it ends; pictures are made of this.
pub trait Observer {
    /// `cpu` idled from `start` to `end` while a task waited; not called for transients.
    fn wasted(&mut self, cpu: CpuId, start: Instant, end: Instant);
}

impl Observer for () {
    fn wasted(&mut self, _: CpuId, _: Instant, _: Instant) {}
}

/// What the check has to say about a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Core time wasted, transients apart.
    pub wasted: Span,
    /// Core time wasted in transients.
    pub transient: Span,
    /// `wasted` as a share of the time that CPUs were online, 0 to 1.
    pub share: f64,
    /// How many episodes `wasted` is made of.
    pub episodes: u64,
    /// The longest of them, longest first; at most as many as were asked for.
    pub findings: Vec<Finding>,
    /// The machine's workload had so many different affinities that some tasks were left out: `wasted` is a
    /// lower bound.
    pub lower_bound: bool,
    /// Which cores idled, who waited where, and how they had come there.
    pub groups: Groups,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    running: Option<TaskId>,
    offline: bool,
    /// It idles on purpose while it idles.
    reserved: bool,
    pending: Pending,
    open: Option<Open>,
}

impl Cpu {
    /// Does it idle, and could it run a task?
    fn could_run(&self) -> bool {
        self.running.is_none() && !self.offline && !self.reserved
    }
}

/// Listens to a run and finds wasted cores.
#[derive(Clone, Debug)]
pub struct WastedCores<O = ()> {
    waste: Waste<O>,
    origins: Tasks<Origin>,
}

/// The check itself, which somebody else tells where tasks wait and by which decision.
#[derive(Clone, Debug)]
pub(crate) struct Waste<O = ()> {
    observer: O,
    now: Instant,
    cpus: Cpus<Cpu>,
    online: Integral,
    tasks: Tasks<Row>,
    matching: Matching,
    longest: Longest,
    wasted: Span,
    transient: Span,
    episodes: u64,
    tally: Tally,
}

impl WastedCores {
    /// Keeps the `keep` longest episodes.
    pub fn new(keep: usize) -> Self {
        Self::observed(keep, ())
    }
}

impl<O: Observer> WastedCores<O> {
    /// Passes `observer` each episode.
    pub fn observed(keep: usize, observer: O) -> Self {
        Self { waste: Waste::observed(keep, observer), origins: Tasks::default() }
    }

    /// The observer.
    pub fn observer(&mut self) -> &mut O {
        &mut self.waste.observer
    }

    /// Does `cpu` idle just now while a task that may run there waits, be it one for which other CPUs idle, too?
    pub fn is_passed_over(&self, cpu: CpuId) -> bool {
        self.waste.matching.could_run(cpu)
    }

    /// Ends every episode under way and gives the verdict. Call it once, at the end.
    pub fn verdict(&mut self) -> Verdict {
        self.waste.verdict(&mut self.origins)
    }
}

impl<O: Observer> Waste<O> {
    /// Keeps the `keep` longest episodes, and passes `observer` each.
    pub(crate) fn observed(keep: usize, observer: O) -> Self {
        Self {
            observer,
            now: Instant::ZERO,
            cpus: Cpus::default(),
            online: Integral::default(),
            tasks: Tasks::default(),
            matching: Matching::default(),
            longest: Longest::new(keep),
            wasted: Span::ZERO,
            transient: Span::ZERO,
            episodes: 0,
            tally: Tally::default(),
        }
    }

    /// As [`WastedCores::verdict`].
    pub(crate) fn verdict(&mut self, origins: &mut impl Origins) -> Verdict {
        let at = self.now;
        for cpu in (0..self.cpus.len()).map(CpuId) {
            self.close(origins, at, cpu);
        }
        let machine = self.online.at(at);
        let share = match machine {
            Span::ZERO => 0.0,
            machine => self.wasted.as_s_f64() / machine.as_s_f64(),
        };
        Verdict {
            wasted: self.wasted,
            transient: self.transient,
            share,
            episodes: self.episodes,
            findings: self.longest.iter().map(|past| finding(past, &self.tally)).collect(),
            lower_bound: self.matching.left_out(),
            groups: self.tally.groups(),
        }
    }

    #[inline(always)]
    pub(crate) fn event(&mut self, origins: &mut impl Origins, at: Instant, cpu: CpuId, what: What) {
        self.now = at;
        match what {
            What::Switch { prev, why, next } => self.switch(origins, at, cpu, prev, why, next),
            What::Wakeup { task, target, waker } => {
                self.wake(origins, at, cpu, Act::Woken, (task, target), waker)
            }
            What::Fork { child, target, parent } => {
                self.wake(origins, at, cpu, Act::Forked, (child, target), parent)
            }
            What::Exit { task } => self.exit(origins, task),
            What::Migrate { task, from, to } => self.migrate(origins, at, cpu, task, from, to),
            What::Placed { task, prev, chosen, by, .. } => {
                self.placed(origins, at, cpu, task, (prev, chosen), by)
            }
            What::Queued { task, dsq, .. } => self.queued(origins, at, cpu, task, dsq),
            What::Held { task } => self.held(origins, at, cpu, task),
            What::Unqueued { task, .. } => self.unqueued(origins, task),
            What::Kick { target, .. } => self.pending(at, target),
            What::Online { target, up } => self.online(at, target, up),
            What::Throttled { task, on, group } => self.throttled(origins, at, cpu, task, on, group),
            What::Reserved { target, on } => self.reserved(target, on),
            _ => return,
        }
        if self.matching.changed() {
            self.follow(origins, at);
        }
    }

    fn switch(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        prev: TaskId,
        why: Why,
        next: TaskId,
    ) {
        let row = self.cpus.get(cpu);
        if prev == next {
            return;
        }
        let was_idle = row.could_run();
        row.running = (!next.is_idle()).then_some(next);
        let is_idle = row.could_run();
        self.runs(origins, at, cpu, next);
        match (was_idle, is_idle) {
            (true, false) => self.matching.busy(cpu),
            (false, true) => {
                self.cpus.get(cpu).pending = Pending::default();
                self.matching.idle(cpu);
            }
            _ => {}
        }
        match why {
            Why::Preempted | Why::Yielded => {
                let Some(slot) = self.tasks.slot(prev) else { return };
                origins.change(prev, |origin| origin.leaves(at, cpu, why));
                self.wait(slot, cpu);
            }
            Why::Exited => self.gone(origins, prev),
            Why::Blocked | Why::WasIdle => self.leaves_queue(prev, State::Asleep),
        }
    }

    #[inline]
    fn runs(&mut self, origins: &mut impl Origins, at: Instant, cpu: CpuId, task: TaskId) {
        let Some(slot) = self.tasks.slot(task) else { return };
        // Where it came from counts until now.
        self.part(origins, at, slot);
        self.matching.unwait(slot);
        let Some(row) = self.tasks.at(slot) else { return };
        (row.state, row.throttled) = (State::Running, false);
        origins.change(task, |origin| origin.runs(cpu));
        if let Some((group, cpu)) = row.closes.take() {
            self.matching.reopen(group, cpu);
        }
    }

    #[inline]
    fn leaves_queue(&mut self, task: TaskId, state: State) {
        if let Some(slot) = self.tasks.slot(task) {
            self.matching.unwait(slot);
            self.tasks.at(slot).into_iter().for_each(|row| row.state = state);
        }
    }

    fn gone(&mut self, origins: &mut impl Origins, task: TaskId) {
        if let Some(slot) = self.tasks.slot(task) {
            self.reopen(slot);
        }
        self.leaves_queue(task, State::Asleep);
        // The episodes may still ask for the row of a witness that leaves.
        self.follow(origins, self.now);
        self.tasks.end(task);
        origins.end(task);
    }

    fn wake(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        act: Act,
        (task, target): (TaskId, CpuId),
        waker: TaskId,
    ) {
        let mut parent = 0;
        let mut by = None;
        if let Some(row) = self.tasks.peek(waker) {
            by = Some(Waker { task: waker, pid: row.pid, name: row.name_number });
            parent = if act == Act::Forked { row.group } else { 0 };
        }
        let Some(slot) = self.tasks.slot(task) else { return };
        let Some(row) = self.tasks.at(slot).filter(|row| row.state == State::Asleep) else { return };
        origins.change(task, |origin| origin.wakes(act, at, cpu, target, waker));
        row.waker = by;
        // A child is in its parent's group.
        if parent != 0 {
            self.belongs(slot, parent);
        }
        self.wait(slot, target);
    }

    #[inline]
    fn wait(&mut self, slot: u32, rq: CpuId) {
        let Some(row) = self.tasks.at(slot) else { return };
        (row.state, row.rq) = (State::Waiting, rq);
        if !row.throttled {
            self.matching.wait(slot, row.class, rq);
        }
    }

    /// A throttled task waits in its queue, but for no CPU; and its group may not use the CPU where that happened.
    fn throttled(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        on: bool,
        group: u32,
    ) {
        let Some(slot) = self.tasks.slot(task) else { return };
        self.reopen(slot);
        if group != 0 {
            self.belongs(slot, group);
        }
        let Some(row) = self.tasks.at(slot) else { return };
        if on && group != 0 {
            let cpu = if row.state == State::Running { cpu } else { row.rq };
            row.closes = Some((group, cpu));
            self.matching.close(group, cpu);
        }
        if std::mem::replace(&mut row.throttled, on) == on || row.state != State::Waiting {
            return;
        }
        if on {
            self.part(origins, at, slot);
            self.matching.unwait(slot);
        } else {
            self.matching.wait(slot, row.class, row.rq);
        }
    }

    /// The limit of `group` holds for the task in `slot`.
    fn belongs(&mut self, slot: u32, group: u32) {
        let Some(row) = self.tasks.at(slot).filter(|row| row.group != group) else { return };
        row.group = group;
        let class = self.matching.in_group(row.class, group);
        self.in_class(slot, class);
    }

    /// The task in `slot` is of another class from now on.
    fn in_class(&mut self, slot: u32, class: matching::Class) {
        let Some(row) = self.tasks.at(slot) else { return };
        row.class = class;
        if row.state == State::Waiting && !row.throttled {
            let rq = row.rq;
            self.matching.unwait(slot);
            self.matching.wait(slot, class, rq);
        }
    }

    /// The task in `slot` no longer closes a CPU to its group.
    fn reopen(&mut self, slot: u32) {
        if let Some((group, cpu)) = self.tasks.at(slot).and_then(|row| row.closes.take()) {
            self.matching.reopen(group, cpu);
        }
    }

    /// A CPU that idles on purpose counts as busy.
    fn reserved(&mut self, cpu: CpuId, on: bool) {
        let row = self.cpus.get(cpu);
        let was_idle = row.could_run();
        row.reserved = on;
        match (was_idle, row.could_run()) {
            (true, false) => self.matching.busy(cpu),
            (false, true) => self.matching.idle(cpu),
            _ => {}
        }
    }

    fn exit(&mut self, origins: &mut impl Origins, task: TaskId) {
        // One that still runs ends with the switch that follows.
        if self.tasks.get(task).is_some_and(|row| row.state != State::Running) {
            self.gone(origins, task);
        }
    }

    fn migrate(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        from: CpuId,
        to: CpuId,
    ) {
        let Some(slot) = self.tasks.slot(task) else { return };
        self.part(origins, at, slot);
        let Some(row) = self.tasks.at(slot) else { return };
        row.rq = to;
        origins.change(task, |origin| origin.migrates(at, cpu, from, to));
    }

    fn placed(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        (prev, chosen): (CpuId, CpuId),
        by: Chooser,
    ) {
        let Some(slot) = self.tasks.slot(task) else { return };
        self.part(origins, at, slot);
        let Some(row) = self.tasks.at(slot) else { return };
        match row.state {
            State::Asleep => origins.change(task, |origin| origin.chosen(by, prev)),
            State::Waiting => {
                let rq = row.rq;
                origins.change(task, |origin| origin.dispatched(at, cpu, rq, chosen));
            }
            State::Running => {}
        }
    }

    fn queued(&mut self, origins: &mut impl Origins, at: Instant, cpu: CpuId, task: TaskId, dsq: DsqId) {
        if let Some(cpu) = local_cpu(dsq) {
            self.pending(at, cpu);
        }
        self.enters(origins, at, cpu, task, |rq| Queue::from_dsq(dsq, rq));
    }

    fn held(&mut self, origins: &mut impl Origins, at: Instant, cpu: CpuId, task: TaskId) {
        self.enters(origins, at, cpu, task, |_| Queue::Held);
    }

    /// It enters a queue; one that runs leaves its CPU just then, and waits there.
    fn enters(
        &mut self,
        origins: &mut impl Origins,
        at: Instant,
        cpu: CpuId,
        task: TaskId,
        queue: impl Fn(CpuId) -> Queue,
    ) {
        let Some(slot) = self.tasks.slot(task) else { return };
        self.part(origins, at, slot);
        let Some(row) = self.tasks.at(slot) else { return };
        match row.state {
            State::Waiting => {
                let rq = row.rq;
                origins.change(task, |origin| origin.enters(at, cpu, rq, queue(rq)));
            }
            State::Running => origins.change(task, |origin| origin.will_be_in(Some(queue(cpu)))),
            State::Asleep => {}
        }
    }

    fn unqueued(&mut self, origins: &mut impl Origins, task: TaskId) {
        let Some(row) = self.tasks.get(task) else { return };
        if row.state == State::Running {
            origins.change(task, |origin| origin.will_be_in(None));
        }
    }

    fn pending(&mut self, at: Instant, cpu: CpuId) {
        let row = self.cpus.get(cpu);
        if row.running.is_none() {
            row.pending.extend(at, at + PENDING, row.open.as_ref().map(|open| open.start));
        }
    }

    fn online(&mut self, at: Instant, cpu: CpuId, up: bool) {
        let row = self.cpus.get(cpu);
        if row.offline != up {
            return;
        }
        row.offline = !up;
        let idle = row.running.is_none() && !row.reserved;
        self.online.add(at, if up { 1 } else { -1 });
        match (idle, up) {
            (true, true) => self.matching.idle(cpu),
            (true, false) => self.matching.busy(cpu),
            _ => {}
        }
    }

    /// Brings the episodes up to the matching.
    fn follow(&mut self, origins: &mut impl Origins, at: Instant) {
        let mut changes = self.matching.take_changes();
        for (cpu, slot) in changes.drain(..) {
            match slot {
                Some(slot) => self.witness(origins, at, cpu, slot),
                // Its next witness follows: still the same episode.
                None if self.matching.wasted(cpu) => {}
                None => self.close(origins, at, cpu),
            }
        }
        self.matching.give_back(changes);
    }

    /// `cpu` is wasted from now on, and the task in `slot` is who could run there.
    fn witness(&mut self, origins: &mut impl Origins, at: Instant, cpu: CpuId, slot: u32) {
        let Cpu { pending, open, .. } = self.cpus.get(cpu);
        if open.is_none() {
            pending.begin();
        }
        let open = open.get_or_insert_with(|| Open::new(at));
        leave((&mut self.tasks, origins), &self.tally, at, pending, open);
        open.meet(at, slot);
    }

    /// What the task in `slot` waits for now is another's decision from now on: if it is a witness, its time so far is divided off.
    #[inline]
    fn part(&mut self, origins: &mut impl Origins, at: Instant, slot: u32) {
        let Some(cpu) = self.matching.paired(slot) else { return };
        let Cpu { pending, open, .. } = self.cpus.get(cpu);
        if let Some(open) = open.as_mut().filter(|open| open.witness() == Some(slot)) {
            part_of((&mut self.tasks, origins), &self.tally, at, pending, open, slot);
        }
    }

    fn close(&mut self, origins: &mut impl Origins, at: Instant, cpu: CpuId) {
        let Some(mut open) = self.cpus.get(cpu).open.take() else { return };
        let length = at.since(open.start);
        let excused = self.cpus.get(cpu).pending.within(open.start, at);
        let left = length.saturating_sub(excused);
        if left < SHORT {
            self.transient += length;
            return;
        }
        self.transient += excused;
        self.wasted += left;
        self.episodes += 1;
        self.observer.wasted(cpu, open.start, at);
        let pending = self.cpus.get(cpu).pending;
        leave((&mut self.tasks, origins), &self.tally, at, &pending, &mut open);
        self.tally.add(cpu, left, &open.notes);
        if self.longest.takes(length, open.start) {
            self.longest.keep(Past { cpu, start: open.start, length, seen: open.into_seen() });
        }
    }

    fn about(&mut self, origins: &mut impl Origins, at: Instant, info: &keel_trace::TaskInfo) {
        let Some(slot) = self.tasks.slot(info.task) else { return };
        let Some(row) = self.tasks.at(slot) else { return };
        let class = self.matching.class_of(&info.cpus, row.group);
        row.pid = info.pid;
        if row.name != info.name {
            row.name = kept(&info.name);
            row.name_number = self.tally.name(&row.name);
        }
        if row.class == class {
            return;
        }
        self.in_class(slot, class);
        self.follow(origins, at);
    }

    fn started(&mut self, at: Instant, cpus: u32) {
        self.cpus.grow(cpus);
        self.online.add(at, i64::from(cpus));
        self.matching = Matching::new(cpus);
        (0..cpus).for_each(|cpu| self.matching.idle(CpuId(cpu)));
    }
}

/// Divides off what the task in `slot`, a witness, has waited so far.
fn part_of(
    (tasks, origins): (&mut Tasks<Row>, &mut impl Origins),
    tally: &Tally,
    at: Instant,
    pending: &Pending,
    open: &mut Open,
    slot: u32,
) {
    let excused = pending.within(open.start, at);
    let Some(row) = tasks.at(slot) else { return };
    let Some(origin) = origins.of(row.task) else { return };
    let wasted = open.part(at, origin.here, row.waker(origin), excused);
    if wasted > Span::ZERO {
        note(&mut open.notes, row.note(origin, wasted, tally.topology.as_ref()));
    }
}

/// The witness at hand goes; it is remembered if it was there the longest.
fn leave(
    (tasks, origins): (&mut Tasks<Row>, &mut impl Origins),
    tally: &Tally,
    at: Instant,
    pending: &Pending,
    open: &mut Open,
) {
    let Some(slot) = open.witness() else { return };
    part_of((&mut *tasks, origins), tally, at, pending, open, slot);
    let Some(Left { part: (part, here, waker), met }) = open.leaves(at) else { return };
    if let Some(row) = tasks.at(slot) {
        open.remember(row.seen(here, waker, part, met));
    }
}

fn finding(past: &Past, tally: &Tally) -> Finding {
    let (cpu, length) = (past.cpu, past.length);
    let text = match &past.seen {
        None => format!("CPU {cpu} idled for {length} while tasks waited"),
        Some((seen, 1)) => {
            let (who, place) = (called(&seen.name, seen.pid, seen.task), place(seen, tally));
            let part = if is_all(seen) { String::new() } else { format!(", for {} of it", seen.part) };
            format!("CPU {cpu} idled for {length} while task {who} waited{part} {place}")
        }
        // The tasks may be few that take turns, so their number would say little.
        Some((seen, _)) => {
            let (who, place) = (called(&seen.name, seen.pid, seen.task), place(seen, tally));
            let part = if is_all(seen) { String::new() } else { format!(", {} of it", seen.part) };
            format!(
                "CPU {cpu} idled for {length} while at least one task always waited; \
                 {who} waited longest, for {}{part} {place}",
                seen.met
            )
        }
    };
    let tasks = past.seen.iter().map(|(seen, _)| seen.task).collect();
    Finding {
        kind: Kind::WastedCore,
        blame: Blame::Scheduler,
        start: past.start,
        duration: length,
        threshold: SHORT,
        cpus: vec![cpu],
        tasks,
        events: vec![past.start, past.start + length],
        decision: past.seen.as_ref().and_then(|(seen, _)| seen.here.decision),
        text,
    }
}

/// Was it there for nearly all the time?
fn is_all(seen: &Seen) -> bool {
    seen.part.as_ns() as f64 >= seen.met.as_ns() as f64 * NEARLY_ALL
}

/// Where it waited and who had put it there.
fn place(seen: &Seen, tally: &Tally) -> String {
    let waker = seen.waker.map(|waker| called(tally.name_of(waker.name), waker.pid, waker.task));
    seen.here.words(waker.as_deref())
}

impl Waste {
    /// What it listens to.
    pub(crate) fn wants() -> Class {
        Class::CORE.with(Class::DECISIONS).with(Class::QUEUES)
    }
}

impl<O: Observer> Waste<O> {
    pub(crate) fn meta(&mut self, origins: &mut impl Origins, at: Instant, meta: &Meta) {
        self.now = at;
        match meta {
            Meta::Start { topology, .. } => {
                self.tally.topology = Some(topology.clone());
                self.started(at, topology.cpus());
            }
            Meta::Task(info) => self.about(origins, at, info),
            Meta::Clock { .. } | Meta::Chance { .. } | Meta::Queue { .. } | Meta::Member { .. } => {}
            Meta::Unknown(_) | Meta::SchedulerExit { .. } | Meta::Policy(_) | Meta::End => {}
        }
    }
}

impl<O: Observer> Sink for WastedCores<O> {
    fn wants(&self) -> Class {
        Waste::wants()
    }

    fn events(&mut self, events: &[Event]) {
        for &Event { at, cpu, what } in events {
            self.waste.event(&mut self.origins, at, cpu, what);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.waste.meta(&mut self.origins, at, meta);
    }
}

#[cfg(test)]
mod tests;
