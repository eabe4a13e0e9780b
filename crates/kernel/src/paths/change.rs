//! Changes that a running task makes to its own nice value and CPUs. As in the kernel, the task is taken off its
//! runqueue around the change (`sched_change_begin()`): `ops.stopping` and `ops.quiescent` are called before,
//! `ops.runnable` and `ops.running` after, with no enqueue.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::flag;
use crate::state::frame::Frame;
use keel_abi::bpf::Engine;
use keel_abi::scx::{Op, deq};
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

/// `DEQUEUE_SAVE | DEQUEUE_NOCLOCK`, which have the same values as `ENQUEUE_RESTORE | ENQUEUE_NOCLOCK`.
const SAVE_RESTORE: u64 = flag::SAVE_RESTORE | flag::NOCLOCK;

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::SetNice`].
    pub(crate) fn set_nice(&mut self, c: CpuId, task: TaskId, nice: i8) {
        self.begin_change(c, Frame::SetNice { task, nice }, Frame::ChangeNice { task, nice }, task);
    }

    /// Runs [`Frame::SetCpus`].
    pub(crate) fn set_cpus(&mut self, c: CpuId, task: TaskId, step: u32) {
        self.begin_change(c, Frame::SetCpus { task, step }, Frame::ChangeCpus { task, step }, task);
    }

    /// Runs [`Frame::Pin`].
    pub(crate) fn pin(&mut self, c: CpuId, task: TaskId, is_pinned: bool) {
        self.begin_change(c, Frame::Pin { task, is_pinned }, Frame::Pinned { task, is_pinned }, task);
    }

    /// Pushes the remaining frames, last one first, and starts with `ops.stopping`.
    pub(super) fn begin_change(&mut self, c: CpuId, again: Frame, change: Frame, task: TaskId) {
        debug_assert_eq!(self.k.this_cpu().curr, task, "a task changes itself");
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(again);
        }
        self.k.update_curr(self.vm.world(), c);
        self.k.this_cpu().stack.extend([Frame::Restore { task }, change, Frame::ChangeQuiesce { task }]);
        let ea = self.k.tasks[task].ea;
        self.start_if_ext(c, Op::Stopping, task, &[ea.0, 0]);
    }

    /// Runs [`Frame::ChangeQuiesce`].
    pub(crate) fn change_quiesce(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.k.task(task).queued = false;
        self.k.mirror_flags(self.vm.world(), task);
        self.start_if_ext(c, Op::Quiescent, task, &[ea.0, SAVE_RESTORE | deq::SCHED_CHANGE]);
    }

    /// Runs [`Frame::ChangeNice`]: `reweight_task_scx()`.
    pub(crate) fn change_nice(&mut self, c: CpuId, task: TaskId, nice: i8) {
        self.k.give_nice(self.vm.world(), task, nice);
        let t = &self.k.tasks[task];
        let args = [t.ea.0, u64::from(t.weight)];
        self.start_if_ext(c, Op::SetWeight, task, &args);
    }

    /// Runs [`Frame::ChangeCpus`]: `set_cpus_allowed_scx()`.
    pub(crate) fn change_cpus(&mut self, c: CpuId, task: TaskId, step: u32) {
        let cpus = self.k.wanted_cpus(step);
        self.k.give_cpus(self.vm.world(), task, cpus);
        self.call_set_cpumask(c, task);
    }

    /// Runs [`Frame::Restore`]: puts the task back on the runqueue and the CPU.
    pub(crate) fn restore(&mut self, c: CpuId, task: TaskId) {
        let t = self.k.task(task);
        t.queued = t.class == SchedClass::Ext;
        self.k.mirror_flags(self.vm.world(), task);
        let ea = self.k.tasks[task].ea;
        self.k.this_cpu().stack.push(Frame::RestoreRunning { task });
        self.start_if_ext(c, Op::Runnable, task, &[ea.0, SAVE_RESTORE]);
    }

    /// Runs [`Frame::RestoreRunning`].
    pub(crate) fn restore_running(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        let allowed = t.allows(c) && !self.k.cpus[c].errands.is_leaving();
        let (ea, stays) = (t.ea, allowed || t.migration_disabled > 0);
        self.k.this_cpu().stack.push(if stays { Frame::Unlock { rq: c } } else { Frame::PushAway { task } });
        self.start_if_ext(c, Op::Running, task, &[ea.0]);
    }

    /// Runs [`Frame::PushAway`]: the stopper replaces a task that may not stay on this CPU.
    pub(crate) fn push_away(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.k.update_curr(self.vm.world(), c);
        self.k.this_cpu().stack.push(Frame::PushedAway { task });
        self.start_if_ext(c, Op::Stopping, task, &[ea.0, 1]);
    }

    /// Runs [`Frame::PushedAway`].
    pub(crate) fn pushed_away(&mut self, c: CpuId, task: TaskId) {
        self.k.this_cpu().next_class = SchedClass::Stop;
        self.k.switch_to(c, task, TaskId::IDLE);
        self.k.this_cpu().in_stopper = true;
        self.k.resched(c, c);
        let is_ext = self.k.tasks[task].class == SchedClass::Ext;
        if !self.k.has_cpu(task) {
            if is_ext {
                self.k.set_runnable(self.vm.world(), task);
                self.k.this_cpu().stack.push(Frame::PushWaiting { task });
                return self.take_off(c, task, SAVE_RESTORE, Some(Frame::Widen { task }));
            }
            self.k.widen(self.vm.world(), task);
        }
        self.push_waiting(c, task);
    }

    /// Runs [`Frame::PushWaiting`]: `__migrate_task()` of a task that is not running.
    pub(crate) fn push_waiting(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        if t.cpu != c || t.on_cpu {
            // Another CPU has just taken the task out of a DSQ.
            return self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
        }
        let target = self.k.fallback_cpu(task);
        match self.k.tasks[task].class {
            SchedClass::Ext => self.k.take_from_scheduler(c, task, flag::NOCLOCK | deq::SCHED_CHANGE),
            _ => self.k.dequeue_above(task),
        }
        self.send_to(c, task, target);
    }

    /// Sends a task that has left its queue on `c`, which `c` has locked, to another CPU (`move_queued_task()`).
    pub(crate) fn send_to(&mut self, c: CpuId, task: TaskId, target: CpuId) {
        self.k.this_cpu().nr_running -= 1;
        self.k.task(task).busy = true;
        self.k.tell(Class::BRIEF, c, What::Migrate { task, from: c, to: target });
        let migration_ns = self.k.machine.costs.migration_ns;
        self.k.charge_ns(c, migration_ns);
        self.k.this_cpu().stack.extend([Frame::MoveLock { task, target }, Frame::Unlock { rq: c }]);
    }

    /// Runs [`Frame::MoveLock`]: enqueues the task on its new CPU. `ops.runnable` is not called, because the task has
    /// been runnable all the time.
    pub(crate) fn move_lock(&mut self, c: CpuId, task: TaskId, target: CpuId) {
        if self.k.is_leaving(c, task, target) {
            let target = self.k.fallback_cpu(task);
            self.k.this_cpu().stack.push(Frame::MoveLock { task, target });
            if !self.k.has_cpu(task) {
                self.widen_task(c, task);
            }
            return;
        }
        if !self.k.lock_rq(c, target) {
            return self.k.this_cpu().stack.push(Frame::MoveLock { task, target });
        }
        let t = self.k.task(task);
        debug_assert_eq!(t.migration_disabled, 0, "a spell without migration");
        t.busy = false;
        t.cpu = target;
        t.wake_cpu = target;
        self.k.mirror_cpu(self.vm.world(), task);
        self.k.cpu(target).lock.defers = true;
        self.k.cpu(target).nr_running += 1;
        if self.k.tasks[task].class != SchedClass::Ext {
            self.k.enqueue_above(task, false, false);
            return self.k.this_cpu().stack.push(Frame::Woken { task, target });
        }
        self.k.set_runnable(self.vm.world(), task);
        self.k
            .this_cpu()
            .stack
            .extend([Frame::Woken { task, target }, Frame::Enqueue { task, enq_flags: 0 }]);
    }
}

impl<E: Engine> Sim<E> {
    /// Starts a callback about a task if the task is in the scheduler's class.
    pub(crate) fn start_if_ext(&mut self, c: CpuId, op: Op, task: TaskId, args: &[u64]) {
        if self.k.tasks[task].class == SchedClass::Ext {
            self.start(c, op, task, args);
        }
    }
}
