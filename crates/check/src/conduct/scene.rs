//! The state that the checks of conduct use: which tasks run and wait, where and since when, and how each came there.

use super::Turn;
use super::bouncing::{Bounce, Bounces};
use super::lock_wait::Awaited;
use super::stall::HOLD;
use super::unfair::Share;
use crate::cpus::{Cpus, Integral};
use crate::figures;
use crate::finding::called;
use crate::origin::{Act, Decision, Origin};
use crate::place::{Course, Here};
use crate::table::{Tasks, is_slot};
use crate::waste;
use keel_abi::fetch::fetch;
use keel_abi::scx::weight_of_nice;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId};
use keel_trace::What;
use std::sync::Arc;

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Asleep,
    Waiting,
    /// Runnable, but kept off every CPU.
    Throttled,
    Running,
}

/// How a wait began, if with a wakeup or fork.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Woken {
    /// The decision; `None` if the task was already waiting when the stream began.
    pub(crate) by: Option<(Act, TaskId)>,
    pub(crate) to: CpuId,
}

/// Where a task waits, and behind which task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) here: Here,
    /// The CPU on whose runqueue it is.
    pub(crate) rq: CpuId,
    /// The task that was running there when it came.
    pub(crate) beside: TaskId,
}

/// A task. What each wakeup and switch uses comes first, so that it fills few of the host's cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Task {
    /// How it came to its place.
    pub(crate) origin: Origin,
    /// Where it waited before.
    pub(crate) course: Course<Spot>,
    /// Since when it has been doing what it does.
    pub(crate) since: Instant,
    /// Its time on CPUs until it left the last one.
    pub(crate) ran: Span,
    /// Its time in queues until it left the last one.
    pub(crate) waited: Span,
    pub(crate) bounce: Bounce,
    pub(crate) share: Share,
    /// What weighed on its CPUs when its wait began, and how many these were ([`Scene::load`]).
    pub(crate) load: (u64, u32),
    /// The mutex that it waits for. Few tasks do.
    awaited: Option<Box<Awaited>>,
    /// Set if it waits because it was woken or created; `None` if it lost its CPU.
    pub(crate) woken: Option<Woken>,
    /// The CPU in whose queue it is.
    pub(crate) rq: CpuId,
    /// The task that was running on its CPU when it came to its place.
    pub(crate) beside: TaskId,
    /// How many waited on the machine when its wait began, itself among them.
    pub(crate) crowd: u32,
    /// [`Task::heft`], which is asked for at each switch.
    pub(crate) heft: u32,
    /// Which of [`Sets`] it may use.
    pub(crate) set: u32,
    /// How many CPUs these are; 0 for all.
    pub(crate) may_use: u32,
    pub(crate) state: State,
    /// The kernel keeps it off every CPU, runnable or not.
    pub(crate) throttled: bool,
    /// Whether it is a real-time task or waits for a mutex, so that its wakeups and waits concern further checks.
    special: bool,
    /// Whether `prio` is known to be that of a real-time task.
    urgent: bool,
    pub(crate) id: TaskId,
    /// What the check for wasted cores knows about it.
    pub(crate) waste: waste::Row,
    /// Its figures.
    pub(crate) figures: figures::Row,
    /// Shared with other checks.
    pub(crate) name: Arc<str>,
    pub(crate) pid: Pid,
    /// As the kernel's `p->prio`: below 100 real-time, lower is more urgent. None where unknown.
    pub(crate) prio: Option<i16>,
    /// Its weight; 0 if unknown.
    pub(crate) weight: u32,
}

// A row is found by a shift of its slot.
const _: () = assert!(size_of::<Task>() == 512);

impl From<TaskId> for Task {
    fn from(id: TaskId) -> Self {
        Self {
            id,
            pid: Pid(0),
            name: Arc::default(),
            set: 0,
            may_use: 0,
            prio: None,
            weight: 0,
            urgent: false,
            special: false,
            heft: 0,
            state: State::Asleep,
            throttled: false,
            since: Instant::ZERO,
            rq: CpuId(0),
            woken: None,
            crowd: 0,
            load: (0, 1),
            beside: TaskId::IDLE,
            course: Course::begin(Instant::ZERO, Span::ZERO),
            ran: Span::ZERO,
            waited: Span::ZERO,
            origin: Origin::new(id),
            bounce: Bounce::default(),
            share: Share::default(),
            waste: waste::Row::default(),
            figures: figures::Row::from(TaskId::IDLE),
            awaited: None,
        }
    }
}

