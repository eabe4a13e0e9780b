//! The main loop: one total order over everything that any CPU does.
//!
//! The loop takes the earliest event from the queue. A timer goes to a CPU's inbox; a CPU continues with the frames on
//! its stack, but takes a step only while no other CPU has something earlier to do. So everything, in a frame or in a
//! callback's call, happens in the order of virtual time, and a callback on one CPU sees what others do while it runs.

use crate::paths::duty::Duty;
use crate::paths::sim::Sim;
use crate::rules::work::stop_working;
use crate::run::step::Step;
use crate::state::cpu::Reenqueued;
use crate::state::event::Source;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use crate::state::task::Doing;
use keel_abi::bpf::Engine;
use keel_abi::scx::{Op, wake};
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::Sink;

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has reached the requested moment.
    Running,
    /// Nothing more will happen, or the scheduler has ended.
    Ended,
    /// The scheduler has asked to be reloaded when it ended, and the reload is due; or a user-space program needs the
    /// run's owner.
    Detached,
}

/// Whether a CPU may take its next step.
enum Turn {
    /// It comes first.
    Own,
    /// Others come before its step at this moment, or the queue is barred.
    Others(Instant),
    /// It has a reason to pause, or the loop has something to do, and perhaps others come before it, too.
    Pause,
}

/// What a CPU in the kernel does next.
#[derive(Clone, Copy)]
enum Next {
    /// It asks whether it may take its next step.
    Ask,
    /// It may take that at once ([`Step::First`]).
    Step,
    /// It leaves the kernel.
    Leave,
}

impl Next {
    /// It has taken a step, which says whether the CPU stays first.
    #[inline(always)]
    fn after(stays_first: bool) -> Self {
        if stays_first { Self::Step } else { Self::Ask }
    }
}

/// How a CPU's turn ends.
enum End {
    /// It is in user mode or idle until this moment, and others come before that.
    ForLater(Instant),
    /// It is in user mode until this moment, which comes before everything else.
    Until(Instant),
    /// The same, but the loop has something to do before.
    AfterLoop(Instant),
    /// It is in the middle of a path, and others come before its next step at this moment.
    Held(Instant),
    /// It is in the middle of a path, and has a reason to pause, or the loop has something to do before its next step.
    Paused,
}

impl<E: Engine> Sim<E> {
    /// Runs until virtual time reaches `until`, reporting events to `sink`. If it is asked to stop, it continues to the
    /// next instant at which something is due: no CPU has passed that.
    #[inline(never)]
    pub fn run_until(&mut self, mut until: Instant, sink: &mut dyn Sink) -> State {
        self.k.queue.set_horizon(until);
        loop {
            if self.stop.is_asked() {
                until = until.min(self.k.queue.next_due());
                self.k.queue.set_horizon(until);
            }
            let Some((at, source)) = self.k.queue.pop() else {
                if self.k.queue.is_barred() {
                    self.k.queue.lift_bar();
                    continue;
                }
                break;
            };
            'event: {
                let (c, sleeper) = match source {
                    Source::Timer(timer) => {
                        self.k.fetch_sleepers(self.vm.world());
                        let Some(due) = self.k.timer_fires(timer, at) else { break 'event };
                        due
                    }
                    Source::Cpu(c) => (c, TaskId::IDLE),
                };
                // The only call, so it is inlined here.
                self.run_cpu(c, at, sleeper);
            }
            if self.k.out.awaits_loop()
                && let Some(state) = self.settles(sink)
            {
                return state;
            }
        }
        self.k.now = self.k.now.max(until);
        self.k.out.flush(sink);
        match self.k.queue.next_due() {
            Instant::NEVER => State::Ended,
            _ => State::Running,
        }
    }

    /// Does what else than events awaits a turn of the loop. Returns how the run stops, if it does.
    #[inline(never)]
    fn settles(&mut self, sink: &mut dyn Sink) -> Option<State> {
        if self.k.out.is_full() {
            self.k.out.flush(sink);
        }
        let state = if self.k.out.may_halt() { self.k.halt() } else { None };
        if state.is_some() {
            self.k.out.flush(sink);
        }
        state
    }

