//! What tasks do: the steps of their programs, executed in the kernel on the task's CPU.

pub(crate) mod acts;
pub(crate) mod at_boot;
pub(crate) mod barrier;
pub(crate) mod channel;
pub(crate) mod companion;
pub(crate) mod condition;
pub(crate) mod flag;
pub(crate) mod futex;
pub(crate) mod mutex;
pub(crate) mod next_step;
pub(crate) mod process;
pub(crate) mod semaphore;
pub(crate) mod spin;
pub(crate) mod tape;

use crate::paths::sim::Sim;
use crate::state::cost::Costs;
use crate::state::event::EventQueue;
use crate::state::frame::Frame;
use crate::state::frame::cgroup::CgroupFrame;
use crate::state::kernel::{Kernel, SPIN_NS};
use crate::state::objects::process::Birth;
use crate::state::scx::Phase;
use crate::state::task::{Doing, State, Task};
use keel_abi::bpf::Engine;
use keel_abi::cgroup::CgroupStep;
use keel_abi::task::{Amount, ObjectId, Policy, Step, TimerMode};
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Class, Request, Timer};

/// Steps without a cost of their own that a task takes before it is charged for continuing: so that a
/// program of nothing but loops advances time, too.
const FREE_STEPS: u32 = 64;

/// What follows after a step.
enum Then {
    /// The next step.
    GoOn,
    /// The step took time. The next one follows, if nothing else comes first.
    Act,
    /// Frames were pushed, or the task works: the path goes on by itself.
    Leave,
    /// The task works for this long, and the step did nothing else.
    Work(Span),
}

/// How long a task that may not fork waits before it tries again.
const FORK_WAITS_NS: u64 = 1000;

impl<E: Engine> Sim<E> {
    /// Takes the steps of `task`'s program, which runs on `c`, up to its next work, if nothing else comes first. It was
    /// between steps, or its work is done. Returns how long that work takes, if the CPU still comes first when the task
    /// begins it.
    #[inline(always)]
    pub(crate) fn take_steps(&mut self, c: CpuId, task: TaskId) -> Option<Span> {
        self.k.counters.programs_went_on += 1;
        let mut left = FREE_STEPS;
        // Outside the loop of all other steps, which keeps many values ready for each of its rounds.
        if !self.k.out.wants(Class::ACTS) {
            match self.take_common_steps::<false>(c, task, false, &mut left) {
                Some(Then::Work(work)) => return Some(work),
                Some(Then::Leave) => return None,
                Some(Then::GoOn | Then::Act) | None => {}
            }
        } else {
            let now = self.k.cpus.this_cpu.clock;
            self.k.task(task).begins_steps(now);
        }
        self.take_more_steps(c, task, left)
    }

    /// Like `take_steps`, apart from the code of frequent steps.
    pub(crate) fn take_any_steps(&mut self, c: CpuId, task: TaskId) -> Option<Span> {
        self.k.counters.programs_went_on += 1;
        self.take_more_steps(c, task, FREE_STEPS)
    }

    /// Takes the steps that follow, of which at most `left` may be free.
    #[inline(never)]
    fn take_more_steps(&mut self, c: CpuId, task: TaskId, mut left: u32) -> Option<Span> {
        let tells = self.k.out.wants(Class::ACTS);
        let mut is_free = true;
        while left > 0 {
            // Inline, but for steps that few programs repeat.
            let then = match self.take_common_steps::<true>(c, task, tells, &mut left) {
                Some(then) => then,
                None => {
                    (left, is_free) = (left - 1, false);
                    match tells {
                        true => self.own_step(c, task, |sim| sim.take_any_step(c, task)),
                        false => self.take_step(c, task),
                    }
                }
            };
            match then {
                Then::GoOn => {}
                Then::Act if self.acts_at_once() => {
                    self.k.counters.programs_went_on += 1;
                    (left, is_free) = (FREE_STEPS, true);
                }
                Then::Act | Then::Leave => return None,
                Then::Work(work) => return is_free.then_some(work),
            }
        }
        self.own_step(c, task, |sim| sim.syscall(c));
        self.k.this_cpu().stack.push(Frame::Act);
        None
    }

