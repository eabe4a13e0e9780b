//! The switch between a fiber and the code that enters it, for x86-64's System V calling convention.
//!
//! A fiber that is left has the registers that a C function must preserve on its stack. The code that enters a fiber
//! knows that this changes registers, and keeps nothing there. No code here changes floating-point rounding modes. A
//! discarded fiber leaves its frames where they are: they own nothing.
//!
//! A panic never crosses a switch, since the trampolines catch it ([`crate::calls`]). So the switch has no unwind
//! tables.

use super::{Left, Signal};
use crate::calls;
use crate::context::{Context, Job, NativeFn, StartFn};
use corosensei::stack::{DefaultStack, Stack};
use std::arch::{asm, naked_asm};
use std::mem::offset_of;
use std::ptr::NonNull;

/// The stack pointers of a fiber and of the code that entered it.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Link {
    /// Where a job's stack begins: the address to which it returns is below, and above are its seventh argument and the
    /// context.
    top: u64,
    /// Where the fiber was left.
    fiber: u64,
    /// The stack of the code that entered it, with what `keep_outside` has pushed on top.
    outside: u64,
}

/// Bytes above [`Link::top`].
const TOP_BYTES: usize = 16;

/// A fiber's stack.
pub(super) struct Routine {
    _stack: DefaultStack,
}

impl Routine {
    pub(super) fn new(stack: DefaultStack, mut context: NonNull<Context>) -> Self {
        let top = stack.base().get() - TOP_BYTES;
        // SAFETY: the context is new, and nobody else uses it. A stack is larger than that, and its base is aligned.
        unsafe {
            context.as_mut().link.top = top as u64;
            (top as *mut *mut Context).add(1).write(context.as_ptr());
        }
        Self { _stack: stack }
    }

    /// # Safety
    /// The context is the fiber's own, with a job.
    pub(super) unsafe fn begin(&mut self, context: *mut Context) -> Left {
        // SAFETY: the table has an entry for each of the code's functions, and the job's is one; the stack is not in
        // use, and is large enough for eight frames.
        unsafe {
            let (table, job) = ((*context).native, (*context).job);
            let is_native =
                !table.is_null() && (*(*context).code).can_emitted_take(job.function, job.r10, job.args[0]);
            let body = match is_native {
                true => *table.add(job.function as usize),
                false => interpret as NativeFn,
            };
            begin(context, body)
        }
    }

    pub(super) fn reset(&mut self, _: NonNull<Context>) {
        // The next job begins at the stack's top, over whatever is there.
    }

    pub(super) fn stop(&mut self) {}
}

/// Pushes the registers that a C function must preserve.
macro_rules! keep {
    () => {
        "push r15; push r14; push r13; push r12; push rbx; push rbp"
    };
}

/// Pops the registers that [`keep`] has pushed.
macro_rules! give_back {
    () => {
        "pop rbp; pop rbx; pop r12; pop r13; pop r14; pop r15"
    };
}

/// Pushes those of them that Rust doesn't let a block of assembly change.
macro_rules! keep_outside {
    () => {
        "push rbx; push rbp"
    };
}

/// Pops the registers that [`keep_outside`] has pushed.
macro_rules! give_back_outside {
    () => {
        "pop rbp; pop rbx"
    };
}

/// Calls something that enters a fiber, with the context in rdi, and what else it takes in rsi. When it returns, all
/// registers may have changed, except for those of [`keep_outside`]: so each of the others is saved once, by the
/// caller's own code and only if that uses it.
macro_rules! enter {
    ($way:path, $context:expr, $second:expr) => {{
        let (value, signal): (u64, u32);
        asm!(
            "call {way}",
            way = sym $way,
            inout("rdi") $context => _,
            inout("rsi") $second => _,
            out("rax") value,
            out("edx") signal,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("C"),
        );
        // What leaves a fiber passes on a signal, and `start_there` and `begin_there` 0.
        Left { value, signal: Signal::from_number(signal) }
    }};
}

