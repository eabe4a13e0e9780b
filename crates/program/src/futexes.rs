//! Handles several futexes in one call (`FUTEX_WAKE_OP`, `futex_waitv`), and the calls that are one operation of
//! `futex` each.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::program::{Program, Wait};

/// `futex_wake`, `futex_wait` and `futex_requeue`, which libc does not name.
const SYS_WAKE: i64 = 454;
const SYS_WAIT: i64 = 455;
const SYS_REQUEUE: i64 = 456;
/// Their flags: the word's size, which can only be 32 bits, its mask, and that only this process waits there.
const SIZE_MASK: u64 = 3;
const SIZE_32: u64 = 2;
const PRIVATE: u64 = 128;
/// Words of `struct futex_waitv`: the value, the address, and the flags before a reserved half.
const WAITER_WORDS: usize = 3;
/// The maximum number of futexes in one call (`FUTEX_WAITV_MAX`).
const MOST: u64 = 128;

/// What `FUTEX_WAKE_OP` does to the second word, and when it wakes that word's waiters, from its last argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WakeOp {
    operation: u32,
    operand: i32,
    comparison: u32,
    compared: i32,
}

impl WakeOp {
    fn of(coded: u32) -> Self {
        /// The operand is a bit's number (`FUTEX_OP_OPARG_SHIFT`).
        const IS_BIT: u32 = 8;
        let operation = coded >> 28;
        let operand = (coded << 8) as i32 >> 20;
        Self {
            operation: operation & !IS_BIT,
            operand: if operation & IS_BIT == 0 { operand } else { 1 << (operand & 31) },
            comparison: coded >> 24 & 15,
            compared: (coded << 20) as i32 >> 20,
        }
    }

    /// Returns the word's new value.
    fn apply(self, word: i32) -> Option<i32> {
        match self.operation as i32 {
            libc::FUTEX_OP_SET => Some(self.operand),
            libc::FUTEX_OP_ADD => Some(word.wrapping_add(self.operand)),
            libc::FUTEX_OP_OR => Some(word | self.operand),
            libc::FUTEX_OP_ANDN => Some(word & !self.operand),
            libc::FUTEX_OP_XOR => Some(word ^ self.operand),
            _ => None,
        }
    }

    /// Returns whether the word's waiters are woken, given its old value.
    fn wakes(self, word: i32) -> Option<bool> {
        match self.comparison as i32 {
            libc::FUTEX_OP_CMP_EQ => Some(word == self.compared),
            libc::FUTEX_OP_CMP_NE => Some(word != self.compared),
            libc::FUTEX_OP_CMP_LT => Some(word < self.compared),
            libc::FUTEX_OP_CMP_LE => Some(word <= self.compared),
            libc::FUTEX_OP_CMP_GT => Some(word > self.compared),
            libc::FUTEX_OP_CMP_GE => Some(word >= self.compared),
            _ => None,
        }
    }
}

impl Program {
    /// `futex_waitv` and related calls. Returns `None` for another call.
    pub(crate) fn futex_call(&mut self, number: i64, a: [u64; 6]) -> Result<Option<Answer>, ProgramError> {
        Ok(Some(match number {
            libc::SYS_futex_waitv => self.wait_for_any(a),
            SYS_WAIT => self.wait_for_one(a),
            SYS_WAKE => {
                let [at, bits, most, flags, ..] = a;
                if !are_known(flags) || bits == 0 || bits > u64::from(u32::MAX) {
                    return Ok(Some(error(libc::EINVAL)));
                }
                Answer::Value(self.wake_futex(at, most as u32, bits as u32)?)
            }
            SYS_REQUEUE => self.requeue_pair(a)?,
            _ => return Ok(None),
        }))
    }

    /// `FUTEX_WAKE_OP`: changes the second word, and wakes waiters of the first, and of the second if its old value
    /// satisfies the comparison.
    pub(crate) fn wake_op(
        &mut self,
        at: u64,
        other: u64,
        most: [u32; 2],
        coded: u32,
    ) -> Result<Answer, ProgramError> {
        let op = WakeOp::of(coded);
        let Some(word) = self.word_at(other).map(|word| word as i32) else { return Ok(error(libc::EFAULT)) };
        let (Some(new), Some(wakes)) = (op.apply(word), op.wakes(word)) else {
            return Ok(error(libc::ENOSYS));
        };
        if !self.host.write(other, &new.to_le_bytes()) {
            return Ok(error(libc::EFAULT));
        }
        let first = self.wake_futex(at, most[0], u32::MAX)?;
        let second = if wakes { self.wake_futex(other, most[1], u32::MAX)? } else { 0 };
        Ok(Answer::Value(first + second))
    }

