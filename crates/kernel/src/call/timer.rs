//! `bpf_timer`: a function of the scheduler's that runs later, on the CPU that started it.

use super::Served;
use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::setup::timer_number;
use crate::sim::Sim;
use keel_abi::bpf::{Ea, Engine, Errno, World};
use keel_abi::{CpuId, Instant, Span};

/// `BPF_F_TIMER_ABS`.
const ABSOLUTE: u64 = 1;
/// `BPF_F_TIMER_CPU_PIN`.
const CPU_PIN: u64 = 2;
/// Timers that one scheduler may have.
const MOST_TIMERS: usize = 1 << 16;

#[derive(Debug)]
struct Timer {
    /// Where the `struct bpf_timer` lies.
    at: Ea,
    /// The map that it is part of, as its callback gets it.
    map: Ea,
    function: u64,
    cpu: CpuId,
    /// When it fires; [`Instant::NEVER`] while it is not armed.
    due: Instant,
    running: bool,
}

/// All timers, in the order of their making.
#[derive(Debug, Default)]
pub(crate) struct Timers(Vec<Timer>);

impl Timers {
    fn find(&mut self, at: Ea) -> Option<(u32, &mut Timer)> {
        self.0.iter_mut().enumerate().find(|(_, t)| t.at == at).map(|(i, t)| (i as u32, t))
    }

    /// The CPU that a timer fires on.
    pub(crate) fn cpu_of(&self, timer: u32) -> CpuId {
        self.0[timer as usize].cpu
    }

    /// Its function has returned.
    pub(crate) fn ran(&mut self, timer: u32) {
        self.0[timer as usize].running = false;
    }
}

impl Kernel {
    pub(super) fn timer_init<W: World>(&mut self, w: &mut W, a: [u64; 5]) -> Served {
        let (at, map) = (Ea(a[0]), Ea(a[1]));
        if w.slice(at, 16).is_none() || w.map_at(map).is_none() {
            return Errno::EINVAL.as_r0().into();
        }
        if self.timers.find(at).is_some() {
            return Errno::EBUSY.as_r0().into();
        }
        if self.timers.0.len() >= MOST_TIMERS {
            return Errno::ENOMEM.as_r0().into();
        }
        let timer = Timer { at, map, function: 0, cpu: CpuId(0), due: Instant::NEVER, running: false };
        self.timers.0.push(timer);
        0.into()
    }

    pub(super) fn timer_set_callback(&mut self, a: [u64; 5]) -> Served {
        match self.timers.find(Ea(a[0])) {
            Some((_, timer)) => {
                timer.function = a[1];
                0.into()
            }
            None => Errno::EINVAL.as_r0().into(),
        }
    }

    pub(super) fn timer_start(&mut self, c: CpuId, a: [u64; 5]) -> Served {
        let now = self.cpus.me.clock;
        let Some((number, timer)) = self.timers.find(Ea(a[0])) else { return Errno::EINVAL.as_r0().into() };
        if timer.function == 0 || a[2] & !(ABSOLUTE | CPU_PIN) != 0 {
            return Errno::EINVAL.as_r0().into();
        }
        timer.due = match a[2] & ABSOLUTE {
            0 => now + Span::from_ns(a[1]),
            _ => Instant::from_ns(a[1]).max(now),
        };
        timer.cpu = c;
        let due = timer.due;
        self.queue.push(due, timer_number::FIRST_BPF + number);
        0.into()
    }

    pub(super) fn timer_cancel(&mut self, a: [u64; 5]) -> Served {
        match self.timers.find(Ea(a[0])) {
            Some((_, timer)) if timer.running => Errno(35).as_r0().into(),
            Some((_, timer)) => {
                let was_armed = timer.due != Instant::NEVER;
                timer.due = Instant::NEVER;
                u64::from(was_armed).into()
            }
            None => Errno::EINVAL.as_r0().into(),
        }
    }
}

impl<E: Engine> Sim<E> {
    /// [`Frame::RunBpfTimer`]: unless it was cancelled or started anew since.
    pub(crate) fn run_bpf_timer(&mut self, c: CpuId, timer: u32) {
        let now = self.k.now;
        let t = &mut self.k.timers.0[timer as usize];
        if t.due > now || self.k.scx.is_disabling() {
            return;
        }
        t.due = Instant::NEVER;
        t.running = true;
        let (function, map, at) = (t.function, t.map, t.at);
        self.k.me().stack.push(Frame::BpfTimerDone { timer });
        self.start_function(c, function, [map.0, self.k.scx.scratch.0, at.0, 0, 0]);
    }
}
