//! Moves to other CPUs' local queues: deferred ones, because the other runqueue's lock could not be taken when they
//! were decided (`process_ddsp_deferred_locals()`), and those of `ops.dispatch` (`dispatch_to_local_dsq()`).

use crate::state::kernel::Kernel;
use crate::state::scx::events::ScxEvent;
use keel_abi::bpf::World;
use keel_abi::scx::enq;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

impl Kernel {
    /// Does the moves that `rq` owes.
    #[inline(always)]
    pub(crate) fn run_deferred<W: World>(&mut self, world: &mut W, c: CpuId, rq: CpuId) {
        if self.owes_moves(rq) {
            self.make_moves(world, c, rq);
        }
    }

    /// Returns whether `rq` owes moves.
    #[inline(always)]
    pub(crate) fn owes_moves(&self, rq: CpuId) -> bool {
        !self.cpus[rq].deferred.is_empty()
    }

    #[inline(never)]
    fn make_moves<W: World>(&mut self, world: &mut W, c: CpuId, rq: CpuId) {
        while let Some(task) = self.cpu(rq).deferred.pop_front() {
            let t = self.task(task);
            if !std::mem::take(&mut t.deferred) {
                continue;
            }
            let direct = t.direct.take().expect("what is deferred has a target");
            let target = self.local_target(direct.dsq, rq).expect("only local queues are deferred to");
            self.insert_at(world, c, target, task, direct.enq_flags);
        }
    }

    /// Inserts into the local queue of `target` and moves the task there. If it may not run there, that is an error,
    /// and the task goes to the global queue (`dispatch_to_local_dsq()`).
    #[inline(never)]
    pub(crate) fn insert_at<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        target: CpuId,
        task: TaskId,
        enq_flags: u64,
    ) {
        if self.tasks[task].cpu != target {
            return self.insert_elsewhere(world, c, target, task, enq_flags);
        }
        self.insert_local(world, c, target, task, enq_flags | enq::CLEAR_OPSS);
    }

    /// Like `insert_at` for a task of another runqueue.
    #[inline(never)]
    fn insert_elsewhere<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        target: CpuId,
        task: TaskId,
        enq_flags: u64,
    ) {
        if let Err(why) = self.check_move(task, target) {
            match why {
                Some(message) => self.error(c, message),
                None => self.scx.events.count(ScxEvent::DispatchLocalDsqOffline),
            }
            let queue = self.queues.global(self.machine.topology.place(self.tasks[task].cpu).node);
            return self.insert(world, c, queue, task, enq_flags | enq::CLEAR_OPSS);
        }
        self.move_task(world, c, task, target);
        self.insert_local(world, c, target, task, enq_flags | enq::CLEAR_OPSS);
    }

    /// Checks that `task` may go to `target`'s runqueue (`task_can_run_on_remote_rq()`). `Err(Some(message))` is an error
    /// of the scheduler, `Err(None)` a CPU that is offline.
    #[inline]
    fn check_move(&self, task: TaskId, target: CpuId) -> Result<(), Option<String>> {
        let t = &self.tasks[task];
        if t.migration_disabled == 0 && t.allows(target) {
            return if self.cpus[target].online { Ok(()) } else { Err(None) };
        }
        Err(Some(self.why_not_to(task, target)))
    }

    /// Why a task may not move to a CPU.
    #[cold]
    #[inline(never)]
    fn why_not_to(&self, task: TaskId, target: CpuId) -> String {
        let t = &self.tasks[task];
        if t.migration_disabled > 0 {
            return format!(
                "SCX_DSQ_LOCAL[_ON] cannot move migration disabled {} from CPU {} to {}",
                self.name_of(task),
                t.cpu.0,
                target.0
            );
        }
        format!("SCX_DSQ_LOCAL[_ON] target CPU {} not allowed for {}", target.0, self.name_of(task))
    }

    /// Moves a task to another runqueue. `ops.quiescent` and `ops.runnable` are not called: the task stays runnable.
    fn move_task<W: World>(&mut self, world: &mut W, c: CpuId, task: TaskId, to: CpuId) {
        let t = self.task(task);
        debug_assert_eq!(t.migration_disabled, 0, "a spell without migration");
        let from = std::mem::replace(&mut t.cpu, to);
        debug_assert_ne!(from, to, "a move goes somewhere");
        t.wake_cpu = to;
        t.mirror_cpu(world);
        self.cpu(from).nr_running -= 1;
        self.cpu(to).nr_running += 1;
        let work_ps =
            self.machine.costs.migration_ns * 1000 + self.lines.write_task_ps(task, self.cpus.holder());
        self.hold_rq(c, if from == c { to } else { from }, work_ps);
        self.tell(Class::BRIEF, c, What::Migrate { task, from, to });
    }

    /// Like `move_task` for a task of runqueue `from` that comes to `c`, which was the last to write it. Emits nothing.
    #[inline(always)]
    pub(crate) fn move_here<W: World>(&mut self, world: &mut W, c: CpuId, (task, from): (TaskId, CpuId)) {
        let t = &mut self.tasks[task];
        debug_assert_eq!(t.migration_disabled, 0, "a spell without migration");
        (t.cpu, t.wake_cpu) = (c, c);
        t.mirror_cpu(world);
        let task_ps = self.lines.rewrite_task_ps(task, self.cpus.holder());
        let work_ps = self.machine.costs.migration_ns * 1000 + task_ps;
        self.hold_rq_to(c, from, work_ps, |me, other| {
            other.nr_running -= 1;
            me.nr_running += 1;
        });
    }
}
