//! Implements `alarm` and `setitimer`: SIGALRM after some time.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::program::Program;

const SECOND_NS: u64 = 1_000_000_000;
const MICROSECOND_NS: u64 = 1000;
/// `ITIMER_REAL`.
const REAL: u64 = 0;
/// `ITIMER_PROF`, the last of them.
const LAST: u64 = 2;

/// When the alarm goes off next, and the interval after that. 0 for once.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    next_ns: Option<u64>,
    every_ns: u64,
}

impl Program {
    pub(crate) fn alarm_call(&mut self, number: i64, a: [u64; 6]) -> Option<Answer> {
        Some(match number {
            libc::SYS_alarm => {
                let seconds = self.alarm_left().div_ceil(SECOND_NS);
                let span_ns = (a[0] & 0xffff_ffff) * SECOND_NS;
                self.set_alarm(span_ns, 0);
                Answer::Value(seconds as i64)
            }
            libc::SYS_setitimer | libc::SYS_getitimer if a[0] > LAST => error(libc::EINVAL),
            libc::SYS_getitimer if a[0] != REAL => self.put_words(a[1], &[0; 4]),
            libc::SYS_getitimer => self.tell_alarm(a[1]),
            libc::SYS_setitimer if a[0] != REAL => {
                self.refused.insert("a timer of CPU time".into());
                error(libc::EINVAL)
            }
            libc::SYS_setitimer => self.set_interval(a[1], a[2]),
            _ => return None,
        })
    }

    fn set_interval(&mut self, new: u64, old: u64) -> Answer {
        let Some([every, every_us, first, first_us]) = self.words(new) else { return error(libc::EFAULT) };
        let is_valid = |seconds: u64, micros: u64| seconds as i64 >= 0 && micros < 1_000_000;
        if !is_valid(every, every_us) || !is_valid(first, first_us) {
            return error(libc::EINVAL);
        }
        let span = |seconds: u64, micros: u64| {
            seconds.saturating_mul(SECOND_NS).saturating_add(micros * MICROSECOND_NS)
        };
        let answer = if old == 0 { Answer::Value(0) } else { self.tell_alarm(old) };
        self.set_alarm(span(first, first_us), span(every, every_us));
        answer
    }

    fn set_alarm(&mut self, span_ns: u64, every_ns: u64) {
        self.alarm = Alarm { next_ns: (span_ns > 0).then(|| self.now_ns.saturating_add(span_ns)), every_ns };
    }

    fn alarm_left(&self) -> u64 {
        self.alarm.next_ns.map_or(0, |at| at.saturating_sub(self.now_ns).max(1))
    }

    fn tell_alarm(&self, at: u64) -> Answer {
        let pair = |ns: u64| [ns / SECOND_NS, ns % SECOND_NS / MICROSECOND_NS];
        let [every, left] = [self.alarm.every_ns, self.alarm_left()].map(pair);
        self.put_words(at, &[every, left].concat())
    }

    /// Returns when the alarm goes off next.
    pub(crate) fn next_alarm(&self) -> Option<u64> {
        self.alarm.next_ns
    }

    /// Sends SIGALRM if it is due. A missed alarm is lost.
    pub(crate) fn ring_alarm(&mut self) -> Result<(), ProgramError> {
        let Some(at) = self.alarm.next_ns.filter(|&at| at <= self.now_ns) else { return Ok(()) };
        self.alarm.next_ns = match self.alarm.every_ns {
            0 => None,
            every => Some(at + every * (1 + (self.now_ns - at) / every)),
        };
        self.send(libc::SIGALRM)
    }
}
