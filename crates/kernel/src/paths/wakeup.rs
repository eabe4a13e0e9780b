//! Wakeups: a CPU is chosen, its runqueue locked, the task put there (`try_to_wake_up()`).

use crate::paths::callback::Begun;
use crate::paths::queued_wakeup;
use crate::paths::scx::enqueue::begins_queueing;
use crate::paths::sim::Sim;
use crate::state::bpf::functions::F;
use crate::state::class::SchedClass;
use crate::state::cpu::Cpu;
use crate::state::frame::Frame;
use crate::state::kernel::{Kernel, SPIN_NS};
use crate::state::scx::events::ScxEvent;
use crate::state::task::{State, Task};
use crate::state::task_struct::TaskStruct;
use keel_abi::bpf::{Ea, Engine};
use keel_abi::scx::{Op, enq, wake};
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::event::Chooser;
use keel_trace::{Class, What};

impl<E: Engine> Sim<E> {
    /// [`Frame::Wake`]: `select_task_rq()`. Like all steps that follow, it returns whether the CPU [`stays
    /// first`](crate::run::step::Step::First).
    pub(crate) fn wake(&mut self, c: CpuId, task: TaskId, flags: u64, waker: TaskId) -> bool {
        if !waker.is_idle() {
            self.k.fetch_task(self.vm.world(), task);
        }
        let (t, cpu) = (&mut self.k.tasks[task], &mut *self.k.cpus.this_cpu);
        let is_asleep = match t.state {
            State::Blocked => !(t.waking | t.on_cpu | t.busy),
            State::New => !(t.on_cpu | t.busy),
            _ => false,
        };
        if !is_asleep {
            self.wake_rarely(c, task, flags, waker);
            return false;
        }
        t.busy = true;
        cpu.spent_ps += self.k.machine.costs.wakeup_ns * 1000 + self.k.lines.write_task_ps(task, &cpu.holder);
        let (prev, ea) = (t.wake_cpu, t.ea);
        let may_choose = t.class == SchedClass::Ext && t.has_choice();
        if may_choose && self.k.scx.entries.has(Op::SelectCpu) && !self.k.cpus[t.cpu].bypassing {
            self.k.emit_wakes(c, waker, task, flags);
            let args = [ea.0, self.k.cpu_argument(prev), flags];
            let selected = || Frame::WakeSelected { task, flags, waker };
            return self.called_known(c, Op::SelectCpu, (task, &args), selected)
                && self.wake_selected(c, task, flags, waker);
        }
        self.k.emit_wakes(c, waker, task, flags);
        self.wake_by_default(c, task, flags, waker);
        false
    }

    /// A task that is only about to block stays runnable (`ttwu_runnable()`), and one that isn't blocked is left alone.
    /// If it is still being switched out, the waker waits for that (`smp_cond_load_acquire(&p->on_cpu)`).
    #[inline(never)]
    fn wake_rarely(&mut self, c: CpuId, task: TaskId, flags: u64, waker: TaskId) {
        let t = self.k.task(task);
        match t.state {
            State::Blocked if t.waking => return,
            State::New | State::Blocked => {}
            State::Blocking => {
                self.k.emit_wakes(c, waker, task, flags);
                return self.k.task(task).state = State::Runnable;
            }
            State::Runnable | State::Exiting | State::Dead => return,
        }
        let (cpu, leaves) = (t.cpu, t.on_cpu && !t.busy);
        if leaves && self.k.should_queue_wakeup(c, task, cpu, flags) {
            self.k.emit_wakes(c, waker, task, flags);
            return self.k.send_wakeup(c, task, cpu, waker);
        }
        self.look_again(c, SPIN_NS, Frame::Wake { task, flags, waker });
    }

