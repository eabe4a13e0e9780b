//! The state that the checks of conduct use: which tasks run and wait, where and since when, and how each came there.

use super::bouncing::Bounce;
use super::lock_wait::Awaited;
use super::unfair::Share;
use crate::cpus::{Cpus, Integral};
use crate::finding::called;
use crate::origin::{Act, Decision, Origin, Origins};
use crate::place::{Course, Here};
use crate::table::Tasks;
use keel_abi::scx::weight_of_nice;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId};
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

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) pid: Pid,
    /// Shared with other checks.
    pub(crate) name: Arc<str>,
    /// Which of [`Sets`] it may use.
    pub(crate) set: u32,
    /// How many CPUs these are; 0 for all.
    pub(crate) may_use: u32,
    /// As the kernel's `p->prio`: below 100 real-time, lower is more urgent. None where unknown.
    pub(crate) prio: Option<i16>,
    /// Its weight; 0 if unknown.
    pub(crate) weight: u32,
    pub(crate) state: State,
    /// The kernel keeps it off every CPU, runnable or not.
    pub(crate) throttled: bool,
    /// Since when it has been doing that.
    pub(crate) since: Instant,
    /// The CPU in whose queue it is.
    pub(crate) rq: CpuId,
    /// Set if it waits because it was woken or created; `None` if it lost its CPU.
    pub(crate) woken: Option<Woken>,
    /// How many waited on the machine when its wait began, itself among them.
    pub(crate) crowd: u32,
    /// What weighed on its CPUs when its wait began ([`Scene::load`]).
    pub(crate) load: u64,
    /// The task that was running on its CPU when it came to its place.
    pub(crate) beside: TaskId,
    /// Where it waited before.
    pub(crate) course: Course<Spot>,
    /// Its time on CPUs until it left the last one.
    pub(crate) ran: Span,
    /// Its time in queues until it left the last one.
    pub(crate) waited: Span,
    /// How it came to its place.
    pub(crate) origin: Origin,
    /// The CPU on which its weight is counted, and how much of it.
    pub(crate) weighs: (CpuId, u32),
    pub(crate) bounce: Bounce,
    pub(crate) share: Share,
    /// The mutex that it waits for. Few tasks do.
    pub(crate) awaited: Option<Box<Awaited>>,
}

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
            state: State::Asleep,
            throttled: false,
            since: Instant::ZERO,
            rq: CpuId(0),
            woken: None,
            crowd: 0,
            load: 0,
            beside: TaskId::IDLE,
            course: Course::begin(Instant::ZERO),
            ran: Span::ZERO,
            waited: Span::ZERO,
            origin: Origin::new(id),
            weighs: (CpuId(0), 0),
            bounce: Bounce::default(),
            share: Share::default(),
            awaited: None,
        }
    }
}

/// A CPU and the weight that counted there, then those that count now.
pub(crate) type Reweighed = ((CpuId, u32), (CpuId, u32));

impl Task {
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
    #[inline]
    pub(crate) fn turns(&mut self, at: Instant) {
        let (here, rq, beside) = (&self.origin.here, self.rq, self.beside);
        self.course.change(at, || Spot { here: *here, rq, beside });
    }

    /// Where its weight counts now, and where it counted before; `None` if nothing changed.
    #[inline]
    pub(crate) fn reweigh(&mut self) -> Option<Reweighed> {
        let cpu = match self.state {
            State::Running => self.origin.last_cpu.unwrap_or(self.rq),
            State::Asleep | State::Waiting | State::Throttled => self.rq,
        };
        let weight = match self.state {
            State::Waiting | State::Running => self.heft(),
            State::Asleep | State::Throttled => 0,
        };
        let before = std::mem::replace(&mut self.weighs, (cpu, weight));
        (before != (cpu, weight)).then_some((before, (cpu, weight)))
    }

    /// Its weight or, if that is unknown, the weight of its nice value; 0 if both are unknown.
    pub(crate) fn heft(&self) -> u32 {
        match (self.weight, self.prio) {
            (0, Some(prio @ 100..140)) => weight_of_nice((prio - 120) as i8),
            (weight, _) => weight,
        }
    }

    /// Is it known to be a real-time task?
    pub(crate) fn is_urgent(&self) -> bool {
        self.prio.is_some_and(|prio| prio < 100)
    }
}