    /// Lets `c` do what is due at `at`, and continue for as long as no other CPU is due first. It enters the kernel for
    /// a timer that wakes `sleeper`, unless that is the idle task: then it has to look. Then the CPU that is due next
    /// goes on at once, if the loop has nothing to do before that. Nothing here keeps that CPU's number: code that
    /// needs it asks for it.
    #[inline(always)]
    fn run_cpu(&mut self, c: CpuId, mut at: Instant, mut sleeper: TaskId) {
        self.k.cpus.run(c);
        loop {
            let cpu = self.k.this_cpu();
            debug_assert!(!cpu.pauses.is_parked(), "a CPU in line for a lock has no event");
            debug_assert!(cpu.in_user || cpu.clock <= at, "it was to go on when its last step was over");
            if !cpu.pauses.is_empty() {
                self.k.queue.bar();
            }
            let next = if self.k.this_cpu().in_user { self.enter_kernel(at, sleeper) } else { Next::Ask };
            sleeper = TaskId::IDLE;
            let next = match self.run_path(next) {
                End::Until(own) => {
                    at = own;
                    continue;
                }
                End::ForLater(own) => self.lets_others_run(own),
                End::AfterLoop(own) => return self.k.queue.return_cpu(self.k.cpus.this_id(), own),
                End::Held(own) => self.lets_others_step(own),
                End::Paused => return self.pauses(),
            };
            let Some(next) = next else { return };
            at = next.0;
            self.k.cpus.run_other(next.1);
        }
    }

    /// Enters the kernel from user mode or idle. A wakeup of `sleeper` begins at once, and so does the next step of a
    /// task whose work is done; anything else that the CPU enters for is left to do.
    #[inline(always)]
    fn enter_kernel(&mut self, at: Instant, sleeper: TaskId) -> Next {
        let Kernel { cpus, tasks, counters, machine, .. } = &mut self.k;
        let (cpu, costs) = (&mut *cpus.this_cpu, &machine.costs);
        cpu.clock = cpu.clock.max(at);
        cpu.in_user = false;
        if cpu.curr.index() < tasks.len() {
            let task = &mut tasks[cpu.curr];
            stop_working(cpu, task, counters, at);
        } else {
            std::hint::cold_path();
            cpu.spent_ps += costs.idle_exit_ns * 1000;
        }
        if !sleeper.is_idle() {
            debug_assert!(cpu.pauses.is_empty(), "a timer that wakes a task by itself has found it so");
            cpu.clock = Instant::from_ns(cpu.clock.as_ns() + costs.irq_ns);
        } else if cpu.is_plainly_free() {
            if cpu.work_done_at > at {
                return Next::Ask;
            }
            // That it has nothing else to do holds as long as its clock stays.
            if self.k.is_first_at_once() {
                return self.goes_on_and_leaves(self.k.cpus.this_id());
            }
        } else if !self.enters_for_act(at) {
            return Next::Ask;
        }
        let c = self.k.cpus.this_id();
        if !self.k.is_clearly_first() {
            self.leave_entry(sleeper);
            return Next::Ask;
        }
        if sleeper.is_idle() {
            return self.acts_and_leaves(c);
        }
        // Its timer fired just now, so this sleep is still the same.
        Next::after(self.wake(c, sleeper, wake::TTWU, TaskId::IDLE))
    }