    /// A CPU is chosen without the scheduler.
    #[inline(never)]
    fn wake_by_default(&mut self, c: CpuId, task: TaskId, flags: u64, waker: TaskId) {
        let t = &self.k.tasks[task];
        let prev = t.wake_cpu;
        let (chosen, by) = if t.nr_allowed == 1 || t.migration_disabled > 0 {
            let only = if t.is_pinned { t.cpu } else { t.cpus.lowest().expect("a task has a CPU") };
            (only, Chooser::OnlyOne)
        } else if t.class != SchedClass::Ext {
            let chosen = match t.class {
                SchedClass::Fair if let Some(cpu) = self.k.sleeps_in(task) => cpu,
                SchedClass::Fair => self.k.select_fair(c, task, prev, flags),
                _ => self.k.select_rt(c, task, prev, flags),
            };
            (chosen, Chooser::Default)
        } else {
            if self.k.cpus[t.cpu].bypassing {
                self.k.scx.events.count(ScxEvent::BypassDispatch);
            }
            let chosen = self.default_cpu(c, task, flags, prev);
            self.k.mirror_selected(self.vm.world(), task, chosen.0 as i32);
            (chosen, Chooser::Default)
        };
        match self.k.may_place(c, task, chosen, by) {
            true => self.lock_for_wakeup(c, task, chosen, flags, waker),
            false => self.place_elsewhere(c, task, flags, waker),
        }
    }

    /// The kernel's own choice: an idle CPU, and then the task goes directly to its local queue;
    /// otherwise the previous CPU.
    #[inline]
    fn default_cpu(&mut self, c: CpuId, task: TaskId, flags: u64, prev: CpuId) -> CpuId {
        if self.k.scx.tracks_idle {
            let price_ps = self.k.terms[F::SelectCpuDfl as usize].cost_ps();
            self.k.charge_ps(c, price_ps);
        }
        match self.k.select_cpu_dfl(self.vm.world(), c, task, prev, flags) {
            Some(idle) => {
                self.k.refill_slice(self.vm.world(), task);
                self.k.task(task).direct =
                    Some(crate::state::task::Direct { dsq: keel_abi::scx::dsq::LOCAL, enq_flags: 0 });
                idle
            }
            None => prev,
        }
    }

    /// [`Frame::WakeSelected`]: checks that the scheduler chose a valid CPU that the task may use, after BPF can see
    /// what it answered. If it may not, the kernel chooses itself.
    #[inline(always)]
    fn wake_selected(&mut self, c: CpuId, task: TaskId, flags: u64, waker: TaskId) -> bool {
        debug_assert!(self.goes_on());
        let answer = self.k.this_cpu().returned as i32;
        let answer = self.k.answered_cpu(c, answer);
        // A negative answer is no CPU either.
        if answer as u32 as usize >= self.k.cpus.len() {
            std::hint::cold_path();
            self.k.this_cpu().returned = answer as u64;
            self.wake_selected_otherwise(c, task, flags, waker);
            return false;
        }
        let answer = CpuId(answer as u32);
        match self.selected::<true>(c, task, answer, flags, waker) {
            Some(chosen) => self.lock_and_activate::<true>(c, task, chosen, flags, waker),
            None => false,
        }
    }

    /// Like `wake_selected`, if that had to wait. If nothing has changed about the task, as is usual, the waker goes on
    /// as if it had not paused.
    #[inline(never)]
    pub(crate) fn wake_selected_later(&mut self, c: CpuId, task: TaskId, flags: u64, waker: TaskId) -> bool {
        let t = &self.k.tasks[task];
        let may_choose = t.class == SchedClass::Ext && t.has_choice();
        if may_choose && self.k.this_cpu().pauses.is_empty() {
            return self.wake_selected(c, task, flags, waker);
        }
        self.wake_selected_otherwise(c, task, flags, waker);
        false
    }

    /// Like `wake_selected` for an answer that is no CPU, for a task that others have changed meanwhile, and for a CPU
    /// that has a reason to pause.
    #[inline(never)]
    fn wake_selected_otherwise(&mut self, c: CpuId, task: TaskId, flags: u64, waker: TaskId) {
        let answer = self.k.this_cpu().returned as i32;
        let answer = self.k.answered_cpu(c, answer);
        let chosen = match (answer as u32 as usize) < self.k.cpus.len() {
            true => CpuId(answer as u32),
            false => self.no_cpu_selected(c, task, answer),
        };
        self.k.mirror_selected(self.vm.world(), task, answer);
        let Some(target) = self.selected::<false>(c, task, chosen, flags, waker) else { return };
        if self.may_go_straight(|| Frame::WakeLock { task, target, flags, waker }) {
            self.lock_and_activate::<false>(c, task, target, flags, waker);
        }
    }

