//! Puts recorded acts of tasks (`Class::ACTS`) on their tapes, unchanged.

use crate::builder::Builder;
use crate::task::Doing;
use keel_abi::tape::{Begin, Op};
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Act, Timer};

/// The maximum duration of a system call. Longer ones occur only in damaged recordings.
const LONGEST_CALL: Span = Span::from_ms(3_600_000);

impl Builder {
    /// Notes that a task has used CPU time of its own.
    pub(crate) fn worked(&mut self, task: TaskId, user: Span, kernel_ps: u64) {
        self.exact = true;
        let Some(number) = self.number(task) else { return };
        // No task can have worked longer than the recording. Time in the kernel is recorded as it begins.
        let user = user.min(Span::from_ns(self.now.as_ns()));
        let kernel_ps = kernel_ps.min(LONGEST_CALL.as_ns() * 1000);
        self.causes.work += user + Span::from_ns(kernel_ps / 1000);
        let task = self.task(number);
        task.posts = false;
        task.has_paused = user == Span::ZERO && kernel_ps == 0;
        if task.ended {
            return;
        }
        if user > Span::ZERO {
            task.tape.push(Op::Run(user));
            if task.doing == Doing::Sleeps {
                task.doing = Doing::Runnable;
            }
        }
        if kernel_ps > 0 {
            task.tape.push(Op::Kernel(kernel_ps));
        }
    }

    /// Notes a task's act.
    pub(crate) fn acts(&mut self, cpu: CpuId, id: TaskId, act: Act) {
        self.exact = true;
        if id.is_idle() {
            // Changes from outside follow, or have been made.
            self.due = if let Act::Begins { at } = act { Some(at) } else { None };
            if self.due.is_none() {
                self.changes.asked_all();
            }
            return;
        }
        let Some(number) = self.number(id) else { return self.acts_left_out(cpu, act) };
        let now = self.now;
        if !matches!(act, Act::Begins { .. }) {
            self.begins(number, now, cpu);
        }
        let task = self.task(number);
        task.posts &= matches!(act, Act::Wakes { .. });
        task.has_paused = false;
        match act {
            Act::Waits | Act::Sleeps { .. } | Act::Yields | Act::Exits if task.ended => task.leaves = false,
            Act::Begins { .. } if task.is_forked => {}
            Act::Begins { at } => {
                // If a damaged recording has a wait before it, that wait is over.
                self.put_pending(number);
                let task = self.task(number);
                (task.begin, task.doing) = (Some(Begin { at, cpu }), Doing::Runnable);
            }
            Act::Waits => {
                self.put_pending(number);
                let task = self.task(number);
                (task.doing, task.leaves) = (Doing::Waits(now), true);
            }
            Act::Sleeps { until, timer } => {
                self.put_pending(number);
                let span = until.since(now.min(until));
                let op = match timer {
                    Timer::Relative => Op::Sleep(span),
                    Timer::Absolute => Op::SleepUntil(until),
                    Timer::Deferrable => Op::SleepDeferrable(span),
                };
                let task = self.task(number);
                task.tape.push(op);
                (task.doing, task.leaves) = (Doing::Sleeps, true);
                self.causes.timers += 1;
            }
            Act::Wakes { wakee, sync } => {
                if let Some(wakee) = self.number(wakee) {
                    self.wakes(cpu, number, wakee, sync);
                }
            }
            Act::Forks { child, process } => {
                let Some(child) = self.number(child) else { return };
                if self.task(number).ended {
                    return self.begins(child, now, cpu);
                }
                if !self.task(child).comes() && child != number {
                    let made = self.task(child);
                    (made.is_forked, made.doing) = (true, Doing::Runnable);
                    self.task(number).tape.push(Op::Fork { spec: child, process });
                }
            }
            Act::Yields => {
                task.tape.push(Op::Yield);
                self.causes.yields += 1;
            }
            Act::Exits => {
                self.put_pending(number);
                let task = self.task(number);
                task.tape.push(Op::Exit);
                (task.doing, task.leaves, task.ended) = (Doing::Gone, true, true);
            }
        }
    }

    /// Notes an act of a task that is left out. Tasks that it wakes or creates are then woken or started from outside.
    fn acts_left_out(&mut self, cpu: CpuId, act: Act) {
        match act {
            Act::Wakes { wakee, .. } => {
                if let Some(wakee) = self.number(wakee) {
                    self.woken_from_outside(wakee, true, cpu);
                }
            }
            Act::Forks { child, .. } => {
                if let Some(child) = self.number(child) {
                    self.begins(child, self.now, cpu);
                }
            }
            _ => {}
        }
    }

    /// Ends a wait whose end the recording has lost, because the task continued.
    pub(crate) fn put_pending(&mut self, number: u32) {
        let task = self.task(number);
        if let Doing::Waits(_) = task.doing {
            task.put_wait(Op::Sleep(Span::ZERO));
            self.causes.unbegun += 1;
        }
    }
}
