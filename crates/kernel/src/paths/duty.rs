//! The work that a CPU has to do before it returns to user mode.

use crate::paths::sim::Sim;
use crate::state::cpu::Cpu;
use keel_abi::bpf::Engine;

/// Work that a CPU has to do before it returns to user mode.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Duty {
    /// The scheduler has ended: the kernel disables it.
    Disable,
    /// A callback asked to reenqueue a local queue's tasks.
    Reenqueue,
    /// A callback asked for a kick.
    Kick,
    /// An interrupt came.
    Interrupt,
    /// The current task may have to be switched away from.
    Schedule,
    /// The tick is due.
    Tick,
    /// The slice of the running fair task is over.
    Hrtick,
    /// The current task must be throttled before it continues in user mode.
    Throttle,
    /// The current task's work is done.
    Act,
    /// This CPU is going offline, and has no tasks left.
    Die,
}

impl<E: Engine> Sim<E> {
    /// The first duty before the return to user mode.
    #[inline]
    pub(crate) fn duty(&self) -> Option<Duty> {
        let cpu = &*self.k.cpus.this_cpu;
        if cpu.errands.is_empty() { cpu.own_duty() } else { self.any_duty() }
    }

    /// Like `duty` for a CPU that has errands.
    #[inline(never)]
    fn any_duty(&self) -> Option<Duty> {
        let cpu = &*self.k.cpus.this_cpu;
        let errands = &cpu.errands;
        if errands.ends() && self.k.exit.is_some() && !self.k.scx.is_disabling() {
            Some(Duty::Disable)
        } else if errands.has_reenqueue() {
            Some(Duty::Reenqueue)
        } else if errands.has_kick() {
            Some(Duty::Kick)
        } else if errands.has_irq() {
            Some(Duty::Interrupt)
        } else if let Some(own) = cpu.own_duty() {
            Some(own)
        } else if errands.throttles() {
            Some(Duty::Throttle)
        } else if errands.is_leaving() && cpu.nr_running == 0 && cpu.nr_pinned == 0 && cpu.curr.is_idle() {
            Some(Duty::Die)
        } else {
            None
        }
    }

    /// Returns whether there is a duty before the task's own program continues.
    #[inline]
    pub(crate) fn has_duty(&self) -> bool {
        self.duty().is_some()
    }
}

impl Cpu {
    /// Returns whether the CPU, which enters the kernel, has nothing to do there but for its task, nor any costs that
    /// are not on its clock. Usually so; others may have nothing to do, either.
    #[inline(always)]
    pub(crate) fn is_plainly_free(&self) -> bool {
        self.errands.is_empty()
            && self.own_duty().is_none()
            && self.spent_ps < 1000
            && !self.pauses.takes_turns()
    }

    /// What a CPU without errands has to do first.
    #[inline(always)]
    fn own_duty(&self) -> Option<Duty> {
        if self.need_resched {
            Some(Duty::Schedule)
        } else if self.ticks.first() > self.clock {
            None
        } else if self.ticks.tick() <= self.clock {
            Some(Duty::Tick)
        } else {
            Some(Duty::Hrtick)
        }
    }
}
