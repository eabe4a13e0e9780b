//! Picking the next task and switching to it (`__schedule()`, `balance_one()`,
//! `put_prev_set_next_task()`).

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use crate::state::hooks::Point;
use crate::state::scx::Phase;
use crate::state::task::State;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::{DSP_MAX_LOOPS, Op, deq, enq, ent, ops_flags};
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// [`Frame::Schedule`].
    pub(crate) fn schedule(&mut self, c: CpuId) {
        if self.k.is_to_be_pinned(self.k.cpus.this_cpu.curr) {
            let task = self.k.this_cpu().curr;
            return self.k.this_cpu().stack.extend([Frame::Schedule, Frame::Pin { task, is_pinned: true }]);
        }
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Schedule);
        }
        let schedule_ns = self.k.machine.costs.schedule_ns;
        self.k.charge_ns(c, schedule_ns);
        let cpu = self.k.this_cpu();
        cpu.lock.defers = true;
        cpu.need_resched = false;
        cpu.resched_at = keel_abi::Instant::NEVER;
        let curr = cpu.curr;
        if !curr.is_idle() && matches!(self.k.tasks[curr].state, State::Blocking | State::Exiting) {
            self.go(Frame::Deactivate, |sim| sim.deactivate(c));
        } else {
            self.go(Frame::Pick, |sim| sim.pick(c));
        }
    }

    /// [`Frame::Deactivate`]: `dequeue_task_scx()` for a task that goes to sleep or dies. One that
    /// was woken meanwhile stays (`try_to_block_task()`).
    pub(crate) fn deactivate(&mut self, c: CpuId) {
        let task = self.k.this_cpu().curr;
        if self.k.tasks[task].state == State::Runnable {
            return self.go(Frame::Pick, |sim| sim.pick(c));
        }
        self.k.update_curr(self.vm.world(), c);
        let t = self.k.task(task);
        t.state = if t.state == State::Exiting { State::Dead } else { State::Blocked };
        let (args, class, is_dead) = ([t.ea.0, 0], t.class, t.state == State::Dead);
        if is_dead && self.k.scx.needs_slow_path {
            self.k.drop_spell(self.vm.world(), task);
        }
        if class != SchedClass::Ext {
            return self.deactivate_above(c, task);
        }
        self.call(c, Op::Stopping, (task, &args), Frame::Quiesce { task }, |sim| sim.quiesce(c, task));
    }

    /// A task of a class above sched_ext leaves its runqueue: what waits elsewhere may be more urgent than whoever is next
    /// here (`balance_rt()`).
    #[cold]
    fn deactivate_above(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        let (class, priority) = (t.class, t.rt_priority());
        self.k.dequeue_above(task);
        self.k.this_cpu().nr_running -= 1;
        self.k.this_cpu().stack.push(Frame::Pick);
        if class == SchedClass::Rt && self.k.needs_pull(c, priority) {
            let pull = self.k.pull_step(true);
            self.k.this_cpu().stack.push(pull);
        }
    }

    /// [`Frame::Quiesce`].
    #[inline(always)]
    pub(crate) fn quiesce(&mut self, c: CpuId, task: TaskId) {
        let args = [self.k.tasks[task].ea.0, deq::SLEEP];
        let next = Frame::Deactivated { task };
        self.call(c, Op::Quiescent, (task, &args), next, |sim| sim.deactivated(c, task));
    }

    /// [`Frame::Deactivated`].
    #[inline(always)]
    pub(crate) fn deactivated(&mut self, c: CpuId, task: TaskId) {
        self.k.this_cpu().nr_running -= 1;
        let t = self.k.task(task);
        t.queued = false;
        t.direct = None;
        t.watched = false;
        self.k.mirror_flags(self.vm.world(), task);
        self.go(Frame::Pick, |sim| sim.pick(c));
    }

    /// [`Frame::Pick`]: is there something of a higher class to run?
    pub(crate) fn pick(&mut self, c: CpuId) {
        let cpu = self.k.this_cpu();
        cpu.picks += 1;
        cpu.throttles = false;
        if !cpu.rt.is_empty() && self.pick_rt(c) {
            return;
        }
        if self.k.fair.queued > 0 && (self.pick_fair(c) || self.searches(c)) {
            return;
        }
        self.pick_below_fair(c);
    }

    /// Nobody of a higher class is there.
    fn pick_below_fair(&mut self, c: CpuId) {
        if self.k.scx.phase == Phase::Absent {
            return self.go(Frame::Switch { next: TaskId::IDLE }, |sim| sim.switch(c, TaskId::IDLE));
        }
        self.pick_ext(c);
    }

    /// Whoever is first of the real-time tasks, unless those that starved are being served or real-time tasks throttled.
    #[cold]
    fn pick_rt(&mut self, c: CpuId) -> bool {
        self.k.update_curr(self.vm.world(), c);
        let cpu = self.k.this_cpu();
        let serves = cpu.server.is_serving() || cpu.fair_server.is_serving() && !cpu.fair.is_empty();
        let Some(next) = cpu.rt.first().filter(|_| !serves && cpu.rt.is_ready()) else { return false };
        cpu.next_class = SchedClass::Rt;
        self.k.arm_servers(c);
        self.k.this_cpu().stack.push(Frame::Switch { next });
        true
    }

    /// As [`Sim::pick`], after other CPUs' tasks have been looked at.
    pub(crate) fn pick_searched(&mut self, c: CpuId) {
        if !self.k.this_cpu().rt.is_empty() && self.pick_rt(c) {
            return;
        }
        if !self.pick_fair(c) {
            self.pick_below_fair(c);
        }
    }

    /// A CPU without a task looks for fair ones elsewhere, without its lock.
    #[cold]
    fn searches(&mut self, c: CpuId) -> bool {
        if self.k.cpus[c].nr_ready() > 0 || !self.k.looks_elsewhere(c) {
            return false;
        }
        self.k
            .this_cpu()
            .stack
            .extend([Frame::Fair(FairFrame::Newidle { level: 0 }), Frame::Unlock { rq: c }]);
        true
    }

    /// Picks the next fair task, unless starved tasks of the scheduler are being served.
    #[cold]
    fn pick_fair(&mut self, c: CpuId) -> bool {
        self.k.update_curr(self.vm.world(), c);
        let cpu = self.k.this_cpu();
        if cpu.server.is_serving() {
            return false;
        }
        if cpu.rt.is_empty() {
            cpu.fair_server.stop();
        }
        let Some(next) = self.k.next_fair(c) else { return false };
        self.k.this_cpu().next_class = SchedClass::Fair;
        self.k.arm_servers(c);
        self.k.this_cpu().stack.push(Frame::Switch { next });
        true
    }

    /// Is there something of sched_ext's to run without asking the scheduler (`balance_one()`)?
    #[inline(always)]
    fn pick_ext(&mut self, c: CpuId) {
        let cpu = self.k.this_cpu();
        if cpu.next_class > SchedClass::Ext {
            cpu.next_class = SchedClass::Ext;
            if cpu.rt.is_empty() && cpu.fair.is_empty() {
                // The last task of a higher class has gone: nobody starves.
                cpu.server.stop();
            }
        }
        cpu.sync_pending = false;
        if cpu.released {
            return self.acquire_cpu(c);
        }
        let prev = self.k.this_cpu().curr;
        if !prev.is_idle() && self.k.tasks[prev].queued {
            self.k.update_curr(self.vm.world(), c);
            if self.k.slice(self.vm.world(), prev) != 0 && !self.k.this_cpu().bypassing {
                self.k.reenqueue_extra(c);
                return self.go(Frame::Switch { next: prev }, |sim| sim.switch(c, prev));
            }
        }
        if let Some(next) = self.k.first_local(c) {
            self.k.reenqueue_extra(c);
            return self.go(Frame::Switch { next }, |sim| sim.switch(c, next));
        }
        self.k.this_cpu().in_balance = true;
        self.go(Frame::Dispatch { left: DSP_MAX_LOOPS }, |sim| sim.dispatch(c, DSP_MAX_LOOPS));
    }

    /// [`Frame::Dispatch`]: the global queue first, then the scheduler
    /// (`scx_dispatch_sched()`).
    pub(crate) fn dispatch(&mut self, c: CpuId, left: u32) {
        if self.k.consume_global(self.vm.world(), c) {
            let next = self.k.first_local(c).expect("something was just moved here");
            return self.found(c, next);
        }
        if !self.k.has(Op::Dispatch) || self.k.this_cpu().bypassing || !self.k.this_cpu().online {
            return self.go(Frame::NothingFound, |sim| sim.nothing_found(c));
        }
        let cpu = self.k.this_cpu();
        cpu.dispatch.dispatched = 0;
        let prev = cpu.curr;
        let prev_ea = match prev {
            TaskId::IDLE => 0,
            prev if self.k.tasks[prev].class == SchedClass::Ext => self.k.tasks[prev].ea.0,
            _ => 0,
        };
        let args = [u64::from(c.0), prev_ea];
        self.call(c, Op::Dispatch, (prev, &args), Frame::Dispatched { left }, |sim| sim.dispatched(c, left));
    }

    /// [`Frame::Dispatched`]: what `ops.dispatch` buffered takes effect; is there something now?
    pub(crate) fn dispatched(&mut self, c: CpuId, left: u32) {
        if !self.k.flush_dispatch(self.vm.world(), c) {
            self.k.charge_ns(c, crate::state::kernel::SPIN_NS);
            return self.k.this_cpu().stack.push(Frame::Dispatched { left });
        }
        let prev = self.k.this_cpu().curr;
        let world = self.vm.world();
        if !prev.is_idle() && self.k.tasks[prev].queued && self.k.slice(world, prev) != 0 {
            return self.found(c, prev);
        }
        if let Some(next) = self.k.first_local(c) {
            return self.found(c, next);
        }
        if self.k.consume_global(self.vm.world(), c) {
            let next = self.k.first_local(c).expect("something was just moved here");
            return self.found(c, next);
        }
        let next = if self.k.this_cpu().dispatch.dispatched == 0 {
            Frame::NothingFound
        } else if left <= 1 {
            self.k.this_cpu().kicks.push((c, 0));
            Frame::NothingFound
        } else {
            Frame::Dispatch { left: left - 1 }
        };
        self.k.this_cpu().stack.push(next);
    }

    #[inline(always)]
    fn found(&mut self, c: CpuId, next: TaskId) {
        if !next.is_idle() {
            self.k.reenqueue_extra(c);
        }
        self.k.this_cpu().in_balance = false;
        self.go(Frame::Switch { next }, |sim| sim.switch(c, next));
    }

    /// [`Frame::NothingFound`]: the previous task goes on, unless the scheduler wants to be asked
    /// even about the last one; else the CPU goes idle.
    pub(crate) fn nothing_found(&mut self, c: CpuId) {
        let prev = self.k.this_cpu().curr;
        let asks = self.k.scx.flags & ops_flags::ENQ_LAST != 0 && !self.k.this_cpu().bypassing;
        let keep = !prev.is_idle() && self.k.tasks[prev].queued && !asks;
        if !keep && self.k.is_wanted_above(c) {
            // Those that starved have nothing to run after all.
            let cpu = self.k.this_cpu();
            cpu.server.stop();
            cpu.in_balance = false;
            return cpu.stack.push(Frame::Pick);
        }
        self.found(c, if keep { prev } else { TaskId::IDLE });
    }

    /// [`Frame::Switch`]: `put_prev_task_scx()` up to `ops.stopping`.
    pub(crate) fn switch(&mut self, c: CpuId, next: TaskId) {
        let prev = self.k.this_cpu().curr;
        let mut class = SchedClass::Idle;
        if !next.is_idle() {
            let t = &self.k.tasks[next];
            class = t.class;
            let slice_at = t.ea.offset(crate::state::layout::task::SCX_SLICE);
            if class == SchedClass::Ext && self.vm.world().u64_at(slice_at) == 0 {
                self.k.refill_slice(self.vm.world(), next);
            }
        }
        self.k.this_cpu().next_class = class;
        if prev == next && !prev.is_idle() {
            self.k.task(prev).yielded = false;
            return self.k.this_cpu().stack.push(Frame::Scheduled { prev: TaskId::IDLE });
        }
        if !prev.is_idle() && self.k.tasks[prev].queued {
            self.k.update_curr(self.vm.world(), c);
            let args = [self.k.tasks[prev].ea.0, 1];
            let put = Frame::PutPrev { prev, next };
            return self.call(c, Op::Stopping, (prev, &args), put, |sim| sim.put_prev(c, prev, next));
        }
        let set = Frame::SetNext { prev, next };
        if class > SchedClass::Ext && self.k.releases(c, prev) {
            self.k.this_cpu().stack.push(set);
            return self.release_cpu(c, next);
        }
        if prev.is_idle() && !next.is_idle() && !std::mem::take(&mut self.k.this_cpu().in_stopper) {
            self.update_idle(c, false, true, set, |sim| sim.set_next(c, prev, next));
        } else {
            self.go(set, |sim| sim.set_next(c, prev, next));
        }
    }

    /// `__scx_update_idle()`: the masks first, then the scheduler, but of real transitions only;
    /// then on with `frame`.
    #[inline(always)]
    fn update_idle(&mut self, c: CpuId, idle: bool, real: bool, frame: Frame, step: impl FnOnce(&mut Self)) {
        self.k.set_idle(self.vm.world(), c, idle);
        if !real || self.k.this_cpu().bypassing {
            return self.go(frame, step);
        }
        let args = [u64::from(c.0), u64::from(idle)];
        self.call(c, Op::UpdateIdle, (TaskId::IDLE, &args), frame, step);
    }

    /// [`Frame::PutPrev`]: a task with time left goes to the head of the local queue, unless it was to run at once; another
    /// to the scheduler, as the last one where the CPU would go idle.
    pub(crate) fn put_prev(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        self.k.set_runnable(self.vm.world(), prev);
        let mut set = Frame::SetNext { prev, next };
        if self.k.this_cpu().next_class > SchedClass::Ext && self.k.releases(c, prev) {
            self.k.this_cpu().stack.push(set);
            set = Frame::Release { next };
        }
        if self.k.slice(self.vm.world(), prev) != 0 && !self.k.this_cpu().bypassing {
            if self.k.tasks[prev].immed {
                self.k.this_cpu().stack.push(set);
                return self.enqueue_again(c, prev, ent::REENQ_PREEMPTED);
            }
            if let Frame::Release { .. } = set {
                self.k.this_cpu().stack.push(set);
                let world = self.vm.world();
                return self.k.insert_local(world, c, c, prev, enq::HEAD);
            }
            let world = self.vm.world();
            self.k.insert_local(world, c, c, prev, enq::HEAD);
            self.go(set, |sim| sim.set_next(c, prev, next));
        } else {
            let enq_flags = if next.is_idle() { enq::LAST } else { 0 };
            self.k.this_cpu().stack.push(set);
            let enqueue = Frame::Enqueue { task: prev, enq_flags };
            self.go(enqueue, |sim| sim.enqueue(c, prev, enq_flags));
        }
    }

    /// [`Frame::SetNext`]: the switch itself, then `ops.running` or `ops.update_idle`.
    pub(crate) fn set_next(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        if prev == next {
            let real = std::mem::take(&mut self.k.this_cpu().in_stopper);
            let done = Frame::Scheduled { prev: TaskId::IDLE };
            return self.update_idle(c, true, real, done, |sim| sim.scheduled(c, TaskId::IDLE));
        }
        self.k.switch_to(c, prev, next);
        if self.k.scx.needs_slow_path {
            self.k.mirror_spell(self.vm.world(), prev);
            self.k.mirror_spell(self.vm.world(), next);
            if self.k.hooks.traces(Point::SchedSwitch) {
                return self.switched_traced(c, prev, next);
            }
        }
        let done = Frame::Scheduled { prev };
        if self.k.this_cpu().next_class > SchedClass::Ext {
            self.k.this_cpu().stack.push(done);
            self.push_after_switch(c);
        } else if next.is_idle() {
            // Whoever put a task here since the pick did not see an idle CPU.
            if self.k.first_local(c).is_some() {
                self.k.resched(c, c);
            }
            self.update_idle(c, true, true, done, |sim| sim.scheduled(c, prev));
        } else {
            let args = [self.k.tasks[next].ea.0];
            self.call(c, Op::Running, (next, &args), done, |sim| sim.scheduled(c, prev));
        }
    }

    /// The end of [`Sim::set_next`] where switches are traced: `ops.running` or `ops.update_idle` first, as in the
    /// kernel.
    #[cold]
    fn switched_traced(&mut self, c: CpuId, prev: TaskId, next: TaskId) {
        self.k.this_cpu().stack.push(Frame::Scheduled { prev });
        let trace = Frame::TraceSwitch { prev, next, nth: 0 };
        if self.k.this_cpu().next_class > SchedClass::Ext {
            self.k.this_cpu().stack.push(trace);
            self.push_after_switch(c);
        } else if next.is_idle() {
            if self.k.first_local(c).is_some() {
                self.k.resched(c, c);
            }
            self.update_idle(c, true, true, trace, |sim| sim.trace_switch(c, prev, next, 0));
        } else {
            let args = [self.k.tasks[next].ea.0];
            self.call(c, Op::Running, (next, &args), trace, |sim| sim.trace_switch(c, prev, next, 0));
        }
    }

    /// [`Frame::Scheduled`]: deferred moves, the lock given back, a dead predecessor buried.
    #[inline(always)]
    pub(crate) fn scheduled(&mut self, c: CpuId, prev: TaskId) {
        if !prev.is_idle() && self.k.tasks[prev].state == State::Dead {
            self.k.this_cpu().stack.push(Frame::Reap { task: prev });
        }
        if self.k.scx.needs_slow_path && !self.k.this_cpu().to_sync.is_empty() {
            self.begin_sync_wait();
        }
        let cpu = self.k.this_cpu();
        if cpu.leaving && !cpu.curr.is_idle() {
            let task = cpu.curr;
            if self.k.tasks[task].migration_disabled == 0 {
                self.k.run_deferred(self.vm.world(), c, c);
                return self.k.this_cpu().stack.push(Frame::PushAway { task });
            }
        }
        self.finish_rq(c, c);
    }
}
