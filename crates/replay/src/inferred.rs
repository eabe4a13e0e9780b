//! Infers from switches and wakeups what tasks do.
//!
//! In a stream with tasks' acts, this only tracks which tasks leave a CPU, and which are woken by an unknown source.

use crate::builder::{Builder, Runs};
use crate::overheads::Overheads;
use crate::task::{Doing, Task};
use keel_abi::tape::Op;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Call, Source, Why};

impl Builder {
    /// Notes that a CPU switches from one task to another.
    pub(crate) fn switch(&mut self, cpu: CpuId, prev: TaskId, why: Why, next: TaskId) {
        let (left, comes) = (self.number(prev), self.number(next));
        if self.exact {
            if let Some(left) = left {
                self.task(left).leaves = false;
            }
            return;
        }
        let was_idle = self.running.get(cpu.index()) == Some(&Runs::Nothing);
        if was_idle != next.is_idle() {
            self.settle_others(cpu);
        }
        if let Some(left) = left {
            self.settle_time(left);
            if next.is_idle() {
                // All of a stint is charged when it begins, before its end is known.
                let Overheads { stint, stint_to_idle, .. } = self.overheads;
                let task = self.task(left);
                task.charged = (task.charged + stint_to_idle).saturating_sub(stint);
            }
            self.task(left).on = None;
            self.leaves(left, cpu, why);
        }
        if let Some(runs) = self.running.get_mut(cpu.index()) {
            *runs = match comes {
                Some(comes) => Runs::Task(comes),
                None if next.is_idle() => Runs::Nothing,
                None => Runs::Another,
            };
        }
        if let Some(comes) = comes {
            self.comes(comes, cpu);
        }
    }

    fn leaves(&mut self, number: u32, cpu: CpuId, why: Why) {
        self.begins(number, Instant::ZERO, cpu);
        let now = self.now;
        match why {
            Why::Blocked => {
                self.put_work(number);
                self.task(number).doing = Doing::Waits(now);
            }
            Why::Yielded => {
                self.put_work(number);
                self.task(number).tape.push(Op::Yield);
                self.causes.yields += 1;
            }
            Why::Exited => self.ends(number),
            Why::Preempted | Why::WasIdle => {}
        }
    }

    fn ends(&mut self, number: u32) {
        if !self.task(number).ended {
            self.put_pending(number);
            let exit = self.overheads.exit;
            self.task(number).charged += exit;
        }
        self.put_work(number);
        let task = self.task(number);
        if !task.ended {
            task.tape.push(Op::Exit);
            (task.doing, task.ended) = (Doing::Gone, true);
        }
    }

    fn comes(&mut self, number: u32, cpu: CpuId) {
        let (now, stint) = (self.now, self.overheads.stint);
        self.begins(number, now, cpu);
        if let Doing::Waits(_) | Doing::Sleeps = self.task(number).doing {
            // The waker is not recorded.
            self.woken_from_outside(number, false, cpu);
        }
        let task = self.task(number);
        task.on = Some((cpu, now));
        task.charged += stint;
    }

    /// Notes that a task is woken.
    pub(crate) fn wakeup(&mut self, cpu: CpuId, task: TaskId, target: CpuId, waker: TaskId) {
        let Some(wakee) = self.number(task) else { return };
        if self.exact {
            match self.task(wakee).doing {
                Doing::Waits(_) if waker.is_idle() => self.woken_from_outside(wakee, false, target),
                // Its timer has fired.
                Doing::Sleeps => self.task(wakee).doing = Doing::Runnable,
                _ => {}
            }
            return;
        }
        // The waker may have left its CPU meanwhile: the wakee's CPU takes the wakeup over a little later.
        let has_come = |by: &Task| !by.ended && by.doing != Doing::Unseen;
        let by = self.number(waker).filter(|&by| by != wakee && has_come(&self.tasks[by as usize]));
        match by {
            Some(by) => {
                let waited = self.task(wakee).waited.take();
                self.causes.sent += u64::from(matches!(waited, Some((_, Source::Sender))));
                self.settle_time(by);
                self.put_work(by);
                let wakeup = self.overheads.wakeup;
                self.task(by).charged += wakeup;
                let sync = waited.is_some_and(|(call, _)| is_woken_in_sync(call));
                if let Some(wait) = self.wakes(target, by, wakee, sync) {
                    self.waits_in_pipe(wakee, wait, waited, None);
                }
            }
            None => {
                let left_out = self.is_left_out(waker);
                self.woken_from_outside(wakee, left_out, target);
            }
        }
        let _ = cpu;
    }