impl Task {
    /// Requests its lines from the host's memory, but for the last, which are rarely used.
    #[inline(always)]
    pub(super) fn fetch(&self) {
        fetch(&self.origin);
        fetch(&self.course);
        fetch(&self.bounce);
        fetch(&self.share);
        fetch(&self.woken);
        self.figures.fetch();
    }

    /// Its name in a sentence.
    pub(crate) fn called(&self) -> String {
        called(&self.name, self.pid, self.id)
    }

    /// Its time on CPUs until `now`.
    pub(crate) fn ran_until(&self, now: Instant) -> Span {
        match self.state {
            State::Running => self.ran + now.since(self.since),
            State::Asleep | State::Waiting | State::Throttled => self.ran,
        }
    }

    /// Its time in queues until `now`.
    pub(crate) fn waited_until(&self, now: Instant) -> Span {
        match self.state {
            State::Waiting => self.waited + now.since(self.since),
            State::Asleep | State::Throttled | State::Running => self.waited,
        }
    }

    /// The last decision about it.
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.origin.decision()
    }

    /// Where it waits.
    #[inline]
    pub(crate) fn spot(&self) -> Spot {
        Spot { here: self.origin.here, rq: self.rq, beside: self.beside }
    }

    /// Where it has waited for longest up to `now`, and for how long.
    pub(crate) fn longest_spot(&self, now: Instant) -> (Span, Spot) {
        self.course.longest_until(now, self.spot())
    }

    /// It continues to wait elsewhere, or by another decision, which the caller records next.
    #[inline(always)]
    pub(crate) fn turns(&mut self, at: Instant) {
        let (here, rq, beside) = (&self.origin.here, self.rq, self.beside);
        self.course.change(at, || Spot { here: *here, rq, beside });
    }

    /// It starts running on `cpu`. Returns migrations in a row that are over.
    #[inline(always)]
    pub(super) fn starts(&mut self, at: Instant, cpu: CpuId) -> Option<Box<Bounces>> {
        (self.state, self.since, self.throttled) = (State::Running, at, false);
        let moved = self.origin.last_cpu().is_some_and(|last| last != cpu);
        self.origin.runs(cpu);
        if moved { self.bounce.moved(at, cpu, self.ran) } else { None }
    }

    /// The CPU on which its weight counts: it waits or runs there.
    #[inline]
    fn weighs(&self) -> Option<CpuId> {
        match self.state {
            State::Running => Some(self.origin.last_cpu().unwrap_or(self.rq)),
            State::Waiting => Some(self.rq),
            State::Asleep | State::Throttled => None,
        }
    }

    /// Its weight or, if that is unknown, the weight of its nice value; 0 if both are unknown.
    pub(crate) fn heft(&self) -> u32 {
        match (self.weight, self.prio) {
            (0, Some(prio @ 100..140)) => weight_of_nice((prio - 120) as i8),
            (weight, _) => weight,
        }
    }

    /// Returns whether it is known to be a real-time task.
    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent
    }

    pub(super) fn set_urgent(&mut self, urgent: bool) {
        self.urgent = urgent;
        self.special = urgent || self.awaited.is_some();
    }

    /// The mutex that it waits for.
    pub(super) fn awaited(&self) -> Option<&Awaited> {
        self.awaited.as_deref()
    }

    /// As [`Task::awaited`].
    pub(super) fn awaited_mut(&mut self) -> Option<&mut Awaited> {
        self.awaited.as_deref_mut()
    }

    /// It waits for this mutex, or none, from now on. Returns what it has waited for.
    pub(super) fn set_awaited(&mut self, awaited: Option<Box<Awaited>>) -> Option<Box<Awaited>> {
        self.special = self.urgent || awaited.is_some();
        std::mem::replace(&mut self.awaited, awaited)
    }

    /// Returns whether it is a real-time task or waits for a mutex.
    #[inline(always)]
    pub(super) fn is_special(&self) -> bool {
        debug_assert_eq!(self.special, self.urgent || self.awaited.is_some());
        self.special
    }
}

/// A CPU.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// The running task; [`TaskId::IDLE`] if there is none.
    pub(crate) runs: TaskId,
    /// Its slot.
    pub(crate) slot: u32,
    /// Since when.
    pub(crate) since: Instant,
    /// Why it can't run another task: [`RUNS`], [`OFFLINE`], [`RESERVED`].
    busy: u8,
    /// The number of tasks that wait in its queue.
    pub(crate) queued: u32,
    /// The sum of the known weights of the tasks that wait or run there, once [`Scene::by_cpu`].
    pub(crate) weight: u64,
    /// Since when the queue has not been empty.
    pub(crate) queued_since: Instant,
    /// The first task that came into the empty queue.
    pub(crate) first: u32,
    /// When the last stall that was found there began and ended.
    pub(crate) stalled: (Instant, Instant),
}

