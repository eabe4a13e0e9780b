//! Where BPF stacks and struct_ops contexts lie: a slot per CPU and nesting depth, private to
//! the CPU, in the region.

use crate::code::op::{FRAME_BYTES, MAX_FRAMES};
use crate::memory::VmWorld;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, World};

/// Words that a struct_ops context may have.
pub(crate) const MAX_ARGS: usize = 16;

const STACK_BYTES: u64 = FRAME_BYTES * MAX_FRAMES;
const ARGS_BYTES: u64 = 8 * MAX_ARGS as u64;
const SCRATCH_BYTES: u64 = 8 * MAX_FRAMES;
/// An odd number of cache lines, so that the CPUs' stacks don't compete for the same sets.
const SLOT_BYTES: u64 = (STACK_BYTES + ARGS_BYTES + SCRATCH_BYTES).next_multiple_of(128) + 64;

/// One activation's room.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    stack: Ea,
}

impl Slot {
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

    /// Room for a map key a frame.
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
    cpus: u32,
    /// Per depth the first CPU's slot, and which CPUs have used theirs.
    levels: Vec<(Ea, Vec<bool>)>,
}

impl Stacks {
    /// Room for one callback a CPU; nothing when the world is full.
    pub(crate) fn new(world: &mut VmWorld, cpus: u32) -> Option<Self> {
        let mut stacks = Self { cpus, levels: Vec::new() };
        stacks.grow(world)?;
        Some(stacks)
    }

    fn grow(&mut self, world: &mut VmWorld) -> Option<()> {
        let level = world.reserve(SLOT_BYTES * u64::from(self.cpus))?;
        self.levels.push((level, vec![false; self.cpus as usize]));
        Some(())
    }

    /// The CPU's slot at a nesting depth; nothing when the world is full.
    #[inline]
    pub(crate) fn slot(&mut self, world: &mut VmWorld, cpu: CpuId, depth: usize) -> Option<Slot> {
        match self.levels.get(depth) {
            Some((level, used)) if used[cpu.index()] => Some(Slot { stack: slot_of(*level, cpu) }),
            _ => self.first_slot(world, cpu, depth),
        }
    }

    #[cold]
    fn first_slot(&mut self, world: &mut VmWorld, cpu: CpuId, depth: usize) -> Option<Slot> {
        while depth >= self.levels.len() {
            self.grow(world)?;
        }
        let (level, used) = &mut self.levels[depth];
        used[cpu.index()] = true;
        let stack = slot_of(*level, cpu);
        // The CPU holds its own stack from the start, so that it costs no transfer.
        world.touch_ps(stack, SLOT_BYTES, cpu, true);
        Some(Slot { stack })
    }
}
