//! The engine's functions that emitted code calls, through a table of addresses next to the code.
//!
//! Calls off the hot path go through stubs that preserve every register except r10 and r11, so that the code around
//! them can leave its values where they are. The carry flag is set if a line was refused. Floating point is not saved: emitted code keeps nothing there.

use crate::context::Context;
use crate::{calls, drain, interp, numbers, trees};
use std::arch::naked_asm;
use std::mem::offset_of;

/// Moves a line here for reading: its number in r10, from simulated address 0.
pub(super) const TOUCH_READ: usize = 0;
/// Moves a line here for writing: its number in r10, from simulated address 0.
pub(super) const TOUCH_WRITE: usize = 1;
/// Moves a line here for an atomic instruction: the offset in r10.
pub(super) const TOUCH_ATOMICALLY: usize = 2;
/// Grants the next `may_goto`s.
pub(super) const REFILL_LOOPS: usize = 3;
/// C functions that take the context and, except for faults, R1 to R5.
pub(super) const NEVER_ENDS: usize = 4;
pub(super) const TOO_DEEP: usize = 5;
pub(super) const POISONED: usize = 6;
pub(super) const BPF_LOOP: usize = 7;
pub(super) const FOR_EACH: usize = 8;
pub(super) const DRAIN: usize = 9;
pub(super) const RBTREE_ADD: usize = 10;
pub(super) const NUM_NEXT: usize = 11;
/// Executes the rest of a function: its number in r10, the operation in r11. Leaves the value in rax, and may change what
/// a C function may.
pub(super) const INTERPRET: usize = 12;

/// The table.
pub(super) fn addresses() -> [u64; 13] {
    [
        touch_read as *const () as u64,
        touch_write as *const () as u64,
        touch_atomically as *const () as u64,
        refill_loops as *const () as u64,
        calls::never_ends as *const () as u64,
        calls::too_deep as *const () as u64,
        calls::poisoned as *const () as u64,
        calls::bpf_loop as *const () as u64,
        calls::for_each as *const () as u64,
        drain::drain as *const () as u64,
        trees::rbtree_add as *const () as u64,
        numbers::num_next as *const () as u64,
        interpret as *const () as u64,
    ]
}

macro_rules! stub {
    ($name:ident, $target:path, $second:literal, $third:literal) => {
        /// Calls the engine with the context in rdi, and preserves it.
        ///
        /// # Safety
        /// As for the function that it calls.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            // Emitted code may have saved an odd number of registers, so this aligns the stack.
            naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "and rsp, -16",
                $second,
                $third,
                "call {target}",
                "lea rsp, [rbp - 56]",
                "pop r9",
                "pop r8",
                "pop rdi",
                // The carry flag says whether a line was refused.
                "bt qword ptr [rdi + {denied}], 0",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "pop rbp",
                "ret",
                target = sym $target,
                denied = const offset_of!(Context, denied),
            )
        }
    };
}

stub!(touch_read, calls::touch_line, "mov rsi, r10", "xor edx, edx");
stub!(touch_write, calls::touch_line, "mov rsi, r10", "mov edx, 1");
stub!(touch_atomically, calls::touch_atomically, "mov rsi, r10", "");
stub!(refill_loops, calls::refill_loops, "", "");

/// Calls the interpreter with R0 to R10, and the context in rdi.
///
/// # Safety
/// As for [`interp::go_on`].
#[unsafe(naked)]
unsafe extern "C" fn interpret() {
    // Eleven registers, of which the first only aligns the stack, and the return address.
    naked_asm!(
        "push rax",
        "push r15",
        "push r14",
        "push r13",
        "push rbx",
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rax",
        "mov esi, r10d",
        "mov edx, r11d",
        "mov rcx, rsp",
        "mov r8, rbp",
        "sub r8, r12",
        "call {target}",
        "add rsp, 88",
        "ret",
        target = sym interp::go_on,
    )
}
