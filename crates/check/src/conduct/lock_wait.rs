//! Waiting for locks, as far as the stream records them: simulated kernels do.
//!
//! Two kinds. A task that waits for a mutex of its program is reported with the mutex's owner
//! ([`keel_trace::What::Awaits`]); it is a finding from [`LOCK_WAIT`], a default slice, on: whoever holds a lock for
//! longer has slept, computed, or lost its CPU with it. Who is woken and finds the mutex taken again waits on. Such a
//! wait is the program's own doing ([`Blame::Program`]), unless the owner when it began, or who waits, was runnable and
//! did not run for more than [`LOCK_WAIT`] of it. A CPU that waits for a lock of the kernel or of the scheduler
//! ([`keel_trace::What::LockWait`]) does nothing else meanwhile; from [`CONTENDED`] on that is a finding. Who held that
//! lock is unknown.

use super::realtime::Realtime;
use super::scene::Scene;
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::Lock;

/// How long a task may wait for a mutex.
pub const LOCK_WAIT: Span = Span::from_ms(20);

/// How long a CPU may wait for a lock of the kernel or of the scheduler.
pub const CONTENDED: Span = Span::from_ms(1);

/// A wait for a mutex.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    mutex: u32,
    since: Instant,
    /// When it ran again, perhaps with the mutex.
    pub(crate) got: Option<Instant>,
    owner: TaskId,
    /// The owner was known to be less urgent.
    inverted: bool,
    /// How long it had been in queues when this began.
    waited: Span,
    /// What the owner had had by then.
    owner_before: Had,
    /// And when the task ran again; none where the owner is gone.
    owner_after: Option<Had>,
}

/// What a task has had so far.
#[derive(Clone, Copy, Debug, Default)]
struct Had {
    /// On CPUs.
    ran: Span,
    /// In queues.
    waited: Span,
}

impl Had {
    fn of(scene: &Scene, task: TaskId, now: Instant) -> Option<Self> {
        let task = scene.tasks.peek(task)?;
        Some(Self { ran: task.ran_until(now), waited: task.waited_until(now) })
    }
}

#[derive(Clone, Debug)]
pub(super) struct LockWaits {
    pub(super) found: Found,
}

impl LockWaits {
    /// The task in `slot` begins to wait, or waits on because another was quicker.
    pub(super) fn awaits(
        &mut self,
        scene: &mut Scene,
        realtime: &mut Realtime,
        (at, slot): (Instant, u32),
        mutex: u32,
        owner: TaskId,
    ) {
        let Some(task) = scene.tasks.at(slot) else { return };
        if let Some(awaited) = task.awaited.as_mut().filter(|awaited| awaited.mutex == mutex) {
            awaited.got = None;
            return;
        }
        let prio = task.prio.filter(|_| task.is_urgent());
        self.settle(scene, realtime, at, slot);
        let owner_prio = scene.tasks.peek(owner).and_then(|owner| owner.prio);
        let owner_before = Had::of(scene, owner, at).unwrap_or_default();
        let inverted = prio.zip(owner_prio).is_some_and(|(prio, owner)| owner > prio);
        if let Some(task) = scene.tasks.at(slot) {
            let (since, got, waited) = (at, None, task.waited_until(at));
            task.awaited =
                Some(Awaited { mutex, since, got, owner, inverted, waited, owner_before, owner_after: None });
        }
    }

    /// The task in `slot` comes to run, perhaps with what it waited for.
    pub(super) fn comes(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        let Some(owner) =
            scene.tasks.at(slot).and_then(|task| task.awaited.as_ref()).map(|awaited| awaited.owner)
        else {
            return;
        };
        let owner_after = Had::of(scene, owner, at);
        if let Some(awaited) = scene.tasks.at(slot).and_then(|task| task.awaited.as_mut()) {
            (awaited.got, awaited.owner_after) = (Some(at), owner_after);
        }
    }

    /// The task in `slot` leaves its CPU or is gone, and does not wait for the same mutex again: how long was that?
    pub(super) fn settle(&mut self, scene: &mut Scene, realtime: &mut Realtime, now: Instant, slot: u32) {
        let Some(awaited) = scene.tasks.at(slot).and_then(|task| task.awaited.take()) else { return };
        let (start, end) = (awaited.since, awaited.got.unwrap_or(now));
        let waited = end.since(start);
        let (before, after) = (
            awaited.owner_before,
            match awaited.got {
                Some(_) => awaited.owner_after,
                None => Had::of(scene, awaited.owner, now),
            },
        );
        let lost = after.map(|after| waited.saturating_sub(after.ran.saturating_sub(before.ran)));
        if let Some(lost) = lost.filter(|_| awaited.inverted) {
            realtime.owner_did_not_run(scene, slot, awaited.owner, (start, end), lost);
        }
        if waited > LOCK_WAIT {
            let owner_kept = after.map_or(Span::ZERO, |after| after.waited.saturating_sub(before.waited));
            let own = scene.tasks.at(slot).map_or(Span::ZERO, |task| task.waited_until(end));
            let kept = owner_kept.max(own.saturating_sub(awaited.waited));
            let whose = if kept > LOCK_WAIT { Blame::Scheduler } else { Blame::Program };
            self.found.add_of(whose, start, waited, || finding_of(scene, slot, &awaited, end, lost));
        }
    }

    /// `cpu` waited for a lock until now.
    pub(super) fn contended(&mut self, at: Instant, cpu: CpuId, lock: Lock, waited: Span) {
        if waited <= CONTENDED {
            return;
        }
        let start = Instant::from_ns(at.as_ns().saturating_sub(waited.as_ns()));
        self.found.add(start, waited, || {
            let (which, other) = match lock {
                Lock::Runqueue(other) => (format!("the runqueue lock of CPU {other}"), Some(other)),
                Lock::Dsq(dsq) => (format!("the lock of queue {:#x}", dsq.0), None),
                Lock::Bpf(address) => (format!("the scheduler's lock at {address:#x}"), None),
            };
            Finding {
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
            }
        });
    }
}

fn finding_of(scene: &mut Scene, slot: u32, awaited: &Awaited, end: Instant, lost: Option<Span>) -> Finding {
    let (start, mutex) = (awaited.since, awaited.mutex);
    let waited = end.since(start);
    let (id, name, decision) =
        scene.tasks.at(slot).map(|task| (task.id, task.called(), task.decision())).expect("its own wait");
    let owner = scene.called(awaited.owner);
    let ran =
        lost.map_or(String::new(), |lost| format!(", which ran for {} of that", waited.saturating_sub(lost)));
    Finding {
        kind: Kind::LockWait,
        blame: Blame::default(),
        start,
        duration: waited,
        threshold: LOCK_WAIT,
        cpus: scene.tasks.peek(awaited.owner).map(|owner| owner.rq).into_iter().collect(),
        tasks: [id, awaited.owner].into_iter().filter(|task| !task.is_idle()).collect(),
        events: vec![start, end],
        decision,
        text: format!("task {name} waited {waited} for mutex {mutex}, then held by {owner}{ran}"),
    }
}