    /// Returns whether the CPU enters the kernel because the current task's work is done. Leaves a frame for anything
    /// else.
    #[inline(always)]
    fn enters_for_act(&mut self, at: Instant) -> bool {
        if self.k.this_cpu().pauses.takes_turns() {
            self.k.enters_in_turns(self.k.cpus.this_id(), at);
        }
        let irq_ps = self.k.machine.costs.irq_ns * 1000;
        let cpu = self.k.this_cpu();
        let (frame, ps) = if cpu.errands.has_irq() {
            (Frame::Interrupt, irq_ps)
        } else if cpu.need_resched && cpu.resched_at <= at {
            (Frame::Schedule, 0)
        } else if cpu.ticks.tick() <= at {
            (Frame::Tick, irq_ps)
        } else if cpu.ticks.hrtick() <= at {
            (Frame::Hrtick, irq_ps)
        } else {
            return cpu.work_done_at <= at;
        };
        cpu.spent_ps += ps;
        cpu.stack.push(frame);
        false
    }

    /// Leaves what `enter_kernel` would begin with for later.
    #[inline(never)]
    fn leave_entry(&mut self, sleeper: TaskId) {
        let frame = match self.k.tasks.get(sleeper) {
            Some(t) => Frame::WakeSleeper { task: sleeper, sleep: t.sleeps },
            None => Frame::Act,
        };
        self.k.this_cpu().stack.push(frame);
    }

    /// Continues what the CPU has to do in the kernel, until it is done, an earlier event elsewhere goes first, or it
    /// has to wait for a lock.
    #[inline(always)]
    fn run_path(&mut self, mut next: Next) -> End {
        loop {
            if let Some(end) = self.run_frames(next) {
                return end;
            }
            if let Some(end) = self.leave_kernel() {
                return end;
            }
            next = Next::Ask;
        }
    }

    /// Takes the CPU's steps. Returns nothing once it leaves the kernel. If another CPU in the middle of a path is due
    /// before a step, the loop continues with that CPU.
    #[inline(always)]
    fn run_frames(&mut self, next: Next) -> Option<End> {
        let mut asks = match next {
            Next::Ask => true,
            Next::Step => false,
            Next::Leave => return None,
        };
        loop {
            if asks && let Some(end) = self.asks_for_step() {
                return Some(end);
            }
            loop {
                match self.advance() {
                    Next::Ask => break,
                    Next::Step => debug_assert!(self.k.cpus.this_cpu.spent_ps < 1000 && self.goes_on()),
                    Next::Leave => return None,
                }
            }
            asks = true;
        }
    }

    /// Returns nothing once the CPU may take its next step, or another one that is due before that.
    #[inline(always)]
    fn asks_for_step(&mut self) -> Option<End> {
        match self.takes_step() {
            Turn::Own => {}
            Turn::Others(at) => {
                if !self.changes_places(at) {
                    if !self.k.queue.is_barred() {
                        return Some(End::Held(at));
                    }
                    std::hint::cold_path();
                    if let Turn::Pause = self.takes_step_rarely() {
                        return Some(End::Paused);
                    }
                }
            }
            Turn::Pause => return Some(End::Paused),
        }
        None
    }

    /// The CPU is in the middle of a path, and others come before its next step at `at`. If the next of them is so,
    /// too, that one may take its next step instead: its clock has shown all costs since it was interrupted. Returns
    /// whether it does.
    #[inline(always)]
    fn changes_places(&mut self, at: Instant) -> bool {
        let Some(next) = self.k.queue.change_places(self.k.cpus.this_id(), at) else { return false };
        self.k.cpus.run_other(next);
        let cpu = &*self.k.cpus.this_cpu;
        debug_assert!(cpu.pauses.is_empty(), "a CPU that has reasons to pause is not among those");
        debug_assert!(
            cpu.spent_ps < 1000 && cpu.clock >= self.k.now,
            "nothing has happened to it since then"
        );
        debug_assert!(
            self.k.queue.comes_first(self.k.cpus.this_id(), cpu.clock),
            "its key was the first of all"
        );
        self.k.now = cpu.clock;
        true
    }

