//! Implements `select` and `pselect6`: like `poll`, but with sets of descriptors.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::program::Program;
use crate::thread::Thread;

/// The maximum number of descriptors in a set (`FD_SETSIZE`). The program cannot have more.
const MOST: usize = 1024;
/// The events that make a descriptor ready for reading, ready for writing, and exceptional.
const WANTED: [u32; 3] = [
    (libc::POLLIN | libc::POLLHUP | libc::POLLERR) as u32,
    (libc::POLLOUT | libc::POLLERR) as u32,
    libc::POLLPRI as u32,
];

impl Program {
    /// `select`, with a `struct timeval`.
    pub(crate) fn select(
        &mut self,
        t: &mut Thread,
        a: [u64; 6],
        expired: bool,
    ) -> Result<Answer, ProgramError> {
        let timeout_ns = match a[4] {
            0 => None,
            at => match self.words::<2>(at) {
                None => return Ok(error(libc::EFAULT)),
                Some([seconds, _]) if (seconds as i64) < 0 => return Ok(error(libc::EINVAL)),
                Some([seconds, micros]) => {
                    Some(seconds.saturating_mul(1_000_000_000).saturating_add(micros.saturating_mul(1000)))
                }
            },
        };
        let answer = self.select_from(t, a, timeout_ns, expired)?;
        if a[4] != 0 && matches!(answer, Answer::Value(0..)) {
            let left = self.left_of(timeout_ns, expired);
            self.put_words(a[4], &[left / 1_000_000_000, left % 1_000_000_000 / 1000]);
        }
        Ok(answer)
    }

    /// `pselect6`, with a `struct timespec`. While it waits, it uses another signal mask (`signals`).
    pub(crate) fn pselect(
        &mut self,
        t: &mut Thread,
        a: [u64; 6],
        expired: bool,
    ) -> Result<Answer, ProgramError> {
        let timeout_ns = match self.timeout_at(a[4]) {
            Ok(timeout) => timeout,
            Err(errno) => return Ok(error(errno)),
        };
        let answer = self.select_from(t, a, timeout_ns, expired)?;
        if a[4] != 0 && matches!(answer, Answer::Value(0..)) {
            self.put_span(a[4], self.left_of(timeout_ns, expired));
        }
        Ok(answer)
    }

    /// Returns the remaining timeout, counted from when the wait began.
    fn left_of(&self, timeout_ns: Option<u64>, expired: bool) -> u64 {
        match self.until_ns {
            _ if expired => 0,
            Some(until) => until.saturating_sub(self.now_ns),
            None => timeout_ns.unwrap_or(0),
        }
    }

    fn select_from(
        &mut self,
        t: &mut Thread,
        a: [u64; 6],
        timeout_ns: Option<u64>,
        expired: bool,
    ) -> Result<Answer, ProgramError> {
        let Ok(count) = usize::try_from(a[0] as i32) else { return Ok(error(libc::EINVAL)) };
        let count = count.min(MOST);
        let bytes = count.div_ceil(64) * 8;
        let mut wanted = [vec![0; bytes], vec![0; bytes], vec![0; bytes]];
        for (set, &at) in wanted.iter_mut().zip(&a[1..4]) {
            if at != 0 && !self.host.read(at, set) {
                return Ok(error(libc::EFAULT));
            }
        }
        let mut found = [vec![0; bytes], vec![0; bytes], vec![0; bytes]];
        let mut ready = 0;
        for fd in 0..count {
            let is_in = |set: &Vec<u8>| set[fd / 8] >> (fd % 8) & 1 == 1;
            if !wanted.iter().any(is_in) {
                continue;
            }
            if self.fds.get(fd as i32).is_none() {
                return Ok(error(libc::EBADF));
            }
            let events = self.readiness(t, fd as i32)?;
            for ((set, found), mask) in wanted.iter().zip(&mut found).zip(WANTED) {
                if is_in(set) && events & mask != 0 {
                    found[fd / 8] |= 1 << (fd % 8);
                    ready += 1;
                }
            }
        }
        if ready == 0
            && let Some(wait) = self.wait_at_most(timeout_ns, expired)
        {
            return Ok(wait);
        }
        for (set, &at) in found.iter().zip(&a[1..4]) {
            if at != 0 && !self.host.write(at, set) {
                return Ok(error(libc::EFAULT));
            }
        }
        Ok(Answer::Value(ready))
    }
}
