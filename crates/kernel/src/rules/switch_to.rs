//! The switch from one task to the next (`context_switch()`).

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::task::{OpsState, State, Task};
use keel_abi::{CpuId, TaskId};
use keel_trace::event::Why;
use keel_trace::{Class, What};

impl Kernel {
    /// Charges for `__schedule()` up to the choice of the next task. If the CPU may go idle, only for what is certain.
    #[inline(always)]
    pub(crate) fn charge_schedule(&mut self, c: CpuId) {
        let costs = &self.machine.costs;
        let schedule_ns = match self.cpus.this_cpu.is_idle() {
            true => costs.schedule_from_idle(),
            false => costs.schedule_ns.min(costs.schedule_to_idle()),
        };
        self.charge_ns(c, schedule_ns);
    }

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
        if units > 0 {
            self.tell(Class::COUNTS, c, What::Count { task: prev, units });
        }
        self.tell(Class::CORE, c, What::Switch { prev, why, next });
        if why == Why::Exited && self.exit.is_none() {
            self.tell(Class::CORE, c, What::Exit { task: prev });
        }
    }

    /// `prev` leaves the CPU. Returns why, and the units of throughput it has done since that was last reported.
    #[inline(always)]
    fn put_prev_off(&mut self, c: CpuId, prev: TaskId) -> (Why, u32) {
        if prev.is_idle() {
            return (Why::WasIdle, 0);
        }
        let t = self.task(prev);
        let why = t.why_leaves();
        t.on_cpu = false;
        t.yielded = false;
        let units = std::mem::take(&mut t.counted);
        if t.class == SchedClass::Rt {
            self.put_rt(prev);
            self.note_rt(c, false);
        }
        if self.spinners > 0 {
            self.tell_spinners_of(prev);
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
        debug_assert_eq!(t.queue, self.queues.table.links.queue_of(next));
        t.ops_state = OpsState::None;
        t.on_cpu = true;
        t.exec_start = cpu.clock;
        t.runs();
        let (class, rq) = (t.class, t.cpu);
        if let Some(queue) = t.queue.take() {
            let (dsq, links) = self.queues.table.queue_mut(queue);
            dsq.take_out(links, next);
            let shown = dsq.shown();
            self.note_left((queue, shown), (next, true), rq);
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

    /// The CPU goes idle, or it was idle and has a task now.
    #[inline(never)]
    fn note_turn_to_idle(&mut self, c: CpuId, is_idle: bool) {
        self.bus.note(c, !is_idle);
        self.note_rest(c, is_idle);
        let cpu = self.this_cpu();
        match is_idle {
            true => cpu.idle.begin(cpu.clock),
            false => cpu.idle.end(cpu.clock),
        }
    }
}

impl Task {
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
