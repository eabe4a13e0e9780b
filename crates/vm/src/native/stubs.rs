//! Stubs from native code to [`calls::touch`], on x86-64.
//!
//! Native code calls them whenever a line moves, and leaves its values in registers. The stubs save the registers that
//! a C function may change, except those of floating point: translated BPF doesn't use them, and saving them takes
//! longer than all others.
#![allow(unsafe_code)]

use crate::calls;
use std::arch::naked_asm;

macro_rules! touch {
    ($name:ident, $write:literal) => {
        /// `(context, offset)`: moves a line here; preserves all integer registers.
        ///
        /// # Safety
        /// As for [`calls::touch`].
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name() {
            // Nine registers and the return address: the stack is aligned again.
            naked_asm!(
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                concat!("mov edx, ", $write),
                "call {touch}",
                "pop r11",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "ret",
                touch = sym calls::touch,
            )
        }
    };
}

touch!(touch_read, "0");
touch!(touch_write, "1");