    /// Takes the next step, whichever it is. What it emits depends on the frame that it leaves.
    #[inline(never)]
    fn take_any_step(&mut self, c: CpuId, task: TaskId) -> Then {
        let then = match self.take_common_steps::<true>(c, task, false, &mut 1) {
            Some(then) => then,
            None => self.take_step(c, task),
        };
        match then {
            Then::Act => {
                self.k.this_cpu().stack.push(Frame::Act);
                Then::Leave
            }
            then => then,
        }
    }

    /// Takes the next steps if they are among those that programs repeat most: up to one that takes time, and `left`
    /// that don't. If `tells`, only ones that charge nothing and wake nobody, and what the task used before it works is
    /// emitted. Without `TRANSFERS`, only ones that can't be followed by another one at once, and these are the first
    /// ones: the task begins them here, so that it is looked up once.
    #[inline(always)]
    fn take_common_steps<const TRANSFERS: bool>(
        &mut self,
        c: CpuId,
        task: TaskId,
        tells: bool,
        left: &mut u32,
    ) -> Option<Then> {
        let now = self.k.cpus.this_cpu.clock;
        let t = &mut self.k.tasks[task];
        if !TRANSFERS {
            t.begins_steps(now);
        }
        while *left > 0 {
            match *self.k.steps.next_of(t)? {
                Step::Loop { to, times: None, .. } => t.next_step = to,
                Step::Loop { to, times: Some(times), slot } => {
                    t.next_step += 1;
                    loop_back(t, to, times, slot);
                }
                Step::Count => {
                    t.next_step += 1;
                    t.counted += 1;
                    // Most programs end so: the next step is known, and free, too.
                    if *left > 1
                        && let Some(&Step::Loop { to, times: None, .. }) = self.k.steps.next_of(t)
                    {
                        t.next_step = to;
                        *left -= 1;
                    }
                }
                Step::Run(amount) => {
                    t.next_step += 1;
                    let mut work = drawn(t, amount);
                    t.doing = Doing::Work(work);
                    if self.k.noise.profile.is_some() {
                        work = self.k.varied(task, work);
                        self.k.task(task).doing = Doing::Work(work);
                    }
                    if tells {
                        self.k.emit_worked(c, task);
                    }
                    return Some(Then::Work(work));
                }
                Step::Sleep(amount) if !tells => {
                    t.next_step += 1;
                    let until = self.k.cpus.this_cpu.clock + drawn(t, amount);
                    return Some(self.sleep_until_timer(c, task, until, Timer::Relative));
                }
                Step::Send { channel, bytes } if TRANSFERS && !tells => {
                    t.next_step += 1;
                    return Some(self.send(c, task, channel, bytes));
                }
                Step::Receive { channel, bytes } if TRANSFERS && !tells => {
                    t.next_step += 1;
                    return Some(self.receive(c, task, channel, bytes));
                }
                _ => return None,
            }
            *left -= 1;
        }
        Some(Then::GoOn)
    }

