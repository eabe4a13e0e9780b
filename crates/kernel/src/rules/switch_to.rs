//! The switch from one task to the next (`context_switch()`).

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::layout::task as field;
use crate::state::scx::events::ScxEvent;
use crate::state::scx::queues::QueueId;
use crate::state::task::{OpsState, State, Task};
use crate::state::task_struct::TaskStruct;
use keel_abi::bpf::{Ea, World};
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::event::Why;
use keel_trace::{Class, What};

impl Kernel {
    /// Charges for the rest, now that the next task is known.
    #[inline(always)]
    pub(crate) fn charge_rest_of_schedule(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        let costs = &self.machine.costs;
        let to_idle_ns = costs.schedule_to_idle();
        if to_idle_ns == costs.schedule_ns || prev.is_idle() {
            return;
        }
        let all_ns = if next.is_idle() { to_idle_ns } else { costs.schedule_ns };
        self.charge_ns(c, all_ns - costs.schedule_ns.min(to_idle_ns));
    }

    /// `set_next_task()` and `context_switch()`.
    #[inline(always)]
    pub(crate) fn switch_to(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        let switch_ns = self.machine.costs.context_switch_ns;
        self.charge_ns(c, switch_ns);
        self.counters.switches += 1;
        if self.cpus.this_cpu.fair.curr().is_some() {
            self.put_prev_fair(c, next);
        }
        let (why, units) = self.put_prev_off(c, prev);
        if !next.is_idle() {
            self.put_next_on(c, next);
        }
        self.this_cpu().curr = next;
        if prev.is_idle() != next.is_idle() {
            self.note_turn_to_idle(c, next.is_idle());
        }
        self.tell_switch(c, prev, (why, units), next);
    }

