//! Time in user mode: how far a task's work comes between two moments.
//!
//! Work is measured on an undisturbed CPU of nominal speed. A CPU whose SMT sibling is busy too
//! gets through less of it; when a sibling becomes busy or idle, what was done so far is counted
//! at the old speed.

use crate::state::cpu::Cpu;
use crate::state::kernel::{Counters, Kernel};
use crate::state::task::{Doing, Task};
use keel_abi::task::ObjectId;
use keel_abi::{CpuId, Instant, Span};

impl Kernel {
    /// Records how much work the task on `c` has done when `c` leaves user mode at `at`.
    #[inline]
    pub(crate) fn stop_working(&mut self, c: CpuId, at: Instant) {
        let Self { cpus, tasks, counters, .. } = self;
        let cpu = &mut cpus[c];
        if let Some(task) = tasks.get_mut(cpu.curr) {
            stop_working(cpu, task, counters, at);
        }
    }

    /// What the running CPU's task does next; nothing if the CPU is idle.
    #[inline(always)]
    pub(crate) fn does_next(&self) -> Option<Doing> {
        self.tasks.get(self.cpus.this_cpu.curr).map(|task| task.doing)
    }

    /// Sets when the work of the task on `c` will be done, as `c` goes back to user mode and the task does this. Returns
    /// when the CPU has something to do.
    #[inline(always)]
    pub(crate) fn start_working(&mut self, c: CpuId, doing: Option<Doing>) -> Instant {
        let is_plain = self.cpus.this_cpu.has_plain_speed;
        if !is_plain && self.cpus.this_cpu.shares_speed {
            self.set_busy(c);
        }
        let cpu = &mut *self.cpus.this_cpu;
        cpu.working_since = cpu.clock;
        // Tests, not a table: one of the first two holds nearly always.
        let done_at = if let Some(Doing::Work(left)) = doing {
            cpu.clock + if is_plain { left } else { takes(left, cpu.speed_per_mille) }
        } else if doing == Some(Doing::Steps) {
            cpu.clock
        } else if doing.is_some() {
            self.rare_work_ends()
        } else {
            cpu.work_done_at = Instant::NEVER;
            cpu.ticks.set_tick(Instant::NEVER);
            return cpu.ticks.first();
        };
        if self.this_cpu().ticks.tick() == Instant::NEVER {
            self.arm_first_tick(c);
        }
        let cpu = self.this_cpu();
        cpu.work_done_at = done_at;
        cpu.ticks.first().min(done_at)
    }

    /// When the running CPU's task has to act that neither works nor is between steps.
    #[inline(never)]
    fn rare_work_ends(&self) -> Instant {
        let clock = self.cpus.this_cpu.clock;
        match self.tasks[self.cpus.this_cpu.curr].doing {
            Doing::Until(until) => until.max(clock),
            Doing::Spin(mutex) => self.spin_ends(mutex),
            Doing::Work(_) | Doing::Steps | Doing::Relock(_) => clock,
        }
    }

    /// Like `arm_tick`, apart from common code: the CPU was idle.
    #[inline(never)]
    fn arm_first_tick(&mut self, c: CpuId) {
        self.arm_tick(c);
    }

    /// When the running CPU's task, which waits for this mutex without giving up its CPU, has to act.
    fn spin_ends(&self, mutex: ObjectId) -> Instant {
        let cpu = &self.cpus.this_cpu;
        if self.spins_on(cpu.curr, mutex) { Instant::NEVER } else { cpu.clock }
    }

    /// Computes the speed of `c` from its siblings, and theirs from `c`; or from the CPUs that it takes turns with.
    #[inline(never)]
    fn set_busy(&mut self, c: CpuId) {
        if self.cpus.this_cpu.pauses.takes_turns() {
            self.notice_in_turns(c);
            let speed = self.speed_in_turns(c);
            return self.this_cpu().set_speed(speed);
        }
        let mine = self.speed_of(c);
        self.this_cpu().set_speed(mine);
        for nth in 0..self.cpus.this_cpu.siblings.len() {
            let sibling = self.cpus.this_cpu.siblings[nth];
            let speed = self.speed_of(sibling);
            if self.cpus[sibling].speed_per_mille != speed {
                self.change_speed(sibling, speed);
            }
        }
    }

    pub(crate) fn speed_of(&self, c: CpuId) -> u64 {
        let cpu = &self.cpus[c];
        let shared = cpu.siblings.iter().any(|&s| !self.cpus[s].is_idle());
        self.at_frequency(c, if shared { self.machine.costs.smt_shared_per_mille } else { 1000 })
    }

