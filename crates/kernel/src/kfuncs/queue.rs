//! The kfuncs on dispatch queues: create, insert, move, inspect.

use crate::kfuncs::Served;
use crate::kfuncs::iter::iter_dsq;
use crate::rules::scx::reenqueue::ANY;
use crate::state::bpf::functions::F;
use crate::state::callback::{Buffered, DirectSubject};
use crate::state::dsq::{CreateError, DestroyError};
use crate::state::kernel::{Kernel, SPIN_NS};
use crate::state::layout::{dsq_insert_vtime_args, task as field};
use crate::state::scx::queues::QueueKind;
use crate::state::task::{Direct, OpsState};
use keel_abi::bpf::{Ea, Errno, World};
use keel_abi::scx::{Op, dsq, enq, ops_flags};
use keel_abi::{CpuId, DsqId, NodeId, TaskId};

impl Kernel {
    pub(super) fn serve_queue<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        let yes = |done: bool| Served::Value(u64::from(done));
        match f {
            F::CreateDsq => self.create_dsq(a).into(),
            F::DestroyDsq => self.destroy_dsq(c, DsqId(a[0])).into(),
            F::DsqMove => yes(self.dsq_move(w, c, a, false)),
            F::DsqMoveVtime => yes(self.dsq_move(w, c, a, true)),
            F::DsqMoveSetSlice => self.iter_override(w, Ea(a[0]), iter_dsq::SLICE, 1, a[1]),
            F::DsqMoveSetVtime => self.iter_override(w, Ea(a[0]), iter_dsq::VTIME, 2, a[1]),
            F::DispatchNrSlots => {
                let used = self.cpus.this_cpu.dispatch.inserts.len() as u32;
                u64::from(self.scx.max_batch.saturating_sub(used)).into()
            }
            F::DispatchCancel => {
                if self.this_cpu().dispatch.inserts.pop().is_none() {
                    self.error(c, "dispatch buffer underflow".into());
                }
                0.into()
            }
            F::DsqNrQueued => self.nr_queued(c, DsqId(a[0])).into(),
            F::DsqReenq => self.dsq_reenq(c, DsqId(a[0]), a[1]).into(),
            F::DsqPeek => self.peek(c, DsqId(a[0])).into(),
            _ => Served::forbidden(format!("{}() is not served", f.name())),
        }
    }

    fn create_dsq(&mut self, a: &[u64; 5]) -> u64 {
        let node = a[1] as i32;
        if node >= self.machine.topology.nodes() as i32 || node < -1 {
            return Errno::EINVAL.as_r0();
        }
        match self.queues.table.create(DsqId(a[0])) {
            Ok(_) => 0,
            Err(e @ (CreateError::Builtin | CreateError::Exists | CreateError::NoMemory)) => {
                e.errno().as_r0()
            }
        }
    }

    fn destroy_dsq(&mut self, c: CpuId, id: DsqId) -> u64 {
        if let Err(DestroyError::Busy) = self.queues.table.destroy(id) {
            self.error(c, format!("attempting to destroy in-use dsq 0x{:016x}", id.0));
        }
        0
    }

    #[inline(never)]
    pub(super) fn dsq_insert_vtime<W: World>(&mut self, w: &mut W, c: CpuId, ea: u64, args: Ea) -> bool {
        use dsq_insert_vtime_args::{DSQ_ID, ENQ_FLAGS, SLICE, VTIME};
        const { assert!(DSQ_ID == 0 && SLICE == 8 && VTIME == 16 && ENQ_FLAGS == 24) };
        let [id, slice_ns, vtime, enq_flags] = w.words(args);
        self.insert_for(w, c, ea, DsqId(id), slice_ns, Some(vtime), enq_flags)
    }

    /// `scx_bpf_dsq_insert()`, and the older `scx_bpf_dsq_insert_vtime()`.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    pub(super) fn dsq_insert<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        ea: u64,
        id: DsqId,
        slice_ns: u64,
        vtime: Option<u64>,
        enq_flags: u64,
    ) -> bool {
        self.insert_for(w, c, ea, id, slice_ns, vtime, enq_flags)
    }

    /// `scx_dsq_insert_preamble()` and `scx_dsq_insert_commit()`. Slice and vtime are written even if the insert is
    /// dropped later.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn insert_for<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        ea: u64,
        id: DsqId,
        slice_ns: u64,
        vtime: Option<u64>,
        enq_flags: u64,
    ) -> bool {
        let ea = Ea(ea);
        const INTERNAL: u64 = enq::CLEAR_OPSS | enq::DSQ_PRIQ;
        let (Some(task), true) = (self.task_at(ea), enq_flags & INTERNAL == 0) else {
            return self.refuse_insert(c, ea, enq_flags);
        };
        let Some(mut flags) = self.vet_enq_flags(c, id, enq_flags) else { return false };
        let slice_at = ea.offset(field::SCX_SLICE);
        let slice_ns = if slice_ns != 0 { slice_ns } else { w.u64_at(slice_at).max(1) };
        match vtime {
            None => w.put(slice_at, &slice_ns.to_le_bytes()),
            Some(vtime) => {
                const { assert!(field::SCX_DSQ_VTIME == field::SCX_SLICE + 8) };
                w.put_words(slice_at, [slice_ns, vtime]);
                flags |= enq::DSQ_PRIQ;
            }
        }
        match self.callback_op() {
            Op::Dispatch => self.buffer_insert(c, task, id, flags),
            _ => self.mark_direct(c, task, id, flags),
        }
    }

    /// An insert of what is no task, or with flags that only the kernel itself sets.
    #[cold]
    #[inline(never)]
    fn refuse_insert(&mut self, c: CpuId, ea: Ea, enq_flags: u64) -> bool {
        let why = match self.task_at(ea) {
            None => "called with NULL task".into(),
            Some(_) => format!("invalid enq_flags 0x{enq_flags:x}"),
        };
        self.error(c, why);
        false
    }

    /// `SCX_ENQ_IMMED` is only valid for a local queue; `SCX_OPS_ALWAYS_ENQ_IMMED` implies it for every insert there
    /// (`scx_vet_enq_flags()`).
    #[inline(always)]
    fn vet_enq_flags(&mut self, c: CpuId, id: DsqId, enq_flags: u64) -> Option<u64> {
        let always = self.scx.flags & ops_flags::ALWAYS_ENQ_IMMED != 0;
        if enq_flags & enq::IMMED == 0 && !always {
            return Some(enq_flags);
        }
        self.vet_immed(c, id, enq_flags)
    }

    #[inline(never)]
    fn vet_immed(&mut self, c: CpuId, id: DsqId, enq_flags: u64) -> Option<u64> {
        let is_local = id == dsq::LOCAL || id.0 & dsq::LOCAL_ON == dsq::LOCAL_ON;
        if enq_flags & enq::IMMED != 0 && !is_local {
            self.error(c, format!("SCX_ENQ_IMMED on a non-local DSQ 0x{:x}", id.0));
            return None;
        }
        Some(if is_local { enq_flags | enq::IMMED } else { enq_flags })
    }

    fn callback_op(&self) -> Op {
        self.cpus.this_cpu.callback.caller.op
    }

    /// Only the task that the callback is called for, and only once (`mark_direct_dispatch()`).
    #[inline]
    fn mark_direct(&mut self, c: CpuId, task: TaskId, id: DsqId, enq_flags: u64) -> bool {
        let callback = &mut self.this_cpu().callback;
        let subject = callback.take_direct_subject();
        if subject != DirectSubject::Task(task) {
            self.refuse_direct(c, subject, task);
            return false;
        }
        self.task(task).direct = Some(Direct { dsq: id, enq_flags });
        let cpu = self.this_cpu();
        cpu.direct_by = Some((task, cpu.callback.caller));
        self.counters.scheduler_inserts += 1;
        true
    }

    #[cold]
    #[inline(never)]
    fn refuse_direct(&mut self, c: CpuId, subject: DirectSubject, task: TaskId) {
        let who = self.name_of(task);
        let message = match subject {
            DirectSubject::Task(subject) => {
                let subject = self.name_of(subject);
                format!("scheduling for {subject} but trying to direct-dispatch {who}")
            }
            DirectSubject::Spent | DirectSubject::None => format!("{who} already direct-dispatched"),
        };
        self.error(c, message);
    }

    #[inline(never)]
    fn buffer_insert(&mut self, c: CpuId, task: TaskId, dsq: DsqId, enq_flags: u64) -> bool {
        if self.cpus.this_cpu.dispatch.inserts.len() as u32 >= self.scx.max_batch {
            self.error(c, "dispatch buffer overflow".into());
            return false;
        }
        let qseq = match self.tasks[task].ops_state {
            OpsState::Queued(qseq) | OpsState::Queueing(qseq) => Some(qseq),
            OpsState::None => None,
        };
        let cpu = self.this_cpu();
        let by = cpu.callback.caller;
        cpu.dispatch.inserts.push(Buffered { task, qseq, dsq, enq_flags, by });
        true
    }

    /// `scx_bpf_dsq_move_to_local()`: buffered inserts go first.
    #[inline(always)]
    pub(super) fn move_to_local<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        id: DsqId,
        enq_flags: u64,
    ) -> Served {
        match self.cpus.this_cpu.dispatch.inserts.is_empty() {
            true => u64::from(self.move_from(w, c, id, enq_flags)).into(),
            false => self.flush_and_move_from(w, c, id, enq_flags),
        }
    }

    /// The same with buffered inserts.
    #[inline(never)]
    fn flush_and_move_from<W: World>(&mut self, w: &mut W, c: CpuId, id: DsqId, enq_flags: u64) -> Served {
        match self.flush_dispatch(w, c) {
            true => u64::from(self.move_from(w, c, id, enq_flags)).into(),
            false => Served::Later(SPIN_NS),
        }
    }

    /// The same without buffered inserts, which always has a value.
    #[inline(never)]
    fn move_from<W: World>(&mut self, w: &mut W, c: CpuId, id: DsqId, enq_flags: u64) -> bool {
        let Some(enq_flags) = self.vet_enq_flags(c, dsq::LOCAL, enq_flags) else { return false };
        let Some(queue) = self.queues.table.find(id) else {
            self.refuse_queue(c, id);
            return false;
        };
        let moved = self.consume(w, c, queue, enq_flags);
        if moved {
            self.this_cpu().dispatch.dispatched += 1;
        }
        moved
    }

    #[cold]
    #[inline(never)]
    fn refuse_queue(&mut self, c: CpuId, id: DsqId) {
        self.error(c, format!("invalid DSQ ID 0x{:016x}", id.0));
    }

    /// `scx_dsq_move()`: moves only a task that was in the queue when the iteration began and still is.
    fn dsq_move<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5], by_vtime: bool) -> bool {
        let Some(task) = self.task_at(Ea(a[1])) else { return false };
        let Some((cursor, overrides)) = self.take_iter(w, Ea(a[0])) else { return false };
        let Some(enq_flags) = self.vet_enq_flags(c, DsqId(a[2]), a[3]) else { return false };
        let queue = cursor.queue();
        self.lock_queue(c, queue);
        if !self.queues.table.sees(&cursor, task) {
            self.unlock_queue(queue);
            return false;
        }
        if let Some(slice) = overrides.slice {
            self.set_slice(w, task, slice);
        }
        if let Some(vtime) = overrides.vtime {
            self.set_vtime(w, task, vtime);
        }
        let flags = enq_flags | if by_vtime { enq::DSQ_PRIQ } else { 0 };
        let (id, rq) = (DsqId(a[2]), self.tasks[task].cpu);
        self.unlink(c, queue, task);
        self.unlock_queue(queue);
        if self.callback_op() == Op::Dispatch {
            self.this_cpu().dispatch.dispatched += 1;
        }
        let here = if id == dsq::LOCAL { Some(c) } else { self.local_target(id, rq) };
        match here {
            Some(target) => self.insert_at(w, c, target, task, flags),
            None => {
                let target = self.find_queue(c, id, task, None);
                self.insert(w, c, target, task, flags | enq::CLEAR_OPSS);
            }
        }
        true
    }

    fn nr_queued(&mut self, c: CpuId, id: DsqId) -> u64 {
        let queue = if id == dsq::LOCAL {
            Some(self.queues.local(c))
        } else if let Some(cpu) = self.queues.local_on(id) {
            Some(self.queues.local(cpu))
        } else if id.0 & dsq::LOCAL_ON == dsq::LOCAL_ON {
            let why = self.invalid_local(id, "");
            self.error(c, why);
            None
        } else {
            self.queues.table.find(id)
        };
        match queue {
            Some(queue) => {
                self.read_queue(queue);
                u64::from(self.queues.table.queue(queue).len())
            }
            None => Errno::ENOENT.as_r0(),
        }
    }

    /// `scx_bpf_dsq_reenq()`; the only flag means all tasks, and so does no flag.
    fn dsq_reenq(&mut self, c: CpuId, id: DsqId, flags: u64) -> u64 {
        let is_local = id.0 & dsq::LOCAL_ON == dsq::LOCAL_ON;
        if flags & !ANY != 0 {
            self.error(c, format!("invalid SCX_REENQ flags 0x{flags:x}"));
        } else if id == dsq::LOCAL {
            self.note_reenqueue(c);
        } else if let Some(cpu) = self.queues.local_on(id) {
            self.schedule_reenqueue(c, cpu, ANY);
        } else if is_local {
            let why = self.invalid_local(id, " in SCX_DSQ_LOCAL_ON dispatch verdict");
            self.error(c, why);
        } else if id == dsq::GLOBAL {
            self.error(c, format!("DSQ 0x{:x} not allowed for reenq", id.0));
        } else if self.queues.table.find(id).is_none() {
            self.error(c, format!("non-existent DSQ 0x{:x}", id.0));
        } else {
            self.note_reenqueue_of(id);
        }
        0
    }

    fn peek(&mut self, c: CpuId, id: DsqId) -> u64 {
        if id.0 & dsq::FLAG_BUILTIN != 0 {
            self.error(c, format!("peek disallowed on builtin DSQ 0x{:x}", id.0));
            return 0;
        }
        let Some(queue) = self.queues.table.find(id) else {
            self.error(c, format!("peek on non-existent DSQ 0x{:x}", id.0));
            return 0;
        };
        debug_assert_eq!(self.queues.kind(queue), QueueKind::User);
        self.read_queue(queue);
        self.queues.table.queue(queue).first().map_or(0, |task| self.tasks[task].ea.0)
    }

    /// The node in a kfunc's argument, if the machine has it.
    pub(super) fn node_arg(&self, node: u64) -> Option<NodeId> {
        u32::try_from(node as i32).ok().filter(|&n| n < self.machine.topology.nodes()).map(NodeId)
    }
}
