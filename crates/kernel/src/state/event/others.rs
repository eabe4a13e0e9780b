//! All CPUs of a larger machine that have an event and are not in the list of those that are due soonest.

use crate::state::event::calendar::Calendar;
use crate::state::event::cpu_events::{NEVER, cpu_of};
use crate::state::event::near::Near;
use crate::state::event::waiters::Waiters;
use keel_abi::CpuId;

/// A day of more CPUs is not searched again, if that can be helped.
const MANY: usize = 8;

/// What removes a CPU returns the earliest key afterwards. What adds one leaves that to its caller.
#[derive(Clone, Debug)]
pub(super) struct Others {
    calendar: Calendar,
    near: Near,
    waiters: Waiters,
    /// The earliest key that is not in the calendar, or [`NEVER`].
    first_beside: u64,
}

impl Others {
    pub(super) fn new() -> Self {
        Self { calendar: Calendar::new(), near: Near::new(), waiters: Waiters::new(), first_beside: NEVER }
    }

    /// The earliest key.
    #[inline]
    fn first(&self) -> u64 {
        self.calendar.first().min(self.first_beside)
    }

    /// The key of `cpu`.
    pub(super) fn key(&self, cpu: CpuId) -> u64 {
        self.calendar.key(cpu).min(self.near.key(cpu)).min(self.waiters.key(cpu))
    }

    /// Adds a CPU, which is not here.
    #[inline(never)]
    pub(super) fn add(&mut self, cpu: CpuId, key: u64) {
        self.calendar.add(cpu, key);
    }

    /// Adds a CPU that is in the middle of a kernel path, and not here.
    #[inline(never)]
    pub(super) fn add_held(&mut self, cpu: CpuId, key: u64) {
        if self.waiters.try_join(key) || self.near.try_add(key) {
            self.first_beside = self.first_beside.min(key);
        } else {
            self.calendar.add(cpu, key);
        }
    }

    /// Removes the CPU that is due first, and has this key.
    #[inline(never)]
    pub(super) fn take_first(&mut self, key: u64) -> u64 {
        if key == self.first_beside {
            match key == self.near.first() {
                true => self.near.take_first(),
                false => self.waiters.take_first(),
            }
            self.note_beside();
        } else if self.calendar.take_first() > MANY {
            self.open_day(key);
        }
        self.first()
    }

    #[inline(always)]
    fn note_beside(&mut self) {
        self.first_beside = self.waiters.first().min(self.near.first());
    }

    /// The first day of the calendar is crowded: its CPUs go where none has to be searched for, unless it is too far
    /// from those that are there. A CPU with this key was taken before.
    #[cold]
    #[inline(never)]
    fn open_day(&mut self, taken: u64) {
        if !self.near.opens(taken, self.calendar.first()) {
            return;
        }
        let mut keys = self.calendar.take_day();
        keys.sort_unstable();
        for key in keys {
            if !self.near.try_add(key) {
                self.calendar.add(cpu_of(key), key);
            }
        }
        self.note_beside();
    }

    /// Removes a CPU that is not in the middle of a kernel path, if it is here.
    #[inline(never)]
    pub(super) fn remove(&mut self, cpu: CpuId) -> u64 {
        if !self.calendar.remove(cpu) {
            self.near.remove(cpu);
            self.note_beside();
        }
        self.first()
    }

    /// Removes `cpu`, if it is here.
    #[inline(never)]
    pub(super) fn remove_any(&mut self, cpu: CpuId) -> u64 {
        self.waiters.remove(cpu);
        self.remove(cpu)
    }
}