    /// Returns whether the CPU may take its next step, after the costs of the last one.
    #[inline(always)]
    fn takes_step(&mut self) -> Turn {
        let cpu = &mut *self.k.cpus.this_cpu;
        if cpu.spent_ps >= 1000 {
            if self.k.queue.is_barred() {
                std::hint::cold_path();
                return self.takes_step_rarely();
            }
            cpu.settle_costs();
        }
        match self.k.catches_up() {
            None => Turn::Own,
            Some(at) => Turn::Others(at),
        }
    }

    /// Returns whether the CPU may take its next step although the queue is barred: it has reasons to pause or the loop
    /// has something to do before another CPU goes on. An `ops.dequeue` that it owes comes before that.
    #[inline(never)]
    fn takes_step_rarely(&mut self) -> Turn {
        while !self.k.this_cpu().pauses.is_empty() {
            if !self.k.may_step() {
                return Turn::Pause;
            }
            if !self.k.this_cpu().pauses.owes_dequeue() {
                break;
            }
            if !self.k.catches_up_anyway() {
                return Turn::Pause;
            }
            self.run_pending_dequeues();
        }
        if self.k.this_cpu().pauses.is_empty() && !self.k.out.awaits_loop() {
            self.k.queue.lift_bar();
        }
        if self.k.catches_up_anyway() { Turn::Own } else { Turn::Pause }
    }

    /// Takes the CPU's next step, or fulfils a duty. It leaves the kernel if it has none of either, or its task only
    /// works then.
    #[inline(always)]
    fn advance(&mut self) -> Next {
        let c = self.k.cpus.this_id();
        let duty = match self.step(c) {
            Step::Taken => return Next::Ask,
            Step::First => return Next::Step,
            Step::Begins(duty) => duty,
            Step::None => match self.duty() {
                Some(duty) => duty,
                None => return Next::Leave,
            },
        };
        self.fulfil(c, duty)
    }

    /// Carries out [`Duty::Act`]. The CPU leaves the kernel if the task only works then, and nothing else is left to
    /// do.
    #[inline(always)]
    fn acts_and_leaves(&mut self, c: CpuId) -> Next {
        match self.may_act() {
            true => self.goes_on_and_leaves(c),
            false => Next::Ask,
        }
    }

    /// Like `acts_and_leaves` if it is known that the CPU's task may go on.
    #[inline(always)]
    fn goes_on_and_leaves(&mut self, c: CpuId) -> Next {
        debug_assert!(self.may_act());
        if self.go_on(c).is_none() {
            return Next::Ask;
        }
        let cpu = &*self.k.cpus.this_cpu;
        if cpu.stack.is_empty() && cpu.pauses.is_empty() { Next::Leave } else { Next::Ask }
    }

    /// Carries out the CPU's duty.
    #[inline(always)]
    fn fulfil(&mut self, c: CpuId, duty: Duty) -> Next {
        match duty {
            Duty::Act => return self.acts_and_leaves(c),
            Duty::Interrupt => self.take_interrupt(c),
            Duty::Schedule => return Next::after(self.schedule(c)),
            Duty::Tick => {
                // A CPU that is busy all the time looks here whether the run is to stop.
                if self.stop.is_asked() {
                    self.k.let_halt();
                }
                self.tick(c);
            }
            Duty::Hrtick => self.hrtick(c),
            Duty::Throttle => self.throttle_current(c),
            Duty::Kick => {
                let (target, flags) = self.k.this_cpu().errands.next_kick();
                self.kick(c, target, flags);
            }
            Duty::Reenqueue => match self.k.this_cpu().errands.next_reenqueue() {
                Reenqueued::Local(rq) => self.reenqueue(c, rq),
                Reenqueued::User(id) => self.reenqueue_user(id),
            },
            Duty::Disable => self.begin_disable(),
            Duty::Die => self.die(c),
        }
        Next::Ask
    }

    /// Suspends the CPU in the middle of a path: others run first, or it queues for a lock until it gets it.
    #[inline(never)]
    fn pauses(&mut self) {
        let c = self.k.cpus.this_id();
        let cpu = self.k.this_cpu();
        let at = cpu.clock;
        match cpu.pauses.is_parked() {
            true => self.k.queue.clear_cpu(c),
            // Only a CPU that has no reason to pause is among those that change places.
            false => self.k.queue.return_cpu(c, at),
        }
    }

