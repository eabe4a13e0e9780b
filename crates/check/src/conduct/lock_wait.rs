//! Waiting for locks, as far as the stream tells of them: simulated kernels do.
//!
//! Two kinds. A task that waits for a mutex of its program is told with the mutex's owner ([`keel_trace::What::Awaits`]); it is a finding from [`LOCK_WAIT`],
//! a default slice, on: whoever holds a lock for longer has slept or lost its CPU with it. Who is woken and finds the mutex taken again waits on. A CPU
//! that waits for a lock of the kernel or of the scheduler ([`keel_trace::What::LockWait`]) does nothing else meanwhile; from [`CONTENDED`] on
//! that is a finding. Who held that lock is not told.

use super::realtime::Realtime;
use super::scene::Scene;
use crate::finding::{Finding, Kind};
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
    owner_ran: Span,
}

impl Awaited {
    /// The task comes to run.
    pub(crate) fn comes(&mut self, at: Instant) {
        self.got = Some(at);
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
        let (owner_prio, owner_ran) = match scene.tasks.peek(owner) {
            Some(owner) => (owner.prio, owner.ran_until(at)),
            None => (None, Span::ZERO),
        };
        let inverted = prio.zip(owner_prio).is_some_and(|(prio, owner)| owner > prio);
        if let Some(task) = scene.tasks.at(slot) {
            task.awaited = Some(Awaited { mutex, since: at, got: None, owner, inverted, owner_ran });
        }
    }

    /// The task in `slot` leaves its CPU or is gone, and does not wait for the same mutex again: how long was that?
    pub(super) fn settle(&mut self, scene: &mut Scene, realtime: &mut Realtime, now: Instant, slot: u32) {
        let Some(awaited) = scene.tasks.at(slot).and_then(|task| task.awaited.take()) else { return };
        let (start, end) = (awaited.since, awaited.got.unwrap_or(now));
        let waited = end.since(start);
        let owner_ran = scene.tasks.peek(awaited.owner).map(|owner| owner.ran_until(end));
        let lost = owner_ran.map(|ran| waited.saturating_sub(ran.saturating_sub(awaited.owner_ran)));
        if let Some(lost) = lost.filter(|_| awaited.inverted) {
            realtime.owner_did_not_run(scene, slot, awaited.owner, (start, end), lost);
        }
        if waited > LOCK_WAIT {
            self.found.add(start, waited, || tell(scene, slot, &awaited, end, lost));
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

fn tell(scene: &mut Scene, slot: u32, awaited: &Awaited, end: Instant, lost: Option<Span>) -> Finding {
    let (start, mutex) = (awaited.since, awaited.mutex);
    let waited = end.since(start);
    let (id, name, decision) =
        scene.tasks.at(slot).map(|task| (task.id, task.called(), task.decision)).expect("its own wait");
    let owner = scene.called(awaited.owner);
    let ran =
        lost.map_or(String::new(), |lost| format!(", which ran for {} of that", waited.saturating_sub(lost)));
    Finding {
        kind: Kind::LockWait,
        start,
        duration: waited,
        threshold: LOCK_WAIT,
        cpus: scene.tasks.peek(awaited.owner).map(|owner| owner.rq).into_iter().collect(),
        tasks: [id, awaited.owner].into_iter().filter(|task| !task.is_idle()).collect(),
        events: vec![start, end],
        decision,
        text: format!("task {name} waited {waited} for mutex {mutex}, which {owner} had when it began{ran}"),
    }
}
