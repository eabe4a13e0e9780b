//! Implements clocks and sleeps. The owner controls the program's time, which passes only when its threads wait or are
//! charged.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::program::{Program, Wait};
use crate::thread::Thread;
use keel_abi::UPTIME;

/// What `CLOCK_REALTIME` shows at the beginning, in nanoseconds: 2026-01-01.
const EPOCH_NS: u64 = 1_767_225_600_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// The number of a clock that no longer exists.
const SGI_CYCLE: i32 = 10;
/// The resolution of clocks that are not coarse, in nanoseconds.
const RESOLUTION_NS: u64 = 1;

impl Program {
    /// Answers calls about time. Returns `None` for another call.
    pub(crate) fn time_call(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
        expired: bool,
    ) -> Result<Option<Answer>, ProgramError> {
        Ok(Some(match number {
            libc::SYS_clock_gettime | libc::SYS_clock_getres => self.clock_call(t, number, a),
            libc::SYS_gettimeofday => {
                let now = self.clock_ns(libc::CLOCK_REALTIME);
                self.put_words(a[0], &[now / SECOND_NS, now % SECOND_NS / 1000])
            }
            libc::SYS_time => Answer::Value((self.clock_ns(libc::CLOCK_REALTIME) / SECOND_NS) as i64),
            libc::SYS_nanosleep => self.sleep(a[0], None, expired),
            libc::SYS_clock_nanosleep => {
                let is_absolute = a[1] as i32 & libc::TIMER_ABSTIME != 0;
                self.sleep(a[2], is_absolute.then_some(a[0] as i32), expired)
            }
            libc::SYS_getrusage => self.usage(t, a),
            libc::SYS_times => self.times(a[0]),
            libc::SYS_alarm | libc::SYS_setitimer | libc::SYS_getitimer => {
                return Ok(self.alarm_call(number, a));
            }
            libc::SYS_timer_create
            | libc::SYS_timer_settime
            | libc::SYS_timer_gettime
            | libc::SYS_timer_getoverrun
            | libc::SYS_timer_delete => return Ok(self.timer_call(t, number, a)),
            libc::SYS_pause => self.pause(),
            libc::SYS_rt_sigsuspend => self.suspend(t, a)?,
            libc::SYS_rt_sigtimedwait => self.wait_for_signal(t, a, expired)?,
            _ => return Ok(None),
        }))
    }

    fn clock_call(&self, t: &Thread, number: i64, a: [u64; 6]) -> Answer {
        let clock = a[0] as i32;
        let now_ns = match clock {
            ..0 | libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => {
                self.cpu_clock_ns(t, clock)
            }
            SGI_CYCLE => None,
            0..=libc::CLOCK_TAI => Some(self.clock_ns(clock)),
            _ => None,
        };
        match (now_ns, number) {
            (None, _) => error(libc::EINVAL),
            (Some(ns), libc::SYS_clock_gettime) => self.put_span(a[1], ns),
            (Some(_), _) if a[1] == 0 => Answer::Value(0),
            (Some(_), _) => self.put_span(a[1], self.resolution_ns(clock)),
        }
    }

    /// Returns the time on a clock. The machine had been up for a while when the program began. Coarse clocks show the
    /// time of the last tick.
    pub(crate) fn clock_ns(&self, clock: i32) -> u64 {
        let since_boot = UPTIME.as_ns() + self.now_ns;
        let ns = match clock {
            clock if shows_dates(clock) => EPOCH_NS + since_boot,
            _ => since_boot,
        };
        ns - since_boot % self.resolution_ns(clock)
    }

    fn resolution_ns(&self, clock: i32) -> u64 {
        match clock {
            libc::CLOCK_REALTIME_COARSE | libc::CLOCK_MONOTONIC_COARSE => self.machine.tick_ns.max(1),
            _ => RESOLUTION_NS,
        }
    }

    fn sleep(&mut self, at: u64, absolute: Option<i32>, expired: bool) -> Answer {
        if expired {
            return Answer::Value(0);
        }
        match self.span_at(at) {
            None => error(libc::EFAULT),
            Some(Err(errno)) => error(errno),
            Some(Ok(span)) => Answer::Wait(Wait::Sleep, Some(self.deadline(span, absolute))),
        }
    }

    /// Returns when a wait of this span, or until this time of a clock, is over.
    pub(crate) fn deadline(&self, span_ns: u64, absolute: Option<i32>) -> u64 {
        match absolute {
            None => self.now_ns.saturating_add(span_ns.max(1)),
            Some(clock) if shows_dates(clock) => span_ns.saturating_sub(EPOCH_NS + UPTIME.as_ns()),
            Some(_) => span_ns.saturating_sub(UPTIME.as_ns()),
        }
    }

    /// Reads a `struct timespec` as nanoseconds. Returns an error if it is invalid, or `None` if it cannot be read.
    pub(crate) fn span_at(&self, at: u64) -> Option<Result<u64, i32>> {
        let [seconds, nanos] = self.words(at)?;
        let valid = (seconds as i64) >= 0 && nanos < SECOND_NS;
        Some(if valid {
            Ok(seconds.saturating_mul(SECOND_NS).saturating_add(nanos))
        } else {
            Err(libc::EINVAL)
        })
    }

    pub(crate) fn put_span(&self, at: u64, ns: u64) -> Answer {
        self.put_words(at, &[ns / SECOND_NS, ns % SECOND_NS])
    }

    /// Writes words. The answer is 0 or `EFAULT`.
    pub(crate) fn put_words(&self, at: u64, words: &[u64]) -> Answer {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(at, &bytes, 0)
    }

    /// Writes bytes. The answer is `value` or `EFAULT`.
    pub(crate) fn put(&self, at: u64, bytes: &[u8], value: i64) -> Answer {
        if self.host.write(at, bytes) { Answer::Value(value) } else { error(libc::EFAULT) }
    }

    /// Reads words.
    pub(crate) fn words<const N: usize>(&self, at: u64) -> Option<[u64; N]> {
        let mut bytes = vec![0; 8 * N];
        self.host
            .read(at, &mut bytes)
            .then(|| std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j]))))
    }
}

/// Returns whether a clock starts in 1970, not when the machine is switched on.
const fn shows_dates(clock: i32) -> bool {
    matches!(
        clock,
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_REALTIME_ALARM | libc::CLOCK_TAI
    )
}
