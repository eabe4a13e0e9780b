//! Throttles tasks whose group has used up its `cpu.max`. A task continues until it is about to return to user mode,
//! and then leaves its runqueue (`throttle_cfs_rq_work()`).

use crate::paths::sim::Sim;
use crate::rules::fair::hierarchy::Leaves;
use crate::state::class::SchedClass;
use crate::state::fair::ids::EntityId;
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// Throttles the task on `c`, which is about to return to user mode and whose `cfs_rq` has no runtime left.
    #[cold]
    pub(crate) fn throttle_current(&mut self, c: CpuId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Throttle));
        }
        self.k.this_cpu().errands.set_throttles(false);
        self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
        let task = self.k.this_cpu().curr;
        if self.k.class_of(task) != SchedClass::Fair {
            return;
        }
        let home = self.k.fair.entities[task].queue;
        if !self.k.waits_for_time(home) {
            return;
        }
        self.k.charge_fair_curr(c);
        self.k.update_load(home, task.into());
        self.k.estimate_leaves(c, task, false);
        self.k.leave_queues(EntityId::from(task), Leaves::Throttled);
        self.k.fair.queued -= 1;
        self.k.enter_limbo(task, home);
        self.k.fair.entities[task].is_throttled = true;
        self.k.emit_task_throttled(task, home, true);
        self.k.resched(c, c);
    }
}
