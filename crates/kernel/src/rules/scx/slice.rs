//! Slices and runtime. A task's slice and vtime are in the world's `task_struct`, where the scheduler may write them.

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::layout::task as field;
use crate::state::scx::events::ScxEvent;
use crate::state::task::Task;
use crate::state::task_struct::TaskStruct;
use keel_abi::bpf::{Ea, World};
use keel_abi::scx::SLICE_INF;
use keel_abi::{CpuId, Instant, Span, TaskId};

/// The vtime in a `task_struct`.
#[inline]
pub(crate) fn vtime<W: World>(world: &W, task: Ea) -> u64 {
    world.u64_at(task.offset(field::SCX_DSQ_VTIME))
}

impl Kernel {
    /// The rest of the task's slice, in nanoseconds.
    #[inline]
    pub(crate) fn slice<W: World>(&self, world: &W, task: TaskId) -> u64 {
        world.u64_at(self.tasks[task].ea.offset(field::SCX_SLICE))
    }

    #[inline]
    pub(crate) fn set_slice<W: World>(&self, world: &mut W, task: TaskId, slice_ns: u64) {
        world.put(self.tasks[task].ea.offset(field::SCX_SLICE), &slice_ns.to_le_bytes());
    }

    /// Gives the task a default slice (`refill_task_slice_dfl()`).
    #[inline]
    pub(crate) fn refill_slice<W: World>(&mut self, world: &mut W, task: TaskId) {
        self.set_slice(world, task, self.scx.slice_dfl_ns);
        self.scx.events.count(ScxEvent::RefillSliceDfl);
    }

    #[inline]
    pub(crate) fn set_vtime<W: World>(&self, world: &mut W, task: TaskId, vtime: u64) {
        world.put(self.tasks[task].ea.offset(field::SCX_DSQ_VTIME), &vtime.to_le_bytes());
    }

    /// Charges the running task for its time since it was last charged (`update_curr_scx()`).
    #[inline(never)]
    pub(crate) fn update_curr<W: World>(&mut self, world: &mut W, c: CpuId) {
        debug_assert!(self.cpus.is_running(c), "a CPU charges its own task");
        self.update_curr_here(world);
    }

    /// Like `update_curr`, inlined into a path that is frequent.
    #[inline(always)]
    pub(crate) fn update_curr_here<W: World>(&mut self, world: &mut W) {
        let (curr, at) = (self.cpus.this_cpu.curr, self.cpus.this_cpu.clock);
        self.charge_running(world, curr, at);
    }

    /// Like `update_curr` for a task that runs on any CPU.
    #[inline(always)]
    pub(crate) fn charge_running<W: World>(&mut self, world: &mut W, curr: TaskId, at: Instant) {
        if curr.is_idle() {
            return;
        }
        let t = &mut self.tasks[curr];
        if t.class == SchedClass::Ext {
            let ran = t.charge_ext(world, at);
            self.cpus.this_cpu.server.ran.accumulate(ran);
            return;
        }
        let (class, ran) = (t.class, t.count_run(at));
        TaskStruct::at(world, t.ea).set_u64(field::SE_SUM_EXEC_RUNTIME, t.cpu_time.as_ns());
        match class {
            SchedClass::Fair => self.charge_fair(curr, ran),
            _ => self.charge_rt(curr, ran),
        }
    }
}

impl Task {
    /// Counts the time until `at` since the task was last charged, and returns it.
    #[inline(always)]
    fn count_run(&mut self, at: Instant) -> Span {
        let ran = at.since(self.exec_start);
        self.exec_start = at.max(self.exec_start);
        self.cpu_time.accumulate(ran);
        ran
    }

    /// Charges one of the scheduler's tasks for that time. The class's server has to be told.
    #[inline(always)]
    pub(crate) fn charge_ext<W: World>(&mut self, world: &mut W, at: Instant) -> Span {
        self.charge_slice(world, at).0
    }

    /// Like `charge_ext`; also returns what is left of the slice, in nanoseconds.
    #[inline(always)]
    pub(crate) fn charge_slice<W: World>(&mut self, world: &mut W, at: Instant) -> (Span, u64) {
        let ran = self.count_run(at);
        let mut shown = TaskStruct::at(world, self.ea);
        shown.set_u64(field::SE_SUM_EXEC_RUNTIME, self.cpu_time.as_ns());
        let mut slice_ns = shown.u64(field::SCX_SLICE);
        if slice_ns != SLICE_INF {
            slice_ns = slice_ns.saturating_sub(ran.as_ns());
            shown.set_u64(field::SCX_SLICE, slice_ns);
        }
        (ran, slice_ns)
    }
}
