//! The switch from one task to the next (`context_switch()`).

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::task::State;
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
        let why = self.why_left(prev);
        if self.cpus.this_cpu.fair.curr().is_some() {
            self.put_prev_fair(c, next);
        }
        if !prev.is_idle() {
            let t = self.task(prev);
            t.on_cpu = false;
            t.yielded = false;
            if t.class == SchedClass::Rt {
                self.put_rt(prev);
                self.note_rt(c, false);
            }
            if self.spinners > 0 {
                self.tell_spinners_of(prev);
            }
        }
        if !next.is_idle() {
            let touched_ps = self.lines.write_task_ps(next, self.cpus.holder());
            self.charge_ps(c, touched_ps);
            self.leave_queue(next);
            let at = self.cpus.this_cpu.clock;
            let t = self.task(next);
            t.ops_state = crate::state::task::OpsState::None;
            t.on_cpu = true;
            t.exec_start = at;
            t.runs();
            match t.class {
                SchedClass::Rt => {
                    self.set_rt(next);
                    self.note_rt(c, true);
                }
                SchedClass::Fair => self.set_next_fair(c, next),
                _ => {}
            }
        }
        self.this_cpu().curr = next;
        if prev.is_idle() != next.is_idle() {
            self.bus.note(c, prev.is_idle());
            self.note_rest(c, next.is_idle());
            let cpu = self.this_cpu();
            match next.is_idle() {
                true => cpu.idle.begin(cpu.clock),
                false => cpu.idle.end(cpu.clock),
            }
        }
        self.tell_counts(c, prev);
        self.tell(Class::CORE, c, What::Switch { prev, why, next });
        if self.exit.is_none() && !prev.is_idle() && why == Why::Exited {
            self.tell(Class::CORE, c, What::Exit { task: prev });
        }
    }

    #[inline]
    fn why_left(&self, prev: TaskId) -> Why {
        if prev.is_idle() {
            return Why::WasIdle;
        }
        match self.tasks[prev].state {
            State::Dead | State::Exiting => Why::Exited,
            State::Blocked | State::Blocking | State::New => Why::Blocked,
            State::Runnable if self.tasks[prev].yielded => Why::Yielded,
            State::Runnable => Why::Preempted,
        }
    }
}
