//! From runnable to queued: `do_enqueue_task()` and direct dispatch.

use crate::paths::sim::Sim;
use crate::rules::scx::direct_dispatch::Way;
use crate::state::cpu::Cpu;
use crate::state::frame::Frame;
use crate::state::task::{OpsState, Task};
use keel_abi::bpf::{Ea, Engine};
use keel_abi::scx::{Op, ent};
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

impl<E: Engine> Sim<E> {
    /// [`Frame::Enqueue`]: the cases of `do_enqueue_task()` in their order.
    pub(crate) fn enqueue(&mut self, c: CpuId, task: TaskId, enq_flags: u64) {
        let world = self.vm.world();
        if self.k.scx.knows_immed && std::mem::take(&mut self.k.task(task).immed) {
            self.k.mirror_scx_bits(world, task, ent::IMMED, 0);
        }
        let rq = self.k.tasks[task].cpu;
        match self.k.way_of(task) {
            Way::Ask => self.ask(c, rq, task, enq_flags),
            Way::Direct => self.k.direct_dispatch(world, c, task, enq_flags),
            way => self.enqueue_itself(c, rq, task, enq_flags, way),
        }
    }

    /// The kernel itself puts the task into a queue.
    #[inline(never)]
    fn enqueue_itself(&mut self, c: CpuId, rq: CpuId, task: TaskId, enq_flags: u64, way: Way) {
        let world = self.vm.world();
        self.k.counters.kernel_inserts += 1;
        self.k.refill_slice(world, task);
        self.k.task(task).direct = None;
        if let Way::Local(why) = way {
            why.into_iter().for_each(|event| self.k.scx.events.count(event));
            return self.k.insert_local(world, c, rq, task, enq_flags);
        }
        let node = self.k.machine.topology.place(rq).node;
        let queue = self.k.queues.global(node);
        self.k.insert(world, c, queue, task, enq_flags);
    }

    #[inline(always)]
    fn ask(&mut self, c: CpuId, rq: CpuId, task: TaskId, enq_flags: u64) {
        let ea = begins_queueing(&mut self.k.tasks[task], &mut self.k.cpus[rq], rq);
        let args = [ea.0, enq_flags];
        let enqueued = Frame::Enqueued { task, enq_flags };
        self.call(c, Op::Enqueue, (task, &args), enqueued, |sim| sim.enqueued(c, task, enq_flags));
    }

    /// [`Frame::Enqueued`]: the task was dispatched directly, or the scheduler now has it.
    #[inline(always)]
    pub(crate) fn enqueued(&mut self, c: CpuId, task: TaskId, enq_flags: u64) {
        let t = self.k.task(task);
        if t.direct.is_some() {
            return self.k.direct_dispatch(self.vm.world(), c, task, enq_flags);
        }
        if let OpsState::Queueing(qseq) = t.ops_state {
            t.ops_state = OpsState::Queued(qseq);
        }
        t.in_custody = true;
        self.k.tell(Class::PLACES, c, What::Held { task });
    }
}

/// A stay of a task with the scheduler begins, on a runqueue with this number. Returns where its `task_struct` is.
#[inline(always)]
pub(crate) fn begins_queueing(t: &mut Task, rq: &mut Cpu, number: CpuId) -> Ea {
    rq.qseq += 1;
    t.ops_state = OpsState::Queueing(rq.qseq << 12 | u64::from(number.0));
    t.ea
}
