//! Priority inversion and misplaced real-time tasks.
//!
//! A waiting real-time task should run before any less urgent task, at once: on its own CPU by preemption, elsewhere by
//! a push or pull. That takes microseconds. The task is **inverted** while a task that is known to be less urgent runs
//! on the CPU in whose queue it waits. Otherwise it is **misplaced** while a CPU that it may use idles or runs a task
//! that is known to be less urgent. A total of more than [`URGENT_WAIT`] is reported. The task is also inverted while
//! it waits for a mutex whose owner is less urgent and does not run ([`super::lock_wait`] counts that).
//!
//! The stream must give priorities ([`keel_trace::What::Priority`]): nothing is counted while a priority is unknown. If
//! the stream does not record which CPUs tasks may use, no task is reported as misplaced. If it does not record
//! throttling, waits of deadline tasks are ignored: their budget may be used up. If the task's own CPU idles, it is
//! about to run the task. At most [`MOST_URGENT_WAITS`] waits are tracked at once; further ones are left out.

use super::scene::{OFFLINE, RESERVED, Scene, Spot, State};
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::Unknown;

/// How long a less urgent task may keep a real-time task waiting.
pub const URGENT_WAIT: Span = Span::from_ms(1);

/// How many waits of real-time tasks are tracked at once.
pub const MOST_URGENT_WAITS: usize = 16;

/// An idle CPU is less urgent than any task.
const IDLE: i16 = i16::MAX;

/// What is wrong with a wait, if anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ill {
    Not,
    Inverted { by: TaskId },
    Misplaced { beside: CpuId, runs: TaskId },
}

/// For how long a wait was wrong, since when, and the longest reason.
#[derive(Clone, Copy, Debug)]
struct Sum {
    start: Instant,
    end: Instant,
    total: Span,
    longest: (Span, Ill, Option<Spot>),
}

impl Sum {
    const NONE: Self = Self {
        start: Instant::ZERO,
        end: Instant::ZERO,
        total: Span::ZERO,
        longest: (Span::ZERO, Ill::Not, None),
    };

    fn add(&mut self, ill: Ill, spot: Spot, from: Instant, until: Instant) {
        let span = until.since(from);
        if self.total == Span::ZERO {
            self.start = from;
        }
        (self.end, self.total) = (until, self.total + span);
        if span > self.longest.0 {
            self.longest = (span, ill, Some(spot));
        }
    }
}

/// A waiting real-time task.
#[derive(Clone, Debug)]
struct Wait {
    slot: u32,
    prio: i16,
    set: u32,
    /// Where it waits, and the decision that put it there.
    spot: Spot,
    ill: Ill,
    since: Instant,
    inverted: Sum,
    misplaced: Sum,
}

#[derive(Clone, Debug)]
pub(super) struct Realtime {
    waits: Vec<Wait>,
    inverted: Found,
    misplaced: Found,
    /// What the stream does not record.
    pub(super) unknown: Unknown,
}

impl Realtime {
    pub(super) fn new(inverted: Found, misplaced: Found) -> Self {
        Self { waits: Vec::new(), inverted, misplaced, unknown: Unknown::default() }
    }

    pub(super) fn found(self) -> (Found, Found) {
        (self.inverted, self.misplaced)
    }

    /// A real-time task begins to wait.
    pub(super) fn waits(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        let task = scene.tasks.at(slot);
        let (Some(prio), true) = (task.prio, self.waits.len() < MOST_URGENT_WAITS) else { return };
        // Its budget may be used up.
        if prio < 0 && self.unknown.throttling {
            return;
        }
        let (set, spot) = (task.set, task.spot());
        let (inverted, misplaced) = (Sum::NONE, Sum::NONE);
        self.waits.push(Wait { slot, prio, set, spot, ill: Ill::Not, since: at, inverted, misplaced });
        self.look(scene, at, self.waits.len() - 1);
    }

    /// The task is in another queue now.
    pub(super) fn moved(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        let Some(nth) = self.waits.iter().position(|wait| wait.slot == slot) else { return };
        // Anything wrong until now belongs to its old place.
        let wait = &mut self.waits[nth];
        wait.turn(at, wait.ill);
        wait.spot = scene.tasks.at(slot).spot();
        self.look(scene, at, nth);
    }

    /// `cpu` switched, went on- or offline, or its task changed its priority.
    #[inline(always)]
    pub(super) fn switched(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId) {
        if !self.waits.is_empty() {
            self.changed(scene, at, cpu);
        }
    }

    fn changed(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId) {
        for nth in 0..self.waits.len() {
            let concerned = match self.waits[nth].ill {
                Ill::Not => true,
                Ill::Inverted { .. } => self.waits[nth].spot.rq == cpu,
                Ill::Misplaced { beside, .. } => self.waits[nth].spot.rq == cpu || beside == cpu,
            };
            if concerned {
                self.look(scene, at, nth);
            }
        }
    }

    /// Looks for what is wrong now.
    fn look(&mut self, scene: &mut Scene, at: Instant, nth: usize) {
        let wait = &self.waits[nth];
        let below = |cpu: CpuId, scene: &mut Scene| {
            runs(scene, cpu).filter(|&(_, prio)| prio > wait.prio).map(|(task, _)| task)
        };
        let ill = match (below(wait.spot.rq, scene), wait.ill) {
            (Some(by), _) if !by.is_idle() => Ill::Inverted { by },
            // Its own CPU is about to run it.
            (Some(_), _) => Ill::Not,
            (None, _) if self.unknown.affinity => Ill::Not,
            (None, Ill::Misplaced { beside, .. }) if below(beside, scene).is_some() => {
                let runs = scene.runs_on(beside);
                Ill::Misplaced { beside, runs }
            }
            (None, _) => elsewhere(scene, wait.set, wait.prio),
        };
        let wait = &mut self.waits[nth];
        if ill != wait.ill {
            wait.turn(at, ill);
        }
    }