    /// Takes the next step, one of the others.
    #[inline(never)]
    fn take_step(&mut self, c: CpuId, task: TaskId) -> Then {
        let t = &mut self.k.tasks[task];
        let number = t.next_step;
        let Some(step) = self.k.steps.at(number) else {
            return self.exit_task(c, task);
        };
        t.next_step = number + 1;
        match *step {
            Step::RunFor(span) => {
                self.asks(|_| Request::RunFor(span));
                let until = self.k.this_cpu().clock + span;
                self.k.task(task).doing = Doing::Until(until);
                Then::Leave
            }
            Step::Sleep(amount) => {
                let until = self.k.cpus.this_cpu.clock + drawn(&mut self.k.tasks[task], amount);
                self.sleep_until(c, task, until, Timer::Relative)
            }
            Step::SleepDeferrable(amount) => {
                let until = self.k.cpus.this_cpu.clock + drawn(&mut self.k.tasks[task], amount);
                self.sleep_deferrable(c, task, until);
                self.block(c, task)
            }
            Step::Timer { timer, period, mode } => self.wait_timer(c, task, timer, period, mode),
            Step::Lock(mutex) => self.lock_mutex(c, task, mutex),
            Step::Unlock(mutex) => self.unlock_mutex(c, task, mutex),
            Step::Wait { condition, mutex } => self.wait_condition(c, task, condition, mutex),
            Step::Signal(condition) => self.signal(c, task, condition, 1),
            Step::Broadcast(condition) => self.signal(c, task, condition, u32::MAX),
            Step::Sync { condition, mutex } => {
                self.wait_condition(c, task, condition, mutex);
                self.signal(c, task, condition, 1);
                Then::Leave
            }
            Step::Barrier(barrier) => self.come_to_barrier(c, task, barrier),
            Step::SpinBarrier { barrier, patience } => self.come_to_spin_barrier(c, task, barrier, patience),
            Step::Raise(flag) => self.set_flag(c, task, flag, true),
            Step::Lower(flag) => self.set_flag(c, task, flag, false),
            Step::Yield => {
                self.syscall(c);
                self.k.this_cpu().stack.push(Frame::Yield);
                Then::Leave
            }
            Step::Fork(_) | Step::Spawn(_) if self.k.scx.phase == Phase::Enabling => {
                // A fork waits while a scheduler is being enabled (`scx_fork_rwsem`).
                self.k.tasks[task].next_step = number;
                self.k.charge_ns(c, FORK_WAITS_NS);
                Then::Act
            }
            Step::Fork(spec) => {
                self.syscall(c);
                self.k.this_cpu().stack.push(Frame::Act);
                self.fork(c, spec, task, Birth::Thread);
                Then::Leave
            }
            Step::Spawn(spec) => {
                self.syscall(c);
                self.k.this_cpu().stack.push(Frame::Act);
                self.fork(c, spec, task, Birth::Process);
                Then::Leave
            }
            Step::Exec => {
                self.asks(|_| Request::Exec);
                self.exec(c, task)
            }
            Step::Setsid => {
                self.asks(|_| Request::Setsid);
                self.syscall(c);
                self.k.setsid(self.vm.world(), task);
                Then::Act
            }
            Step::AutogroupNice(nice) => {
                self.asks(|_| Request::AutogroupNice(nice));
                self.syscall(c);
                self.k.set_autogroup_nice(self.vm.world(), task, nice);
                Then::Act
            }
            Step::WaitChild => self.wait_child(c, task),
            Step::Write(pages) => self.write_pages(c, task, pages),
            Step::Touch(bytes) => self.touch(c, task, bytes),
            Step::Begin => {
                self.k.task(task).began = self.k.this_cpu().clock;
                Then::GoOn
            }
            Step::Syscall => {
                self.syscall(c);
                Then::Act
            }
            Step::Nice(nice) if nice == self.k.tasks[task].nice => Then::GoOn,
            Step::Nice(nice) => {
                self.asks(|_| Request::Nice(nice));
                self.syscall(c);
                self.k.this_cpu().stack.push(Frame::SetNice { task, nice });
                Then::Leave
            }
            Step::Affinity(_) if !self.k.would_confine(task, number) => Then::GoOn,
            Step::Affinity(ref cpus) => {
                let cpus = cpus.clone();
                self.asks(|_| Request::Cpus(cpus));
                self.syscall(c);
                self.k.this_cpu().stack.push(Frame::SetCpus { task, step: number });
                Then::Leave
            }
            Step::Policy(policy) if policy == self.k.tasks[task].policy => Then::GoOn,
            Step::Policy(policy) if self.k.refuses(self.vm.world(), task, policy) => Then::GoOn,
            Step::Policy(policy) => {
                self.asks(|_| Request::Policy(policy));
                self.syscall(c);
                self.k.this_cpu().stack.push(Frame::SetPolicy { task, step: number });
                Then::Leave
            }
            Step::MigrateDisable => {
                self.asks(|_| Request::MigrateDisable);
                self.k.migrate_disable(self.vm.world(), task);
                Then::GoOn
            }
            Step::MigrateEnable => {
                self.asks(|_| Request::MigrateEnable);
                if self.migrate_enable(task) { Then::Leave } else { Then::GoOn }
            }
            Step::Cgroup(CgroupStep::Join(id))
                if self.k.cgroups.present(id) == Some(self.k.cgroups.of(task)) =>
            {
                Then::GoOn
            }
            Step::Cgroup(step) => {
                self.asks(|k| k.cgroup_request(step));
                self.syscall(c);
                self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Act { task, step: number }));
                Then::Leave
            }
            Step::Accompany(number) => self.accompany(c, task, number),
            Step::Post { semaphore, sync } => self.post(task, semaphore.0, sync),
            Step::Await(semaphore) => self.await_semaphore(c, task, semaphore.0),
            Step::Play => self.play(c, task),
            Step::Run(_) | Step::Send { .. } | Step::Receive { .. } | Step::Loop { .. } | Step::Count => {
                unreachable!("these are taken before")
            }
        }
    }

    #[inline]
    fn syscall(&mut self, c: CpuId) {
        let syscall_ns = self.k.machine.costs.syscall_ns;
        self.k.charge_ns(c, syscall_ns);
    }

    /// The task goes over its working set: time of its own, in which it waits for memory.
    fn touch(&mut self, c: CpuId, task: TaskId, bytes: u64) -> Then {
        let ns = self.k.objects.caches.touch_ns(&self.k.machine.costs, &self.k.bus, c, task, bytes);
        if ns == 0 {
            return Then::GoOn;
        }
        self.k.task(task).doing = Doing::Work(Span::from_ns(ns));
        Then::Leave
    }

    /// The task makes a system call in which it blocks.
    #[inline]
    fn block(&mut self, c: CpuId, task: TaskId) -> Then {
        self.syscall(c);
        self.give_up_cpu(c, task)
    }

    /// The task gives the CPU up until it is woken.
    #[inline]
    fn give_up_cpu(&mut self, c: CpuId, task: TaskId) -> Then {
        debug_assert!(self.k.cpus.is_running(c), "a task gives up its own CPU");
        self.k.task(task).state = State::Blocking;
        self.k.resched_here();
        Then::Leave
    }

    fn sleep_deferrable(&mut self, c: CpuId, task: TaskId, until: Instant) {
        self.k.task(task).sleeps += 1;
        self.k.task(task).sleeps_until = Some((until, Timer::Deferrable));
        self.k.arm_deferrable(c, task, until);
    }

    #[inline(never)]
    fn sleep_until(&mut self, c: CpuId, task: TaskId, until: Instant, timer: Timer) -> Then {
        let until = until.max(self.k.cpus.this_cpu.clock);
        self.sleep_until_timer(c, task, until, timer)
    }

    /// Like `sleep_until` for a moment that is not in the past.
    #[inline(always)]
    fn sleep_until_timer(&mut self, c: CpuId, task: TaskId, until: Instant, timer: Timer) -> Then {
        if self.k.noise.profile.is_some() {
            self.k.begin_noisy_sleep(task, until, timer);
        } else {
            let (t, costs) = (&mut self.k.tasks[task], &self.k.machine.costs);
            let late_ns = slack_ns(t, costs) + costs.timer_ns;
            begin_sleep(t, &mut self.k.queue, task, until + Span::from_ns(late_ns), timer);
        }
        self.syscall(c);
        self.k.resched_here();
        Then::Leave
    }

    /// The task's timer fires at `until`, or later by its slack.
    fn sleep_at_least(&mut self, task: TaskId, until: Instant, timer: Timer) {
        let at = until + self.k.timer_lateness(task);
        self.arm_sleep(task, at, timer);
    }

    /// The task's timer fires at `at`.
    fn arm_sleep(&mut self, task: TaskId, at: Instant, timer: Timer) {
        arm_sleep(&mut self.k.tasks[task], &mut self.k.queue, task, at, timer);
    }

    fn wait_timer(&mut self, c: CpuId, task: TaskId, timer: ObjectId, period: Span, mode: TimerMode) -> Then {
        let now = self.k.this_cpu().clock;
        let last = self.k.last_expiry(task, timer);
        let next = *last + period;
        if next > now {
            *last = next;
            return self.sleep_until(c, task, next, Timer::Absolute);
        }
        *last = if mode == TimerMode::Relative { now } else { next };
        self.syscall(c);
        Then::Act
    }

    fn exit_task(&mut self, c: CpuId, task: TaskId) -> Then {
        if self.k.tasks[task].state == State::Exiting {
            // It has done all that and kept its CPU: it only has to leave.
            self.k.resched(c, c);
            return Then::Leave;
        }
        if let Some(mutex) = self.k.objects.mutexes.held(task) {
            // `exit_pi_state_list()`; this step comes again.
            self.k.task(task).next_step -= 1;
            return self.unlock_mutex(c, task, mutex);
        }
        if self.k.moves_process() {
            self.k.charge_ns(c, SPIN_NS);
            return Then::Act;
        }
        // Nearly all of it comes before the parent is notified (`exit_notify()`).
        let exit_ns = self.k.machine.costs.exit_ns;
        self.k.charge_ns(c, exit_ns);
        self.leave_process(c, task);
        self.k.task(task).state = State::Exiting;
        self.k.mirror_exiting(self.vm.world(), task);
        self.k.resched(c, c);
        Then::Leave
    }
}

