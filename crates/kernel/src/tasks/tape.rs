//! Plays what a task did in a recording ([`keel_abi::tape`]). An op costs nothing beyond its own time: the recorded
//! time of the task's system calls is on the tape.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::objects::pipe::{FLAGS, Passed, Way};
use crate::state::objects::process::Birth;
use crate::state::task::Doing;
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::tape::Op;
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::Timer;

impl<E: Engine> Sim<E> {
    /// [`Step::Play`](keel_abi::task::Step::Play): takes ops until one takes time. At the tape's end the task exits.
    pub(super) fn play(&mut self, c: CpuId, task: TaskId) -> Then {
        let at = self.k.tasks[task].tape_at;
        let Some(op) = self.next_op(task) else {
            // The other steps of its spec are those that ops refer to.
            self.k.tasks[task].next_step = self.k.steps.end_of(&self.k.tasks[task]);
            return Then::GoOn;
        };
        // This step is repeated.
        self.k.task(task).next_step -= 1;
        match op {
            Op::Run(work) => {
                self.k.task(task).doing = Doing::Work(work);
                Then::Leave
            }
            Op::Kernel(ps) => {
                self.k.charge_ps(c, ps);
                match self.peek_op(task) {
                    // It leaves the kernel before that.
                    Some(Op::Run(_) | Op::Kernel(_)) => {
                        self.k.this_cpu().stack.push(Frame::Act);
                        Then::Leave
                    }
                    _ => Then::GoOn,
                }
            }
            Op::Post { semaphore, sync } | Op::PostMeanwhile { semaphore, sync } => {
                self.play_post(task, semaphore, sync)
            }
            Op::Await(semaphore) => self.play_await(c, task, semaphore),
            Op::Put { pipe, bytes, packet } => {
                let passed = self.k.objects.pipes.pass(task, pipe, bytes, Way::Put { packet });
                self.play_passed(c, task, passed, at)
            }
            Op::Take { pipe, bytes } => {
                let passed = self.k.objects.pipes.pass(task, pipe, bytes, Way::Take);
                self.play_passed(c, task, passed, at)
            }
            Op::SleepUntil(at) if at <= self.k.this_cpu().clock => Then::GoOn,
            Op::Sleep(_) | Op::SleepUntil(_) | Op::SleepDeferrable(_) => {
                let now = self.k.this_cpu().clock;
                self.arm_recorded_sleep(c, task, now, op);
                self.leave_meanwhile(c, task)
            }
            Op::Fork { spec, process } => {
                let birth = if process { Birth::Process } else { Birth::Thread };
                self.k.this_cpu().stack.push(Frame::Act);
                self.without_charge(|sim| sim.fork(c, spec, task, birth));
                Then::Leave
            }
            Op::Step(step) => self.play_step(c, task, step),
            Op::Yield => {
                self.k.this_cpu().stack.push(Frame::Yield);
                Then::Leave
            }
            Op::Count(units) => {
                let t = self.k.task(task);
                t.counted = t.counted.saturating_add(units);
                Then::GoOn
            }
            Op::Exit => self.play_exit(c, task),
        }
    }

    /// The timer of a sleep that begins at `now` on `c`.
    pub(super) fn arm_recorded_sleep(&mut self, c: CpuId, task: TaskId, now: Instant, op: Op) {
        match op {
            Op::Sleep(span) => self.arm_sleep(task, now + span, Timer::Relative),
            Op::SleepUntil(at) => self.arm_sleep(task, at.max(now), Timer::Absolute),
            Op::SleepDeferrable(span) => self.sleep_deferrable(c, task, now + span),
            _ => unreachable!("it is no sleep"),
        }
    }

    pub(super) fn next_op(&mut self, task: TaskId) -> Option<Op> {
        let t = &self.k.tasks[task];
        let tape = self.k.workload.recorded.as_ref()?.tapes.get(t.spec? as usize)?;
        let (op, next) = tape.read(t.tape_at)?;
        self.k.task(task).tape_at = next;
        Some(op)
    }