    /// Like `switch_to`, with all that precedes it, from one of the scheduler's tasks that has left its queue to sleep
    /// to another one. Returns where BPF sees the latter. Does nothing if there may be more to do.
    #[inline(always)]
    pub(crate) fn switch_between<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        prev: TaskId,
        next: TaskId,
    ) -> Option<Ea> {
        let (n, cpu) = (&mut self.tasks[next], &mut *self.cpus.this_cpu);
        // A task that has just joined sched_ext may have got the CPU as a fair one.
        let is_ext = n.class == SchedClass::Ext && cpu.fair.curr().is_none();
        if !is_ext || self.scx.needs_slow_path || self.odd_switches > 0 {
            return None;
        }
        cpu.spent_ps +=
            self.machine.costs.context_switch_ns * 1000 + self.lines.write_task_ps(next, &cpu.holder);
        cpu.next_class = SchedClass::Ext;
        cpu.curr = next;
        n.gets_cpu(cpu.clock);
        let mut shown = TaskStruct::at(world, n.ea);
        if shown.u64(field::SCX_SLICE) == 0 {
            shown.set_u64(field::SCX_SLICE, self.scx.slice_dfl_ns);
            self.scx.events.count(ScxEvent::RefillSliceDfl);
        }
        n.mirror_arrival(&mut shown);
        let (next_ea, rq, queue) = (n.ea, n.cpu, n.queue.take());
        if let Some(queue) = queue {
            self.leave_for_cpu(queue, next, rq);
        }
        self.counters.switches += 1;
        self.tell_sleep(c, prev, next);
        Some(next_ea)
    }

    /// Like `switch_to` from the idle task to one of the scheduler's, with its arrival. Returns where BPF sees that.
    /// Does nothing if there may be more to do.
    #[inline(always)]
    pub(crate) fn switch_from_idle<W: World>(&mut self, world: &mut W, c: CpuId, next: TaskId) -> Option<Ea> {
        let (n, cpu) = (&mut self.tasks[next], &mut *self.cpus.this_cpu);
        if n.class != SchedClass::Ext || self.scx.needs_slow_path || cpu.fair.curr().is_some() {
            return None;
        }
        let switch_ps = self.machine.costs.context_switch_ns * 1000;
        cpu.spent_ps += switch_ps + self.lines.write_task_ps(next, &cpu.holder);
        cpu.curr = next;
        n.gets_cpu(cpu.clock);
        n.mirror_arrival(&mut TaskStruct::at(world, n.ea));
        let (next_ea, rq, queue) = (n.ea, n.cpu, n.queue.take());
        if let Some(queue) = queue {
            self.leave_for_cpu(queue, next, rq);
        }
        self.counters.switches += 1;
        self.note_turn_to_idle(c, false);
        self.tell_switch(c, TaskId::IDLE, (Why::WasIdle, 0), next);
        Some(next_ea)
    }

    /// Like `switch_to` the idle task from one of the scheduler's tasks that has left its queue to sleep. Does nothing
    /// if there may be more to do; returns whether it has switched.
    #[inline(always)]
    pub(crate) fn switch_to_idle(&mut self, c: CpuId, prev: TaskId) -> bool {
        let cpu = &mut *self.cpus.this_cpu;
        if self.scx.needs_slow_path || self.odd_switches > 0 || cpu.fair.curr().is_some() {
            return false;
        }
        cpu.spent_ps += self.machine.costs.context_switch_ns * 1000;
        cpu.next_class = SchedClass::Idle;
        cpu.curr = TaskId::IDLE;
        self.counters.switches += 1;
        self.note_turn_to_idle(c, true);
        self.tell_sleep(c, prev, TaskId::IDLE);
        true
    }

    /// `prev` leaves the CPU to sleep, and that is emitted.
    #[inline(always)]
    fn tell_sleep(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        let p = self.task(prev);
        debug_assert_eq!(p.why_leaves(), Why::Blocked);
        let units = p.leaves_cpu();
        self.tell_switch(c, prev, (Why::Blocked, units), next);
    }

    /// Emits that `next` follows `prev`, which leaves for this reason and has done this much since that was last
    /// emitted.
    #[inline(always)]
    fn tell_switch(&mut self, c: CpuId, prev: TaskId, (why, units): (Why, u32), next: TaskId) {
        if self.out.wants_units(units) || why == Why::Exited {
            self.emit_counts(c, prev);
        }
        if self.out.wants(Class::BRIEF) {
            self.out.tell_often(self.now, c, What::Switch { prev, why, next });
        }
        if why == Why::Exited && self.exit.is_none() {
            self.tell(Class::BRIEF, c, What::Exit { task: prev });
        }
    }

    /// `prev` leaves the CPU. Returns why, and the units of throughput it has done since that was last emitted.
    #[inline(always)]
    fn put_prev_off(&mut self, c: CpuId, prev: TaskId) -> (Why, u32) {
        if prev.is_idle() {
            return (Why::WasIdle, 0);
        }
        let t = self.task(prev);
        let (why, units) = (t.why_leaves(), t.leaves_cpu());
        if t.class == SchedClass::Rt {
            self.put_rt(prev);
            self.note_rt(c, false);
        }
        if self.odd_switches > 0 {
            self.notify_spinners_of(prev);
        }
        (why, units)
    }

    /// `next` gets the CPU, and leaves the queue that it is in.
    #[inline(always)]
    fn put_next_on(&mut self, c: CpuId, next: TaskId) {
        let touched_ps = self.lines.write_task_ps(next, self.cpus.holder());
        let cpu = &mut *self.cpus.this_cpu;
        cpu.spent_ps += touched_ps;
        let t = &mut self.tasks[next];
        t.gets_cpu(cpu.clock);
        let (class, rq) = (t.class, t.cpu);
        if let Some(queue) = t.queue.take() {
            self.leave_for_cpu(queue, next, rq);
        }
        match class {
            SchedClass::Rt => {
                self.set_rt(next);
                self.note_rt(c, true);
            }
            SchedClass::Fair => self.set_next_fair(c, next),
            _ => {}
        }
    }

    /// `next` of runqueue `rq` leaves the local queue that it is in, because it runs.
    #[inline(always)]
    fn leave_for_cpu(&mut self, queue: QueueId, next: TaskId, rq: CpuId) {
        debug_assert_eq!(Some(queue), self.queues.table.links.queue_of(next));
        let (dsq, links) = self.queues.table.queue_mut(queue);
        dsq.take_out_of_list(links, next);
        self.note_left(queue, (next, true), rq);
    }

    /// The CPU goes idle, or it was idle and has a task now.
    #[inline(never)]
    fn note_turn_to_idle(&mut self, c: CpuId, is_idle: bool) {
        self.bus.note(c, !is_idle);
        self.note_idle_time(c, is_idle);
        let cpu = self.this_cpu();
        match is_idle {
            true => cpu.idle.begin(cpu.clock),
            false => cpu.idle.end(cpu.clock),
        }
    }
}

impl Task {
    /// Takes it off its CPU. Returns how much it has done since that was last emitted.
    #[inline(always)]
    fn leaves_cpu(&mut self) -> u32 {
        self.on_cpu = false;
        self.yielded = false;
        self.counted
    }

    /// Puts it on its CPU.
    #[inline(always)]
    fn gets_cpu(&mut self, at: Instant) {
        self.ops_state = OpsState::None;
        self.on_cpu = true;
        self.exec_start = at;
        self.note_running();
    }

    /// Why it leaves the CPU.
    #[inline]
    fn why_leaves(&self) -> Why {
        match self.state {
            State::Dead | State::Exiting => Why::Exited,
            State::Blocked | State::Blocking | State::New => Why::Blocked,
            State::Runnable if self.yielded => Why::Yielded,
            State::Runnable => Why::Preempted,
        }
    }
}
