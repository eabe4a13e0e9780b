//! Pushes a running task to another CPU, by the stopper of its own CPU: when load balancing has failed too often
//! (`active_load_balance_cpu_stop()`), and when the task executes a program that should run elsewhere (`sched_exec()`).

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::fair::round::{Asker, Idleness, Moves, Round};
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use keel_abi::bpf::Engine;
use keel_abi::scx::wake;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Runs [`FairFrame::Push`].
    pub(crate) fn push_running(&mut self, c: CpuId) {
        let Some(to) = self.k.fair.pushes[c.index()] else { return };
        let hierarchy = self.k.hierarchy();
        let level = hierarchy.levels(to).iter().position(|level| level.span.contains(c));
        let is_possible =
            self.k.cpus[c].online && self.k.cpus[to].online && !self.k.this_cpu().fair.is_empty();
        let Some(level) = level.filter(|_| is_possible) else {
            self.k.fair.pushes[c.index()] = None;
            return;
        };
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Push));
        }
        self.k.fair.pushes[c.index()] = None;
        self.stop_current(c);
        let cpus = hierarchy.levels(to)[level].span.clone();
        let mut round = Round::new(to, level, Idleness::Idle, Asker::Periodic, cpus, hierarchy.clone());
        (round.from, round.is_active, round.moves) = (c, true, Moves::Load);
        if self.k.take_one(c, &mut round) {
            self.k.remember(to, level, |memory| memory.failed = 0);
        }
        let moves: Vec<Frame> =
            round.taken.iter().map(|&task| Frame::MoveLock { task, target: to }).collect();
        self.k.this_cpu().stack.extend(moves);
        self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
    }

    /// Lets the stopper preempt a fair task, which stays on its runqueue.
    fn stop_current(&mut self, c: CpuId) {
        let curr = self.k.this_cpu().curr;
        if self.k.class_of(curr) != SchedClass::Fair {
            return;
        }
        self.k.update_curr(self.vm.world(), c);
        self.k.this_cpu().next_class = SchedClass::Stop;
        self.k.switch_to(c, curr, TaskId::IDLE);
        self.k.this_cpu().in_stopper = true;
        self.k.resched(c, c);
    }

    /// Looks for a better CPU for a task of `c` that executes a program (`sched_exec()`).
    pub(crate) fn exec_elsewhere(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        if t.class != SchedClass::Fair || t.nr_allowed == 1 || t.migration_disabled > 0 {
            return;
        }
        let target = self.k.select_fair(c, task, c, wake::EXEC);
        if target != c && self.k.may_use(task, target) {
            self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Leave { task, target }));
        }
    }

    /// Runs [`FairFrame::Leave`].
    pub(crate) fn leave_for(&mut self, c: CpuId, task: TaskId, target: CpuId) {
        if self.k.this_cpu().curr != task || !self.k.may_use(task, target) {
            return;
        }
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Leave { task, target }));
        }
        self.stop_current(c);
        self.k.dequeue_fair(task);
        self.k.detach_load(task);
        self.send_to(c, task, target);
    }
}
