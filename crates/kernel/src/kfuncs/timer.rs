//! `bpf_timer`: a function of the scheduler's that runs later, on the CPU that started it.

use super::Served;
use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::setup::timer_number;
use crate::sim::Sim;
use keel_abi::bpf::{Ea, Engine, Errno, MapKey, World};
use keel_abi::{CpuId, Instant, Span};

/// `BPF_F_TIMER_ABS`.
const ABSOLUTE: u64 = 1;
/// `BPF_F_TIMER_CPU_PIN`.
const CPU_PIN: u64 = 2;
/// `MAX_CLOCKS` - 1: the bits of a flags word that name the clock.
const CLOCK_MASK: u64 = 15;
/// `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`.
const CLOCKS: [u64; 3] = [0, 1, 7];
/// Timers that one scheduler may have.
const MOST_TIMERS: usize = 1 << 16;

#[derive(Debug, Default)]
struct Timer {
    /// Where the `struct bpf_timer` lies; null once its element is gone.
    at: Ea,
    /// The map that it is part of, the element's key and value: what its callback gets.
    map: Ea,
    key: Ea,
    value: Ea,
    /// Memory for an index, once it was needed.
    index: Ea,
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

    /// Has this map timers?
    pub(super) fn are_in(&self, map: Ea) -> bool {
        self.0.iter().any(|t| t.map == map && !t.at.is_null())
    }

    /// Cancels and frees the timer of an element that is gone or overwritten (`bpf_timer_cancel_and_free()`).
    pub(super) fn forget(&mut self, value: Ea) {
        for timer in self.0.iter_mut().filter(|t| t.value == value && !t.at.is_null()) {
            timer.at = Ea::NULL;
            timer.due = Instant::NEVER;
        }
    }

    /// The scheduler is gone, and its maps with it.
    pub(crate) fn forget_all(&mut self) {
        for timer in &mut self.0 {
            *timer = Timer { due: Instant::NEVER, cpu: timer.cpu, ..Timer::default() };
        }
    }

    /// Where a timer can be put: the place of one that is gone, or a new one.
    fn place(&mut self) -> Result<&mut Timer, Errno> {
        let gone = self.0.iter().position(|t| t.at.is_null() && !t.running);
        if gone.is_none() && self.0.len() >= MOST_TIMERS {
            return Err(Errno::ENOMEM);
        }
        let place = gone.unwrap_or(self.0.len());
        if place == self.0.len() {
            self.0.push(Timer::default());
        }
        Ok(&mut self.0[place])
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
        self.make_timer(w, Ea(a[0]), Ea(a[1]), a[2]).map_or_else(Errno::as_r0, |()| 0).into()
    }

    fn make_timer<W: World>(&mut self, w: &mut W, at: Ea, map: Ea, flags: u64) -> Result<(), Errno> {
        if flags & !CLOCK_MASK != 0 || !CLOCKS.contains(&(flags & CLOCK_MASK)) {
            return Err(Errno::EINVAL);
        }
        let element = w.map_at(map).and_then(|map| w.map_element(map, at));
        let Some((key, value)) = element.filter(|_| w.slice(at, 16).is_some()) else {
            return Err(Errno::EINVAL);
        };
        if self.timers.find(at).is_some() {
            return Err(Errno::EBUSY);
        }
        let timer = self.timers.place()?;
        let key = match key {
            MapKey::At(key) => key,
            MapKey::Index(number) => {
                if timer.index.is_null() {
                    timer.index = w.alloc(8).ok_or(Errno::ENOMEM)?;
                }
                w.put(timer.index, &number.to_le_bytes());
                timer.index
            }
        };
        *timer = Timer { at, map, key, value, due: Instant::NEVER, index: timer.index, ..Timer::default() };
        Ok(())
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
        let now = self.cpus.this_cpu.clock;
        let Some((number, timer)) = self.timers.find(Ea(a[0])) else { return Errno::EINVAL.as_r0().into() };
        if timer.function == 0 || a[2] & !(ABSOLUTE | CPU_PIN) != 0 {
            return Errno::EINVAL.as_r0().into();
        }
        timer.due = match a[2] & ABSOLUTE {
            0 => now + Span::from_ns(a[1]),
            _ => Instant::from_ns(a[1].saturating_sub(self.uptime.as_ns())).max(now),
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
    /// [`Frame::RunBpfTimer`]: unless it was cancelled or started again since.
    pub(crate) fn run_bpf_timer(&mut self, c: CpuId, timer: u32) {
        let now = self.k.now;
        let t = &mut self.k.timers.0[timer as usize];
        if t.due > now || self.k.scx.is_disabling() {
            return;
        }
        t.due = Instant::NEVER;
        t.running = true;
        let (function, args) = (t.function, [t.map.0, t.key.0, t.value.0, 0, 0]);
        self.k.this_cpu().stack.push(Frame::BpfTimerDone { timer });
        self.start_function(c, function, args);
    }
}
