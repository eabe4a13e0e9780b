//! What a switch means for the tasks involved: one comes, and its wait is over; one leaves, and sleeps, waits again or
//! is gone.

use super::scene::{Scene, Slots, State};
use super::{Conduct, Turn};
use crate::figures::Figures;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::Why;

impl Conduct {
    /// A CPU gets another task. [`Conduct::switches`] is to follow.
    #[inline(always)]
    pub(crate) fn turns(&mut self, at: Instant, cpu: CpuId, slots: Slots, next: TaskId) -> Turn {
        let mut row = self.scene.cpus.get(cpu);
        if row.is_held(at) {
            self.stalls.found(&mut self.scene, at, cpu);
            row = self.scene.cpus.get(cpu);
        }
        row.since = at;
        // Its slot is asked for only if it is one.
        (row.runs, row.slot) = (if slots.next().is_some() { next } else { TaskId::IDLE }, slots.near_next());
        row.runs_any(!next.is_idle())
    }

    /// The tasks of a switch come and leave. If one goes to sleep that did not run as far as the stream shows, it is
    /// `odd`.
    #[inline(never)]
    pub(crate) fn switches(
        &mut self,
        at: Instant,
        cpu: CpuId,
        slots: Slots,
        (prev, why): (TaskId, Why),
        odd: impl FnOnce(&mut Scene, u32),
    ) {
        self.comes(at, cpu, slots.near_next(), None);
        match why.is_sleep() {
            true => self.sleeps(at, cpu, (prev, why), None, odd),
            false => self.leaves_otherwise(at, cpu, (prev, why)),
        }
        self.realtime.switched(&mut self.scene, at, cpu);
    }

    /// Like `switches`, with the figures of the same tasks. The previous one has run for so long.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "it is inlined where all of them are at hand")]
    pub(crate) fn switches_with(
        &mut self,
        figures: &mut Figures,
        at: Instant,
        cpu: CpuId,
        slots: Slots,
        (prev, why, next): (TaskId, Why, TaskId),
        ran: Span,
        odd: impl FnOnce(&mut Scene, u32),
    ) {
        self.comes(at, cpu, slots.near_next(), Some((figures, next)));
        if why.is_sleep() {
            self.sleeps(at, cpu, (prev, why), Some((figures, ran)), odd);
        } else {
            // Before this task may be gone.
            figures.leaves(&mut self.scene, at, (prev, why), (cpu, ran));
            self.leaves_otherwise(at, cpu, (prev, why));
        }
        self.realtime.switched(&mut self.scene, at, cpu);
    }

    /// The task in `slot`, if it is one, starts running; so do the figures of the `next` task.
    #[inline(always)]
    fn comes(&mut self, at: Instant, cpu: CpuId, slot: u32, figures: Option<(&mut Figures, TaskId)>) {
        let Some((task, mut machine)) = self.scene.find(slot) else {
            if let Some((figures, next)) = figures
                && !next.is_idle()
            {
                figures.comes_apart(&mut self.scene, at, cpu, next);
            }
            return;
        };
        if let Some((figures, next)) = figures {
            if !task.figures.is_of(next) {
                return self.comes_apart(at, cpu, slot, (figures, next));
            }
            figures.comes(&mut task.figures, at, cpu);
        }
        if task.state != State::Waiting || task.is_special() {
            return self.comes_otherwise(at, cpu, slot);
        }
        let waited = at.after(task.since);
        let on = machine.cpus.get(task.rq);
        // Whether this CPU is held was looked at just now.
        if waited > self.least || (task.rq != cpu && on.is_held(at)) {
            return self.comes_otherwise(at, cpu, slot);
        }
        task.waited.accumulate(waited);
        on.leaves();
        *machine.waiting -= 1;
        machine.shifts(task.heft, task.rq, cpu);
        if let Some(open) = task.starts(at, cpu) {
            self.bouncing.judge(&mut self.scene, slot, &open);
        }
    }

    /// Like `comes` for a task whose figures are not in its row.
    #[cold]
    #[inline(never)]
    fn comes_apart(&mut self, at: Instant, cpu: CpuId, slot: u32, (figures, next): (&mut Figures, TaskId)) {
        self.comes(at, cpu, slot, None);
        figures.comes_apart(&mut self.scene, at, cpu, next);
    }

