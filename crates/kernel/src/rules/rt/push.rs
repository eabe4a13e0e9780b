//! Moves a waiting real-time task to another CPU, under both runqueues' locks.

use crate::state::kernel::Kernel;
use keel_abi::bpf::World;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

impl Kernel {
    /// Takes two runqueues' locks, the lower CPU's first. Returns false if `c` has to wait for one of them; it may then
    /// hold the other.
    pub(crate) fn lock_two(&mut self, c: CpuId, a: CpuId, b: CpuId) -> bool {
        self.lock_rq(c, a.min(b)) && self.lock_rq(c, a.max(b))
    }

    /// Moves a task to another CPU (`move_queued_task_locked()`). Both runqueues are locked.
    pub(crate) fn move_rt<W: World>(&mut self, world: &mut W, c: CpuId, task: TaskId, to: CpuId) {
        let from = self.tasks[task].cpu;
        self.dequeue_rt(task);
        self.cpu(from).nr_running -= 1;
        let t = self.task(task);
        debug_assert!(t.migration_disabled == 0 && t.allows(to) && !t.on_cpu, "only who may move is moved");
        (t.cpu, t.wake_cpu) = (to, to);
        self.mirror_cpu(world, task);
        let touched_ps = self.lines.write_task_ps(task, self.cpus.holder());
        let migration_ns = self.machine.costs.migration_ns;
        self.charge_ps(c, migration_ns * 1000 + touched_ps);
        self.tell(Class::BRIEF, c, What::Migrate { task, from, to });
        self.cpu(to).nr_running += 1;
        self.enqueue_rt(task, false);
        self.wakeup_preempt(c, to, task);
    }
}
