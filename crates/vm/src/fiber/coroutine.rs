//! A fiber as a library's coroutine, for hosts without a switch of our own.

use super::Signal;
use crate::calls;
use crate::context::{Context, Job, StartFn};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::ptr::NonNull;

type Yielder = corosensei::Yielder<u64, u64>;

/// The handle that leaves the fiber.
pub(crate) struct Link {
    yielder: *const Yielder,
}

impl Default for Link {
    fn default() -> Self {
        Self { yielder: std::ptr::null() }
    }
}

/// A loop that runs one job after the other; none once it is stopped.
pub(super) struct Routine(Option<Coroutine<u64, u64, (), DefaultStack>>);

impl Routine {
    pub(super) fn new(stack: DefaultStack, context: NonNull<Context>) -> Self {
        let context = context.as_ptr();
        Self(Some(Coroutine::with_stack(stack, move |yielder: &Yielder, _| {
            loop {
                // SAFETY: the fiber owns the context and outlives its routine. No reference to the
                // context is held across the call.
                let value = unsafe {
                    (*context).link.yielder = yielder;
                    let Job { function, r10, args } = (*context).job;
                    calls::invoke(context, function, r10, args)
                };
                yielder.suspend(value);
            }
        })))
    }

    /// # Safety
    /// The context is the fiber's own, with a job.
    pub(super) unsafe fn begin(&mut self, _: *mut Context) -> u64 {
        // The loop is where it takes the next job.
        self.go_on(0)
    }

    fn go_on(&mut self, value: u64) -> u64 {
        let routine = self.0.as_mut().expect("only stopping takes it away");
        match routine.resume(value) {
            CoroutineResult::Yield(value) => value,
            CoroutineResult::Return(()) => unreachable!("a fiber's loop has no end"),
        }
    }

    pub(super) fn reset(&mut self, context: NonNull<Context>) {
        if let Some(stack) = self.take_stack() {
            *self = Self::new(stack, context);
        }
    }

    pub(super) fn stop(&mut self) {
        drop(self.take_stack());
    }

    fn take_stack(&mut self) -> Option<DefaultStack> {
        let mut routine = self.0.take()?;
        // SAFETY: the frames on the stack own nothing: native code has no destructors, and the
        // interpreter's and trampolines' frames that can be suspended hold plain data only.
        unsafe { routine.force_reset() };
        Some(routine.into_stack())
    }
}

/// # Safety
/// The fiber was suspended.
pub(super) unsafe fn resume<'a>(
    context: *mut Context,
    value: u64,
    routine: impl FnOnce() -> &'a mut Routine,
) -> (u64, *mut Context) {
    (routine().go_on(value), context)
}

/// # Safety
/// None: there is no emitted code for these hosts.
pub(crate) unsafe fn start(_: *mut Context, _: StartFn) -> (u64, *mut Context) {
    unreachable!("code is emitted for x86-64 only")
}

/// Leaves the fiber until it is resumed, and returns what it is resumed with.
///
/// # Safety
/// Called on the fiber of this context.
pub(crate) unsafe fn pause(context: *mut Context, signal: Signal) -> u64 {
    // SAFETY: the fiber's body set `yielder` to its own, which lives at the bottom of the
    // stack that this runs on.
    unsafe {
        (*context).signal = signal;
        (*(*context).link.yielder).suspend(0)
    }
}