    /// The CPU that the scheduler has `chosen`, if the waker goes on with that one itself. `STRAIGHT` means that the
    /// waker does not pause from the answer on, which is about one of the scheduler's tasks that may choose between
    /// CPUs. Then BPF can't see the choice yet.
    #[inline(always)]
    fn selected<const STRAIGHT: bool>(
        &mut self,
        c: CpuId,
        task: TaskId,
        chosen: CpuId,
        flags: u64,
        waker: TaskId,
    ) -> Option<CpuId> {
        let (t, cpu) = (&mut self.k.tasks[task], &self.k.cpus[chosen]);
        debug_assert!(!STRAIGHT || t.migration_disabled == 0);
        let may_use = if STRAIGHT { t.may_use_freely(chosen, cpu) } else { t.may_use(chosen, cpu) };
        if !may_use {
            if STRAIGHT {
                self.k.mirror_selected(self.vm.world(), task, chosen.0 as i32);
            }
            self.place_elsewhere(c, task, flags, waker);
            return None;
        }
        if !self.k.out.is_brief() {
            self.k.tell_placed(c, task, chosen, Chooser::SelectCpu);
        } else if !STRAIGHT {
            t.placed = t.placed_by_scheduler();
        }
        if chosen != c && self.k.should_queue_wakeup(c, task, chosen, flags) {
            if STRAIGHT {
                self.leave_placed(task, chosen);
            }
            self.k.send_wakeup(c, task, chosen, waker);
            return None;
        }
        Some(chosen)
    }

    /// A wakeup pauses right after the scheduler has placed its task: its event says later how, and BPF can see where.
    #[inline(never)]
    fn leave_placed(&mut self, task: TaskId, chosen: CpuId) {
        self.k.mirror_selected(self.vm.world(), task, chosen.0 as i32);
        if self.k.out.is_brief() {
            let t = self.k.task(task);
            t.placed = t.placed_by_scheduler();
        }
    }

    #[cold]
    #[inline(never)]
    fn no_cpu_selected(&mut self, c: CpuId, task: TaskId, answer: i32) -> CpuId {
        self.k.error(c, format!("invalid CPU {answer} from ops.select_cpu()"));
        self.k.tasks[task].wake_cpu
    }

    /// The task may not use the CPU that was chosen.
    #[inline(never)]
    fn place_elsewhere(&mut self, c: CpuId, task: TaskId, flags: u64, waker: TaskId) {
        if !self.k.has_cpu(task) {
            return self.place_widened(c, task, flags, waker);
        }
        let target = self.k.fallback_cpu(task);
        self.k.emit_placed(c, task, target, Chooser::Fallback);
        self.lock_for_wakeup(c, task, target, flags, waker);
    }

    #[inline(never)]
    fn lock_for_wakeup(&mut self, c: CpuId, task: TaskId, target: CpuId, flags: u64, waker: TaskId) {
        if target != c && self.k.should_queue_wakeup(c, task, target, flags) {
            return self.k.send_wakeup(c, task, target, waker);
        }
        let lock = Frame::WakeLock { task, target, flags, waker };
        self.go(lock, |sim| sim.wake_lock(c, task, target, flags, waker));
    }

    /// None of the task's CPUs is online any more, so it may use all CPUs.
    #[cold]
    fn place_widened(&mut self, c: CpuId, task: TaskId, flags: u64, waker: TaskId) {
        self.k.widen(self.vm.world(), task);
        let target = self.k.fallback_cpu(task);
        self.k.emit_placed(c, task, target, Chooser::Fallback);
        self.k.this_cpu().stack.push(Frame::WakeLock { task, target, flags, waker });
        self.call_set_cpumask(c, task);
    }