    /// Notes that a task is created.
    pub(crate) fn fork(&mut self, _cpu: CpuId, child: TaskId, target: CpuId, parent: TaskId) {
        if self.exact {
            return;
        }
        let Some(number) = self.number(child) else { return };
        let by = if parent == child { None } else { self.number(parent) };
        let now = self.now;
        match by {
            Some(by) if by != number && !self.task(number).comes() && self.task(by).is_alive() => {
                let Overheads { fork, wakeup, .. } = self.overheads;
                self.settle_time(by);
                // The child is woken last.
                self.task(by).charged += fork;
                self.put_work(by);
                let parent = self.task(by);
                parent.charged += wakeup;
                parent.tape.push(Op::Fork { spec: number, process: true });
                let made = self.task(number);
                (made.is_forked, made.doing) = (true, Doing::Runnable);
            }
            _ => self.begins(number, now, target),
        }
    }

    /// Notes that a task exits.
    pub(crate) fn exit(&mut self, task: TaskId) {
        if self.exact {
            return;
        }
        if let Some(number) = self.number(task) {
            self.settle_time(number);
            self.task(number).on = None;
            self.begins(number, Instant::ZERO, CpuId(0));
            self.ends(number);
        }
    }

    pub(crate) fn put_work(&mut self, number: u32) {
        let worked = self.task(number).put_work();
        self.causes.work += worked;
    }

    /// Counts a running task's time until now, at its CPU's speed.
    pub(crate) fn settle_time(&mut self, number: u32) {
        let now = self.now;
        let Some((cpu, since)) = self.tasks[number as usize].on else { return };
        let per_mille = self.speed_per_mille(cpu);
        let ran_ns = u128::from(now.since(since).as_ns()) * u128::from(per_mille) / 1000;
        let ticks = self.overheads.of_ticks(now.since(since));
        let task = self.task(number);
        task.used += Span::from_ns(u64::try_from(ran_ns).unwrap_or(u64::MAX));
        task.charged += ticks;
        task.on = Some((cpu, now));
    }

    /// Returns how fast a busy CPU works, given what the other CPUs do, in thousandths.
    fn speed_per_mille(&self, cpu: CpuId) -> u64 {
        let is_busy = |at: usize| self.running.get(at).is_some_and(|runs| *runs != Runs::Nothing);
        if self.overheads.takes_turns {
            let others = (0..self.running.len()).filter(|&at| at != cpu.index() && is_busy(at)).count();
            return 1000 / (others as u64 + 1);
        }
        let is_shared =
            self.siblings(cpu).is_some_and(|same| same.iter().any(|other| is_busy(other.index())));
        if is_shared { self.overheads.smt_shared_per_mille } else { 1000 }
    }

    /// Counts the work of the CPUs that `cpu` slows, which have worked at the old speed until it becomes busy or idle
    /// now.
    fn settle_others(&mut self, cpu: CpuId) {
        let task_on = |at: usize| match self.running.get(at) {
            Some(Runs::Task(number)) if at != cpu.index() => Some(*number),
            _ => None,
        };
        let slowed: Vec<u32> = match self.overheads.takes_turns {
            true => (0..self.running.len()).filter_map(task_on).collect(),
            false => match self.siblings(cpu) {
                Some(siblings) => siblings.iter().filter_map(|other| task_on(other.index())).collect(),
                None => return,
            },
        };
        slowed.into_iter().for_each(|number| self.settle_time(number));
    }
}

/// Returns whether such a wait ends with a synchronous wakeup (`WF_SYNC`), which means that the waker itself will soon
/// wait. Pipes and sockets wake synchronously, also pollers (`wake_up_interruptible_sync_poll()`): a scheduler may put
/// the wakee on the waker's CPU, although others idle. Futexes and workqueues don't. An exiting child does, too
/// (`__wake_up_parent()`), but a replay's child is not yet exiting at that moment, and schedulers ignore the flag of an
/// exiting waker.
const fn is_woken_in_sync(call: Call) -> bool {
    matches!(call, Call::Poll | Call::Transfer | Call::PipeRead | Call::PipeWrite)
}