/// A CPU.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// The running task and its slot; `None` if the CPU idles.
    pub(crate) running: Option<(TaskId, u32)>,
    /// Since when.
    pub(crate) since: Instant,
    pub(crate) offline: bool,
    /// While it idles, it does so on purpose.
    pub(crate) reserved: bool,
    /// The number of tasks that wait in its queue.
    pub(crate) queued: u32,
    /// The sum of the known weights of the tasks that wait or run there.
    pub(crate) weight: u64,
    /// Since when the queue has not been empty.
    pub(crate) queued_since: Instant,
    /// The first task that came into the empty queue.
    pub(crate) first: u32,
    /// The last stall that was found there.
    pub(crate) stalled: Option<(Instant, Instant)>,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            running: None,
            since: Instant::ZERO,
            offline: false,
            reserved: false,
            queued: 0,
            weight: 0,
            queued_since: Instant::ZERO,
            first: 0,
            stalled: None,
        }
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
    pub(crate) tasks: Tasks<Task>,
    pub(crate) sets: Sets,
    machine: CpuSet,
}

/// The set of all CPUs, among [`Scene::sets`].
const ALL: u32 = 0;

impl Scene {
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
        let Some(task) = self.tasks.get(info.task) else { return };
        if task.set != set {
            task.share.breaks();
        }
        (task.pid, task.set, task.may_use) = (info.pid, set, count);
        if task.name != *name {
            task.name = name.clone();
        }
    }

    /// How many CPUs a task with `may_use` can be on.
    pub(crate) fn share_of(&self, may_use: u32) -> u64 {
        let cpus = if may_use == 0 { self.online.level() } else { may_use.into() };
        cpus.max(1)
    }

    /// The mean weight on a CPU that the task in `slot` may use.
    pub(crate) fn load(&mut self, slot: u32) -> u64 {
        let Some((may_use, set)) = self.tasks.at(slot).map(|task| (task.may_use, task.set)) else { return 0 };
        match self.sets.get(set).filter(|_| may_use > 0) {
            None => self.weight / self.share_of(0),
            Some(_) if set == ALL => self.weight / u64::from(may_use),
            Some(cpus) => cpus.iter().map(|cpu| self.cpus.get(cpu).weight).sum::<u64>() / u64::from(may_use),
        }
    }

    /// Counts the weight of the task in `slot` where it waits or runs.
    #[inline]
    pub(crate) fn weigh(&mut self, slot: u32) {
        let changed = self.tasks.at(slot).and_then(Task::reweigh);
        self.reweighed(changed);
    }

    /// Counts what [`Task::reweigh`] found.
    #[inline]
    pub(crate) fn reweighed(&mut self, changed: Option<Reweighed>) {
        if let Some((before, now)) = changed {
            self.weighs(before, now);
        }
    }

    #[inline]
    fn weighs(&mut self, before: (CpuId, u32), now: (CpuId, u32)) {
        let row = self.cpus.get(before.0);
        row.weight = row.weight.saturating_sub(before.1.into());
        if now.1 > 0 {
            let row = self.cpus.get(now.0);
            row.weight = row.weight.saturating_add(now.1.into());
        }
        self.weight = self.weight.saturating_sub(before.1.into()).saturating_add(now.1.into());
    }

    /// The task that runs on `cpu`; [`TaskId::IDLE`] if none does.
    #[inline]
    pub(crate) fn runs_on(&mut self, cpu: CpuId) -> TaskId {
        running_on(&mut self.cpus, cpu)
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

/// For a check that sees an event before the scene does.
impl Origins for Scene {
    #[inline(always)]
    fn change(&mut self, _: TaskId, _: impl FnOnce(&mut Origin)) {}

    fn of(&mut self, task: TaskId) -> Option<&Origin> {
        self.tasks.get(task).map(|task| &task.origin)
    }

    #[inline(always)]
    fn end(&mut self, _: TaskId) {}
}

/// Like [`Scene::runs_on`], for use while another part of the scene is borrowed.
#[inline]
pub(crate) fn running_on(cpus: &mut Cpus<Cpu>, cpu: CpuId) -> TaskId {
    cpus.get(cpu).running.map_or(TaskId::IDLE, |(task, _)| task)
}