    fn peek_op(&mut self, task: TaskId) -> Option<Op> {
        let at = self.k.tasks[task].tape_at;
        let mut op = self.next_op(task);
        // Counts take no time.
        while let Some(Op::Count(_)) = op {
            op = self.next_op(task);
        }
        self.k.task(task).tape_at = at;
        op
    }

    fn play_await(&mut self, c: CpuId, task: TaskId, semaphore: u32) -> Then {
        match self.k.objects.semaphores.take(semaphore, task) {
            true => Then::GoOn,
            false => self.leave_meanwhile(c, task),
        }
    }

    /// If the pipe was empty or full, the op, which is at byte `at`, is repeated when the task has been woken.
    fn play_passed(&mut self, c: CpuId, task: TaskId, passed: Passed, at: usize) -> Then {
        match (passed.done, passed.wakes.is_empty()) {
            (true, true) => return Then::GoOn,
            (true, false) => self.k.this_cpu().stack.push(Frame::Act),
            (false, _) => {
                self.k.task(task).tape_at = at;
                self.give_up_cpu(c, task);
            }
        }
        // The first task is woken first.
        let wakes = passed.wakes.into_iter().rev();
        let wakes = wakes.map(|wakee| Frame::Wake { task: wakee, flags: FLAGS, waker: task });
        self.k.this_cpu().stack.extend(wakes);
        Then::Leave
    }

    /// The task gives up its CPU, and on its way wakes the tasks that it woke there.
    fn leave_meanwhile(&mut self, c: CpuId, task: TaskId) -> Then {
        self.give_up_cpu(c, task);
        self.post_meanwhile(task);
        Then::Leave
    }

    /// Takes the following ops that belong to the current one.
    fn post_meanwhile(&mut self, task: TaskId) {
        let frames = self.wakes_meanwhile(task);
        // The first frame runs first.
        self.k.this_cpu().stack.extend(frames.into_iter().rev());
    }

    /// Wakes all tasks that the recorded step woke, before the task leaves the kernel.
    fn play_post(&mut self, task: TaskId, semaphore: u32, sync: bool) -> Then {
        let mut frames: Vec<Frame> = self.wake_by_post(task, semaphore, sync).into_iter().collect();
        frames.extend(self.wakes_meanwhile(task));
        if frames.is_empty() {
            return Then::GoOn;
        }
        let stack = &mut self.k.this_cpu().stack;
        stack.push(Frame::Act);
        stack.extend(frames.into_iter().rev());
        Then::Leave
    }

    fn wakes_meanwhile(&mut self, task: TaskId) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let at = self.k.tasks[task].tape_at;
            let Some(Op::PostMeanwhile { semaphore, sync }) = self.next_op(task) else {
                self.k.task(task).tape_at = at;
                return frames;
            };
            frames.extend(self.wake_by_post(task, semaphore, sync));
        }
    }

    /// Takes one of the steps behind the one that plays. The cost of its system call is on the tape.
    fn play_step(&mut self, c: CpuId, task: TaskId, step: u32) -> Then {
        let t = &self.k.tasks[task];
        let (plays, step) = (t.next_step, t.program + step);
        if step <= plays {
            return Then::GoOn;
        }
        self.k.task(task).next_step = step;
        let then = self.without_charge(|sim| sim.take_any_step(c, task));
        self.k.task(task).next_step = plays;
        then
    }

    fn play_exit(&mut self, c: CpuId, task: TaskId) -> Then {
        self.without_charge(|sim| sim.exit_task(c, task));
        self.post_meanwhile(task);
        Then::Leave
    }

    /// Makes a part of the current step free: the tape already includes its cost.
    fn without_charge<T>(&mut self, step: impl FnOnce(&mut Self) -> T) -> T {
        let before_ps = self.k.this_cpu().spent_ps;
        let done = step(self);
        self.k.this_cpu().spent_ps = before_ps;
        done
    }
}
