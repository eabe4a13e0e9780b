//! What a CPU's callbacks need to begin: where they run, the CPU's words and prices of cache lines, and which of them are
//! suspended.
#![allow(unsafe_code)]

use crate::code::op::{FRAME_BYTES, MAX_FRAMES};
use crate::context::Context;
use crate::memory::VmWorld;
use crate::stacks::MAX_ARGS;
use keel_abi::CpuId;
use keel_abi::bpf::Ea;
use keel_abi::cpuset::MAX_CPUS;
use keel_abi::holders::HolderKey;
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

/// What a callback on a CPU needs to know of it.
pub(crate) struct Seat {
    pub(crate) key: HolderKey,
    /// As [`Context::prices`].
    pub(crate) prices: *const u32,
    /// Where the stack ends of a callback that is in no other one, if it can begin at once: emitted code, on a stack that
    /// was used before, while no callback is suspended. Otherwise null.
    pub(crate) ready: Ea,
    /// The context of such a callback, in the process, and the word of its line; set when `ready` is.
    pub(crate) args: *mut u64,
    pub(crate) word: *const u64,
    /// As `ready`, even while a callback is suspended.
    first: Ea,
    /// The contexts of its suspended activations, the innermost last.
    pub(crate) suspended: Vec<*mut Context>,
}

// SAFETY: the contexts belong to fibers of the same Vm. The prices and the slots belong to the region, which lives as
// long as the Vm. Nobody changes the prices, and only the owner of the Vm uses the slots.
unsafe impl Send for Seat {}

impl Seat {
    /// A callback that is in no other one can begin at this place at once.
    pub(crate) fn make_ready(&mut self, place: RunsAt) {
        (self.first, self.ready) = (place.end, place.end);
        (self.args, self.word) = (place.args, place.word);
    }

    /// A callback was suspended, which has this context: the next one runs elsewhere.
    #[inline]
    pub(crate) fn suspend(&mut self, context: *mut Context) {
        self.suspended.push(context);
        self.ready = Ea::NULL;
    }

    /// The innermost suspended callback has ended.
    #[inline]
    pub(crate) fn end_suspended(&mut self) {
        self.suspended.pop();
        if self.suspended.is_empty() {
            self.ready = self.first;
        }
    }
}

/// A seat for each CPU.
pub(crate) fn seats(world: &VmWorld, cpus: u32) -> Box<[Seat]> {
    let region = world.region();
    let seat = |cpu| Seat {
        key: region.key(cpu),
        prices: region.prices_to(cpu).unwrap_or(&ASK_ALWAYS).as_ptr(),
        ready: Ea::NULL,
        args: ptr::null_mut(),
        word: ptr::null(),
        first: Ea::NULL,
        suspended: Vec::new(),
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

/// Prepares a fiber's context for jobs of a CPU, on a stack that ends at `end`, in the line with this word.
#[inline(always)]
pub(crate) fn sit_down(context: &mut Context, cpu: CpuId, seat: &Seat, (end, word): (Ea, *const u64)) {
    context.cpu = cpu;
    context.prices = seat.prices;
    (context.shared, context.alone) = (seat.key.shared, seat.key.alone);
    context.first_frame = end.0;
    context.first_frame_word = word;
    context.stack_floor = end.0 - (MAX_FRAMES - 1) * FRAME_BYTES;
}