// A row is found by a shift of the CPU's number.
const _: () = assert!(size_of::<Cpu>() == 64);

/// A task runs there.
pub(crate) const RUNS: u8 = 1;
pub(crate) const OFFLINE: u8 = 2;
/// While it idles, it does so on purpose.
pub(crate) const RESERVED: u8 = 4;

impl Default for Cpu {
    fn default() -> Self {
        Self {
            runs: TaskId::IDLE,
            slot: 0,
            since: Instant::ZERO,
            busy: 0,
            queued: 0,
            weight: 0,
            queued_since: Instant::ZERO,
            first: 0,
            stalled: (Instant::ZERO, Instant::ZERO),
        }
    }
}

impl Cpu {
    /// Returns whether one of these is true.
    #[inline]
    pub(crate) fn is(&self, why: u8) -> bool {
        self.busy & why != 0
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, why: u8, on: bool) {
        self.busy = self.busy & !why | if on { why } else { 0 };
    }

    /// From now on it runs a task, or none.
    #[inline(always)]
    pub(super) fn runs_any(&mut self, runs: bool) -> Turn {
        if self.is(RUNS) == runs {
            return Turn::Same;
        }
        self.set(RUNS, runs);
        match (self.is(OFFLINE | RESERVED), runs) {
            (true, _) => Turn::Same,
            (false, true) => Turn::Begins,
            (false, false) => Turn::Ends,
        }
    }

    /// The task in `slot` comes into its queue.
    #[inline]
    pub(crate) fn enters(&mut self, at: Instant, slot: u32) {
        if self.queued == 0 {
            (self.queued_since, self.first) = (at, slot);
        }
        self.queued += 1;
    }

    /// A task leaves its queue.
    #[inline]
    pub(crate) fn leaves(&mut self) {
        self.queued -= 1;
    }

    /// Returns whether one task has had it for longer than [`HOLD`] while others waited.
    #[inline]
    pub(crate) fn is_held(&self, at: Instant) -> bool {
        // Nearly always it has switched not long ago.
        at.after(self.since) > HOLD
            && self.queued > 0
            && !self.runs.is_idle()
            && at.since(self.queued_since) > HOLD
    }
}

/// No task.
const NO_SLOT: u32 = u32::MAX;

/// The slots of the tasks that an event is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    task: u32,
    next: u32,
}

impl Slots {
    /// No tasks.
    pub(crate) const NONE: Self = Self { task: NO_SLOT, next: NO_SLOT };

    /// The slot of [`Slots::task`], or a number that is no slot.
    #[inline(always)]
    pub(crate) fn near_task(self) -> u32 {
        self.task
    }

    /// The slot of [`Slots::next`], or a number that is no slot.
    #[inline(always)]
    pub(crate) fn near_next(self) -> u32 {
        self.next
    }

    /// The task; for a switch, none.
    #[inline(always)]
    pub(crate) fn task(self) -> Option<u32> {
        is_slot(self.task).then_some(self.task)
    }

    /// The next task of a switch.
    #[inline(always)]
    pub(crate) fn next(self) -> Option<u32> {
        is_slot(self.next).then_some(self.next)
    }

    /// Finds the row of the task that an event is about, or of the next task of a switch. That of the previous one is
    /// found where it is needed, so that it takes no register until then.
    #[inline(always)]
    pub(super) fn of(tasks: &mut Tasks<Task>, what: What) -> Self {
        let task = match what {
            What::Switch { prev, next, .. } if prev != next => {
                return Self { task: NO_SLOT, next: tasks.any_slot(next) };
            }
            What::Wakeup { task, .. }
            | What::Fork { child: task, .. }
            | What::Exit { task }
            | What::Migrate { task, .. }
            | What::Placed { task, .. }
            | What::Woken { task, .. }
            | What::Pulled { task, .. }
            | What::Queued { task, .. }
            | What::Held { task }
            | What::Unqueued { task, .. }
            | What::Throttled { task, .. }
            | What::Priority { task, .. }
            | What::Awaits { task, .. } => tasks.any_slot(task),
            _ => return Self::NONE,
        };
        Self { task, next: NO_SLOT }
    }
}

/// The sets of CPUs that tasks may use; the first is all CPUs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets(Vec<CpuSet>);

/// How many sets are distinguished; tasks with further sets count as [`UNKNOWN_SET`].
const MOST_SETS: usize = 1024;