    /// [`Frame::WakeLock`].
    #[inline(never)]
    pub(crate) fn wake_lock(&mut self, c: CpuId, task: TaskId, target: CpuId, flags: u64, waker: TaskId) {
        if self.k.is_leaving(c, task, target) {
            return self.place_elsewhere(c, task, flags, waker);
        }
        if !self.k.lock_rq_last(c, target) {
            return self.k.this_cpu().stack.push(Frame::WakeLock { task, target, flags, waker });
        }
        let activate = Frame::WakeActivate { task, target, flags, waker };
        self.go(activate, |sim| _ = sim.wake_activate_later(c, task, target, flags, waker));
    }

    /// Like `wake_lock` right after the scheduler has placed the task: its CPU is still there. `STRAIGHT` means the
    /// same as in `selected`.
    #[inline(always)]
    fn lock_and_activate<const STRAIGHT: bool>(
        &mut self,
        c: CpuId,
        task: TaskId,
        target: CpuId,
        flags: u64,
        waker: TaskId,
    ) -> bool {
        debug_assert!(!self.k.is_leaving(c, task, target), "the task may use the CPU");
        if !self.k.lock_rq_last(c, target) {
            if STRAIGHT {
                self.leave_placed(task, target);
            }
            self.k.this_cpu().stack.push(Frame::WakeLock { task, target, flags, waker });
            return false;
        }
        let goes_on = self.may_go_settled(|| Frame::WakeActivate { task, target, flags, waker });
        match (STRAIGHT, goes_on) {
            (true, true) => return self.wake_activate::<true>(c, task, target, flags, waker),
            (true, false) => self.leave_placed(task, target),
            (false, true) => return self.wake_activate_later(c, task, target, flags, waker),
            (false, false) => {}
        }
        false
    }

    /// [`Frame::WakeActivate`]: `ttwu_do_activate()` under the target's lock. `STRAIGHT` means the same as in
    /// `selected`: the class and the freedom to choose are still those that the waker has seen.
    #[inline(always)]
    fn wake_activate<const STRAIGHT: bool>(
        &mut self,
        c: CpuId,
        task: TaskId,
        target: CpuId,
        flags: u64,
        waker: TaskId,
    ) -> bool {
        let now = self.k.now;
        debug_assert!(!STRAIGHT || self.goes_on());
        let is_straight = !self.k.has(Op::Runnable) && (STRAIGHT || self.k.this_cpu().pauses.is_empty());
        let (t, cpu) = (&mut self.k.tasks[task], &mut self.k.cpus[target]);
        t.state = State::Runnable;
        t.busy = false;
        let placed = if STRAIGHT { t.placed_by_scheduler() } else { t.placed.take() };
        let moved = std::mem::replace(&mut t.cpu, target) != target;
        debug_assert!(!moved || t.migration_disabled == 0, "a spell without migration");
        t.wake_cpu = target;
        let mut shown = TaskStruct::at(self.vm.world(), t.ea);
        if moved {
            t.show_cpu(&mut shown);
        }
        if STRAIGHT {
            shown.set_selected_cpu(target);
        }
        let is_fork = flags & wake::FORK != 0;
        let is_ext = STRAIGHT || t.class == SchedClass::Ext;
        let may_choose = STRAIGHT || t.has_choice();
        debug_assert!(!STRAIGHT || t.class == SchedClass::Ext && t.has_choice());
        let is_placed = may_choose && flags != queued_wakeup::FLAGS;
        let ea = t.ea;
        let waits = is_ext && joins_runqueue(t, cpu, now);
        let asks = is_ext && is_straight && self.k.scx.asks_for(t, cpu, may_choose);
        if asks {
            begins_queueing(t, cpu, target);
        }
        let told_later = if !STRAIGHT || self.k.out.is_brief() { placed } else { None };
        if is_fork {
            self.k.tell_fork(c, task, target, (told_later, waker));
        } else {
            self.k.counters.wakeups += 1;
            if let Some((by, prev)) = told_later {
                let woken = What::Woken { task, target, waker, prev, by, inserted: false };
                self.k.out.tell_often(self.k.now, c, woken);
            } else {
                self.k.tell(Class::BRIEF, c, What::Wakeup { task, target, waker });
            }
        }
        if !is_ext {
            self.activate_above(task, target, is_fork);
            return false;
        }
        let mut enq_flags = if is_fork { 0 } else { enq::WAKEUP };
        if !is_fork && is_placed {
            enq_flags |= enq::CPU_SELECTED;
            if !STRAIGHT && shown.selected_cpu() != target.0 as i32 {
                self.k.scx.events.count(ScxEvent::SelectCpuFallback);
            }
        }
        self.k.mirror_joined(&mut shown, waits);
        // Nothing has taken time since this step began, so the CPU is still the first.
        if asks {
            return self.ask_for_woken(c, (task, ea), target, enq_flags);
        }
        self.k.this_cpu().stack.push(Frame::Woken { task, target });
        match is_straight {
            true => self.enqueue(c, task, enq_flags),
            false => self.runnable(c, task, ea, enq_flags),
        }
        false
    }

