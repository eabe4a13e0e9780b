//! Determines when and on which CPU tasks start on their own. Each instance of each spec has a number.

use crate::state::kernel::Kernel;
use crate::state::setup::MAX_TASKS;
use crate::state::timer_number;
use keel_abi::tape::{Op, Tape};
use keel_abi::task::TaskSpec;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Act, Class, Meta};

/// The maximum number of recorded tasks that exist from the beginning. Further ones are created when the run begins,
/// where the limit on tasks is enforced.
const MOST_ASLEEP: usize = MAX_TASKS as usize / 2;

impl Kernel {
    /// Schedules the starts. Instances start on the CPUs in turn; those of one CPU start a little apart.
    pub(crate) fn arm_starts(&mut self) {
        self.starts.number(self.workload.tasks.iter().map(|task| task.instances));
        if self.workload.recorded.is_some() {
            return self.arm_recorded_starts();
        }
        let cpus = self.cpus.len() as u64;
        let apart_ns = self.machine.costs.fork_ns * 2;
        let mut start = 0;
        let planned: Vec<(Span, u32)> = self.workload.tasks.iter().map(|t| (t.delay, t.instances)).collect();
        for (delay, instances) in planned {
            for _ in 0..instances {
                let turn = u64::from(start) / cpus;
                let late = self.start_delay(apart_ns);
                let at = Instant::ZERO + delay + Span::from_ns(apart_ns * (turn + 1)) + late;
                self.queue.push(at, timer_number::FIRST_START + start);
                start += 1;
            }
        }
    }

    /// Returns the spec of the start with this number.
    pub(crate) fn spec_of_start(&self, start: u32) -> u32 {
        self.starts.spec_of(start)
    }

    /// Schedules recorded tasks to start when and where they did in the recording. A task that sleeps first already
    /// exists.
    fn arm_recorded_starts(&mut self) {
        let Some(recorded) = self.workload.recorded.clone() else { return };
        for (start, begin) in (0..).zip(&recorded.begins) {
            let tape = recorded.tapes.get(self.spec_of_start(start) as usize);
            let sleeps = begin.at == Instant::ZERO && tape.is_some_and(begins_asleep);
            if sleeps && self.starts.asleep.len() < MOST_ASLEEP {
                self.starts.asleep.push(start);
            } else {
                self.queue.push(begin.at, timer_number::FIRST_START + start);
            }
        }
    }

    /// Returns the CPU that creates the task with this number.
    pub(crate) fn cpu_of_start(&self, start: u32) -> CpuId {
        let recorded = self.workload.recorded.as_ref();
        let cpu = recorded.and_then(|recorded| recorded.begins.get(start as usize)).map(|begin| begin.cpu.0);
        CpuId(cpu.unwrap_or(start) % self.cpus.len() as u32)
    }

    fn emit_member(&mut self, task: TaskId) {
        let Some(spec) = self.tasks[task].spec.filter(|_| self.out.wants(Class::ACTS)) else { return };
        let TaskSpec { process, session, kthread, .. } = self.workload.tasks[spec as usize];
        self.out.emit_meta(self.now, Meta::Member { task, process, session, kthread });
    }

    /// Emits when a task that has just been created was due.
    pub(crate) fn emit_begins(&mut self, c: CpuId, child: TaskId, start: u32) {
        let at = self.starts.due(start).unwrap_or_default();
        if self.tasks.get(child).is_some() {
            self.emit_present(c, child, at);
        }
    }

    /// Emits that a task exists, and since when.
    pub(crate) fn emit_present(&mut self, c: CpuId, task: TaskId, at: Instant) {
        self.emit_member(task);
        self.emit_act(c, task, Act::Begins { at });
    }
}

/// Returns whether a task that plays this tape sleeps before it does anything else.
fn begins_asleep(tape: &Tape) -> bool {
    let mut ops = tape.iter();
    let first = ops.next();
    let sleeps =
        matches!(first, Some(Op::Sleep(_) | Op::SleepUntil(_) | Op::SleepDeferrable(_) | Op::Await(_)));
    // If it wakes another task on its way to sleep, it does not count.
    sleeps && !matches!(ops.next(), Some(Op::PostMeanwhile { .. }))
}
