//! Waits for locks, if the stream records them, as those of simulated kernels do.
//!
//! There are two kinds. A task's wait for a mutex of its program is recorded with the mutex's owner
//! ([`keel_trace::What::Awaits`]). It is a finding from [`LOCK_WAIT`], a default slice, on: a task that holds a lock
//! for longer has slept, computed, or lost its CPU. If a woken task finds the mutex taken again, the same wait
//! continues. The program is to blame ([`Blame::Program`]), unless the owners, or the waiter itself, were runnable but
//! not running for more than [`LOCK_WAIT`] of it.
//!
//! A CPU that waits for a lock of the kernel or of the scheduler ([`keel_trace::What::LockWait`]) does nothing else;
//! from [`CONTENDED`] on that is a finding. The stream does not record the lock's holder.

use super::owners::Owners;
use super::realtime::Realtime;
use super::scene::Scene;
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Lock, SHORT_LOCK_WAIT};

/// How long a task may wait for a mutex.
pub const LOCK_WAIT: Span = Span::from_ms(20);

/// How long a CPU may wait for a lock of the kernel or of the scheduler.
pub const CONTENDED: Span = Span::from_ms(1);

// A stream in brief has the others one by one.
const _: () = assert!(CONTENDED.as_ns() >= SHORT_LOCK_WAIT.as_ns());

/// A wait for a mutex.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    mutex: u32,
    since: Instant,
    /// When the task ran again, perhaps with the mutex.
    pub(crate) got: Option<Instant>,
    owners: Owners,
    /// How long the task had been in queues when this wait began.
    waited: Span,
}

#[derive(Clone, Debug)]
pub(super) struct LockWaits {
    pub(super) found: Found,
    /// The waiters and their mutexes.
    waiters: Vec<(u32, u32)>,
}

impl LockWaits {
    pub(super) const fn new(found: Found) -> Self {
        Self { found, waiters: Vec::new() }
    }

    /// The task in `slot` begins to wait, or keeps waiting because another was faster.
    pub(super) fn awaits(
        &mut self,
        scene: &mut Scene,
        realtime: &mut Realtime,
        (at, slot): (Instant, u32),
        mutex: u32,
        owner: TaskId,
    ) {
        let task = scene.tasks.at(slot);
        if task.id == owner {
            return self.comes(scene, at, slot);
        }
        if let Some(awaited) = task.awaited_mut().filter(|awaited| awaited.mutex == mutex) {
            awaited.got = None;
            return self.turn(scene, at, mutex, Some(owner));
        }
        let prio = task.prio.filter(|_| task.is_urgent());
        self.settle(scene, realtime, at, slot);
        self.turn(scene, at, mutex, Some(owner));
        let owners = Owners::new(scene, at, owner, prio);
        let task = scene.tasks.at(slot);
        let waited = task.waited_until(at);
        task.set_awaited(Some(Box::new(Awaited { mutex, since: at, got: None, owners, waited })));
        self.waiters.push((mutex, slot));
    }

    /// The task in `slot` is woken: its mutex has been released.
    pub(super) fn woken(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        if let Some(mutex) = awaited_by(scene, slot) {
            self.turn(scene, at, mutex, None);
        }
    }

    /// The task in `slot` starts running, perhaps with the mutex.
    pub(super) fn comes(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        let Some(mutex) = awaited_by(scene, slot) else { return };
        let task = scene.tasks.at(slot);
        let id = task.id;
        if let Some(awaited) = task.awaited_mut() {
            awaited.got = Some(at);
        }
        self.turn(scene, at, mutex, Some(id));
    }

    /// A mutex changes its owner: its remaining waiters now wait for the new one.
    fn turn(&mut self, scene: &mut Scene, at: Instant, mutex: u32, owner: Option<TaskId>) {
        for &(_, slot) in self.waiters.iter().filter(|(waits_for, _)| *waits_for == mutex) {
            let Some(mut awaited) = scene.tasks.at(slot).set_awaited(None) else { continue };
            let next = if awaited.got.is_some() { None } else { owner };
            awaited.owners.turn(scene, at, next);
            scene.tasks.at(slot).set_awaited(Some(awaited));
        }
    }

