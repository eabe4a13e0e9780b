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
use std::arch::{asm, naked_asm};
use std::mem::offset_of;
use std::ptr::NonNull;

/// The stack pointers of a fiber and of the code that entered it.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Link {
    /// Where a job's stack begins.
    top: u64,
    /// Where the fiber was left.
    fiber: u64,
    /// The stack of the code that entered it; where that continues is on top.
    outside: u64,
}

/// A fiber's stack.
pub(super) struct Routine {
    _stack: DefaultStack,
}

impl Routine {
    pub(super) fn new(stack: DefaultStack, mut context: NonNull<Context>) -> Self {
        // SAFETY: the context is new, and nobody else uses it.
        unsafe { context.as_mut() }.link.top = stack.base().get() as u64;
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

    /// # Safety
    /// The context is the fiber's own, which was suspended.
    #[inline(always)]
    pub(super) unsafe fn resume(&mut self, context: *mut Context) -> Left {
        // SAFETY: as above; `pause` left the stack as this expects it.
        unsafe { resume(context) }
    }

    pub(super) fn reset(&mut self, _: NonNull<Context>) {
        // The next job begins at the stack's top, over whatever is there.
    }

    pub(super) fn stop(&mut self) {}
}

/// Pushes the registers that a C function must preserve.
macro_rules! keep {
    () => {
        "push rbp; push rbx; push r12; push r13; push r14; push r15"
    };
}

/// Pops the registers that [`keep`] has pushed.
macro_rules! give_back {
    () => {
        "pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp"
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

/// Enters the context's fiber, which starts a callback of emitted code: R1 and R10 are both `at`, and the other
/// arguments 0. The code expects the context in rdi, R1 in rsi, which is also R10, and R2 to R5 in rdx, rcx, r8 and r9.
/// It may change every register.
///
/// This is inlined into the function that starts callbacks, which saves what it needs; only rbx and rbp can't be named
/// as changed.
///
/// # Safety
/// `code` is where emitted code begins as a callback, the fiber has no job, and nobody uses a reference to its context.
#[inline(always)]
pub(crate) unsafe fn start(context: *mut Context, code: StartFn, at: u64) -> Left {
    let (value, signal): (u64, u32);
    // SAFETY: as above; the fiber's stack is not in use, and is large enough for eight frames. Code that leaves the
    // fiber passes one of the signals, and jumps to the address that is pushed here.
    unsafe {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi + {outside}], rsp",
            "mov rsp, [rdi + {top}]",
            "xor edx, edx",
            "xor ecx, ecx",
            "xor r8d, r8d",
            "xor r9d, r9d",
            // Two words, as the stack's top is aligned: the context for later, and one that is not used.
            "push rdi",
            "push rdi",
            "call r10",
            "mov rdi, [rsp]",
            // The code that last entered it continues; if the fiber was suspended, other code began it.
            "mov rsp, [rdi + {outside}]",
            "xor edx, edx",
            "pop rcx",
            "jmp rcx",
            "2:",
            "pop rbx",
            "pop rbp",
            outside = const offset_of!(Context, link) + offset_of!(Link, outside),
            top = const offset_of!(Context, link) + offset_of!(Link, top),
            inout("rdi") context => _,
            inout("rsi") at => _,
            inout("r10") code => _,
            lateout("rax") value,
            lateout("rdx") signal,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
        );
    }
    // SAFETY: it is one of them.
    Left { value, signal: unsafe { std::mem::transmute::<u32, Signal>(signal) } }
}

/// Calls `body` with the job's arguments on the fiber's stack.
///
/// # Safety
/// The fiber's stack is not in use, and the job is set.
#[unsafe(naked)]
unsafe extern "C" fn begin(context: *mut Context, body: NativeFn) -> Left {
    naked_asm!(
        keep!(),
        "lea rax, [rip + 2f]",
        "push rax",
        "mov [rdi + {outside}], rsp",
        "mov rsp, [rdi + {top}]",
        "mov rax, rsi",
        // Two words, as the stack's top is aligned: the context for later, and the seventh argument.
        "push rdi",
        "push [rdi + {args} + 32]",
        "mov rsi, [rdi + {r10}]",
        "mov rdx, [rdi + {args}]",
        "mov rcx, [rdi + {args} + 8]",
        "mov r8, [rdi + {args} + 16]",
        "mov r9, [rdi + {args} + 24]",
        "call rax",
        "mov rdi, [rsp + 8]",
        // The code that last entered it continues; if the fiber was suspended, other code began it.
        "mov rsp, [rdi + {outside}]",
        "xor edx, edx",
        "ret",
        "2:",
        give_back!(),
        "ret",
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        top = const offset_of!(Context, link) + offset_of!(Link, top),
        args = const offset_of!(Context, job) + offset_of!(Job, args),
        r10 = const offset_of!(Context, job) + offset_of!(Job, r10),
    )
}

/// Continues where the fiber was left.
///
/// # Safety
/// It was left by [`pause`].
#[unsafe(naked)]
unsafe extern "C" fn resume(context: *mut Context) -> Left {
    naked_asm!(
        keep!(),
        "lea rax, [rip + 2f]",
        "push rax",
        "mov [rdi + {outside}], rsp",
        "mov rsp, [rdi + {fiber}]",
        give_back!(),
        "ret",
        "2:",
        give_back!(),
        "ret",
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        fiber = const offset_of!(Context, link) + offset_of!(Link, fiber),
    )
}

/// Leaves the fiber until it is resumed.
///
/// # Safety
/// Called on the fiber of this context.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn pause(context: *mut Context, signal: Signal) {
    naked_asm!(
        keep!(),
        "mov [rdi + {fiber}], rsp",
        "mov rsp, [rdi + {outside}]",
        "mov edx, esi",
        "ret",
        outside = const offset_of!(Context, link) + offset_of!(Link, outside),
        fiber = const offset_of!(Context, link) + offset_of!(Link, fiber),
    )
}
