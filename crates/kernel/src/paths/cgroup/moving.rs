//! Moves tasks between cgroups. The scheduler is first asked about all of them (`scx_cgroup_can_attach()`); then each
//! is moved as in `sched_move_task()`: it is dequeued, changed and enqueued again.

use crate::paths::sim::Sim;
use crate::state::cgroup::Number;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::frame::cgroup::{CgroupFrame, WasOn};
use crate::state::hooks::Point;
use crate::state::kernel::SPIN_NS;
use crate::state::task::OpsState;
use keel_abi::bpf::Engine;
use keel_abi::scx::{Op, deq};
use keel_abi::{CpuId, TaskId};

/// `DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK`. The corresponding `ENQUEUE_*` flags have the same values.
const SAVE_MOVE: u64 = 2 | 4 | 8;

const LEAVES: u64 = SAVE_MOVE | deq::SCHED_CHANGE;

impl<E: Engine> Sim<E> {
    fn push(&mut self, frame: CgroupFrame) {
        self.k.this_cpu().stack.push(Frame::Cgroup(frame));
    }

    pub(super) fn begin_move(&mut self, task: TaskId, to: Number, whole: bool) {
        self.k.cgroups.moving.clear();
        self.k.cgroups.moves_process = whole;
        self.push(CgroupFrame::Prepare { task, to, whole, from: 0 });
    }

    /// Runs [`CgroupFrame::Prepare`]: calls `ops.cgroup_prep_move` for the next task that is not in the cgroup yet.
    pub(crate) fn prepare_move(&mut self, c: CpuId, task: TaskId, to: Number, whole: bool, from: u32) {
        let Some(mover) = self.k.next_mover(task, whole, from) else {
            return self.commit_move(task, to, whole);
        };
        let was = self.k.cgroups.of(mover);
        if was == to {
            return self.push(CgroupFrame::Prepare { task, to, whole, from: mover.0 + 1 });
        }
        self.push(CgroupFrame::Prepared { task, to, whole, mover });
        match self.k.tells_of_cgroups(Op::CgroupPrepMove) {
            true => self.emit_move(c, Op::CgroupPrepMove, mover, (was, to)),
            false => self.k.this_cpu().returned = 0,
        }
    }

    fn emit_move(&mut self, c: CpuId, op: Op, task: TaskId, (from, to): (Number, Number)) {
        let (ea, from, to) = (self.k.tasks[task].ea, self.k.cgroups[from].ea, self.k.cgroups[to].ea);
        self.start(c, op, task, &[ea.0, from.0, to.0]);
    }

    /// Runs [`CgroupFrame::Prepared`]. If the scheduler rejects one task, none moves.
    pub(crate) fn prepared_move(&mut self, c: CpuId, task: TaskId, to: Number, whole: bool, mover: TaskId) {
        let answer = self.k.this_cpu().returned as i32;
        if answer != 0 {
            self.k.sane_errno(c, "cgroup_prep_move", answer);
            return self.push(CgroupFrame::Cancel { to, place: 0 });
        }
        let was = self.k.cgroups.of(mover);
        self.k.cgroups.moving.push((mover, was, to));
        self.push(CgroupFrame::Prepare { task, to, whole, from: mover.0 + 1 });
    }

    /// Runs [`CgroupFrame::Cancel`]: calls `ops.cgroup_cancel_move` for the tasks that `ops.cgroup_prep_move` accepted.
    pub(crate) fn cancel_move(&mut self, c: CpuId, to: Number, place: u32) {
        let Some(&(mover, was, _)) = self.k.cgroups.moving.get(place as usize) else {
            return self.k.cgroups.moves_process = false;
        };
        self.push(CgroupFrame::Cancel { to, place: place + 1 });
        if self.k.tells_of_cgroups(Op::CgroupCancelMove) {
            self.emit_move(c, Op::CgroupCancelMove, mover, (was, to));
        }
    }

    /// `cgroup_migrate_execute()`: all tasks get their new css_sets before the first one changes its task group.
    fn commit_move(&mut self, task: TaskId, to: Number, whole: bool) {
        // Runs after all have moved.
        let leader = if whole { self.k.leader_of(task) } else { task };
        self.queue_tracers(Point::CgroupAttachTask, to, (leader, whole));
        for at in 0..self.k.cgroups.moving.len() {
            let (mover, _, to) = self.k.cgroups.moving[at];
            self.k.mirror_membership(self.vm.world(), mover, to);
        }
        self.push(CgroupFrame::Attach { place: 0 });
    }