    /// [`Frame::Enqueue`] with a call of `ops.enqueue`, whose stay has begun, and then [`Frame::Woken`].
    #[inline(always)]
    fn ask_for_woken(&mut self, c: CpuId, (task, ea): (TaskId, Ea), target: CpuId, enq_flags: u64) -> bool {
        let begun = self.begin_known(c, Op::Enqueue, task, &[ea.0, enq_flags]);
        if begun == Begun::Suspended {
            std::hint::cold_path();
            let stack = &mut self.k.this_cpu().stack;
            stack.push(Frame::Woken { task, target });
            stack.push(Frame::Enqueued { task, enq_flags });
            stack.push(Frame::Resume);
            return false;
        }
        if !self.k.stays_first_settled() {
            std::hint::cold_path();
            let stack = &mut self.k.this_cpu().stack;
            stack.push_two(|| Frame::Woken { task, target }, || Frame::Enqueued { task, enq_flags });
            return false;
        }
        self.enqueued(c, task, enq_flags);
        let goes_on = self.k.stays_first();
        if !goes_on {
            self.k.this_cpu().stack.push_made(|| Frame::Woken { task, target });
        }
        goes_on && self.woken_ext(c, task, target, true)
    }

    /// Like `wake_activate`, if that had to wait.
    #[inline(never)]
    pub(crate) fn wake_activate_later(
        &mut self,
        c: CpuId,
        task: TaskId,
        target: CpuId,
        flags: u64,
        waker: TaskId,
    ) -> bool {
        self.wake_activate::<false>(c, task, target, flags, waker)
    }

    /// `ttwu_do_activate()` for a task of a higher class than sched_ext's.
    #[inline(never)]
    fn activate_above(&mut self, task: TaskId, target: CpuId, is_new: bool) {
        let cpu = self.k.cpu(target);
        cpu.lock.defers = true;
        cpu.nr_running += 1;
        self.k.enqueue_above(task, false, is_new);
        self.k.this_cpu().stack.push(Frame::Woken { task, target });
    }

    /// `enqueue_task_scx()` up to `ops.runnable`.
    #[inline(always)]
    pub(crate) fn begin_enqueue(&mut self, c: CpuId, task: TaskId, enq_flags: u64) {
        let now = self.k.now;
        let t = &mut self.k.tasks[task];
        let ea = t.ea;
        let waits = joins_runqueue(t, &mut self.k.cpus[t.cpu], now);
        self.k.mirror_joined(&mut TaskStruct::at(self.vm.world(), ea), waits);
        self.runnable(c, task, ea, enq_flags);
    }

    /// `ops.runnable`, and then on.
    #[inline(always)]
    fn runnable(&mut self, c: CpuId, task: TaskId, ea: Ea, enq_flags: u64) {
        let enqueue = Frame::Enqueue { task, enq_flags };
        self.call(c, Op::Runnable, (task, &[ea.0, enq_flags]), enqueue, |sim| {
            sim.enqueue(c, task, enq_flags)
        });
    }

    /// [`Frame::Woken`]: the CPU reschedules if it is idle and got a task in any queue, or if it runs a task of a lower
    /// class. Then deferred work is done, and the lock is released.
    pub(crate) fn woken(&mut self, c: CpuId, task: TaskId, target: CpuId) -> bool {
        if self.k.tasks[task].class == SchedClass::Ext {
            return self.woken_ext(c, task, target, false);
        }
        self.woken_rarely(c, task, target);
        false
    }

