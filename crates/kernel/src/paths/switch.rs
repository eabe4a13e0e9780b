//! The switch: the previous task is put back, the next one set, and the classes of both are notified
//! (`put_prev_set_next_task()`).

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::hooks::Point;
use crate::state::task::State;
use crate::state::task_struct::TaskStruct;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::{Op, enq, ent};
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// [`Frame::Switch`]: `put_prev_task_scx()` up to `ops.stopping`.
    pub(crate) fn switch(&mut self, c: CpuId, next: TaskId) -> bool {
        let prev = self.k.this_cpu().curr;
        match (prev.is_idle(), next.is_idle()) {
            (true, false) => self.switch_from_idle(c, next),
            (false, _) if self.k.has_left_to_sleep(prev) && self.k.this_cpu().pauses.is_empty() => {
                match next.is_idle() {
                    true => self.switch_to_idle(c, prev),
                    false => self.switch_from_left_later(c, prev, next),
                }
            }
            _ => {
                self.switch_otherwise(c, prev, next);
                false
            }
        }
    }

    /// Like `switch` from the idle task to another one, usually one of the scheduler's.
    #[inline(never)]
    pub(crate) fn switch_from_idle(&mut self, c: CpuId, next: TaskId) -> bool {
        let (t, cpu) = (&self.k.tasks[next], &mut *self.k.cpus.this_cpu);
        let slice_at = t.ea.offset(crate::state::layout::task::SCX_SLICE);
        if t.class != SchedClass::Ext || cpu.in_stopper || self.vm.world().u64_at(slice_at) == 0 {
            self.switch_otherwise(c, TaskId::IDLE, next);
            return false;
        }
        cpu.next_class = SchedClass::Ext;
        let prev = TaskId::IDLE;
        if !self.updated_idle(c, false, true, || Frame::SetNext { prev, next }) {
            return false;
        }
        let Some(ea) = self.k.switch_from_idle(self.vm.world(), c, next) else {
            self.set_next(c, prev, next);
            return false;
        };
        let dead = TaskId::IDLE;
        self.called(c, Op::Running, (next, &[ea.0]), || Frame::Scheduled { dead })
            && self.scheduled_after(c, dead, true)
    }

    /// Like `switch` to the idle task from one that has left its queue to sleep, for a CPU that has no reason to pause.
    #[inline(never)]
    pub(crate) fn switch_to_idle(&mut self, c: CpuId, prev: TaskId) -> bool {
        debug_assert!(self.k.has_left_to_sleep(prev) && self.goes_on());
        if !self.k.switch_to_idle(c, prev) {
            self.switch_otherwise(c, prev, TaskId::IDLE);
            return false;
        }
        let dead = TaskId::IDLE;
        self.resched_if_late(c);
        self.updated_idle(c, true, true, || Frame::Scheduled { dead }) && self.scheduled_after(c, dead, true)
    }

    /// The CPU that put a task here after the pick did not see an idle CPU.
    #[inline(always)]
    fn resched_if_late(&mut self, c: CpuId) {
        if self.k.first_local(c).is_some() {
            self.k.resched(c, c);
        }
    }

    /// Like `switch_from_left`, if the pick had to wait.
    #[inline(never)]
    pub(crate) fn switch_from_left_later(&mut self, c: CpuId, prev: TaskId, next: TaskId) -> bool {
        self.switch_from_left(c, prev, next)
    }

    /// Like `switch` from a task that has left its queue to sleep, for a CPU that has no reason to pause: usually
    /// nothing has to be charged or called before the switch itself.
    #[inline(always)]
    pub(crate) fn switch_from_left(&mut self, c: CpuId, prev: TaskId, next: TaskId) -> bool {
        debug_assert!(self.k.has_left_to_sleep(prev) && prev != next && self.goes_on());
        let Some(next_ea) = self.k.switch_between(self.vm.world(), c, prev, next) else {
            self.switch_otherwise(c, prev, next);
            return false;
        };
        let dead = TaskId::IDLE;
        self.called(c, Op::Running, (next, &[next_ea.0]), || Frame::Scheduled { dead })
            && self.scheduled_after(c, dead, true)
    }

    /// Like `switch` in all other cases: a task that goes on, another class, rarely used rules.
    #[inline(never)]
    fn switch_otherwise(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        self.k.charge_rest_of_schedule(c, prev, next);
        let mut class = SchedClass::Idle;
        if !next.is_idle() {
            let t = &self.k.tasks[next];
            class = t.class;
            let slice_at = t.ea.offset(crate::state::layout::task::SCX_SLICE);
            if class == SchedClass::Ext && self.vm.world().u64_at(slice_at) == 0 {
                self.k.refill_slice(self.vm.world(), next);
            }
        }
        self.k.this_cpu().next_class = class;
        if prev == next && !prev.is_idle() {
            self.k.task(prev).yielded = false;
            return self.k.this_cpu().stack.push(Frame::Scheduled { dead: TaskId::IDLE });
        }
        if !prev.is_idle() && self.k.tasks[prev].queued {
            self.k.update_curr(self.vm.world(), c);
            let args = [self.k.tasks[prev].ea.0, 1];
            let put = Frame::PutPrev { prev, next };
            return self.call(c, Op::Stopping, (prev, &args), put, |sim| sim.put_prev(c, prev, next));
        }
        let set = Frame::SetNext { prev, next };
        if class > SchedClass::Ext && self.k.releases(c, prev) {
            self.k.this_cpu().stack.push(set);
            return self.release_cpu(c, next);
        }
        let was_idle =
            prev.is_idle() && !next.is_idle() && !std::mem::take(&mut self.k.this_cpu().in_stopper);
        let goes_on = if was_idle { self.updated_idle(c, false, true, || set) } else { self.may_go(|| set) };
        if goes_on {
            self.set_next_here(c, prev, next);
        }
    }

    /// `__scx_update_idle()`: the masks first, then the scheduler, but of real transitions only. Returns whether the
    /// caller is to take the step of `frame`.
    #[inline(always)]
    fn updated_idle(&mut self, c: CpuId, idle: bool, real: bool, frame: impl Fn() -> Frame) -> bool {
        self.k.set_idle(self.vm.world(), c, idle);
        if !real || self.k.this_cpu().bypassing {
            return self.may_go(frame);
        }
        let args = [self.k.cpu_argument(c), u64::from(idle)];
        self.called(c, Op::UpdateIdle, (TaskId::IDLE, &args), frame)
    }

    /// [`Frame::PutPrev`]: a task with slice left goes to the head of the local queue, unless it had to run at once.
    /// Any other task goes to the scheduler, with `SCX_ENQ_LAST` if the CPU would go idle.
    pub(crate) fn put_prev(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        self.k.set_runnable(self.vm.world(), prev);
        let mut set = Frame::SetNext { prev, next };
        if self.k.this_cpu().next_class > SchedClass::Ext && self.k.releases(c, prev) {
            self.k.this_cpu().stack.push(set);
            set = Frame::Release { next };
        }
        if self.k.slice(self.vm.world(), prev) != 0 && !self.k.this_cpu().bypassing {
            if self.k.tasks[prev].immed {
                self.k.this_cpu().stack.push(set);
                return self.enqueue_again(c, prev, ent::REENQ_PREEMPTED);
            }
            if let Frame::Release { .. } = set {
                self.k.this_cpu().stack.push(set);
                let world = self.vm.world();
                return self.k.insert_local(world, c, c, prev, enq::HEAD);
            }
            let world = self.vm.world();
            self.k.insert_local(world, c, c, prev, enq::HEAD);
            self.go(set, |sim| sim.set_next(c, prev, next));
        } else {
            let enq_flags = if next.is_idle() { enq::LAST } else { 0 };
            self.k.this_cpu().stack.push(set);
            let enqueue = Frame::Enqueue { task: prev, enq_flags };
            self.go(enqueue, |sim| sim.enqueue(c, prev, enq_flags));
        }
    }

    /// [`Frame::SetNext`]: the switch itself, then `ops.running` or `ops.update_idle`.
    #[inline(never)]
    pub(crate) fn set_next(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        self.set_next_here(c, prev, next);
    }

    /// Like `set_next`, inlined into the path to it.
    #[inline(always)]
    fn set_next_here(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        if prev == next {
            return self.stays_idle(c);
        }
        self.k.switch_to(c, prev, next);
        let mut args = [0];
        if !next.is_idle() {
            let t = &self.k.tasks[next];
            if t.class == SchedClass::Ext {
                t.mirror_arrival(&mut TaskStruct::at(self.vm.world(), t.ea));
            }
            args = [t.ea.0];
        }
        if self.k.scx.needs_slow_path {
            self.k.mirror_section(self.vm.world(), prev);
            self.k.mirror_section(self.vm.world(), next);
            if self.k.hooks.traces(Point::SchedSwitch) {
                return self.switched_traced(c, prev, next);
            }
        }
        let dead = self.if_dead(prev);
        let done = Frame::Scheduled { dead };
        let goes_on = if self.k.this_cpu().next_class > SchedClass::Ext {
            self.k.this_cpu().stack.push(done);
            return self.push_after_switch(c);
        } else if next.is_idle() {
            self.resched_if_late(c);
            self.updated_idle(c, true, true, || done)
        } else {
            self.called(c, Op::Running, (next, &args), || done)
        };
        if goes_on {
            self.scheduled_after(c, dead, true);
        }
    }

    /// The end of [`Sim::set_next`] if the CPU was idle and stays so.
    #[inline(never)]
    fn stays_idle(&mut self, c: CpuId) {
        let real = std::mem::take(&mut self.k.this_cpu().in_stopper);
        if self.updated_idle(c, true, real, || Frame::Scheduled { dead: TaskId::IDLE }) {
            self.scheduled(c, TaskId::IDLE);
        }
    }

    /// The end of [`Sim::set_next`] if programs trace switches: runs `ops.running` or `ops.update_idle` before the
    /// `sched_switch` tracepoint, as the kernel does.
    #[cold]
    pub(crate) fn switched_traced(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        let dead = self.if_dead(prev);
        self.k.this_cpu().stack.push(Frame::Scheduled { dead });
        let trace = Frame::TraceSwitch { prev, next, nth: 0 };
        if self.k.this_cpu().next_class > SchedClass::Ext {
            self.k.this_cpu().stack.push(trace);
            self.push_after_switch(c);
        } else if next.is_idle() {
            self.resched_if_late(c);
            if self.updated_idle(c, true, true, || trace) {
                self.trace_switch(c, prev, next, 0);
            }
        } else {
            let args = [self.k.tasks[next].ea.0];
            self.call(c, Op::Running, (next, &args), trace, |sim| sim.trace_switch(c, prev, next, 0));
        }
    }

    /// [`Frame::Scheduled`]: does deferred moves, releases the lock, and reaps the previous task if it is dead.
    #[inline(always)]
    pub(crate) fn scheduled(&mut self, c: CpuId, dead: TaskId) -> bool {
        self.scheduled_after(c, dead, false)
    }

    /// A task that has just been switched away from, if it is dead; otherwise the idle task. Asked at the switch, as in
    /// `finish_task_switch()`: once another CPU may run the task, that CPU sees it die.
    #[inline(always)]
    fn if_dead(&self, prev: TaskId) -> TaskId {
        if !prev.is_idle() && self.k.tasks[prev].state == State::Dead { prev } else { TaskId::IDLE }
    }

    /// Like `scheduled` if it is known, perhaps, that the path `goes_on`.
    #[inline(always)]
    fn scheduled_after(&mut self, c: CpuId, dead: TaskId, goes_on: bool) -> bool {
        if !dead.is_idle() {
            self.k.this_cpu().stack.push(Frame::Reap { task: dead });
        }
        let cpu = &self.k.cpus.this_cpu;
        if self.k.scx.needs_slow_path || cpu.errands.is_leaving() || !cpu.deferred.is_empty() {
            self.scheduled_otherwise(c);
            return false;
        }
        self.may_go_straight_knowing(goes_on, || Frame::Unlock { rq: c }) && self.k.unlock_own_rq(c)
    }

    /// Like `scheduled_after` if more than the lock is left to settle.
    #[inline(never)]
    fn scheduled_otherwise(&mut self, c: CpuId) {
        if self.k.scx.needs_slow_path && !self.k.this_cpu().to_sync.is_empty() {
            self.begin_sync_wait();
        }
        let cpu = self.k.this_cpu();
        if cpu.errands.is_leaving() && !cpu.curr.is_idle() {
            let task = cpu.curr;
            if self.k.tasks[task].migration_disabled == 0 {
                self.k.run_deferred(self.vm.world(), c, c);
                return self.k.this_cpu().stack.push(Frame::PushAway { task });
            }
        }
        if self.k.scx.needs_slow_path || self.k.owes_moves(c) {
            return self.finish_rq(c, c);
        }
        self.go_straight(Frame::Unlock { rq: c }, |sim| sim.k.unlock_rq(c, c));
    }
}
