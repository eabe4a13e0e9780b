//! The owners of a mutex while a task waited for it, and what they did during that time.
//!
//! A mutex may have several owners during one wait. The stream names the owner when a wait begins. After that, a waiter
//! that is woken and runs owns the mutex, unless it waits again: then another task was faster, and the stream names
//! that one. From the wakeup until the woken task runs, nobody owns the mutex. A waiter can also get the mutex before
//! it has left its CPU; the stream then names the waiter itself as the owner.

use super::scene::Scene;
use keel_abi::{Instant, Span, TaskId};

/// A task's times so far.
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

/// The owners during one wait.
#[derive(Clone, Debug)]
pub(crate) struct Owners {
    /// The waiter's priority, if it is a real-time task.
    waiter_prio: Option<i16>,
    /// The owner when the wait began.
    pub(super) first: TaskId,
    /// The number of successive owners.
    pub(super) count: u32,
    /// How long they ran; `None` if one of them has exited and its figures are gone.
    pub(super) ran: Option<Span>,
    /// How long they were in queues.
    pub(super) kept: Span,
    /// How long owners that are less urgent than the waiter did not run.
    pub(super) lost: Span,
    /// The one of these that did not run for longest.
    worst: Option<(TaskId, Span)>,
    now: Option<Ownership>,
}

#[derive(Clone, Copy, Debug)]
struct Ownership {
    owner: TaskId,
    from: Instant,
    before: Had,
    less_urgent: bool,
}

impl Owners {
    /// A wait begins. `waiter_prio` is `None` if the task is not a real-time task.
    pub(super) fn new(scene: &Scene, at: Instant, owner: TaskId, waiter_prio: Option<i16>) -> Self {
        let none = Span::ZERO;
        let (ran, worst, now) = (Some(none), None, None);
        let mut owners =
            Self { waiter_prio, first: owner, count: 0, ran, kept: none, lost: none, worst, now };
        owners.turn(scene, at, Some(owner));
        owners
    }

    /// From `at` on the mutex has another owner, or none.
    pub(super) fn turn(&mut self, scene: &Scene, at: Instant, owner: Option<TaskId>) {
        if self.now.map(|now| now.owner) == owner {
            return;
        }
        if let Some(before) = self.now.take() {
            self.ends(scene, at, before);
        }
        let Some(owner) = owner else { return };
        let owner_prio = scene.tasks.peek(owner).and_then(|owner| owner.prio);
        let less_urgent = self.waiter_prio.zip(owner_prio).is_some_and(|(prio, owner)| owner > prio);
        let before = Had::of(scene, owner, at).unwrap_or_default();
        self.now = Some(Ownership { owner, from: at, before, less_urgent });
        self.count += 1;
    }

    fn ends(&mut self, scene: &Scene, at: Instant, held: Ownership) {
        let Some(after) = Had::of(scene, held.owner, at) else {
            self.ran = None;
            return;
        };
        let ran = after.ran.saturating_sub(held.before.ran);
        self.ran = self.ran.map(|sum| sum + ran);
        self.kept += after.waited.saturating_sub(held.before.waited);
        let lost = at.since(held.from).saturating_sub(ran);
        if held.less_urgent {
            self.lost += lost;
            if self.worst.is_none_or(|(_, most)| lost > most) {
                self.worst = Some((held.owner, lost));
            }
        }
    }

    /// The less urgent owner that did not run for longest.
    pub(super) fn worst(&self) -> Option<TaskId> {
        self.worst.map(|(owner, _)| owner)
    }
}
