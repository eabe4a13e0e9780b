//! Slices and runtime. A task's slice and vtime are in the world's `task_struct`, where the scheduler may write them.

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::layout::task as field;
use crate::state::scx::events::ScxEvent;
use keel_abi::bpf::{Ea, World};
use keel_abi::scx::SLICE_INF;
use keel_abi::{CpuId, Instant, TaskId};

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
        let (curr, at) = (self.cpus.this_cpu.curr, self.cpus.this_cpu.clock);
        self.charge_running(world, curr, at);
    }

    /// The same for a task that runs on any CPU.
    #[inline(always)]
    pub(crate) fn charge_running<W: World>(&mut self, world: &mut W, curr: TaskId, at: Instant) {
        if curr.is_idle() {
            return;
        }
        let t = &mut self.tasks[curr];
        let ran = at.since(t.exec_start);
        t.exec_start = at.max(t.exec_start);
        t.cpu_time += ran;
        let (ea, total) = (t.ea, t.cpu_time);
        let class = t.class;
        world.put(ea.offset(field::SE_SUM_EXEC_RUNTIME), &total.as_ns().to_le_bytes());
        if class != SchedClass::Ext {
            match class {
                SchedClass::Fair => self.charge_fair(curr, ran),
                _ => self.charge_rt(curr, ran),
            }
            return;
        }
        self.cpus.this_cpu.server.ran += ran;
        let slice_at = ea.offset(field::SCX_SLICE);
        let slice = world.u64_at(slice_at);
        if slice != SLICE_INF {
            world.put(slice_at, &slice.saturating_sub(ran.as_ns()).to_le_bytes());
        }
    }
}