    /// The task in `slot` leaves its CPU or exits, and does not wait for the same mutex again: judges the wait.
    pub(super) fn settle(&mut self, scene: &mut Scene, realtime: &mut Realtime, now: Instant, slot: u32) {
        let Some(mut awaited) = scene.tasks.at(slot).set_awaited(None) else { return };
        self.waiters.retain(|&(_, waiter)| waiter != slot);
        let (start, end) = (awaited.since, awaited.got.unwrap_or(now));
        awaited.owners.turn(scene, end, None);
        let waited = end.since(start);
        if let Some(owner) = awaited.owners.worst() {
            realtime.owner_did_not_run(scene, slot, owner, (start, end), awaited.owners.lost);
        }
        if waited > LOCK_WAIT {
            let own = scene.tasks.at(slot).waited_until(end);
            let kept = awaited.owners.kept.max(own.saturating_sub(awaited.waited));
            let whose = if kept > LOCK_WAIT { Blame::Scheduler } else { Blame::Program };
            self.found.add_of(whose, start, waited, || finding_of(scene, slot, &awaited, end));
        }
    }

    /// `cpu` waited for a lock until now.
    pub(super) fn contended(&mut self, at: Instant, cpu: CpuId, lock: Lock, waited: Span) {
        if waited <= CONTENDED {
            return;
        }
        let start = Instant::from_ns(at.as_ns().saturating_sub(waited.as_ns()));
        if self.found.counts(Blame::Scheduler, start, waited) {
            self.keep_contended((start, at), cpu, lock, waited);
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_contended(&mut self, (start, at): (Instant, Instant), cpu: CpuId, lock: Lock, waited: Span) {
        let (which, other) = match lock {
            Lock::Runqueue(other) => (format!("the runqueue lock of CPU {other}"), Some(other)),
            Lock::Dsq(dsq) => (format!("the lock of queue {:#x}", dsq.0), None),
            Lock::Bpf(address) => (format!("the scheduler's lock at {address:#x}"), None),
        };
        self.found.keep(Finding {
            kind: Kind::LockWait,
            blame: Blame::Scheduler,
            start,
            duration: waited,
            threshold: CONTENDED,
            cpus: [Some(cpu), other.filter(|&other| other != cpu)].into_iter().flatten().collect(),
            tasks: Vec::new(),
            events: vec![start, at],
            decision: None,
            text: format!("CPU {cpu} waited {waited} for {which}"),
        });
    }
}

/// The mutex that the task in `slot` waits for.
fn awaited_by(scene: &mut Scene, slot: u32) -> Option<u32> {
    scene.tasks.at(slot).awaited().map(|awaited| awaited.mutex)
}

fn finding_of(scene: &mut Scene, slot: u32, awaited: &Awaited, end: Instant) -> Finding {
    let (start, mutex, owners) = (awaited.since, awaited.mutex, &awaited.owners);
    let waited = end.since(start);
    let task = scene.tasks.at(slot);
    let (id, name, decision) = (task.id, task.called(), task.decision());
    let owner = scene.called(owners.first);
    let others = match owners.count {
        0 | 1 => String::new(),
        2 => " and then by one other task".to_owned(),
        count => format!(" and then by {} others", count - 1),
    };
    let ran = owners.ran.map_or(String::new(), |ran| format!(", which ran for {ran} of that time"));
    Finding {
        kind: Kind::LockWait,
        blame: Blame::default(),
        start,
        duration: waited,
        threshold: LOCK_WAIT,
        cpus: scene.tasks.peek(owners.first).map(|owner| owner.rq).into_iter().collect(),
        tasks: [id, owners.first].into_iter().filter(|task| !task.is_idle()).collect(),
        events: vec![start, end],
        decision,
        text: format!("task {name} waited {waited} for mutex {mutex}, held by {owner}{others}{ran}"),
    }
}
