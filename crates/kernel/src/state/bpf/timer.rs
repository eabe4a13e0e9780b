//! BPF timers (`bpf_timer`).

use keel_abi::bpf::{Ea, Errno};
use keel_abi::{CpuId, Instant};

/// Timers that one scheduler may have.
const MOST_TIMERS: usize = 1 << 16;

#[derive(Debug, Default)]
pub(crate) struct Timer {
    /// The address of the `struct bpf_timer`; null once its element is freed.
    pub(crate) at: Ea,
    /// The map that contains the timer. This, and the element's key and value, are its callback's arguments.
    pub(crate) map: Ea,
    pub(crate) key: Ea,
    pub(crate) value: Ea,
    /// Memory for an index, once it is needed.
    pub(crate) index: Ea,
    pub(crate) function: u64,
    pub(crate) cpu: CpuId,
    /// When it fires; [`Instant::NEVER`] while it is not armed.
    pub(crate) due: Instant,
    pub(crate) running: bool,
}

/// All timers, in the order of their creation.
#[derive(Debug, Default)]
pub(crate) struct Timers(pub(crate) Vec<Timer>);

impl Timers {
    pub(crate) fn find(&mut self, at: Ea) -> Option<(u32, &mut Timer)> {
        self.0.iter_mut().enumerate().find(|(_, t)| t.at == at).map(|(i, t)| (i as u32, t))
    }

    /// Returns whether this map has timers.
    pub(crate) fn are_in(&self, map: Ea) -> bool {
        self.0.iter().any(|t| t.map == map && !t.at.is_null())
    }

    /// Cancels and frees the timer of an element that was freed or overwritten
    /// (`bpf_timer_cancel_and_free()`).
    pub(crate) fn forget(&mut self, value: Ea) {
        for timer in self.0.iter_mut().filter(|t| t.value == value && !t.at.is_null()) {
            timer.at = Ea::NULL;
            timer.due = Instant::NEVER;
        }
    }

    /// Frees all timers: the scheduler has exited, and its maps are freed.
    pub(crate) fn forget_all(&mut self) {
        for timer in &mut self.0 {
            *timer = Timer { due: Instant::NEVER, cpu: timer.cpu, ..Timer::default() };
        }
    }

    /// A slot for a timer: one of a freed timer, or a new one.
    pub(crate) fn place(&mut self) -> Result<&mut Timer, Errno> {
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

    /// The timer's function has returned.
    pub(crate) fn end_callback(&mut self, timer: u32) {
        self.0[timer as usize].running = false;
    }
}
