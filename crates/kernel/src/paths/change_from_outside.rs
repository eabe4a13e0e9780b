//! Changes of a task's nice value or CPUs by another task (`set_user_nice()`, `__set_cpus_allowed_ptr()`).
//!
//! A runnable task is taken off its runqueue around the change and put back (`sched_change_begin()`,
//! `sched_change_end()`): `ops.dequeue` takes it from the scheduler or its DSQs, and `ops.enqueue` gives it back. If it
//! may not stay on its CPU, it moves: a waiting task at once (`move_queued_task()`), a running task by its CPU's
//! stopper (`migration_cpu_stop()`). A CPU that goes offline moves its tasks to its local DSQ in the same way.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::flag;
use crate::state::frame::Frame;
use crate::state::kernel::SPIN_NS;
use crate::state::task::State;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::{Op, deq};
use keel_abi::timeline::Change;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::OutsideLock`]: `task_rq_lock()`. Waits while the task is being woken or moved, as the kernel waits
    /// for its `pi_lock`.
    pub(crate) fn outside_lock(&mut self, c: CpuId, entry: u32, task: TaskId, rq: CpuId) {
        if !self.k.lock_rq(c, rq) {
            return self.k.this_cpu().stack.push(Frame::OutsideLock { entry, task, rq });
        }
        let t = &self.k.tasks[task];
        if self.k.is_dead(task) {
            return self.k.unlock_rq(c, rq);
        }
        if t.busy || t.cpu != rq || t.state == State::New {
            let rq_now = t.cpu;
            self.k.unlock_rq(c, rq);
            self.k.charge_ns(c, SPIN_NS);
            return self.k.this_cpu().stack.push(Frame::OutsideLock { entry, task, rq: rq_now });
        }
        if !self.k.changes(self.vm.world(), entry, task) {
            return self.k.this_cpu().stack.push(Frame::Unlock { rq });
        }
        if let &Change::Policy { policy, .. } = self.k.outside.change(entry)
            && self.change_class(c, task, policy)
        {
            return;
        }
        self.k.task(task).busy = true;
        self.k.this_cpu().stack.push(Frame::OutsideSettle { task, rq });
        let flags = flag::SAVE_RESTORE | flag::NOCLOCK;
        self.take_off(c, task, flags, Some(Frame::OutsideChange { entry, task }));
    }

    /// `sched_change_begin()`, then the frame `between`, then `sched_change_end()`. The task's runqueue is locked.
    pub(crate) fn take_off(&mut self, c: CpuId, task: TaskId, flags: u64, between: Option<Frame>) {
        if !self.k.tasks[task].queued {
            return self.k.this_cpu().stack.extend(between);
        }
        self.k.this_cpu().stack.push(Frame::PutBack { task, flags });
        self.k.this_cpu().stack.extend(between);
        self.k.this_cpu().stack.push(Frame::TakeOff { task, flags });
        self.k.take_from_scheduler(c, task, flags | deq::SCHED_CHANGE);
        if self.k.tasks[task].on_cpu {
            let (rq, ea) = (self.k.tasks[task].cpu, self.k.tasks[task].ea);
            self.k.charge_current(self.vm.world(), rq);
            // A pending `ops.dequeue` comes first; a running task has none.
            self.start(c, Op::Stopping, task, &[ea.0, 0]);
        }
    }

    /// Runs [`Frame::TakeOff`]: `dequeue_task_scx()` from `ops.quiescent` on.
    pub(crate) fn taken_off(&mut self, c: CpuId, task: TaskId, flags: u64) {
        let rq = self.k.tasks[task].cpu;
        self.k.cpu(rq).nr_running -= 1;
        let t = self.k.task(task);
        t.queued = false;
        let ea = t.ea;
        self.k.clear_runnable(task);
        self.k.mirror_flags(self.vm.world(), task);
        self.start(c, Op::Quiescent, task, &[ea.0, flags | deq::SCHED_CHANGE]);
    }

    /// Runs [`Frame::OutsideChange`]: makes the change itself (`reweight_task_scx()`, `set_cpus_allowed_scx()`).
    pub(crate) fn outside_change(&mut self, c: CpuId, entry: u32, task: TaskId) {
        match self.k.outside.change(entry) {
            &Change::Nice { nice, .. } => self.change_nice(c, task, nice),
            Change::Affinity { cpus, .. } => {
                let cpus = cpus.clone();
                self.k.give_cpus(self.vm.world(), task, cpus);
                self.call_set_cpumask(c, task);
            }
            &Change::Policy { policy, .. } => self.change_within(c, task, policy),
            Change::Offline(_) | Change::Online(_) => unreachable!("that changes no task"),
        }
    }

    /// Calls `ops.set_cpumask`.
    pub(crate) fn call_set_cpumask(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        let mask = self.vm.world().u64_at(ea.offset(crate::state::layout::task::CPUS_PTR));
        let cpus = self.k.cpus_argument(self.vm.world(), c, mask);
        self.start_if_ext(c, Op::SetCpumask, task, &[ea.0, cpus]);
    }

    /// Runs [`Frame::Widen`]: `set_cpus_allowed_force()`.
    pub(crate) fn widen_task(&mut self, c: CpuId, task: TaskId) {
        self.k.widen(self.vm.world(), task);
        self.call_set_cpumask(c, task);
    }

    /// Runs [`Frame::PutBack`]: `enqueue_task_scx()` of a task that was taken off. A running task continues.
    pub(crate) fn put_back(&mut self, c: CpuId, task: TaskId, flags: u64) {
        self.k.set_runnable(self.vm.world(), task);
        let t = self.k.task(task);
        t.queued = true;
        let (rq, ea, runs) = (t.cpu, t.ea, t.on_cpu);
        self.k.cpu(rq).nr_running += 1;
        self.k.mirror_flags(self.vm.world(), task);
        let next = match runs {
            true => Frame::PutBackRunning { task },
            false => Frame::Enqueue { task, enq_flags: flags },
        };
        self.k.this_cpu().stack.push(next);
        self.start(c, Op::Runnable, task, &[ea.0, flags]);
    }

    /// Runs [`Frame::PutBackRunning`]: `set_next_task_scx()`.
    pub(crate) fn put_back_running(&mut self, c: CpuId, task: TaskId) {
        self.k.task(task).note_running();
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Running, task, &[ea.0]);
    }

    /// Runs [`Frame::OutsideSettle`]: `affine_move_task()`. The task leaves a runqueue that it may no longer use.
    pub(crate) fn outside_settle(&mut self, c: CpuId, task: TaskId, rq: CpuId) {
        let t = &self.k.tasks[task];
        let is_free = t.migration_disabled == 0;
        if is_free && t.cpu == rq && t.queued && !t.on_cpu && !self.k.has_cpu(task) {
            // The last of the CPUs that it may use has just gone offline.
            self.k.task(task).busy = true;
            self.k.this_cpu().stack.push(Frame::OutsideSettle { task, rq });
            let flags = flag::SAVE_RESTORE | flag::NOCLOCK;
            return self.take_off(c, task, flags, Some(Frame::Widen { task }));
        }
        self.k.task(task).busy = false;
        self.k.this_cpu().stack.push(Frame::Unlock { rq });
        let t = &self.k.tasks[task];
        if t.cpu != rq || t.allows(rq) || (!is_free && !t.on_cpu) || self.k.is_dead(task) {
            return self.k.run_deferred(self.vm.world(), c, rq);
        }
        if t.on_cpu {
            self.k.wake_stopper(c, rq, task);
        } else if self.k.is_on_rq(task) {
            self.move_waiting(c, task);
        } else {
            let cpus = t.cpus.clone();
            if let Some(cpu) = self.k.any_online(&cpus) {
                self.k.task(task).wake_cpu = cpu;
                self.k.mirror_cpu(self.vm.world(), task);
            }
        }
        self.k.run_deferred(self.vm.world(), c, rq);
    }

    /// Runs [`Frame::StopTask`]: the stopper of `c` checks whether `task` may stay there (`migration_cpu_stop()`). A
    /// task with migration disabled stays, but the switch to the stopper has reduced its mask to its CPU, so the check
    /// is repeated when it enables migration.
    pub(crate) fn stop_task(&mut self, c: CpuId, task: TaskId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::StopTask { task });
        }
        let t = &self.k.tasks[task];
        if t.cpu == c && t.on_cpu && self.k.is_to_be_pinned(task) {
            return self
                .k
                .this_cpu()
                .stack
                .extend([Frame::Pin { task, is_pinned: true }, Frame::Unlock { rq: c }]);
        }
        let stays = t.allows(c) || t.migration_disabled > 0;
        let leaves = t.cpu == c && self.k.is_on_rq(task) && !t.busy && !stays;
        match leaves {
            true if t.on_cpu => self.k.this_cpu().stack.push(Frame::PushAway { task }),
            true => self.outside_settle(c, task, c),
            false => self.k.this_cpu().stack.push(Frame::Unlock { rq: c }),
        }
    }

    /// `move_queued_task()`: moves a task that waits on a locked runqueue to a CPU that it may use. The frame that
    /// releases the lock is already on the stack.
    fn move_waiting(&mut self, c: CpuId, task: TaskId) {
        let cpus = self.k.tasks[task].cpus.clone();
        let Some(target) = self.k.any_online(&cpus) else { return };
        let from = self.k.tasks[task].cpu;
        match self.k.tasks[task].class {
            SchedClass::Ext => self.k.take_from_scheduler(c, task, flag::NOCLOCK | deq::SCHED_CHANGE),
            _ => self.k.dequeue_above(task),
        }
        self.k.cpu(from).nr_running -= 1;
        self.k.task(task).busy = true;
        self.k.tell(Class::BRIEF, c, What::Migrate { task, from, to: target });
        let migration_ns = self.k.machine.costs.migration_ns;
        self.k.charge_ns(c, migration_ns);
        let unlock = *self.k.this_cpu().stack.pop().expect("the lock is given back first");
        self.k.this_cpu().stack.extend([Frame::MoveLock { task, target }, unlock]);
    }
}