    /// When the work of the task in user mode will be done, at the current speed.
    pub(crate) fn work_done_at(&self, c: CpuId, at: Instant, left: Span) -> Instant {
        at + takes(left, self.cpus[c].speed_per_mille)
    }

    pub(crate) fn change_speed(&mut self, c: CpuId, speed: u64) {
        let at = self.now;
        let working = self.cpus[c].in_user && !self.cpus[c].is_idle();
        if working {
            self.stop_working(c, at);
        }
        self.cpu(c).set_speed(speed);
        if !working {
            return;
        }
        let curr = self.cpus[c].curr;
        if let Doing::Work(left) = self.tasks[curr].doing {
            self.work_ends(c, self.work_done_at(c, at, left));
        }
    }

    /// Changes when the work of a CPU in user mode will be done. The CPU is not the current one.
    pub(crate) fn work_ends(&mut self, c: CpuId, done_at: Instant) {
        let at = self.now;
        let cpu = self.cpu(c);
        cpu.work_done_at = done_at;
        let mut next = cpu.ticks.first().min(done_at);
        if cpu.need_resched {
            next = next.min(cpu.resched_at);
        }
        if cpu.errands.has_irq() {
            next = at;
        }
        self.queue.set_cpu(c, next);
    }
}

/// A CPU, which runs this task, leaves user mode at `at`.
#[inline(always)]
pub(crate) fn stop_working(cpu: &mut Cpu, task: &mut Task, counters: &mut Counters, at: Instant) {
    debug_assert!(cpu.speed_per_mille > 0, "a CPU always gets on");
    let worked = at.since(cpu.working_since);
    cpu.working_since = at;
    let Task { doing, own, .. } = task;
    let is_plain = cpu.has_plain_speed;
    let done = if is_plain { worked } else { Span::from_ns(scale(worked.as_ns(), cpu.speed_per_mille)) };
    let done = match doing {
        Doing::Work(left) => {
            debug_assert!(!is_plain || (cpu.work_done_at <= at) == (worked >= *left) || *left == Span::ZERO);
            // Rounded, the work may seem to be less than all when it is done.
            let done = if !is_plain && cpu.work_done_at <= at { *left } else { done.min(*left) };
            *left = Span::from_ns(left.as_ns() - done.as_ns());
            done
        }
        Doing::Until(_) if own.runs_for => Span::ZERO,
        _ => done,
    };
    own.user.accumulate(done);
    if !matches!(doing, Doing::Spin(_)) {
        counters.user_time.accumulate(worked);
    }
}

/// Work done in `ns` at a speed.
#[inline(always)]
const fn scale(ns: u64, per_mille: u64) -> u64 {
    if per_mille == 1000 { ns } else { scale_to(ns, per_mille) }
}

/// Like [`scale`] at a speed that is not nominal.
#[inline(never)]
const fn scale_to(ns: u64, per_mille: u64) -> u64 {
    match ns.checked_mul(per_mille) {
        Some(product) => product / 1000,
        None => (ns as u128 * per_mille as u128 / 1000) as u64,
    }
}

/// How long `work` takes at a speed, rounded up.
#[inline(always)]
const fn takes(work: Span, per_mille: u64) -> Span {
    let ns = work.as_ns();
    if per_mille == 1000 {
        return work;
    }
    takes_at(ns, per_mille)
}

/// Like [`takes`] at a speed that is not nominal.
#[inline(never)]
const fn takes_at(ns: u64, per_mille: u64) -> Span {
    Span::from_ns(match ns.checked_mul(1000) {
        Some(product) => product.div_ceil(per_mille),
        None => (ns as u128 * 1000).div_ceil(per_mille as u128) as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_time_convert_at_any_speed() {
        let check = |ns: u64, per_mille: u64, done: u64, takes_ns: u64| {
            assert_eq!(scale(ns, per_mille), done, "{ns} {per_mille}");
            assert_eq!(takes(Span::from_ns(ns), per_mille).as_ns(), takes_ns, "{ns} {per_mille}");
        };
        check(1001, 1000, 1001, 1001);
        check(1001, 600, 600, 1669);
        check(7, 2000, 14, 4);
        // Too large for a product of 64 bits.
        check(1 << 62, 500, 1 << 61, 1 << 63);
        check(u64::MAX, 1000, u64::MAX, u64::MAX);
    }
}
