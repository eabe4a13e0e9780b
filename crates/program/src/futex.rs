//! Implements futexes. Threads run one at a time, so a comparison and the wait after it are one step.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::program::{Program, Wait};

const MASK: i32 = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);

impl Program {
    pub(crate) fn futex(&mut self, a: [u64; 6], expired: bool) -> Result<Answer, ProgramError> {
        let [at, op, value, timeout, other, bits] = a;
        let op = op as i32;
        Ok(match op & MASK {
            _ if expired => error(libc::ETIMEDOUT),
            libc::FUTEX_WAIT => self.wait_futex(at, value as u32, timeout, None, u32::MAX),
            libc::FUTEX_WAIT_BITSET => {
                let is_real = op & libc::FUTEX_CLOCK_REALTIME != 0;
                let clock = if is_real { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
                self.wait_futex(at, value as u32, timeout, Some(clock), bits as u32)
            }
            libc::FUTEX_WAKE => Answer::Value(self.wake_futex(at, value as u32, u32::MAX)?),
            libc::FUTEX_WAKE_BITSET => Answer::Value(self.wake_futex(at, value as u32, bits as u32)?),
            libc::FUTEX_REQUEUE => self.requeue(at, other, value as u32, timeout as u32)?,
            libc::FUTEX_CMP_REQUEUE => match self.word_at(at) {
                None => error(libc::EFAULT),
                Some(word) if word != bits as u32 => error(libc::EAGAIN),
                Some(_) => self.requeue(at, other, value as u32, timeout as u32)?,
            },
            libc::FUTEX_WAKE_OP => self.wake_op(at, other, [value as u32, timeout as u32], bits as u32)?,
            libc::FUTEX_LOCK_PI => self.lock_pi(at, timeout, Some(libc::CLOCK_REALTIME)),
            libc::FUTEX_LOCK_PI2 => {
                let is_real = op & libc::FUTEX_CLOCK_REALTIME != 0;
                let clock = if is_real { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
                self.lock_pi(at, timeout, Some(clock))
            }
            libc::FUTEX_TRYLOCK_PI => match self.lock_pi(at, 0, None) {
                Answer::Wait(..) => error(libc::EAGAIN),
                answer => answer,
            },
            libc::FUTEX_UNLOCK_PI => self.unlock_pi(at),
            _ => {
                self.refused.insert(format!("futex operation {}", op & MASK));
                error(libc::ENOSYS)
            }
        })
    }

    fn wait_futex(&mut self, at: u64, value: u32, timeout: u64, clock: Option<i32>, bits: u32) -> Answer {
        match self.word_at(at) {
            None => return error(libc::EFAULT),
            Some(word) if word != value => return error(libc::EAGAIN),
            Some(_) => {}
        }
        match self.deadline_at(timeout, clock) {
            Ok(deadline) => Answer::Wait(Wait::Futex { places: vec![at], bits }, deadline),
            Err(errno) => error(errno),
        }
    }

    /// Returns when a wait with the timeout at this address ends, or `None` if there is no timeout.
    pub(crate) fn deadline_at(&self, timeout: u64, clock: Option<i32>) -> Result<Option<u64>, i32> {
        if timeout == 0 {
            return Ok(None);
        }
        let span = self.span_at(timeout).ok_or(libc::EFAULT)??;
        Ok(Some(self.deadline(span, clock)))
    }

    /// Takes a lock whose word contains the number of the thread that holds it. All threads are one task, so no
    /// priority is inherited.
    fn lock_pi(&mut self, at: u64, timeout: u64, clock: Option<i32>) -> Answer {
        let Some(word) = self.word_at(at) else { return error(libc::EFAULT) };
        let own = self.caller.unwrap_or(self.machine.pid).unsigned_abs();
        match word & libc::FUTEX_TID_MASK {
            0 => self.put(at, &own.to_le_bytes(), 0),
            holder if holder == own => error(libc::EDEADLK),
            _ => match self.deadline_at(timeout, clock) {
                Ok(deadline) => {
                    self.host.write(at, &(word | libc::FUTEX_WAITERS).to_le_bytes());
                    Answer::Wait(Wait::Retry, deadline)
                }
                Err(errno) => error(errno),
            },
        }
    }

    fn unlock_pi(&self, at: u64) -> Answer {
        let own = self.caller.unwrap_or(self.machine.pid).unsigned_abs();
        match self.word_at(at) {
            None => error(libc::EFAULT),
            Some(word) if word & libc::FUTEX_TID_MASK != own => error(libc::EPERM),
            Some(_) => self.put(at, &0_u32.to_le_bytes(), 0),
        }
    }

    /// Wakes some waiters, and moves others to another futex.
    pub(crate) fn requeue(
        &mut self,
        at: u64,
        other: u64,
        wake: u32,
        most: u32,
    ) -> Result<Answer, ProgramError> {
        let woken = self.wake_futex(at, wake, u32::MAX)?;
        let mut moved = 0;
        for wait in self.waiting.values_mut() {
            if let Wait::Futex { places, .. } = &mut wait.why
                && let Some(place) = places.iter_mut().find(|place| **place == at)
                && moved < i64::from(most)
            {
                *place = other;
                moved += 1;
            }
        }
        Ok(Answer::Value(woken + moved))
    }

    pub(crate) fn word_at(&self, at: u64) -> Option<u32> {
        let mut word = [0; 4];
        self.host.read(at, &mut word).then(|| u32::from_le_bytes(word))
    }
}