    /// The task no longer waits.
    pub(super) fn stops(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        let Some(nth) = self.waits.iter().position(|wait| wait.slot == slot) else { return };
        let mut wait = self.waits.swap_remove(nth);
        wait.turn(at, Ill::Not);
        for (sum, found) in [(wait.inverted, &mut self.inverted), (wait.misplaced, &mut self.misplaced)] {
            if sum.total > URGENT_WAIT {
                found.add(sum.start, sum.total, || finding_of(scene, slot, &sum));
            }
        }
    }

    /// A waiting or running task changes its priority.
    pub(super) fn reprioritised(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        self.stops(scene, at, slot);
        let task = scene.tasks.at(slot);
        match task.state {
            State::Waiting if task.is_urgent() => self.waits(scene, at, slot),
            State::Running => {
                if let Some(cpu) = task.origin.last_cpu() {
                    self.switched(scene, at, cpu);
                }
            }
            State::Waiting | State::Throttled | State::Asleep => {}
        }
    }

    /// The real-time task `waiter` waited for the mutex of `owner`, which is less urgent and did not run for `lost` of
    /// it.
    pub(super) fn owner_did_not_run(
        &mut self,
        scene: &mut Scene,
        waiter: u32,
        owner: TaskId,
        (start, end): (Instant, Instant),
        lost: Span,
    ) {
        if lost <= URGENT_WAIT {
            return;
        }
        self.inverted.add(start, lost, || {
            let task = scene.tasks.at(waiter);
            let (id, name) = (task.id, task.called());
            let (owner_name, whole) = (scene.called(owner), end.since(start));
            let owner_row = scene.tasks.peek(owner);
            Finding {
                kind: Kind::PriorityInversion,
                blame: Blame::Scheduler,
                start,
                duration: lost,
                threshold: URGENT_WAIT,
                cpus: owner_row.map(|owner| owner.rq).into_iter().collect(),
                tasks: vec![id, owner],
                events: vec![start, end],
                decision: owner_row.and_then(|owner| owner.decision()),
                text: format!(
                    "real-time task {name} waited {whole} for a mutex of less urgent task {owner_name}, which did not run \
                     for {lost} of that"
                ),
            }
        });
    }
}

impl Wait {
    fn turn(&mut self, at: Instant, to: Ill) {
        match self.ill {
            Ill::Not => {}
            Ill::Inverted { .. } => self.inverted.add(self.ill, self.spot, self.since, at),
            Ill::Misplaced { .. } => self.misplaced.add(self.ill, self.spot, self.since, at),
        }
        (self.ill, self.since) = (to, at);
    }
}

/// The task that runs on `cpu` and its priority; `None` if either is unknown or the CPU is offline.
fn runs(scene: &mut Scene, cpu: CpuId) -> Option<(TaskId, i16)> {
    let row = scene.cpus.get(cpu);
    match row.runs {
        _ if row.is(OFFLINE) => None,
        TaskId::IDLE if row.is(RESERVED) => None,
        TaskId::IDLE => Some((TaskId::IDLE, IDLE)),
        task => Some((task, scene.tasks.at(row.slot).prio?)),
    }
}

/// The first CPU that the task may use and that runs nothing as urgent.
fn elsewhere(scene: &mut Scene, set: u32, prio: i16) -> Ill {
    let Some(cpus) = scene.sets.get(set).cloned() else { return Ill::Not };
    let beside = cpus.iter().find_map(|cpu| {
        let (task, other) = runs(scene, cpu)?;
        (other > prio).then_some((cpu, task))
    });
    beside.map_or(Ill::Not, |(beside, runs)| Ill::Misplaced { beside, runs })
}

fn finding_of(scene: &mut Scene, slot: u32, sum: &Sum) -> Finding {
    let Sum { start, end, total, longest: (_, ill, spot) } = *sum;
    let task = scene.tasks.at(slot);
    let (id, now) = (task.id, task.spot());
    let spot = spot.unwrap_or(now);
    let (rq, decision) = (spot.rq, spot.here.decision(id));
    let who = scene.called(id);
    let (kind, cpus, other, text) = match ill {
        Ill::Inverted { by } => {
            let other = scene.called(by);
            let text = format!(
                "real-time task {who} waited on CPU {rq} for {total} while less urgent task {other} ran there"
            );
            (Kind::PriorityInversion, vec![rq], by, text)
        }
        Ill::Misplaced { beside, runs } => {
            let other = match runs.is_idle() {
                true => "idled".to_owned(),
                false => format!("ran less urgent task {}", scene.called(runs)),
            };
            let text = format!(
                "real-time task {who} waited on CPU {rq} for {total} while CPU {beside}, which it may use, {other}"
            );
            (Kind::MisplacedRealtime, vec![rq, beside], runs, text)
        }
        Ill::Not => unreachable!("only what was wrong is summed"),
    };
    let tasks = [id, other].into_iter().filter(|task| !task.is_idle()).collect();
    let (events, blame) = (vec![start, end], Blame::Scheduler);
    Finding {
        kind,
        blame,
        start,
        duration: total,
        threshold: URGENT_WAIT,
        cpus,
        tasks,
        events,
        decision,
        text,
    }
}