/// The job of a fiber whose code is interpreted.
unsafe extern "C" fn interpret(
    context: *mut Context,
    r10: u64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
) -> u64 {
    // SAFETY: as for `calls::invoke`; the job is that of the fiber that this runs on.
    unsafe { calls::invoke(context, (*context).job.function, r10, [a, b, c, d, e]) }
}

/// Enters the context's fiber, which starts a callback of emitted code.
///
/// # Safety
/// `code` is where emitted code begins as a callback, and the fiber has no job; its stack is large enough for eight
/// frames. Nobody uses a reference to its context.
#[inline(always)]
pub(crate) unsafe fn start(context: *mut Context, code: StartFn) -> Left {
    // SAFETY: as above.
    unsafe { enter!(start_there, context, code) }
}

/// Calls emitted code on the fiber's stack. That expects the context in rdi, and preserves no register.
#[unsafe(naked)]
unsafe extern "C" fn start_there() {
    naked_asm!(
        keep_outside!(),
        "mov [rdi + {outside}], rsp",
        "mov rsp, [rdi + {top}]",
        "call rsi",
        "mov rdi, [rsp + 8]",
        "mov rsp, [rdi + {outside}]",
        give_back_outside!(),
        "xor edx, edx",
        "ret",
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        top = const offset_of!(Context, link) + offset_of!(Link, top),
    )
}

/// Calls `body` with the job's arguments on the fiber's stack.
///
/// # Safety
/// The fiber's stack is not in use, and the job is set.
unsafe fn begin(context: *mut Context, body: NativeFn) -> Left {
    // SAFETY: as above.
    unsafe { enter!(begin_there, context, body) }
}

/// As [`begin`].
#[unsafe(naked)]
unsafe extern "C" fn begin_there() {
    naked_asm!(
        keep_outside!(),
        "mov [rdi + {outside}], rsp",
        "mov rsp, [rdi + {top}]",
        "mov rax, [rdi + {args} + 32]",
        "mov [rsp], rax",
        "mov rax, rsi",
        "mov rsi, [rdi + {r10}]",
        "mov rdx, [rdi + {args}]",
        "mov rcx, [rdi + {args} + 8]",
        "mov r8, [rdi + {args} + 16]",
        "mov r9, [rdi + {args} + 24]",
        "call rax",
        "mov rdi, [rsp + 8]",
        "mov rsp, [rdi + {outside}]",
        "xor edx, edx",
        give_back_outside!(),
        "ret",
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        top = const offset_of!(Context, link) + offset_of!(Link, top),
        args = const offset_of!(Context, job) + offset_of!(Job, args),
        r10 = const offset_of!(Context, job) + offset_of!(Job, r10),
    )
}

/// Continues where the fiber was left, with this value. All else that this needs is in the context.
///
/// # Safety
/// It was left by [`pause`].
#[inline(always)]
pub(super) unsafe fn resume<'a>(
    context: *mut Context,
    value: u64,
    _: impl FnOnce() -> &'a mut Routine,
) -> Left {
    // SAFETY: as above.
    unsafe { enter!(resume_there, context, value) }
}

/// As [`resume`].
#[unsafe(naked)]
unsafe extern "C" fn resume_there() {
    naked_asm!(
        keep_outside!(),
        "mov rax, rsi",
        "mov [rdi + {outside}], rsp",
        "mov rsp, [rdi + {fiber}]",
        give_back!(),
        "ret",
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        fiber = const offset_of!(Context, link) + offset_of!(Link, fiber),
    )
}

/// Leaves the fiber until it is resumed, and returns what it is resumed with. The code that resumes it continues when its
/// job is done, and not the code that began it: all of them expect the same on their stack.
///
/// # Safety
/// Called on the fiber of this context.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn pause(context: *mut Context, signal: Signal) -> u64 {
    naked_asm!(
        keep!(),
        "mov [rdi + {fiber}], rsp",
        "mov rsp, [rdi + {outside}]",
        "mov edx, esi",
        give_back_outside!(),
        "ret",
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        fiber = const offset_of!(Context, link) + offset_of!(Link, fiber),
    )
}
