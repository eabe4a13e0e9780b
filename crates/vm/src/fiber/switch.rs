//! The switch between a fiber and the code that enters it, for x86-64's System V calling convention.
//!
//! It saves only the registers that a C function must preserve: six, pushed onto the stack that is left. No code here
//! changes floating-point rounding modes. A discarded fiber leaves its frames where they are: they own nothing.
//!
//! A panic never crosses a switch, since the trampolines catch it ([`crate::calls`]). So the switch has no unwind
//! tables.

use super::{Left, Signal};
use crate::calls;
use crate::context::{Context, Job, NativeFn, StartFn};
use corosensei::stack::{DefaultStack, Stack};
use std::arch::naked_asm;
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
    /// The stack of the code that entered it, with the registers that it expects to keep on top.
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
        "push r15; push r14; push r13; push rbx; push r12; push rbp"
    };
}

/// Pops the registers that [`keep`] has pushed.
macro_rules! give_back {
    () => {
        "pop rbp; pop r12; pop rbx; pop r13; pop r14; pop r15"
    };
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

/// Enters the context's fiber, which starts a callback of emitted code. That expects the context in rdi. When it returns,
/// r12 and rbp have changed, and what a C function may change.
///
/// # Safety
/// `code` is where emitted code begins as a callback, and the fiber has no job; its stack is large enough for eight
/// frames. Nobody uses a reference to its context.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn start(context: *mut Context, code: StartFn) -> Left {
    naked_asm!(
        keep!(),
        "mov [rdi + {outside}], rsp",
        "mov rsp, [rdi + {top}]",
        "call rsi",
        "mov rdi, [rsp + 8]",
        "mov rsp, [rdi + {outside}]",
        "pop rbp",
        "pop r12",
        "add rsp, 32",
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
#[unsafe(naked)]
unsafe extern "C" fn begin(context: *mut Context, body: NativeFn) -> Left {
    naked_asm!(
        keep!(),
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
        give_back!(),
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
    unsafe { go_on(context, value) }
}

/// As [`resume`].
///
/// # Safety
/// The same.
#[unsafe(naked)]
unsafe extern "C" fn go_on(context: *mut Context, value: u64) -> Left {
    naked_asm!(
        keep!(),
        "mov rax, rsi",
        "mov [rdi + {outside}], rsp",
        "mov rsp, [rdi + {fiber}]",
        give_back!(),
        "ret",
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        fiber = const offset_of!(Context, link) + offset_of!(Link, fiber),
    )
}

/// Leaves the fiber until it is resumed, and returns what it is resumed with. The code that resumes it continues when its job is done, and not the code that
/// began it, so then that needs all its registers back: the job returns to the end of this function.
///
/// # Safety
/// Called on the fiber of this context.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn pause(context: *mut Context, signal: Signal) -> u64 {
    naked_asm!(
        keep!(),
        "mov [rdi + {fiber}], rsp",
        "mov rax, [rdi + {top}]",
        "lea rcx, [rip + 2f]",
        "mov [rax - 8], rcx",
        "mov rsp, [rdi + {outside}]",
        "mov edx, esi",
        give_back!(),
        "ret",
        "2:",
        "mov rdi, [rsp + 8]",
        "mov rsp, [rdi + {outside}]",
        "xor edx, edx",
        give_back!(),
        "ret",
        top = const offset_of!(Context, link) + offset_of!(Link, top),
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        fiber = const offset_of!(Context, link) + offset_of!(Link, fiber),
    )
}