    /// Runs [`CgroupFrame::Attach`].
    pub(crate) fn attach(&mut self, place: u32) {
        let Some(&(mover, _, to)) = self.k.cgroups.moving.get(place as usize) else {
            return self.k.cgroups.moves_process = false;
        };
        self.push(CgroupFrame::Attach { place: place + 1 });
        let rq = self.k.tasks[mover].cpu;
        self.push(CgroupFrame::Move { task: mover, to, rq });
    }

    /// Runs [`CgroupFrame::Move`]: dequeues the task if it is on a runqueue.
    pub(crate) fn move_task(&mut self, c: CpuId, task: TaskId, to: Number, rq: CpuId) {
        if !self.k.lock_rq(c, rq) {
            return self.push(CgroupFrame::Move { task, to, rq });
        }
        let t = &self.k.tasks[task];
        if t.busy || t.cpu != rq {
            // The task is being woken or moved, and its `pi_lock` is held.
            self.k.unlock_rq(c, rq);
            self.k.charge_ns(c, SPIN_NS);
            let rq = self.k.tasks[task].cpu;
            return self.push(CgroupFrame::Move { task, to, rq });
        }
        if self.k.is_dead(task) {
            return self.k.unlock_rq(c, rq);
        }
        if t.class == SchedClass::Rt {
            self.k.requeue_moved(c, task);
        }
        let t = &self.k.tasks[task];
        if !t.queued {
            self.k.this_cpu().stack.push(Frame::Unlock { rq });
            return self.push(CgroupFrame::Change { task, to, was_on: WasOn::None });
        }
        let (ea, runs) = (t.ea, t.on_cpu);
        if runs {
            if rq == c {
                self.k.update_curr(self.vm.world(), c);
            }
            self.push(CgroupFrame::Quiesce { task, to, was_on: WasOn::Cpu });
            return self.start(c, Op::Stopping, task, &[ea.0, 0]);
        }
        self.push(CgroupFrame::Quiesce { task, to, was_on: WasOn::Queue });
        // The kernel dequeues after the callbacks. Here it is done first, because taking tasks from a DSQ does not wait
        // for this lock.
        self.k.take_from_queue(c, task);
        self.k.clear_runnable(task);
        self.k.leave_custody(task, LEAVES);
        self.k.cpu(rq).nr_running -= 1;
        self.k.cpu(rq).deferred.retain(|&other| other != task);
        let t = self.k.task(task);
        t.ops_state = OpsState::None;
        t.deferred = false;
        t.direct = None;
    }

    /// Runs [`CgroupFrame::Quiesce`].
    pub(crate) fn quiesce_for_move(&mut self, c: CpuId, task: TaskId, to: Number, was_on: WasOn) {
        let ea = self.k.tasks[task].ea;
        self.push(CgroupFrame::Change { task, to, was_on });
        self.start(c, Op::Quiescent, task, &[ea.0, LEAVES]);
    }

    /// Runs [`CgroupFrame::Change`]: `scx_cgroup_move_task()`. From here on the task is in its new cgroup.
    pub(crate) fn change_cgroup(&mut self, c: CpuId, task: TaskId, to: Number, was_on: WasOn) {
        let was = self.k.cgroups.of(task);
        self.k.cgroups.move_task(task, to, self.k.tasks[task].cpu_time);
        self.k.mirror_task_group(self.vm.world(), task);
        self.k.regroup_fair(task);
        self.k.emit_scheduled(task);
        self.k.emit_priority(task);
        if was_on != WasOn::None {
            self.k.task(task).queued = false;
            self.k.mirror_flags(self.vm.world(), task);
            self.push(CgroupFrame::Restore { task, was_on });
        }
        if self.k.tells_of_cgroups(Op::CgroupMove) {
            self.emit_move(c, Op::CgroupMove, task, (was, to));
        }
    }

    /// Runs [`CgroupFrame::Restore`]: puts the task back where it was. If it is running, its CPU reschedules as soon as
    /// possible.
    pub(crate) fn restore_moved(&mut self, c: CpuId, task: TaskId, was_on: WasOn) {
        let t = &self.k.tasks[task];
        let (ea, rq) = (t.ea, t.cpu);
        if was_on == WasOn::Cpu {
            self.k.resched(c, rq);
            self.k.this_cpu().stack.push(Frame::Unlock { rq });
            self.push(CgroupFrame::Running { task });
        } else {
            self.k.this_cpu().stack.push(Frame::Woken { task, target: rq });
            return self.begin_enqueue(c, task, SAVE_MOVE);
        }
        self.k.task(task).queued = true;
        self.k.mirror_flags(self.vm.world(), task);
        self.start(c, Op::Runnable, task, &[ea.0, SAVE_MOVE]);
    }

    /// Runs [`CgroupFrame::Running`].
    pub(crate) fn running_again(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Running, task, &[ea.0]);
    }
}