    /// Like `woken` for one of the scheduler's tasks. It may be known that the path `goes_on`.
    #[inline(always)]
    fn woken_ext(&mut self, c: CpuId, task: TaskId, target: CpuId, goes_on: bool) -> bool {
        let is_plain = |cpu: &Cpu| cpu.next_class == SchedClass::Ext && cpu.deferred.is_empty();
        if goes_on {
            debug_assert!(self.goes_on());
            if !self.k.scx.needs_slow_path
                && let Some(stays_first) = self.k.unlock_rq_if(c, target, is_plain)
            {
                return stays_first;
            }
            self.woken_rarely(c, task, target);
            return false;
        }
        if self.k.scx.needs_slow_path || !is_plain(&self.k.cpus[target]) {
            self.woken_rarely(c, task, target);
            return false;
        }
        self.may_go_straight(|| Frame::Unlock { rq: target }) && self.k.unlock_rq_here(c, target)
    }

    /// Like `woken_ext` with all that may be to be done.
    #[inline(never)]
    fn woken_rarely(&mut self, c: CpuId, task: TaskId, target: CpuId) {
        let class = self.k.wakeup_preempt(c, target, task);
        match class {
            SchedClass::Rt => self.woken_rt(c, task, target),
            _ => self.finish_rq(c, target),
        }
    }
}

impl Task {
    /// What its wakeup's event says of the scheduler's choice of a CPU: who made it, and where it was before.
    #[inline(always)]
    fn placed_by_scheduler(&self) -> Option<(Chooser, CpuId)> {
        Some((Chooser::SelectCpu, self.wake_cpu))
    }
}

/// One of the scheduler's tasks becomes one of the runqueue's. Returns whether it waits since `now`.
#[inline(always)]
fn joins_runqueue(t: &mut Task, rq: &mut Cpu, now: Instant) -> bool {
    rq.lock.defers = true;
    rq.nr_running += 1;
    t.queued = true;
    t.begins_to_wait(now)
}

impl Kernel {
    /// Shows BPF that a task has joined a runqueue, and whether it waits since now.
    #[inline(always)]
    fn mirror_joined(&mut self, shown: &mut TaskStruct<'_>, waits: bool) {
        if waits {
            self.mirror_waiting(shown);
        }
        shown.set_queued(true);
    }

    /// Returns whether the task may use the chosen CPU. If so, emits that it is placed there.
    #[inline(always)]
    fn may_place(&mut self, c: CpuId, task: TaskId, chosen: CpuId, by: Chooser) -> bool {
        let (t, cpu) = (&self.tasks[task], &self.cpus[chosen]);
        let may_use = t.may_use(chosen, cpu);
        if may_use {
            self.emit_placed(c, task, chosen, by);
        }
        may_use
    }

    /// Emits that the task is placed, or leaves that to its wakeup.
    #[inline(always)]
    fn emit_placed(&mut self, c: CpuId, task: TaskId, chosen: CpuId, by: Chooser) {
        if self.out.is_brief() {
            let t = &mut self.tasks[task];
            t.placed = Some((by, t.wake_cpu));
        } else {
            self.tell_placed(c, task, chosen, by);
        }
    }

    /// Emits that the task is placed, at once.
    #[inline(never)]
    fn tell_placed(&mut self, c: CpuId, task: TaskId, chosen: CpuId, by: Chooser) {
        let prev = self.tasks[task].wake_cpu;
        let idle = self.cpus[chosen].is_idle();
        self.tell(Class::DECISIONS, c, What::Placed { task, prev, chosen, by, idle });
    }

    /// Emits that a new task is runnable, and before that how it was `placed` if that has been left to now.
    #[inline(never)]
    fn tell_fork(
        &mut self,
        c: CpuId,
        child: TaskId,
        target: CpuId,
        (placed, parent): (Option<(Chooser, CpuId)>, TaskId),
    ) {
        if let Some((by, prev)) = placed {
            let idle = self.cpus[target].is_idle();
            self.tell(Class::DECISIONS, c, What::Placed { task: child, prev, chosen: target, by, idle });
        }
        self.tell(Class::BRIEF, c, What::Fork { child, target, parent });
    }
}