    /// Like `comes` for a long wait, one of a real-time task, one in the queue of a CPU that is held, one for a mutex,
    /// and a task whose wait the stream does not show.
    #[inline(never)]
    fn comes_otherwise(&mut self, at: Instant, cpu: CpuId, slot: u32) {
        let task = self.scene.tasks.at(slot);
        match task.state {
            State::Waiting => {
                let waited = at.since(task.since);
                self.ends_wait(at, slot, cpu, waited);
                self.stops_waiting(at, slot);
            }
            // The recording has lost its wakeup.
            State::Asleep => task.share.breaks(),
            State::Throttled | State::Running => {}
        }
        self.scene.unweigh(slot);
        let task = self.scene.tasks.at(slot);
        let awaits = task.awaited().is_some();
        let over = task.starts(at, cpu);
        self.scene.weigh(slot);
        if let Some(open) = over {
            self.bouncing.judge(&mut self.scene, slot, &open);
        }
        if awaits {
            self.locks.comes(&mut self.scene, at, slot);
        }
    }

    fn ends_wait(&mut self, at: Instant, slot: u32, cpu: CpuId, waited: Span) {
        if self.scene.tasks.at(slot).is_urgent() {
            self.realtime.stops(&mut self.scene, at, slot);
        }
        if waited > self.least {
            self.waited(at, slot, Some(cpu));
        }
    }

    /// The previous task of a switch, if it is one, leaves its CPU to sleep; so do its figures, which say for how long
    /// it has run.
    #[inline(always)]
    fn sleeps(
        &mut self,
        at: Instant,
        cpu: CpuId,
        (prev, why): (TaskId, Why),
        figures: Option<(&mut Figures, Span)>,
        odd: impl FnOnce(&mut Scene, u32),
    ) {
        let slot = self.scene.tasks.any_slot(prev);
        let Some((task, mut machine)) = self.scene.find(slot) else {
            if let Some((figures, ran)) = figures
                && !prev.is_idle()
            {
                figures.leaves(&mut self.scene, at, (prev, why), (cpu, ran));
            }
            return;
        };
        let mut apart = None;
        if let Some((figures, ran)) = figures {
            match task.figures.is_of(prev) {
                true => figures.sleeps(&mut task.figures, cpu, ran),
                false => apart = Some((figures, ran)),
            }
        }
        if apart.is_some() || task.state != State::Running || task.awaited().is_some() {
            return self.sleeps_otherwise(at, cpu, slot, (prev, why), apart, odd);
        }
        task.ran.accumulate(at.after(task.since));
        machine.takes(task.heft, || task.origin.last_cpu().unwrap_or(cpu));
        (task.state, task.since) = (State::Asleep, at);
        task.share.breaks();
    }

    /// Like `sleeps` for a task whose figures are not in its row, one that did not run as far as the stream shows, and
    /// one that waits for a mutex.
    #[cold]
    #[inline(never)]
    fn sleeps_otherwise(
        &mut self,
        at: Instant,
        cpu: CpuId,
        slot: u32,
        (prev, why): (TaskId, Why),
        figures: Option<(&mut Figures, Span)>,
        odd: impl FnOnce(&mut Scene, u32),
    ) {
        if self.scene.tasks.at(slot).state != State::Running {
            odd(&mut self.scene, slot);
        }
        self.leaves_in(at, cpu, slot, why);
        if let Some((figures, ran)) = figures {
            figures.leaves(&mut self.scene, at, (prev, why), (cpu, ran));
        }
    }

    /// The previous task of a switch leaves its CPU, but not to sleep.
    #[inline(always)]
    fn leaves_otherwise(&mut self, at: Instant, cpu: CpuId, (prev, why): (TaskId, Why)) {
        if let Some(slot) = self.scene.tasks.slot(prev) {
            self.leaves_in(at, cpu, slot, why);
        }
    }

    /// The task in `slot` leaves its CPU for any reason.
    #[inline(never)]
    fn leaves_in(&mut self, at: Instant, cpu: CpuId, slot: u32, why: Why) {
        let task = self.scene.tasks.at(slot);
        match task.state {
            State::Running => task.ran += at.since(task.since),
            State::Waiting => self.stops_waiting(at, slot),
            State::Asleep | State::Throttled => {}
        }
        self.scene.unweigh(slot);
        let task = self.scene.tasks.at(slot);
        (task.state, task.since) = (State::Asleep, at);
        if task.awaited().is_some_and(|awaited| awaited.got.is_some()) {
            self.locks.settle(&mut self.scene, &mut self.realtime, at, slot);
        }
        match why {
            Why::Preempted | Why::Yielded => {
                let task = self.scene.tasks.at(slot);
                task.origin.leaves(at, cpu, why);
                self.waits_again(at, slot, cpu);
            }
            Why::Exited => self.gone(at, slot),
            Why::Blocked | Why::WasIdle => self.scene.tasks.at(slot).share.breaks(),
        }
    }
}
