//! The switch between a fiber and the code that enters it, for x86-64's System V calling convention.
//!
//! A fiber that is left has the registers that a C function must preserve on its stack. Entering a fiber is a block of
//! assembly in the code that does it, which knows that this changes registers, and keeps nothing there. No code here
//! changes floating-point rounding modes. A discarded fiber leaves its frames where they are: they own nothing.
//!
//! A panic never crosses a switch, since the trampolines catch it ([`crate::calls`]). So the switch has no unwind
//! tables.

use super::Signal;
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
    /// Where a job's stack begins: the address to which it returns is below, and the context is there.
    top: u64,
    /// Where the fiber was left.
    fiber: u64,
    /// The stack of the code that entered it.
    outside: u64,
}

/// Bytes from [`Link::top`] to the end of the stack. A job begins like a C function with two return addresses: so
/// emitted code that only begins there aligns no stack for its calls.
const TOP_BYTES: usize = 8;

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
            (top as *mut *mut Context).write(context.as_ptr());
        }
        Self { _stack: stack }
    }

    /// # Safety
    /// The context is the fiber's own, with a job.
    pub(super) unsafe fn begin(&mut self, context: *mut Context) -> u64 {
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

/// Enters a fiber with this assembly, with the context in rdi, and what else that takes in rsi. It ends where a job
/// returns to, as [`pause`] does, too. All registers may have changed then, and the caller's own code saves those that
/// it uses. Rust doesn't let a block of assembly change rbx and rbp.
macro_rules! enter {
    ($way:literal, $context:expr, $second:expr $(, $name:ident = $kind:ident $what:expr)*) => {{
        let (value, context): (u64, *mut Context);
        asm!(
            "push rbx",
            "push rbp",
            "mov [rdi + {outside}], rsp",
            $way,
            "2: mov rsp, [rdi + {outside}]",
            "pop rbp",
            "pop rbx",
            $($name = $kind $what,)*
            outside = const OUTSIDE,
            inout("rdi") $context => context,
            inout("rsi") $second => _,
            out("rax") value,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("C"),
        );
        (value, context)
    }};
}

/// Where these are in the context.
const OUTSIDE: usize = offset_of!(Context, link) + offset_of!(Link, outside);
const FIBER: usize = offset_of!(Context, link) + offset_of!(Link, fiber);
const TOP: usize = offset_of!(Context, link) + offset_of!(Link, top);

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

/// Enters the context's fiber, which starts a callback of emitted code. Returns R0, if the job is done, and the
/// context, so that the caller doesn't keep it.
///
/// # Safety
/// `code` is where emitted code begins as a callback, and the fiber has no job; its stack is large enough for eight
/// frames. Nobody uses a reference to its context.
#[inline(always)]
pub(crate) unsafe fn start(context: *mut Context, code: StartFn) -> (u64, *mut Context) {
    // Emitted code expects the context in rdi, leaves it there, and preserves no other register.
    // SAFETY: as above.
    unsafe { enter!("mov rsp, [rdi + {top}]; call rsi", context, code, top = const TOP) }
}

/// Calls `body` with the job's arguments on the fiber's stack.
///
/// # Safety
/// The fiber's stack is not in use, and the job is set.
unsafe fn begin(context: *mut Context, body: NativeFn) -> u64 {
    // SAFETY: as above; this also leaves the context in rdi.
    unsafe {
        enter!("mov rsp, [rdi + {top}]; call {job}", context, body, top = const TOP, job = sym begin_there).0
    }
}

/// Calls the C function in rsi with the job's arguments, on the fiber's stack, with the context in rdi. Leaves that
/// there.
#[unsafe(naked)]
unsafe extern "C" fn begin_there() {
    naked_asm!(
        // The context again aligns the stack.
        "push rdi",
        "push [rdi + {args} + 32]",
        "mov rax, rsi",
        "mov rsi, [rdi + {r10}]",
        "mov rdx, [rdi + {args}]",
        "mov rcx, [rdi + {args} + 8]",
        "mov r8, [rdi + {args} + 16]",
        "mov r9, [rdi + {args} + 24]",
        "call rax",
        "pop rdi",
        "pop rdi",
        "ret",
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
) -> (u64, *mut Context) {
    // SAFETY: as above. The job returns here and no longer to the code that began it.
    unsafe {
        enter!(
            "lea rax, [rip + 2f]; mov rcx, [rdi + {top}]; mov [rcx - 8], rax; mov rsp, [rdi + {fiber}]; \
             mov rax, rsi; pop rbp; pop rbx; pop r12; pop r13; pop r14; pop r15; ret",
            context,
            value,
            top = const TOP,
            fiber = const FIBER
        )
    }
}

/// Leaves the fiber until it is resumed, and returns what it is resumed with.
///
/// # Safety
/// Called on the fiber of this context.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn pause(context: *mut Context, signal: Signal) -> u64 {
    naked_asm!(
        "push r15; push r14; push r13; push r12; push rbx; push rbp",
        "mov [rdi + {fiber}], rsp",
        "mov [rdi + {signal}], rsi",
        "mov rax, [rdi + {top}]",
        "jmp [rax - 8]",
        fiber = const FIBER,
        top = const TOP,
        signal = const offset_of!(Context, signal),
    )
}
