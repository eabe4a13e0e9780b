//! What a CPU's callbacks need to begin: where they run, the CPU's words and prices of cache lines, and which of them
//! are suspended.
#![allow(unsafe_code)]

use crate::code::op::{FRAME_BYTES, MAX_FRAMES};
use crate::context::Context;
use crate::memory::VmWorld;
use crate::stacks::MAX_ARGS;
use keel_abi::CpuId;
use keel_abi::bpf::Ea;
use keel_abi::cpuset::MAX_CPUS;
use std::ptr;

/// Instead of a price: the engine must be asked.
pub(crate) const ASK: u32 = u32::MAX;
/// The prices of a CPU for which it must be asked.
static ASK_ALWAYS: [u32; 1 + MAX_CPUS as usize] = [ASK; 1 + MAX_CPUS as usize];

/// Where a callback runs.
#[derive(Clone, Copy)]
pub(crate) struct RunsAt {
    /// Of its stack: R10 of the first frame, and the address of the struct_ops context.
    pub(crate) end: Ea,
    /// The word of the line at that address.
    pub(crate) word: *const u64,
    /// That address in the process.
    pub(crate) args: *mut u64,
}

/// What a callback needs to know of its CPU and its stack, in the order in which all of it is copied.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// In a line's word while the CPU may read the line.
    pub(crate) shared: u64,
    /// A line's whole word while the CPU may write the line.
    pub(crate) alone: u64,
    /// R10 of the first frame.
    pub(crate) first_frame: u64,
    /// The word of the line at that address.
    pub(crate) first_frame_word: *const u64,
    /// The end of the deepest frame, in the process: see [`Context::stack_floor`].
    pub(crate) floor_at: u64,
    /// By the last writer of a line, as its entry in the context's `writers` says, the price for this CPU to get it: 0
    /// for a line that nobody has held; [`ASK`] if the engine must be asked. For this CPU itself, 0 if a bit of a
    /// line's word stands for one CPU; otherwise it may be any.
    pub(crate) prices: *const u32,
    /// Where a struct_ops context is in the process.
    pub(crate) args: *mut u64,
    pub(crate) cpu: CpuId,
}

impl Place {
    /// No callback can begin here.
    pub(crate) const NOWHERE: Self = Self {
        shared: 0,
        alone: 0,
        first_frame: 0,
        first_frame_word: ptr::null(),
        floor_at: 0,
        prices: ptr::null(),
        args: ptr::null_mut(),
        cpu: CpuId(0),
    };

    /// The same CPU, with this stack.
    pub(crate) fn on(self, stack: RunsAt) -> Self {
        Self {
            first_frame: stack.end.0,
            first_frame_word: stack.word,
            floor_at: (stack.args as u64).wrapping_sub((MAX_FRAMES - 1) * FRAME_BYTES),
            args: stack.args,
            ..self
        }
    }
}

/// What the engine keeps for each CPU: two of the host's cache lines.
#[repr(C, align(64))]
pub(crate) struct Seat {
    /// With the stack of a callback that is in no other one, once there is that.
    pub(crate) place: Place,
    /// Whether a callback that is in no other one can begin there at once: emitted code, on a stack that was used
    /// before, while no callback is suspended.
    pub(crate) is_ready: bool,
    /// The same, even while a callback is suspended.
    may_be_ready: bool,
    /// The contexts of its suspended activations, the innermost last.
    pub(crate) suspended: Vec<*mut Context>,
}

// SAFETY: the contexts belong to fibers of the same Vm. The prices and the stacks belong to the region, which lives as
// long as the Vm. Nobody changes the prices, and only the owner of the Vm uses the stacks.
unsafe impl Send for Seat {}

impl Seat {
    /// A callback that is in no other one can begin at this place at once.
    pub(crate) fn make_ready(&mut self, stack: RunsAt) {
        self.place = self.place.on(stack);
        (self.is_ready, self.may_be_ready) = (true, true);
    }

    /// No callback can begin here at once any more.
    pub(crate) fn make_unready(&mut self) {
        (self.is_ready, self.may_be_ready) = (false, false);
    }

    /// A callback was suspended, which has this context: the next one runs elsewhere.
    #[inline]
    pub(crate) fn suspend(&mut self, context: *mut Context) {
        self.suspended.push(context);
        self.is_ready = false;
    }

    /// The innermost suspended callback has ended.
    #[inline]
    pub(crate) fn end_suspended(&mut self) {
        self.suspended.pop();
        self.is_ready = self.may_be_ready && self.suspended.is_empty();
    }
}

/// A seat for each CPU.
pub(crate) fn seats(world: &VmWorld, cpus: u32) -> Box<[Seat]> {
    let region = world.region();
    let seat = |cpu| {
        let (key, prices) = (region.key(cpu), region.prices_to(cpu).unwrap_or(&ASK_ALWAYS).as_ptr());
        let place = Place { shared: key.shared, alone: key.alone, prices, cpu, ..Place::NOWHERE };
        Seat { place, is_ready: false, may_be_ready: false, suspended: Vec::new() }
    };
    (0..cpus).map(CpuId).map(seat).collect()
}

/// Writes a struct_ops context. The first words are written even if the callback has fewer arguments: that is
/// faster than checking.
///
/// # Safety
/// `at` is where a slot's context is in the process, and no reference into the region is alive.
#[inline(always)]
pub(crate) unsafe fn put_args(at: *mut u64, args: &[u64]) {
    // SAFETY: a slot has room for `MAX_ARGS` aligned words.
    let put = |i: usize, word: u64| unsafe {
        // Volatile, because a call of memcpy takes longer than these few words.
        at.add(i).write_volatile(word.to_le());
    };
    match *args {
        [a, b, c] => {
            put(0, a);
            put(1, b);
            put(2, c);
        }
        _ => {
            assert!(args.len() <= MAX_ARGS, "a struct_ops callback has at most {MAX_ARGS} arguments");
            args.iter().enumerate().for_each(|(i, &word)| put(i, word));
        }
    }
}

/// Prepares a fiber's context for the next job: nothing is used yet. Emitted code resets the count of loops itself.
#[inline(always)]
pub(crate) fn rewind(context: &mut Context) {
    context.insns = context.no_insns;
    context.stall_ps = 0;
}
