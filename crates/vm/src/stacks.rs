//! Where BPF stacks and struct_ops contexts lie: a slot per CPU and nesting depth, private to
//! the CPU, in the region.

use crate::code::op::{FRAME_BYTES, MAX_FRAMES};
use crate::memory::VmWorld;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, World};

/// Words that a context may have: of a callback a few, of a `SEC("syscall")` program as many as its user gives.
pub(crate) const MAX_ARGS: usize = 64;

const STACK_BYTES: u64 = FRAME_BYTES * MAX_FRAMES;
/// Bytes of a context.
pub(crate) const ARGS_BYTES: u64 = 8 * MAX_ARGS as u64;
/// Memory that a frame has for what its callback is given: a map's key, or a `struct bpf_dynptr`.
pub(crate) const FRAME_SCRATCH: u64 = 16;
const SCRATCH_BYTES: u64 = FRAME_SCRATCH * MAX_FRAMES;
/// An odd number of cache lines, so that the CPUs' stacks don't compete for the same sets.
pub(crate) const SLOT_BYTES: u64 = (STACK_BYTES + ARGS_BYTES + SCRATCH_BYTES).next_multiple_of(128) + 64;

/// One activation's memory.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    stack: Ea,
}

impl Slot {
    /// The slot in which R10 of the deepest frame is this.
    #[inline]
    pub(crate) fn with_floor(floor: u64) -> Self {
        Self { stack: Ea(floor - FRAME_BYTES) }
    }

    /// R10 of the first frame: the stack's end.
    #[inline]
    pub(crate) fn r10(self) -> Ea {
        self.stack.offset(STACK_BYTES)
    }

    /// The struct_ops context.
    #[inline]
    pub(crate) fn args(self) -> Ea {
        self.stack.offset(STACK_BYTES)
    }

    /// [`FRAME_SCRATCH`] bytes a frame.
    #[inline]
    pub(crate) fn scratch(self) -> Ea {
        self.stack.offset(STACK_BYTES + ARGS_BYTES)
    }
}

#[inline]
fn slot_of(level: Ea, cpu: CpuId) -> Ea {
    level.offset(SLOT_BYTES * u64::from(cpu.0))
}

/// Every CPU's slots.
pub(crate) struct Stacks {
    /// Per depth the first CPU's slot.
    levels: Vec<Ea>,
    /// Per CPU the slots that it has used, by depth.
    used: Vec<Vec<Slot>>,
}

impl Stacks {
    /// Memory for one callback a CPU; nothing when the world is full.
    pub(crate) fn new(world: &mut VmWorld, cpus: u32) -> Option<Self> {
        let mut stacks = Self { levels: Vec::new(), used: vec![Vec::new(); cpus as usize] };
        stacks.grow(world)?;
        Some(stacks)
    }

    fn grow(&mut self, world: &mut VmWorld) -> Option<()> {
        let level = world.reserve(SLOT_BYTES * self.used.len() as u64)?;
        // A callback owns only its own slot of all stacks. The interpreter checks that itself.
        world.region_mut().disown(level);
        self.levels.push(level);
        Some(())
    }

    /// The CPU's slot at a nesting depth; nothing when the world is full.
    #[inline]
    pub(crate) fn slot(&mut self, world: &mut VmWorld, cpu: CpuId, depth: usize) -> Option<Slot> {
        match self.used[cpu.index()].get(depth) {
            Some(slot) => Some(*slot),
            None => self.next_slot(world, cpu, depth),
        }
    }

    /// The first slot at a depth that the CPU has not been at; it has been at the one before.
    #[cold]
    fn next_slot(&mut self, world: &mut VmWorld, cpu: CpuId, depth: usize) -> Option<Slot> {
        while depth >= self.levels.len() {
            self.grow(world)?;
        }
        let slot = Slot { stack: slot_of(self.levels[depth], cpu) };
        // The CPU holds its own stack from the start, so that it costs no transfer.
        world.touch_ps(slot.stack, SLOT_BYTES, cpu, true);
        self.used[cpu.index()].push(slot);
        Some(slot)
    }
}