/// A sleep of the task begins; its timer fires at `at`.
#[inline(always)]
fn arm_sleep(t: &mut Task, queue: &mut EventQueue, task: TaskId, at: Instant, timer: Timer) {
    t.sleeps += 1;
    t.sleeps_until = Some((at, timer));
    queue.push(at, task.0);
}

/// The task blocks until its timer fires at `at`.
#[inline(always)]
fn begin_sleep(t: &mut Task, queue: &mut EventQueue, task: TaskId, at: Instant, timer: Timer) {
    arm_sleep(t, queue, task, at, timer);
    t.state = State::Blocking;
}

/// How much later a task's timers may fire, so that several fire at once. Real-time tasks have no slack.
#[inline(always)]
fn slack_ns(t: &Task, costs: &Costs) -> u64 {
    if matches!(t.policy, Policy::Fifo(_) | Policy::RoundRobin(_)) { 0 } else { costs.timer_slack_ns }
}

/// The task comes to the end of a loop for the first time.
#[cold]
#[inline(never)]
fn count_more_loops(task: &mut Task, slot: usize) {
    task.loops.resize(slot + 1, 0);
}

/// The end of a loop of a task's program that is repeated so many times.
#[inline(always)]
fn loop_back(task: &mut Task, to: u32, times: u32, slot: u8) {
    let slot = usize::from(slot);
    if task.loops.len() <= slot {
        count_more_loops(task, slot);
    }
    let done = &mut task.loops[slot];
    *done = done.saturating_add(1);
    if *done >= times {
        *done = 0;
    } else {
        task.next_step = to;
    }
}

