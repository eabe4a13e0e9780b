//! `QUEUE` and `STACK`: values without keys, in a ring.

use super::kinds::{EXIST, NOEXIST};
use super::plan::Plan;
use crate::maps::MapError;
use crate::memory::Region;
use keel_abi::bpf::{Ea, Errno};

/// A queue or a stack.
pub(super) struct Queue {
    first: Ea,
    value_size: u64,
    /// The kernel's ring has one more place than it takes values.
    places: u64,
    /// The oldest value's place, and the number of values.
    tail: u64,
    len: u64,
    is_stack: bool,
}

impl Queue {
    pub(super) fn new(plan: &Plan<'_>, is_stack: bool, region: &mut Region) -> Result<Self, MapError> {
        let def = plan.def;
        plan.require(def.key_size == 0, "a queue or stack has no key")?;
        plan.require(def.max_entries > 0, "max_entries is 0")?;
        plan.require(def.value_size > 0, "its value has no bytes")?;
        plan.check_element_size()?;
        let (places, value_size) = (u64::from(def.max_entries) + 1, u64::from(def.value_size));
        let len = plan.total(value_size, places)?;
        Ok(Self { first: plan.zeroed(len, region)?, value_size, places, tail: 0, len: 0, is_stack })
    }

    /// The place of the `n`th value from the oldest.
    fn at(&self, n: u64) -> Ea {
        self.first.offset((self.tail + n) % self.places * self.value_size)
    }

    /// `queue_stack_map_push_elem()`.
    pub(super) fn push(&mut self, region: &mut Region, value: Ea, flags: u64) -> Result<(), Errno> {
        if flags & NOEXIST != 0 || flags > EXIST {
            return Err(Errno::EINVAL);
        }
        let full = self.len == self.places - 1;
        if full && flags & EXIST == 0 {
            return Err(Errno::E2BIG);
        }
        if !region.copy(value, self.at(self.len), self.value_size) {
            return Err(Errno::EFAULT);
        }
        if full {
            // The oldest value makes room, even in a stack.
            self.tail = (self.tail + 1) % self.places;
        } else {
            self.len += 1;
        }
        Ok(())
    }

    /// `__queue_map_get()` and `__stack_map_get()`.
    pub(super) fn pop(&mut self, region: &mut Region, value: Ea, keep: bool) -> Result<(), Errno> {
        if self.len == 0 {
            let target = region.slice_mut(value, self.value_size).ok_or(Errno::EFAULT)?;
            target.fill(0);
            return Err(Errno::ENOENT);
        }
        let from = self.at(if self.is_stack { self.len - 1 } else { 0 });
        if !region.copy(from, value, self.value_size) {
            return Err(Errno::EFAULT);
        }
        if !keep {
            self.len -= 1;
            if !self.is_stack {
                self.tail = (self.tail + 1) % self.places;
            }
        }
        Ok(())
    }
}
