//! Which task runs next: `schedule()` asks one class after the other (`pick_next_task()`); sched_ext asks the scheduler
//! when the CPU's local queue is empty (`balance_one()`).
//!
//! The rules of each class are in `rules/CLASS/who_runs_next.rs`; what follows is in [`crate::paths::switch`].

use crate::paths::block::Left;
use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use crate::state::scx::Phase;
use crate::state::scx::events::ScxEvent;
use keel_abi::bpf::Engine;
use keel_abi::scx::{DSP_MAX_LOOPS, Op};
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// [`Frame::Schedule`], apart from the loop's code: with what follows if the task blocks, it needs many registers.
    /// Like all steps that follow, it returns whether the CPU [stays first](crate::run::step::Step::First).
    #[inline(never)]
    pub(crate) fn schedule(&mut self, c: CpuId) -> bool {
        if self.k.is_to_be_pinned(self.k.cpus.this_cpu.curr) {
            let task = self.k.this_cpu().curr;
            self.k.this_cpu().stack.extend([Frame::Schedule, Frame::Pin { task, is_pinned: true }]);
            return false;
        }
        if !self.k.lock_own_rq(c) {
            self.k.this_cpu().stack.push(Frame::Schedule);
            return false;
        }
        self.k.fetch_next_local(self.vm.world(), c);
        let schedule_ps = self.k.schedule_ps;
        let cpu = self.k.this_cpu();
        cpu.spent_ps += schedule_ps[usize::from(cpu.is_idle())];
        cpu.lock.defers = true;
        cpu.need_resched = false;
        cpu.resched_at = keel_abi::Instant::NEVER;
        self.may_go(|| Frame::Deactivate) && self.deactivate_or_pick(c)
    }

    /// [`Frame::Pick`]: picks the next task. The usual case is a CPU with tasks of sched_ext alone.
    pub(crate) fn pick(&mut self, c: CpuId) -> bool {
        let may_continue = self.k.is_queued(self.k.cpus.this_cpu.curr);
        self.pick_knowing(c, may_continue, None)
    }

    /// Like `pick` for a CPU that idles: usually somebody has put a task into its queue, and there is nothing else to
    /// see to.
    #[inline(never)]
    pub(crate) fn pick_from_idle(&mut self, c: CpuId) -> bool {
        let next = self.k.first_local(c);
        let cpu = &mut *self.k.cpus.this_cpu;
        debug_assert!(cpu.is_idle());
        let is_plain = cpu.rt.is_empty() && !cpu.released && cpu.next_class <= SchedClass::Ext;
        let goes_on = cpu.nr_immed == 0 && cpu.pauses.is_empty();
        let Some(next) = next.filter(|_| is_plain && goes_on) else { return self.pick(c) };
        if self.k.fair.queued > 0 || self.k.scx.phase == Phase::Absent {
            return self.pick(c);
        }
        cpu.picks += 1;
        cpu.errands.set_throttles(false);
        cpu.sync_pending = false;
        self.switch_from_idle(c, next)
    }

    /// Like `pick` right after the previous task has left its queue.
    #[inline(always)]
    pub(crate) fn pick_after_block(&mut self, c: CpuId, left: Option<Left>) -> bool {
        self.pick_knowing(c, false, left)
    }

    /// Like `pick_after_block` if it is known whether the previous task is still queued.
    #[inline(always)]
    fn pick_knowing(&mut self, c: CpuId, may_continue: bool, left: Option<Left>) -> bool {
        let is_at_hand = may_continue || self.k.first_local(c).is_some();
        let cpu = &mut *self.k.cpus.this_cpu;
        cpu.picks += 1;
        cpu.errands.set_throttles(false);
        let is_usual = cpu.rt.is_empty() && !cpu.released && cpu.next_class <= SchedClass::Ext;
        debug_assert!(left.is_none() || self.k.scx.phase != Phase::Absent);
        let has_scheduler = left.is_some() || self.k.scx.phase != Phase::Absent;
        if !is_usual || self.k.fair.queued > 0 || !has_scheduler {
            self.pick_rarely(c);
            return false;
        }
        cpu.sync_pending = false;
        if is_at_hand {
            self.pick_at_hand(c);
            return false;
        }
        cpu.in_balance = true;
        self.may_go_straight_knowing(left.is_some(), || Frame::Dispatch { left: DSP_MAX_LOOPS })
            && self.dispatch_here(c, DSP_MAX_LOOPS, left)
    }

    /// No higher class has a task, but sched_ext may have one without asking the scheduler. The choice costs nothing.
    #[inline(never)]
    fn pick_at_hand(&mut self, c: CpuId) {
        match self.pick_ext(c) {
            Some(next) => self.go_straight(Frame::Switch { next }, |sim| _ = sim.switch(c, next)),
            None => self
                .go_straight(Frame::Dispatch { left: DSP_MAX_LOOPS }, |sim| sim.dispatch(c, DSP_MAX_LOOPS)),
        }
    }

    /// Tries the classes above sched_ext first.
    #[inline(never)]
    fn pick_rarely(&mut self, c: CpuId) {
        if !self.k.this_cpu().rt.is_empty() && self.pick_rt(c) {
            return;
        }
        if self.k.fair.queued > 0 && (self.pick_fair(c) || self.searches(c)) {
            return;
        }
        self.pick_below_fair(c);
    }

    /// Continues the pick when no higher class has a task.
    fn pick_below_fair(&mut self, c: CpuId) {
        if self.k.scx.phase == Phase::Absent {
            return self.go(Frame::Switch { next: TaskId::IDLE }, |sim| _ = sim.switch(c, TaskId::IDLE));
        }
        self.begin_pick_ext();
        if self.k.this_cpu().released {
            return self.acquire_cpu(c);
        }
        if let Some(next) = self.pick_ext(c) {
            return self.go(Frame::Switch { next }, |sim| _ = sim.switch(c, next));
        }
        self.go(Frame::Dispatch { left: DSP_MAX_LOOPS }, |sim| sim.dispatch(c, DSP_MAX_LOOPS));
    }

    /// Picks the next real-time task, if one may run.
    #[cold]
    fn pick_rt(&mut self, c: CpuId) -> bool {
        self.k.update_curr(self.vm.world(), c);
        let Some(next) = self.k.next_rt() else { return false };
        self.k.this_cpu().next_class = SchedClass::Rt;
        self.k.arm_servers(c);
        self.k.this_cpu().stack.push(Frame::Switch { next });
        true
    }

    /// Like [`Sim::pick`], after the search on other CPUs.
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
        if self.k.cpus[c].nr_ready() > 0 || !self.k.begin_newidle_search(c) {
            return false;
        }
        self.k
            .this_cpu()
            .stack
            .extend([Frame::Fair(FairFrame::Newidle { level: 0 }), Frame::Unlock { rq: c }]);
        true
    }

    /// Picks the next fair task, if one may run.
    #[cold]
    fn pick_fair(&mut self, c: CpuId) -> bool {
        self.k.update_curr(self.vm.world(), c);
        let Some(next) = self.k.next_fair(c) else { return false };
        self.k.this_cpu().next_class = SchedClass::Fair;
        self.k.arm_servers(c);
        self.k.this_cpu().stack.push(Frame::Switch { next });
        true
    }

    /// It is sched_ext's turn to pick.
    #[inline(always)]
    fn begin_pick_ext(&mut self) {
        let cpu = self.k.this_cpu();
        if cpu.next_class > SchedClass::Ext {
            cpu.next_class = SchedClass::Ext;
            if cpu.rt.is_empty() && cpu.fair.is_empty() {
                // The last task of a higher class has left: nothing starves.
                cpu.server.stop();
            }
        }
        cpu.sync_pending = false;
    }

    /// The task that sched_ext has to run without asking the scheduler (`balance_one()`), if it has one.
    #[inline(always)]
    fn pick_ext(&mut self, c: CpuId) -> Option<TaskId> {
        let next = self.k.next_ext(self.vm.world(), c);
        match next {
            Some(_) => self.k.reenqueue_extra(c),
            None => self.k.this_cpu().in_balance = true,
        }
        next
    }

    /// [`Frame::Dispatch`]: the global queue first, then the scheduler
    /// (`scx_dispatch_sched()`).
    #[inline(never)]
    pub(crate) fn dispatch(&mut self, c: CpuId, rounds: u32) {
        self.dispatch_here(c, rounds, None);
    }

    /// Like `dispatch`, inlined into the path of a task that blocks.
    #[inline(always)]
    fn dispatch_here(&mut self, c: CpuId, rounds: u32, left: Option<Left>) -> bool {
        if let Some(next) = self.k.next_global(self.vm.world(), c) {
            self.found(c, next);
            return false;
        }
        if !self.k.has(Op::Dispatch) || self.k.this_cpu().bypassing || !self.k.this_cpu().online {
            self.go(Frame::NothingFound, |sim| _ = sim.nothing_found(c));
            return false;
        }
        let cpu = self.k.this_cpu();
        cpu.dispatch.dispatched = 0;
        let (prev, prev_ea) = match left {
            Some(left) => (left.task, left.ea.0),
            None => {
                let prev = cpu.curr;
                let of_ext = self.k.tasks.get(prev).filter(|t| t.class == SchedClass::Ext);
                (prev, of_ext.map_or(0, |t| t.ea.0))
            }
        };
        let args = [self.k.cpu_argument(c), prev_ea];
        self.called_known(c, Op::Dispatch, (prev, &args), || Frame::Dispatched { left: rounds })
            && self.dispatched(c, rounds, left)
    }

    /// Like `dispatched`, if that had to wait.
    #[inline(never)]
    pub(crate) fn dispatched_later(&mut self, c: CpuId, left: u32) -> bool {
        let Some((prev, next)) = self.moved_here(c, None) else {
            return self.dispatched_otherwise(c, left);
        };
        self.may_go_straight(|| Frame::Switch { next }) && self.switch_from_left(c, prev, next)
    }

    /// [`Frame::Dispatched`]: flushes the dispatches that `ops.dispatch` buffered, and checks for a task again.
    #[inline(always)]
    fn dispatched(&mut self, c: CpuId, rounds: u32, left: Option<Left>) -> bool {
        debug_assert!(self.goes_on());
        if let Some((prev, next)) = self.moved_here(c, left) {
            return self.switch_from_left(c, prev, next);
        }
        self.dispatched_otherwise(c, rounds)
    }

    /// If `ops.dispatch` has moved a task here, and the CPU needs one because its task sleeps: the previous task and
    /// that one. Nothing else is left to do then. The previous task may be known to have `left`.
    #[inline(always)]
    fn moved_here(&mut self, c: CpuId, left: Option<Left>) -> Option<(TaskId, TaskId)> {
        let cpu = &self.k.cpus.this_cpu;
        let prev = left.map_or(cpu.curr, |left| left.task);
        if !cpu.dispatch.inserts.is_empty() || cpu.nr_immed > 0 {
            return None;
        }
        let next = self.k.first_local(c)?;
        debug_assert!(left.is_none() || self.k.has_left_to_sleep(prev));
        if left.is_none() && !self.k.has_left_to_sleep(prev) {
            return None;
        }
        self.k.this_cpu().in_balance = false;
        Some((prev, next))
    }

    /// Like `dispatched` if the scheduler has buffered dispatches, the previous task may continue or is dead, or there
    /// is nothing to run.
    #[inline(never)]
    fn dispatched_otherwise(&mut self, c: CpuId, left: u32) -> bool {
        if !self.k.flush_dispatch(self.vm.world(), c) {
            self.k.charge_ns(c, crate::state::kernel::SPIN_NS);
            self.k.this_cpu().stack.push(Frame::Dispatched { left });
            return false;
        }
        let at_hand = self.k.next_at_hand(self.vm.world(), c);
        if let Some(next) = at_hand.or_else(|| self.k.next_global(self.vm.world(), c)) {
            self.found(c, next);
            return false;
        }
        if self.k.this_cpu().dispatch.dispatched == 0 {
            return self.may_go(|| Frame::NothingFound) && self.nothing_found_here(c);
        }
        let next = if left <= 1 {
            self.k.this_cpu().errands.add_kick(c, 0);
            Frame::NothingFound
        } else {
            Frame::Dispatch { left: left - 1 }
        };
        self.k.this_cpu().stack.push(next);
        false
    }

    #[inline(always)]
    fn found(&mut self, c: CpuId, next: TaskId) {
        self.k.end_balance(c, next);
        self.go(Frame::Switch { next }, |sim| _ = sim.switch(c, next));
    }

    /// [`Frame::NothingFound`]: the previous task continues, unless the scheduler wants to enqueue
    /// even the last task (`SCX_OPS_ENQ_LAST`); otherwise the CPU goes idle.
    pub(crate) fn nothing_found(&mut self, c: CpuId) -> bool {
        self.nothing_found_here(c)
    }

    /// Like `nothing_found`, inlined into the path to it.
    #[inline(always)]
    fn nothing_found_here(&mut self, c: CpuId) -> bool {
        let prev = self.k.this_cpu().curr;
        let is_wanted = self.k.cpus.this_cpu.is_wanted_above();
        if !is_wanted && self.k.has_left_to_sleep(prev) && self.k.this_cpu().pauses.is_empty() {
            self.k.end_balance(c, TaskId::IDLE);
            return self.switch_to_idle(c, prev);
        }
        self.nothing_found_otherwise(c, prev, is_wanted);
        false
    }

    /// Like `nothing_found` if the previous task does not sleep, or a class above sched_ext wants the CPU.
    #[inline(never)]
    fn nothing_found_otherwise(&mut self, c: CpuId, prev: TaskId, is_wanted: bool) {
        let keep = self.k.keeps_last();
        if !keep && is_wanted {
            // The starved classes have nothing to run after all.
            let cpu = self.k.this_cpu();
            cpu.server.stop();
            cpu.in_balance = false;
            return cpu.stack.push(Frame::Pick);
        }
        if keep {
            self.k.scx.events.count(ScxEvent::DispatchKeepLast);
        }
        self.found(c, if keep { prev } else { TaskId::IDLE });
    }
}
