//! `bpf_timer`: a function of the scheduler that runs later, on the CPU that started it.

use crate::kfuncs::Served;
use crate::state::bpf::timer::Timer;
use crate::state::kernel::Kernel;
use crate::state::timer_number;
use keel_abi::bpf::{Ea, Errno, MapKey, World};
use keel_abi::clocks::Sync;
use keel_abi::{CpuId, Instant, Span};

/// `BPF_F_TIMER_ABS`.
const ABSOLUTE: u64 = 1;

/// `BPF_F_TIMER_CPU_PIN`.
const CPU_PIN: u64 = 2;

/// `MAX_CLOCKS` - 1: the bits of a flags word that name the clock.
const CLOCK_MASK: u64 = 15;

/// `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`.
const CLOCKS: [u64; 3] = [0, 1, 7];

impl Kernel {
    pub(super) fn timer_init<W: World>(&mut self, w: &mut W, a: &[u64; 5]) -> Served {
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

    pub(super) fn timer_set_callback(&mut self, a: &[u64; 5]) -> Served {
        match self.timers.find(Ea(a[0])) {
            Some((_, timer)) => {
                timer.function = a[1];
                0.into()
            }
            None => Errno::EINVAL.as_r0().into(),
        }
    }

    pub(super) fn timer_start(&mut self, c: CpuId, a: &[u64; 5]) -> Served {
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
        self.sync_released(c, Sync::Timer(a[0]));
        0.into()
    }

    pub(super) fn timer_cancel(&mut self, a: &[u64; 5]) -> Served {
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
