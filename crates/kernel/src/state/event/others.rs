//! All CPUs of a larger machine that have an event and are not in the list of those that are due soonest.

use crate::state::event::calendar::Calendar;
use crate::state::event::waiters::Waiters;
use keel_abi::CpuId;

/// What changes returns the earliest key afterwards.
#[derive(Clone, Debug)]
pub(super) struct Others {
    calendar: Calendar,
    waiters: Waiters,
}

impl Others {
    pub(super) fn new() -> Self {
        Self { calendar: Calendar::new(), waiters: Waiters::new() }
    }

    /// The earliest key.
    #[inline]
    fn first(&self) -> u64 {
        self.calendar.first().min(self.waiters.first())
    }

    /// The key of `cpu`.
    pub(super) fn key(&self, cpu: CpuId) -> u64 {
        self.calendar.key(cpu).min(self.waiters.key(cpu))
    }

    /// Adds a CPU, which is not here.
    #[inline(never)]
    pub(super) fn add(&mut self, cpu: CpuId, key: u64) -> u64 {
        self.calendar.add(cpu, key);
        self.first()
    }

    /// Adds a CPU that is in the middle of a kernel path, and not here.
    #[inline(never)]
    pub(super) fn add_held(&mut self, cpu: CpuId, key: u64) -> u64 {
        if !self.waiters.joins(key) {
            self.calendar.add(cpu, key);
        }
        self.first()
    }

    /// Removes the CPU that is due first, and has this key.
    #[inline(never)]
    pub(super) fn take_first(&mut self, key: u64) -> u64 {
        if key == self.waiters.first() {
            self.waiters.take_first();
        } else {
            self.calendar.take_first();
        }
        self.first()
    }

    /// Removes a CPU that is not in the middle of a kernel path, if it is here.
    #[inline(never)]
    pub(super) fn remove(&mut self, cpu: CpuId) -> u64 {
        self.calendar.remove(cpu);
        self.first()
    }

    /// Removes `cpu`, if it is here.
    #[inline(never)]
    pub(super) fn remove_any(&mut self, cpu: CpuId) -> u64 {
        self.waiters.remove(cpu);
        self.remove(cpu)
    }
}
