//! Unfair shares: a task gets far less CPU time than its weight entitles it to.
//!
//! In each window of [`WINDOW`], this check compares the tasks that wanted a CPU all the time (they ran or waited, but
//! never slept), that may use the same CPUs, that are not real-time tasks, and whose weights are known and did not
//! change. The time that they had together is divided by weight; no task is entitled to more than one CPU. A task with
//! less than half of its share is reported, if the share is at least [`LEAST_SHARE`]: five default slices, so that no
//! single slice decides. Half, because tasks come in whole numbers: if equal tasks are spread over CPUs as evenly as
//! possible, no CPU has twice the average number, so no task gets less. Consecutive windows are one finding.
//!
//! Nothing is counted if weights are unknown: recordings don't have them, and the share of a task in a cgroup or
//! session of its own depends on that.

use super::scene::{Scene, State, UNKNOWN_SET};
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use crate::origin::Decision;
use keel_abi::{CpuId, Instant, Span};

/// The time over which shares are compared.
pub const WINDOW: Span = Span::from_s(1);

/// A task that is entitled to less than this in a window is ignored.
pub const LEAST_SHARE: Span = Span::from_ms(100);

/// One task's share.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// It did not want a CPU all the time since the window began, or that is unknown.
    broken: bool,
    /// Its running time when the window began.
    ran: Span,
    /// Windows in a row in which it had too little. Most tasks have none.
    open: Option<Box<Open>>,
}

impl Default for Share {
    fn default() -> Self {
        Self { broken: true, ran: Span::ZERO, open: None }
    }
}

impl Share {
    /// It sleeps, or changes so that it can't be compared with its earlier self.
    #[inline]
    pub(crate) fn breaks(&mut self) {
        self.broken = true;
    }
}

/// Windows in a row.
#[derive(Clone, Copy, Debug)]
struct Open {
    start: Instant,
    end: Instant,
    ran: Span,
    due: Span,
    /// Where it was in the last of them, and the decision that put it there.
    rq: CpuId,
    decision: Option<Decision>,
}

/// A task that is compared.
#[derive(Clone, Copy, Debug)]
struct Rival {
    set: u32,
    slot: u32,
    weight: u32,
    ran: Span,
}

#[derive(Clone, Debug)]
pub(super) struct Unfair {
    pub(super) found: Found,
    began: Instant,
    ends: Instant,
    rivals: Vec<Rival>,
}

impl Unfair {
    pub(super) fn new(found: Found) -> Self {
        Self { found, began: Instant::ZERO, ends: Instant::ZERO + WINDOW, rivals: Vec::new() }
    }

    /// Returns whether the window is over.
    #[inline]
    pub(super) fn is_due(&self, at: Instant) -> bool {
        at >= self.ends
    }

    /// Compares the tasks that wanted a CPU all the time, and begins the next window.
    #[cold]
    pub(super) fn close(&mut self, scene: &mut Scene, at: Instant) {
        let length = at.since(self.began);
        let mut rivals = std::mem::take(&mut self.rivals);
        rivals.clear();
        for slot in 0..scene.tasks.slots() {
            let task = scene.tasks.at(slot);
            let ran = task.ran_until(at);
            let had = ran.saturating_sub(task.share.ran);
            let broken = std::mem::replace(
                &mut task.share.broken,
                matches!(task.state, State::Asleep | State::Throttled),
            );
            task.share.ran = ran;
            let fair =
                task.prio.is_some_and(|prio| prio >= 100) && task.weight > 0 && task.set != UNKNOWN_SET;
            if fair && !broken && length < WINDOW * 2 {
                rivals.push(Rival { set: task.set, slot, weight: task.weight, ran: had });
            } else {
                self.end(scene, slot);
            }
        }
        rivals.sort_by_key(|rival| (rival.set, std::cmp::Reverse(rival.weight), rival.slot));
        for group in rivals.chunk_by(|a, b| a.set == b.set) {
            self.compare(scene, group, length, at);
        }
        (self.rivals, self.began, self.ends) = (rivals, at, at + WINDOW);
    }

    /// Compares the tasks of one group, the heaviest first: any entitlement beyond one CPU goes to the rest.
    fn compare(&mut self, scene: &mut Scene, group: &[Rival], length: Span, at: Instant) {
        let mut left: u64 = group.iter().map(|rival| rival.ran).sum::<Span>().as_ns();
        let mut weights: u64 = group.iter().map(|rival| u64::from(rival.weight)).sum();
        for rival in group {
            let share = u128::from(left) * u128::from(rival.weight) / u128::from(weights.max(1));
            let due = Span::from_ns(u64::try_from(share).unwrap_or(u64::MAX).min(length.as_ns()));
            if due == length {
                left = left.saturating_sub(due.as_ns());
                weights -= u64::from(rival.weight);
            }
            match due >= LEAST_SHARE && rival.ran * 2 < due {
                true => self.short(scene, rival, due, at),
                false => self.end(scene, rival.slot),
            }
        }
    }

    fn short(&mut self, scene: &mut Scene, rival: &Rival, due: Span, at: Instant) {
        let task = scene.tasks.at(rival.slot);
        let (start, none) = (self.began, Span::ZERO);
        let (rq, decision) = (task.rq, task.decision());
        let new = Open { start, end: at, ran: none, due: none, rq, decision };
        let open = task.share.open.get_or_insert_with(|| Box::new(new));
        **open = Open { end: at, ran: open.ran + rival.ran, due: open.due + due, rq, decision, ..**open };
    }

    /// The consecutive windows end.
    pub(super) fn end(&mut self, scene: &mut Scene, slot: u32) {
        let task = scene.tasks.at(slot);
        let Some(open) = task.share.open.take() else { return };
        let Open { start, end, ran, due, rq, decision } = *open;
        let duration = end.since(start);
        self.found.add(start, duration, || Finding {
            kind: Kind::UnfairShare,
            blame: Blame::Scheduler,
            start,
            duration,
            threshold: Span::from_ns(due.as_ns() / 2),
            cpus: vec![rq],
            tasks: vec![task.id],
            events: vec![start, end],
            decision,
            text: format!(
                "task {} was runnable for {duration} and ran for {ran}; its weight among the tasks on the same CPUs \
                 entitles it to {due}",
                task.called()
            ),
        });
    }
}
