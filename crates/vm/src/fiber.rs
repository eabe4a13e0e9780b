//! Fibers: stacks that callbacks run on. Each runs one job after the other, so that starting a
//! callback is one switch in and one out.
#![allow(unsafe_code)]

use crate::context::{Context, Job};
use crate::{calls, code::op::FRAME_BYTES};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::ptr::NonNull;

/// Why a fiber was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// The job is done and its value in the context.
    Done,
    /// The host wants it suspended.
    Suspended,
    /// The job was stopped; the fault is in the context.
    Failed,
    /// The host panicked; the payload is in the context.
    Panicked,
}

pub(crate) type Yielder = corosensei::Yielder<(), Signal>;
type Routine = Coroutine<(), Signal, (), DefaultStack>;

/// Bytes of a fiber's stack: eight frames of either engine and the host's calls upon them.
const STACK_BYTES: usize = 512 << 10;

/// A fiber and the context that its code works with.
pub(crate) struct Fiber {
    routine: Option<Routine>,
    context: NonNull<Context>,
}

// SAFETY: what lies on a fiber's stack while it is not running is this module's loop and frames
// of interpreter, native code and trampolines. They hold the context's address and integers:
// nothing that is bound to a thread. No frame of a host is among them, since a host returns before
// its callback is suspended. The context's pointers are those of the Vm that owns the fiber, or
// are set again whenever the fiber is entered (host and world).
unsafe impl Send for Fiber {}

impl Fiber {
    /// A fiber that waits for its first job.
    pub(crate) fn new(context: Context) -> std::io::Result<Self> {
        let stack = DefaultStack::new(STACK_BYTES)?;
        let context = NonNull::from(Box::leak(Box::new(context)));
        Ok(Self { routine: Some(routine(stack, context)), context })
    }

    /// The context; only between entries.
    #[inline]
    pub(crate) fn context(&mut self) -> &mut Context {
        // SAFETY: the fiber owns the box, and its code isn't running.
        unsafe { self.context.as_mut() }
    }

    /// Enters the fiber: it starts its job, or goes on where it was suspended.
    #[inline]
    pub(crate) fn enter(&mut self) -> Signal {
        let routine = self.routine.as_mut().expect("only dropping takes it away");
        match routine.resume(()) {
            CoroutineResult::Yield(signal) => signal,
            CoroutineResult::Return(()) => unreachable!("a fiber's loop has no end"),
        }
    }

    /// Forgets whatever the fiber was doing.
    #[cold]
    pub(crate) fn reset(&mut self) {
        let stack = self.stop();
        self.routine = Some(routine(stack, self.context));
    }

    fn stop(&mut self) -> DefaultStack {
        let mut routine = self.routine.take().expect("only dropping takes it away");
        // SAFETY: the frames on the stack own nothing: native code has no destructors, and the
        // interpreter's and trampolines' frames that can be suspended hold plain data only.
        unsafe { routine.force_reset() };
        routine.into_stack()
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        drop(self.stop());
        // SAFETY: made by `Box::leak` in `new`, and nothing else keeps the pointer.
        drop(unsafe { Box::from_raw(self.context.as_ptr()) });
    }
}

/// The loop that every fiber is in.
fn routine(stack: DefaultStack, context: NonNull<Context>) -> Routine {
    let context = context.as_ptr();
    Coroutine::with_stack(stack, move |yielder: &Yielder, ()| {
        loop {
            // SAFETY: the fiber owns the context and outlives its routine. No reference to the
            // context is held across the call.
            unsafe {
                (*context).yielder = yielder;
                // Word by word: a copy of the whole would go through memory.
                let Job { function, r10, args: [a, b, c, d, e] } = (*context).job;
                (*context).stack_floor = r10 - (crate::code::op::MAX_FRAMES - 1) * FRAME_BYTES;
                (*context).value = calls::invoke(context, function, r10, [a, b, c, d, e]);
            }
            yielder.suspend(Signal::Done);
        }
    })
}
