//! Reports the program's resource usage: the CPU time that its calls were charged.

use crate::calls::{Answer, error};
use crate::program::Program;
use crate::thread::Thread;
use keel_abi::UPTIME;

const SECOND_NS: u64 = 1_000_000_000;
const MICROSECOND_NS: u64 = 1000;
/// The unit of times in `times()` and `/proc` (`USER_HZ`).
pub(crate) const TICK_NS: u64 = 10_000_000;
/// Words of `struct rusage`.
const USAGE_WORDS: usize = 18;
/// In the number of a CPU clock, the bits below the process or thread: whether it is a thread's, and the kind of clock.
const OF_THREAD: i32 = 4;
const KIND: i32 = 3;
/// A descriptor's clock is not a CPU clock.
const OF_DESCRIPTOR: i32 = 3;

impl Program {
    /// Returns the CPU time of all its threads. Only the program's calls to the kernel take time, the same for each
    /// call.
    pub(crate) fn cpu_time_ns(&self) -> u64 {
        self.calls().saturating_mul(self.machine.call_ns)
    }

    fn thread_time_ns(&self, t: &Thread) -> u64 {
        t.calls.saturating_mul(self.machine.call_ns)
    }

    /// Returns the time on a CPU clock, which may name a process or a thread, or `None` if there is no such clock.
    pub(crate) fn cpu_clock_ns(&self, t: &Thread, clock: i32) -> Option<u64> {
        match clock {
            libc::CLOCK_PROCESS_CPUTIME_ID => return Some(self.cpu_time_ns()),
            libc::CLOCK_THREAD_CPUTIME_ID => return Some(self.thread_time_ns(t)),
            0.. => return None,
            _ if clock & KIND == OF_DESCRIPTOR => return None,
            _ => {}
        }
        let named = !(clock >> 3);
        if clock & OF_THREAD == 0 {
            return [0, self.machine.pid].contains(&named).then(|| self.cpu_time_ns());
        }
        let is_caller = [0, t.own].contains(&named);
        let thread = if is_caller { Some(t) } else { self.threads.get(&named) };
        thread.map(|thread| self.thread_time_ns(thread))
    }

    /// `getrusage`: it has no children, and all of its time counts as user time.
    pub(crate) fn usage(&self, t: &Thread, a: [u64; 6]) -> Answer {
        let used_ns = match a[0] as i32 {
            libc::RUSAGE_SELF => self.cpu_time_ns(),
            libc::RUSAGE_THREAD => self.thread_time_ns(t),
            libc::RUSAGE_CHILDREN => 0,
            _ => return error(libc::EINVAL),
        };
        let mut words = [0; USAGE_WORDS];
        (words[0], words[1]) = (used_ns / SECOND_NS, used_ns % SECOND_NS / MICROSECOND_NS);
        self.put_words(a[1], &words)
    }

    /// `times`: returns the time since the machine began.
    pub(crate) fn times(&self, at: u64) -> Answer {
        let ticks = (UPTIME.as_ns() + self.now_ns) / TICK_NS;
        match at {
            0 => Answer::Value(ticks as i64),
            at => match self.put_words(at, &[self.cpu_time_ns() / TICK_NS, 0, 0, 0]) {
                Answer::Value(0) => Answer::Value(ticks as i64),
                failed => failed,
            },
        }
    }
}
