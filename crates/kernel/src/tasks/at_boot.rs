//! Tasks that exist and sleep before a scheduler is attached: the machine's kernel threads, and the tasks of a
//! recording that slept when it began.
//!
//! A scheduler that is being attached finds them asleep, as on a real kernel. Their first sleep begins when it is in
//! charge.

use crate::paths::sim::Sim;
use crate::state::cpus::BOOT_CPU;
use crate::state::objects::process::Birth;
use crate::state::task::State;
use keel_abi::bpf::Engine;
use keel_abi::tape::Op;
use keel_abi::task::Step;
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::Timer;
use std::ops::Range;

impl<E: Engine> Sim<E> {
    /// Creates a task for each of these specs of kernel threads, and for each recorded task that sleeps at first. A
    /// kernel thread last ran on the first CPU that it may use.
    pub(crate) fn make_tasks_asleep(&mut self, kernel_threads: Range<u32>) {
        for spec in kernel_threads {
            let cpu = self.k.workload.tasks[spec as usize].cpus.iter().next().unwrap_or(BOOT_CPU);
            self.make_task_asleep(spec, cpu);
        }
        for start in std::mem::take(&mut self.k.starts.asleep) {
            let (spec, cpu) = (self.k.spec_of_start(start), self.k.cpu_of_start(start));
            self.make_task_asleep(spec, cpu);
        }
    }

    fn make_task_asleep(&mut self, spec: u32, cpu: CpuId) {
        let task = self.k.make_task(self.vm.world(), Some(spec), cpu, TaskId::IDLE, Birth::Start);
        self.k.task(task).state = State::Blocked;
        self.k.asleep_at_boot.push(task);
    }

    /// Begins the first sleep of each task.
    pub(crate) fn begin_first_sleeps(&mut self, now: Instant) {
        for task in std::mem::take(&mut self.k.asleep_at_boot) {
            let cpu = self.k.tasks[task].cpu;
            self.k.emit_present(cpu, task, Instant::ZERO);
            match self.next_op(task) {
                Some(op) => self.begin_recorded_wait(task, cpu, now, op),
                None => self.begin_sleep(task, cpu, now),
            }
            self.emit_sleep(cpu, task);
        }
    }

    fn begin_sleep(&mut self, task: TaskId, cpu: CpuId, now: Instant) {
        let t = &mut self.k.tasks[task];
        let step = self.k.steps.next_of(t);
        t.next_step += 1;
        let Some(&Step::Sleep(amount) | &Step::SleepDeferrable(amount)) = step else {
            unreachable!("kernel threads begin asleep")
        };
        let is_deferrable = matches!(step, Some(Step::SleepDeferrable(_)));
        let until = now + super::drawn(&mut self.k.tasks[task], amount);
        match is_deferrable {
            true => self.sleep_deferrable(cpu, task, until),
            false => self.sleep_at_least(task, until, Timer::Relative),
        }
    }

    fn begin_recorded_wait(&mut self, task: TaskId, cpu: CpuId, now: Instant, op: Op) {
        if let Op::Await(semaphore) = op {
            let was_posted = self.k.objects.semaphores.take(semaphore, task);
            debug_assert!(!was_posted, "nobody has run yet");
        } else {
            self.arm_recorded_sleep(cpu, task, now, op);
        }
    }
}
