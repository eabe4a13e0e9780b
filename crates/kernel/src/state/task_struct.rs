//! A `task_struct` in the world.

use keel_abi::bpf::{Ea, World};

/// One `task_struct`. Fields are named by their offsets ([`crate::state::layout::task`]).
pub(crate) struct TaskStruct<'a, W> {
    world: &'a mut W,
    at: Ea,
}

impl<'a, W: World> TaskStruct<'a, W> {
    /// The one at this address.
    #[inline(always)]
    pub(crate) fn at(world: &'a mut W, at: Ea) -> Self {
        Self { world, at }
    }

    #[inline(always)]
    pub(crate) fn u64(&self, field: u64) -> u64 {
        self.world.u64_at(self.at.offset(field))
    }

    #[inline(always)]
    pub(crate) fn set_u64(&mut self, field: u64, value: u64) {
        self.world.put(self.at.offset(field), &value.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn set_u32(&mut self, field: u64, value: u32) {
        self.world.put(self.at.offset(field), &value.to_le_bytes());
    }
}
