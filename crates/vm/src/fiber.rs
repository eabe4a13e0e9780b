//! Fibers: stacks on which callbacks run. Each runs one job after the other, so that a callback takes one switch in and
//! one out.
//!
//! Every callback pays for the switch, so on x86-64 it is our own (`switch`): it boxes nothing and catches nothing.
//! Other hosts use a library's coroutines (`coroutine`).
#![allow(unsafe_code)]

#[cfg(not(target_arch = "x86_64"))]
mod coroutine;
#[cfg(target_arch = "x86_64")]
mod switch;

#[cfg(not(target_arch = "x86_64"))]
use coroutine as way;
#[cfg(target_arch = "x86_64")]
use switch as way;

use crate::context::Context;
use crate::memory::Limits;
use corosensei::stack::DefaultStack;
use std::ptr::NonNull;
pub(crate) use way::{Link, pause, start};

/// Why a fiber was left. It is in the context, so that the end of a callback that nothing interrupts tests nothing of
/// it by itself: see [`Context::ends_plainly`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Signal {
    /// The job is done, or goes on.
    #[default]
    Done = 0,
    /// The host wants it suspended.
    Suspended,
    /// The job was stopped; the fault is in the context.
    Failed,
    /// The host panicked; the payload is in the context.
    Panicked,
}

/// Bytes of a fiber's stack: eight frames of either engine, with the host's calls on top.
const STACK_BYTES: usize = 512 << 10;

/// A fiber and the context that its code works with.
pub(crate) struct Fiber {
    routine: way::Routine,
    context: NonNull<Context>,
}

// SAFETY: while a fiber is not running, its stack holds frames of the switch, the interpreter, native code and
// trampolines. They contain the context's address and integers, nothing that is bound to a thread. There are no frames
// of a host, since a host returns before its callback is suspended. The context's pointers belong to the Vm that owns
// the fiber, or are set again whenever the fiber is entered (host and world).
unsafe impl Send for Fiber {}

impl Fiber {
    /// A fiber that waits for its first job.
    pub(crate) fn new(context: Context) -> std::io::Result<Self> {
        let stack = DefaultStack::new(STACK_BYTES)?;
        let context = NonNull::from(Box::leak(Box::new(context)));
        Ok(Self { routine: way::Routine::new(stack, context), context })
    }

    /// The context; only between entries.
    #[inline]
    pub(crate) fn context(&mut self) -> &mut Context {
        // SAFETY: the fiber owns the box, and its code isn't running.
        unsafe { self.context.as_mut() }
    }

    /// Like `context` as a pointer, for code that enters the fiber in between.
    #[inline]
    pub(crate) fn pointer(&self) -> *mut Context {
        self.context.as_ptr()
    }

    /// The limits in the context.
    pub(crate) fn limits(&self) -> NonNull<Limits> {
        // SAFETY: the context lives.
        unsafe { NonNull::new_unchecked(&raw mut (*self.pointer()).limits) }
    }

    /// Enters the fiber: it starts the context's job. Returns R0, if the job is done.
    #[inline(always)]
    pub(crate) fn begin(&mut self) -> u64 {
        // SAFETY: the context is the fiber's own, and the caller has set its job.
        unsafe { self.routine.begin(self.context.as_ptr()) }
    }

    /// Discards whatever the fiber was doing.
    #[cold]
    pub(crate) fn reset(&mut self) {
        self.context().signal = Signal::Done;
        self.routine.reset(self.context);
    }
}

/// Enters the fiber of this context, which is one of these, and continues where it was suspended, with this value of
/// the call that it waits for. Returns the same as [`start`].
///
/// # Safety
/// It was suspended, and nobody uses a reference to its context.
#[inline(always)]
pub(crate) unsafe fn resume(context: *mut Context, value: u64, fibers: &mut [Fiber]) -> (u64, *mut Context) {
    // SAFETY: as above.
    unsafe {
        (*context).signal = Signal::Done;
        way::resume(context, value, || &mut fibers[(*context).number as usize].routine)
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        self.routine.stop();
        // SAFETY: made by `Box::leak` in `new`, and nothing else keeps the pointer.
        drop(unsafe { Box::from_raw(self.context.as_ptr()) });
    }
}