/// An unknown set: its tasks are compared with no others.
pub(crate) const UNKNOWN_SET: u32 = u32::MAX;

impl Sets {
    fn of(&mut self, cpus: CpuSet) -> u32 {
        match self.0.iter().position(|set| *set == cpus) {
            Some(at) => at as u32,
            None if self.0.len() < MOST_SETS => {
                self.0.push(cpus);
                self.0.len() as u32 - 1
            }
            None => UNKNOWN_SET,
        }
    }

    /// The set with this number, if it is known.
    pub(crate) fn get(&self, number: u32) -> Option<&CpuSet> {
        self.0.get(number as usize)
    }
}

/// The machine and its tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub(crate) now: Instant,
    pub(crate) cpus: Cpus<Cpu>,
    pub(crate) online: Integral,
    /// How many tasks wait.
    pub(crate) waiting: u32,
    /// The sum of the known weights of the tasks that wait or run.
    pub(crate) weight: u64,
    /// It is also counted on each CPU: some task may not use all of them.
    pub(crate) by_cpu: bool,
    /// Parts of a wait that are shorter than this are nobody's concern.
    pub(crate) least_part: Span,
    pub(crate) tasks: Tasks<Task>,
    /// The figures of tasks that have no row here, but do not count as ended there.
    pub(crate) apart: Tasks<figures::Row>,
    pub(crate) sets: Sets,
    machine: CpuSet,
}

/// The set of all CPUs, among [`Scene::sets`].
const ALL: u32 = 0;

impl Scene {
    /// No machine yet. Parts of a wait that are shorter than `least_part` are nobody's concern.
    pub(crate) fn new(least_part: Span) -> Self {
        Self { least_part, ..Self::default() }
    }

    /// A machine of idle CPUs.
    pub(crate) fn start(&mut self, at: Instant, cpus: u32) {
        self.now = at;
        self.cpus.grow(cpus);
        self.machine = CpuSet::first(cpus);
        self.sets = Sets(vec![self.machine.clone()]);
        self.online.add(at, i64::from(cpus));
    }

    /// What a task is: its name, and the CPUs that it may use (none stands for all).
    pub(crate) fn about(&mut self, info: &keel_trace::TaskInfo, name: &Arc<str>) {
        let may_use = info.cpus.and(&self.machine);
        let (count, set) = match may_use.len() as u32 {
            0 => (0, 0),
            count => (count, self.sets.of(may_use)),
        };
        if set != ALL && !self.by_cpu {
            self.weigh_by_cpu();
        }
        let Some(task) = self.tasks.get(info.task) else { return };
        if task.set != set {
            task.share.breaks();
        }
        (task.pid, task.set, task.may_use) = (info.pid, set, count);
        if task.name != *name {
            task.name = name.clone();
        }
    }

    /// A task appears.
    pub(crate) fn meets(&mut self, task: TaskId) {
        self.tasks.any_slot(task);
    }

    /// How many CPUs a task with `may_use` can be on.
    pub(crate) fn share_of(&self, may_use: u32) -> u64 {
        let cpus = if may_use == 0 { self.online.level() } else { may_use.into() };
        cpus.max(1)
    }

    /// The weight on the CPUs that the task in `slot` may use, and their number.
    pub(crate) fn load(&mut self, slot: u32) -> (u64, u32) {
        let (task, mut machine) = self.split(slot);
        machine.load(task)
    }

    /// The weight of the task in `slot` counts no longer: it is about to stop waiting or running.
    #[inline]
    pub(crate) fn unweigh(&mut self, slot: u32) {
        let (task, mut machine) = self.split(slot);
        if let Some(cpu) = task.weighs() {
            machine.takes(task.heft, || cpu);
        }
    }

    /// Counts the weight of the task in `slot` if it waits or runs.
    pub(crate) fn weigh(&mut self, slot: u32) {
        let (task, mut machine) = self.split(slot);
        if let Some(cpu) = task.weighs() {
            machine.adds(task.heft, cpu);
        }
    }

    /// All tasks, and everything around them.
    #[inline(always)]
    fn apart(&mut self) -> (&mut Tasks<Task>, Machine<'_>) {
        let Self { tasks, cpus, online, waiting, weight, by_cpu, least_part, sets, .. } = self;
        let (by_cpu, least_part) = (*by_cpu, *least_part);
        (tasks, Machine { cpus, online, waiting, weight, by_cpu, least_part, sets })
    }

    /// The task in `slot`, and everything around it.
    #[inline(always)]
    pub(crate) fn split(&mut self, slot: u32) -> (&mut Task, Machine<'_>) {
        let (tasks, machine) = self.apart();
        (tasks.at(slot), machine)
    }

