//! Where `do_enqueue_task()` sends a task, and direct dispatch.

use crate::state::callback::Caller;
use crate::state::cpu::Cpu;
use crate::state::kernel::Kernel;
use crate::state::scx::Scx;
use crate::state::scx::events::ScxEvent;
use crate::state::task::{Direct, OpsState, State, Task};
use keel_abi::bpf::World;
use keel_abi::scx::{Op, dsq, enq, ops_flags};
use keel_abi::{CpuId, DsqId, TaskId};

/// Where `do_enqueue_task()` sends a task.
pub(crate) enum Way {
    /// Without the scheduler, and the event that this counts as.
    Local(Option<ScxEvent>),
    Global,
    Direct,
    Ask,
}

impl Kernel {
    #[inline]
    pub(crate) fn way_of(&self, task: TaskId) -> Way {
        let t = &self.tasks[task];
        self.scx.way_of(t, &self.cpus[t.cpu])
    }

    /// `direct_dispatch()`: inserts at once, unless the target is another CPU's local queue, whose lock can't be taken
    /// here: then the move is deferred.
    #[inline(never)]
    pub(crate) fn direct_dispatch<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        task: TaskId,
        enq_flags: u64,
    ) {
        let direct = self.tasks[task].direct.expect("a direct dispatch was decided on");
        let flags = direct.enq_flags | enq_flags;
        // Small numbers are the scheduler's own queues, and most queues have one.
        match self.queues.table.find_small(direct.dsq) {
            Some(queue) => self.insert_own(world, c, queue, task, flags | enq::CLEAR_OPSS),
            None => self.direct_dispatch_anywhere(world, c, task, (direct.dsq, flags)),
        }
    }

    /// Like `direct_dispatch` for a queue of any kind.
    #[inline(never)]
    fn direct_dispatch_anywhere<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        task: TaskId,
        (dsq, flags): (DsqId, u64),
    ) {
        let rq = self.tasks[task].cpu;
        match self.local_target(dsq, rq) {
            Some(target) if target == rq => self.insert_local(world, c, rq, task, flags | enq::CLEAR_OPSS),
            Some(_) => {
                let t = self.task(task);
                t.ops_state = OpsState::None;
                t.deferred = true;
                t.direct = Some(Direct { dsq, enq_flags: flags });
                self.cpu(rq).deferred.push_back(task);
            }
            None => {
                let queue = match self.queues.table.find(dsq) {
                    Some(queue) => queue,
                    None => {
                        let by = self.cpu(c).direct_by.filter(|(of, _)| *of == task).map(|(_, by)| by);
                        self.find_queue(c, dsq, task, by)
                    }
                };
                self.insert(world, c, queue, task, flags | enq::CLEAR_OPSS);
            }
        }
    }

    /// The error message for a `LOCAL_ON` id that names no CPU.
    pub(crate) fn invalid_local(&self, id: DsqId, place: &str) -> String {
        let number = (id.0 & dsq::LOCAL_CPU_MASK) as i32;
        match number >= 0 && self.scx.speaks_cids() {
            true => format!("invalid cid {number}"),
            false => format!("invalid CPU {number}{place}"),
        }
    }

    /// The CPU whose local queue `id` means, seen from `rq`.
    #[inline]
    pub(crate) fn local_target(&self, id: DsqId, rq: CpuId) -> Option<CpuId> {
        match id {
            dsq::LOCAL => Some(rq),
            id => self.queues.local_on(id),
        }
    }

    /// The global or user queue with this id; if there is none, that is an error, and the global one is used
    /// (`find_dsq_for_dispatch()`). `by` is the caller that asked for it, if that was an earlier call.
    #[inline(never)]
    pub(crate) fn find_queue(
        &mut self,
        c: CpuId,
        id: DsqId,
        task: TaskId,
        by: Option<Caller>,
    ) -> crate::state::scx::queues::QueueId {
        let node = self.machine.topology.place(self.tasks[task].cpu).node;
        if id == dsq::GLOBAL {
            return self.queues.global(node);
        }
        match self.queues.table.find(id) {
            Some(queue) => queue,
            None => {
                let message = if id.0 & dsq::LOCAL_ON == dsq::LOCAL_ON {
                    self.invalid_local(id, " in SCX_DSQ_LOCAL_ON dispatch verdict")
                } else {
                    format!("non-existent DSQ 0x{:x}", id.0)
                };
                let was_over = self.exit.is_some();
                self.error(c, message);
                if !was_over {
                    self.blame(by);
                }
                self.queues.global(node)
            }
        }
    }
}

impl Scx {
    /// Returns whether the scheduler is asked about a task that has just been woken, with nothing else to be done
    /// before. If the task `is_free`, it is known to be in no migration-disabled section.
    #[inline(always)]
    pub(crate) fn asks_for(&self, t: &Task, cpu: &Cpu, is_free: bool) -> bool {
        debug_assert!(t.state == State::Runnable && (!is_free || t.migration_disabled == 0));
        let is_skipped =
            !is_free && t.migration_disabled > 0 && self.flags & ops_flags::ENQ_MIGRATION_DISABLED == 0;
        let goes_elsewhere = !cpu.online || cpu.bypassing || t.direct.is_some() || is_skipped;
        let is_asked = !goes_elsewhere && self.entries.has(Op::Enqueue);
        debug_assert_eq!(
            is_asked,
            matches!(self.way_of(t, cpu), Way::Ask),
            "the same rules for a runnable task"
        );
        !self.knows_immed && is_asked
    }

    /// Where a task goes that is on the runqueue of this CPU.
    #[inline(always)]
    pub(crate) fn way_of(&self, t: &Task, cpu: &Cpu) -> Way {
        if !cpu.online {
            Way::Local(None)
        } else if cpu.bypassing {
            Way::Local(Some(ScxEvent::BypassDispatch))
        } else if t.direct.is_some() {
            Way::Direct
        } else if t.state == State::Exiting && self.flags & ops_flags::ENQ_EXITING == 0 {
            Way::Local(Some(ScxEvent::EnqSkipExiting))
        } else if t.migration_disabled > 0 && self.flags & ops_flags::ENQ_MIGRATION_DISABLED == 0 {
            Way::Local(Some(ScxEvent::EnqSkipMigrationDisabled))
        } else if !self.entries.has(Op::Enqueue) {
            Way::Global
        } else {
            Way::Ask
        }
    }
}
