//! The work that a CPU has to do before it returns to user mode.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
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

impl Duty {
    /// The frame for a duty that has to wait; `None` for a duty that is detected again later.
    pub(crate) const fn frame(self) -> Option<Frame> {
        match self {
            Self::Act => Some(Frame::Act),
            Self::Interrupt => Some(Frame::Interrupt),
            Self::Schedule => Some(Frame::Schedule),
            Self::Tick => Some(Frame::Tick),
            Self::Hrtick => Some(Frame::Hrtick),
            Self::Disable | Self::Reenqueue | Self::Kick | Self::Throttle | Self::Die => None,
        }
    }
}

impl<E: Engine> Sim<E> {
    /// The first duty before the return to user mode.
    #[inline]
    pub(crate) fn duty(&self) -> Option<Duty> {
        let cpu = &self.k.cpus.this_cpu;
        if self.k.exit.is_some() || cpu.reenqueues.len() | cpu.kicks.len() | cpu.inbox.len() != 0 {
            let urgent = self.urgent_duty();
            if urgent.is_some() {
                return urgent;
            }
        }
        if cpu.need_resched {
            Some(Duty::Schedule)
        } else if cpu.tick_at <= cpu.clock {
            Some(Duty::Tick)
        } else if cpu.hrtick_at <= cpu.clock {
            Some(Duty::Hrtick)
        } else if cpu.throttles | cpu.leaving {
            self.last_duty()
        } else {
            None
        }
    }

    /// What comes before a reschedule.
    #[inline(never)]
    fn urgent_duty(&self) -> Option<Duty> {
        let cpu = &self.k.cpus.this_cpu;
        if self.k.exit.is_some() && !self.k.scx.is_disabling() {
            Some(Duty::Disable)
        } else if !cpu.reenqueues.is_empty() {
            Some(Duty::Reenqueue)
        } else if cpu.has_kicks() {
            Some(Duty::Kick)
        } else if !cpu.inbox.is_empty() {
            Some(Duty::Interrupt)
        } else {
            None
        }
    }

    /// What comes after everything else.
    #[inline(never)]
    fn last_duty(&self) -> Option<Duty> {
        let cpu = &self.k.cpus.this_cpu;
        if cpu.throttles {
            Some(Duty::Throttle)
        } else if cpu.leaving && cpu.nr_running == 0 && cpu.nr_pinned == 0 && cpu.curr.is_idle() {
            Some(Duty::Die)
        } else {
            None
        }
    }

    /// Is there a duty before the task's own program continues?
    #[inline]
    pub(crate) fn has_duty(&self) -> bool {
        self.duty().is_some()
    }
}