impl Kernel {
    /// How much later than its expiry a sleeping task's timer fires.
    #[inline(always)]
    fn timer_lateness(&mut self, task: TaskId) -> Span {
        let costs = &self.machine.costs;
        let (slack_ns, timer_ns) = (slack_ns(&self.tasks[task], costs), costs.timer_ns);
        Span::from_ns(self.timer_delay_ns(task, slack_ns) + timer_ns)
    }

    /// A sleep begins whose length depends on noise.
    #[inline(never)]
    fn begin_noisy_sleep(&mut self, task: TaskId, until: Instant, timer: Timer) {
        let at = until + self.timer_lateness(task);
        begin_sleep(&mut self.tasks[task], &mut self.queue, task, at, timer);
    }

    /// When a timer expired last; initially, when the task that first uses it began. Timers beyond the
    /// workload's number are shared by all tasks.
    fn last_expiry(&mut self, task: TaskId, timer: ObjectId) -> &mut Instant {
        let t = &mut self.tasks[task];
        let began = t.began;
        let timers =
            if timer.0 < self.workload.timers { &mut t.timers } else { &mut self.objects.shared_timers };
        let at = timers.iter().position(|&(id, _)| id == timer).unwrap_or_else(|| {
            timers.push((timer, began));
            timers.len() - 1
        });
        &mut timers[at].1
    }
}

/// How long a step takes this time, without noise.
#[inline]
fn drawn(task: &mut Task, amount: Amount) -> Span {
    if amount.spread == Span::ZERO {
        return amount.base;
    }
    let spread = amount.spread.as_ns().min(amount.base.as_ns());
    let drawn = task.rng.below(2 * spread + 1);
    Span::from_ns(amount.base.as_ns() - spread + drawn)
}