    /// The CPU is in user mode or idle until `at`, and others come before that. Returns who is next, and when, if the
    /// loop has nothing to do before that.
    #[inline(always)]
    fn lets_others_run(&mut self, at: Instant) -> Option<(Instant, CpuId)> {
        let c = self.k.cpus.this_id();
        if !self.k.out.awaits_loop()
            && let Some(next) = self.k.queue.exchange_cpu(c, at, false)
        {
            return Some(next);
        }
        self.k.queue.return_cpu(c, at);
        None
    }

    /// The CPU is in the middle of a path, and others come before its next step at `at`. Returns like
    /// `lets_others_run`.
    #[inline(always)]
    fn lets_others_step(&mut self, at: Instant) -> Option<(Instant, CpuId)> {
        let c = self.k.cpus.this_id();
        let next = self.k.queue.exchange_cpu(c, at, true);
        if next.is_none() {
            self.k.queue.hold_cpu(c, at);
        }
        next
    }

    /// Calls an `ops.dequeue` that is owed.
    fn run_pending_dequeues(&mut self) {
        let c = self.k.cpus.this_id();
        if let Some((task, flags)) = self.k.this_cpu().pauses.next_dequeue() {
            let ea = self.k.tasks[task].ea;
            self.start(c, Op::Dequeue, task, &[ea.0, flags]);
        }
    }

    /// Goes back to user mode or idle, and finds the CPU's next event. A task that is between steps continues its
    /// program at once, if nothing else comes first. Returns nothing if the CPU has not left the kernel yet.
    #[inline(always)]
    fn leave_kernel(&mut self) -> Option<End> {
        let c = self.k.cpus.this_id();
        let mut doing = self.k.does_next();
        if doing == Some(Doing::Steps) && self.steps_at_once() {
            doing = Some(Doing::Work(self.go_on(c)?));
        }
        loop {
            let at = self.k.start_working(c, doing);
            self.k.this_cpu().in_user = true;
            if !self.k.queue.comes_first(c, at) {
                return Some(End::ForLater(at));
            }
            if !self.goes_straight() {
                return Some(End::AfterLoop(at));
            }
            let cpu = &mut *self.k.cpus.this_cpu;
            if at > cpu.clock {
                return Some(End::Until(at));
            }
            cpu.in_user = false;
            // If it only works then, the CPU still comes first and leaves the kernel again.
            doing = Some(Doing::Work(self.go_on(c)?));
        }
    }

    /// Returns whether nothing comes before the next step of the current task, which is between steps: the CPU need not
    /// get ready to leave the kernel.
    #[inline(always)]
    fn steps_at_once(&self) -> bool {
        let cpu = &*self.k.cpus.this_cpu;
        // What changes how fast siblings are is noted as a CPU leaves the kernel, and its first tick is set then.
        !cpu.shares_speed
            && cpu.ticks.tick() != Instant::NEVER
            && self.k.queue.is_before_all(cpu.clock)
            && self.goes_straight()
    }

    /// Returns whether a CPU whose next event comes before every other may take it without a turn of the loop. What a
    /// turn checks besides events is rare, or soon over. Each tick looks whether the run is to stop.
    #[inline(always)]
    fn goes_straight(&self) -> bool {
        !self.k.out.awaits_loop()
    }
}

impl Kernel {
    /// Returns how the run stops, if the scheduler has exited or its user-space half has failed.
    #[cold]
    fn halt(&self) -> Option<State> {
        match () {
            () if self.again.is_due() => Some(State::Detached),
            () if self.is_over() || self.failed_program.is_some() => Some(State::Ended),
            () => None,
        }
    }

    /// Returns whether the scheduler has exited for good, so that the run ends with it.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.scx.is_gone() && !self.again.is_awaited()
    }
}
