//! Leaving emitted code for good: where an access is out of bounds, the interpreter repeats it and executes the rest of
//! the function. So code behind an access knows that it was in bounds.

use super::asm::Label;
use super::function::Emitter;
use super::registers::{A32, B32, CONTEXT};
use super::stubs;
use super::values::Value;
use iced_x86::{Code, Register};

impl Emitter<'_> {
    /// Where the interpreter continues with the current operation.
    pub(super) fn exit_here(&mut self) -> Label {
        self.exit_from(self.together.around(self.at))
    }

    /// Like `exit_here` for the head of a loop whose rounds have not been charged yet.
    pub(super) fn exit_before_rounds(&mut self) -> Label {
        self.exit_from(None)
    }

    /// The same, given the loop that is charged for rounds it doesn't make.
    fn exit_from(&mut self, around: Option<usize>) -> Label {
        let exit = *self.exit.get_or_insert_with(|| self.asm.label());
        // The interpreter counts the operation again.
        let (at, owed, counted, result) = (self.at, self.owed, self.pending - 1, self.values[0]);
        self.later(move |e| {
            e.zero_all(owed);
            if let Value::Frame(off) = result {
                // It may not have been needed so far.
                e.load_frame_address(0, off);
            }
            e.count(counted);
            if let Some(number) = around {
                e.give_back(number);
            }
            e.asm.reg_imm(Code::Mov_r32_imm32, B32, at as i32);
            e.asm.to(Code::Jmp_rel32_64, exit);
        })
    }

    /// The way to the interpreter and out of the function, with the operation's number in `B`.
    pub(super) fn leave_to_interpreter(&mut self, function: u32) {
        let Some(exit) = self.exit else { return };
        self.asm.bind(exit);
        let words = if self.target.is_leaf { self.aligning_words() } else { 0 };
        (0..words).for_each(|_| self.asm.reg(Code::Push_r64, CONTEXT));
        self.asm.reg_imm(Code::Mov_r32_imm32, A32, function as i32);
        self.asm.call_tabled(stubs::INTERPRET);
        self.reload_context();
        if words > 0 {
            self.asm.reg_imm(Code::Add_rm64_imm8, Register::RSP, 8 * words as i32);
        }
        self.leave();
    }
}
