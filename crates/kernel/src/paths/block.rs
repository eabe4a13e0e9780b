//! A task that blocks leaves its runqueue (`block_task()`).

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::task::State;
use keel_abi::bpf::{Ea, Engine};
use keel_abi::scx::{Op, deq};
use keel_abi::{CpuId, Instant, TaskId};

/// The task that a CPU has just taken off its runqueue, one of the scheduler's, which sleeps: the same path goes on
/// from there without a pause, so that nobody has changed that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) task: TaskId,
    /// Its `task_struct`.
    pub(crate) ea: Ea,
}

impl<E: Engine> Sim<E> {
    /// The CPU's task leaves its runqueue if it has decided to; then the CPU picks the next one.
    #[inline(always)]
    pub(crate) fn deactivate_or_pick(&mut self, c: CpuId) -> bool {
        let cpu = &mut *self.k.cpus.this_cpu;
        let (task, at) = (cpu.curr, cpu.clock);
        if task.is_idle() {
            return self.pick_from_idle(c);
        }
        let t = &mut self.k.tasks[task];
        match t.state {
            State::Blocking if t.class == SchedClass::Ext => {}
            State::Blocking | State::Exiting => {
                self.deactivate_otherwise(c, task, at);
                return false;
            }
            _ => return self.pick(c),
        }
        t.state = State::Blocked;
        cpu.server.ran.accumulate(t.charge_ext(self.vm.world(), at));
        let (ea, args) = (t.ea, [t.ea.0, 0]);
        self.called(c, Op::Stopping, (task, &args), || Frame::Quiesce { task })
            && self.quiesce(c, task, Some(Left { task, ea }))
    }

    /// [`Frame::Deactivate`]: `dequeue_task_scx()` for a task that goes to sleep or dies. A task that
    /// has already been woken again stays (`try_to_block_task()`).
    #[inline(never)]
    pub(crate) fn deactivate_later(&mut self, c: CpuId) -> bool {
        self.deactivate_or_pick(c)
    }

    /// Like `deactivate_or_pick` for a task that dies or that is of a higher class.
    #[inline(never)]
    fn deactivate_otherwise(&mut self, c: CpuId, task: TaskId, at: Instant) {
        self.k.charge_running(self.vm.world(), task, at);
        let t = self.k.task(task);
        t.state = if t.state == State::Exiting { State::Dead } else { State::Blocked };
        let (args, class, is_dead) = ([t.ea.0, 0], t.class, t.state == State::Dead);
        if is_dead && self.k.scx.needs_slow_path {
            self.k.drop_section(self.vm.world(), task);
        }
        if class != SchedClass::Ext {
            return self.deactivate_above(c, task);
        }
        self.call(c, Op::Stopping, (task, &args), Frame::Quiesce { task }, |sim| {
            _ = sim.quiesce_later(c, task);
        });
    }

    /// A task of a class above sched_ext leaves its runqueue: a task that waits elsewhere may be more urgent than the
    /// next one here (`balance_rt()`).
    #[cold]
    pub(crate) fn deactivate_above(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        let (class, priority) = (t.class, t.rt_priority());
        self.k.dequeue_above(task);
        self.k.this_cpu().nr_running -= 1;
        self.k.this_cpu().stack.push(Frame::Pick);
        if class == SchedClass::Rt && self.k.needs_pull(c, priority) {
            let pull = Self::pull_step(true);
            self.k.this_cpu().stack.push(pull);
        }
    }

    /// [`Frame::Quiesce`].
    #[inline(always)]
    fn quiesce(&mut self, c: CpuId, task: TaskId, left: Option<Left>) -> bool {
        if !self.k.has(Op::Quiescent) {
            return self.deactivated(c, task, left);
        }
        let args = [self.k.tasks[task].ea.0, deq::SLEEP];
        let next = Frame::Deactivated { task };
        self.call(c, Op::Quiescent, (task, &args), next, |sim| _ = sim.deactivated_later(c, task));
        false
    }

    /// Like `quiesce`, if that had to wait.
    #[inline(never)]
    pub(crate) fn quiesce_later(&mut self, c: CpuId, task: TaskId) -> bool {
        self.quiesce(c, task, None)
    }

    /// [`Frame::Deactivated`].
    #[inline(always)]
    fn deactivated(&mut self, c: CpuId, task: TaskId, left: Option<Left>) -> bool {
        self.k.this_cpu().nr_running -= 1;
        let t = self.k.task(task);
        t.queued = false;
        t.direct = None;
        t.watched = false;
        t.mirror_flags(self.vm.world());
        self.may_go_straight_knowing(left.is_some(), || Frame::Pick) && self.pick_after_block(c, left)
    }

    /// Like `deactivated`, if that had to wait.
    #[inline(never)]
    pub(crate) fn deactivated_later(&mut self, c: CpuId, task: TaskId) -> bool {
        self.deactivated(c, task, None)
    }
}