    fn wait_for_any(&self, a: [u64; 6]) -> Answer {
        let [list, count, flags, timeout, clock, _] = a;
        if flags != 0 || count == 0 || count > MOST {
            return error(libc::EINVAL);
        }
        let mut places = Vec::new();
        for i in 0..count {
            let waiter = list.saturating_add(i * 8 * WAITER_WORDS as u64);
            let Some([value, at, flags]) = self.words::<WAITER_WORDS>(waiter) else {
                return error(libc::EFAULT);
            };
            // The upper half is reserved.
            if !are_known(flags) {
                return error(libc::EINVAL);
            }
            match self.word_at(at) {
                None => return error(libc::EFAULT),
                Some(word) if u64::from(word) != value => return error(libc::EAGAIN),
                Some(_) => places.push(at),
            }
        }
        self.wait_until(places, u32::MAX, timeout, clock)
    }

    fn wait_for_one(&self, a: [u64; 6]) -> Answer {
        let [at, value, bits, flags, timeout, clock] = a;
        if !are_known(flags) || bits == 0 || bits.max(value) > u64::from(u32::MAX) {
            return error(libc::EINVAL);
        }
        match self.word_at(at) {
            None => error(libc::EFAULT),
            Some(word) if u64::from(word) != value => error(libc::EAGAIN),
            Some(_) => self.wait_until(vec![at], bits as u32, timeout, clock),
        }
    }

    /// Waits until a time of one of two clocks, if any is given.
    fn wait_until(&self, places: Vec<u64>, bits: u32, timeout: u64, clock: u64) -> Answer {
        let clock = clock as i32;
        if timeout != 0 && !matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC) {
            return error(libc::EINVAL);
        }
        match self.deadline_at(timeout, Some(clock)) {
            Ok(deadline) => Answer::Wait(Wait::Futex { places, bits }, deadline),
            Err(errno) => error(errno),
        }
    }

    /// `futex_requeue`: the two futexes are the first ones of a list.
    fn requeue_pair(&mut self, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let [list, flags, wake, most, ..] = a;
        let Some([value, at, first, _, other, second]) = self.words::<{ 2 * WAITER_WORDS }>(list) else {
            return Ok(error(libc::EFAULT));
        };
        if flags != 0 || !are_known(first) || !are_known(second) {
            return Ok(error(libc::EINVAL));
        }
        match self.word_at(at) {
            None => Ok(error(libc::EFAULT)),
            Some(word) if u64::from(word) != value => Ok(error(libc::EAGAIN)),
            Some(_) => self.requeue(at, other, wake as u32, most as u32),
        }
    }
}

/// Returns whether keel knows all of a futex's flags.
const fn are_known(flags: u64) -> bool {
    flags & SIZE_MASK == SIZE_32 && flags & !(SIZE_MASK | PRIVATE) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_argument_of_wake_op_is_taken_apart() {
        let check = |coded: u32, word: i32, expected: (Option<i32>, Option<bool>)| {
            let op = WakeOp::of(coded);
            assert_eq!((op.apply(word), op.wakes(word)), expected, "{coded:#x} of {word}");
        };
        // As the C library's condition variables used it: the word becomes 0, and waiters are woken if it was above 1.
        check(0x0400_0001, 2, (Some(0), Some(true)));
        check(0x0400_0001, 1, (Some(0), Some(false)));
        check(0x1000_5000, 7, (Some(12), Some(false)));
        // Operands and compared values are signed.
        check(0x12ff_ffff, -2, (Some(-3), Some(true)));
        check(0xa100_5003, 0, (Some(32), Some(true)));
        check(0x3300_f000, 0xff, (Some(0xf0), Some(false)));
        check(0x4500_f000, 0xff, (Some(0xf0), Some(true)));
        check(0x5600_0000, 0, (None, None));
    }
}
