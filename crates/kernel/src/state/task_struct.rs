//! A `task_struct` in the world.

use crate::state::layout::task as field;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, World};
use keel_abi::scx::ent;

/// One `task_struct`. Fields are named by their offsets ([`crate::state::layout::task`]), which are constants wherever
/// this is used, so one check covers all of them: whether the structure is in the world.
pub(crate) struct TaskStruct<'a> {
    bytes: &'a mut [u8; field::SIZE as usize],
}

impl<'a> TaskStruct<'a> {
    /// The one at this address.
    #[inline(always)]
    pub(crate) fn at<W: World>(world: &'a mut W, at: Ea) -> Self {
        Self { bytes: world.object(at) }
    }

    #[inline(always)]
    fn get<const N: usize>(&self, field: u64) -> [u8; N] {
        *self.bytes[field as usize..].first_chunk().expect("the field is in the structure")
    }

    #[inline(always)]
    fn set<const N: usize>(&mut self, field: u64, value: [u8; N]) {
        *self.bytes[field as usize..].first_chunk_mut().expect("the field is in the structure") = value;
    }

    #[inline(always)]
    pub(crate) fn u64(&self, field: u64) -> u64 {
        u64::from_le_bytes(self.get(field))
    }

    #[inline(always)]
    pub(crate) fn u32(&self, field: u64) -> u32 {
        u32::from_le_bytes(self.get(field))
    }

    #[inline(always)]
    pub(crate) fn set_u64(&mut self, field: u64, value: u64) {
        self.set(field, value.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn set_u32(&mut self, field: u64, value: u32) {
        self.set(field, value.to_le_bytes());
    }

    /// Writes into `p->scx.flags` whether the task is queued.
    #[inline(always)]
    pub(crate) fn set_queued(&mut self, queued: bool) {
        let others = self.u32(field::SCX_FLAGS) & !ent::QUEUED;
        self.set_u32(field::SCX_FLAGS, others | if queued { ent::QUEUED } else { 0 });
    }

    /// Writes the CPU that the scheduler has chosen for the task into `p->scx.selected_cpu`.
    #[inline(always)]
    pub(crate) fn set_selected_cpu(&mut self, chosen: CpuId) {
        self.set_u32(field::SCX_SELECTED_CPU, chosen.0);
    }

    /// The CPU that was last chosen for the task.
    #[inline(always)]
    pub(crate) fn selected_cpu(&self) -> i32 {
        self.u32(field::SCX_SELECTED_CPU) as i32
    }
}