    /// The first task comes that may not use all CPUs: counts the weights that are on each.
    #[cold]
    fn weigh_by_cpu(&mut self) {
        self.by_cpu = true;
        for slot in 0..self.tasks.slots() {
            let task = self.tasks.at(slot);
            if let Some(cpu) = task.weighs() {
                self.cpus.get(cpu).weight += u64::from(task.heft);
            }
        }
    }

    /// As [`Scene::split`]; `None` if the number is no slot.
    #[inline(always)]
    pub(crate) fn find(&mut self, slot: u32) -> Option<(&mut Task, Machine<'_>)> {
        let (tasks, machine) = self.apart();
        Some((tasks.row(slot)?, machine))
    }

    /// The task that runs on `cpu`; [`TaskId::IDLE`] if none does.
    pub(crate) fn runs_on(&mut self, cpu: CpuId) -> TaskId {
        self.cpus.get(cpu).runs
    }

    /// A task's name in a sentence, by id. The task may have exited or be idle.
    pub(crate) fn called(&mut self, task: TaskId) -> String {
        match self.tasks.peek(task) {
            Some(task) => task.called(),
            None if task.is_idle() => "nobody".to_owned(),
            None => "a task that has exited".to_owned(),
        }
    }
}

/// The scene without its tasks.
pub(crate) struct Machine<'a> {
    pub(crate) cpus: &'a mut Cpus<Cpu>,
    pub(crate) waiting: &'a mut u32,
    online: &'a Integral,
    weight: &'a mut u64,
    by_cpu: bool,
    least_part: Span,
    sets: &'a Sets,
}

impl Machine<'_> {
    /// A task of this weight begins to wait or run on `cpu`.
    #[inline(always)]
    pub(crate) fn adds(&mut self, heft: u32, cpu: CpuId) {
        *self.weight += u64::from(heft);
        if self.by_cpu {
            adds_by_cpu(self.cpus, heft, cpu);
        }
    }

    /// It no longer waits or runs there.
    #[inline(always)]
    pub(crate) fn takes(&mut self, heft: u32, cpu: impl FnOnce() -> CpuId) {
        *self.weight -= u64::from(heft);
        if self.by_cpu {
            takes_by_cpu(self.cpus, heft, cpu());
        }
    }

    /// It waits or runs on another CPU than before.
    #[inline(always)]
    pub(crate) fn shifts(&mut self, heft: u32, from: CpuId, to: CpuId) {
        if self.by_cpu && from != to {
            takes_by_cpu(self.cpus, heft, from);
            adds_by_cpu(self.cpus, heft, to);
        }
    }

    /// The weight on the CPUs that `task` may use, and their number.
    #[inline(always)]
    fn load(&mut self, task: &Task) -> (u64, u32) {
        let all = |machine: &Self| (*machine.weight, machine.online.level().max(1) as u32);
        match (task.may_use, task.set) {
            (0, _) => all(self),
            (count, ALL) => (*self.weight, count),
            (count, set) => match self.sets.get(set) {
                None => all(self),
                Some(set) => (weight_on(self.cpus, set), count),
            },
        }
    }

    /// `task`, in `slot`, begins to wait on `rq`. Its weight does not count yet.
    #[inline(always)]
    pub(crate) fn begins(&mut self, task: &mut Task, at: Instant, slot: u32, rq: CpuId) {
        (task.since, task.rq) = (at, rq);
        if task.throttled {
            task.state = State::Throttled;
            return task.share.breaks();
        }
        *self.waiting += 1;
        task.state = State::Waiting;
        task.crowd = *self.waiting;
        task.course = Course::begin(at, self.least_part);
        let cpu = self.cpus.get(rq);
        task.beside = cpu.runs;
        cpu.enters(at, slot);
        if task.heft > 0 {
            self.adds(task.heft, rq);
            task.load = self.load(task);
        }
    }
}

// These take parts of the machine, so that its pieces can stay in registers where they are not called.

#[cold]
fn adds_by_cpu(cpus: &mut Cpus<Cpu>, heft: u32, cpu: CpuId) {
    cpus.get(cpu).weight += u64::from(heft);
}

#[cold]
fn takes_by_cpu(cpus: &mut Cpus<Cpu>, heft: u32, cpu: CpuId) {
    cpus.get(cpu).weight -= u64::from(heft);
}

#[cold]
fn weight_on(cpus: &mut Cpus<Cpu>, set: &CpuSet) -> u64 {
    set.iter().map(|cpu| cpus.get(cpu).weight).sum()
}
