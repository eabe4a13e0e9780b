//! Implements POSIX timers (`timer_create`), which send signals.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::host::SignalInfo;
use crate::program::Program;
use crate::signals;
use crate::thread::Thread;
use std::collections::BTreeMap;

/// The maximum number of timers, as a limit of pending signals would allow.
const MOST: usize = 4096;
/// Words of `struct sigevent`: the value, then the signal and how it is sent, then the thread.
const EVENT_WORDS: usize = 3;
const SECOND_NS: u64 = 1_000_000_000;

/// Which threads the signal is for.
#[derive(Clone, Copy, Debug)]
enum Target {
    Nobody,
    Process,
    Thread(i32),
}

/// A timer.
#[derive(Debug)]
struct Timer {
    clock: i32,
    target: Target,
    signal: i32,
    /// The value that its signals carry.
    value: u64,
    next_ns: Option<u64>,
    every_ns: u64,
    /// How often it has expired since its last signal was sent, without another signal.
    overrun: i32,
}

/// The program's timers by their numbers, which are never reused.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    list: BTreeMap<i32, Timer>,
    next: i32,
}

impl Timer {
    fn has_expired(&self, now_ns: u64) -> bool {
        self.next_ns.is_some_and(|at| at <= now_ns)
    }

    /// Like [`advance`], and counts overruns.
    fn advance(&mut self, now_ns: u64) -> u64 {
        advance(&mut self.next_ns, self.every_ns, now_ns)
    }
}

/// Advances to a timer's next expiry after now. Returns the number of expiries passed.
pub(crate) fn advance(next_ns: &mut Option<u64>, every_ns: u64, now_ns: u64) -> u64 {
    let Some(at) = next_ns.filter(|&at| at <= now_ns) else { return 0 };
    let count = (now_ns - at).checked_div(every_ns).map_or(1, |more| more + 1);
    *next_ns = (every_ns > 0).then(|| at.saturating_add(count.saturating_mul(every_ns)));
    count
}

impl Program {
    pub(crate) fn timer_call(&mut self, t: &Thread, number: i64, a: [u64; 6]) -> Option<Answer> {
        let id = a[0] as i32;
        Some(match number {
            libc::SYS_timer_create => self.new_timer(t, a).unwrap_or_else(error),
            libc::SYS_timer_settime => self.start_timer(id, a).unwrap_or_else(error),
            libc::SYS_timer_gettime => match self.timers.list.get(&id) {
                Some(timer) => self.tell_timer(timer, a[1]),
                None => error(libc::EINVAL),
            },
            libc::SYS_timer_getoverrun => match self.timers.list.get(&id) {
                Some(timer) => Answer::Value(i64::from(timer.overrun)),
                None => error(libc::EINVAL),
            },
            libc::SYS_timer_delete => match self.timers.list.remove(&id) {
                Some(_) => Answer::Value(0),
                None => error(libc::EINVAL),
            },
            _ => return None,
        })
    }

    fn new_timer(&mut self, t: &Thread, a: [u64; 6]) -> Result<Answer, i32> {
        let clock = a[0] as i32;
        match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME | libc::CLOCK_TAI => {}
            libc::CLOCK_REALTIME_ALARM | libc::CLOCK_BOOTTIME_ALARM => {}
            libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_MONOTONIC_COARSE => {
                return Err(libc::EOPNOTSUPP);
            }
            ..0 | libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => {
                self.refused.insert("a timer of CPU time".into());
                return Err(libc::EINVAL);
            }
            _ => return Err(libc::EINVAL),
        }
        if self.timers.list.len() >= MOST {
            return Err(libc::EAGAIN);
        }
        let id = self.timers.next;
        let (value, signal, target) = match a[1] {
            0 => (id as u64, libc::SIGALRM, Target::Process),
            at => self.event_at(t, at)?,
        };
        if !self.host.write(a[2], &id.to_le_bytes()) {
            return Err(libc::EFAULT);
        }
        let timer = Timer { clock, target, signal, value, next_ns: None, every_ns: 0, overrun: 0 };
        self.timers.list.insert(id, timer);
        self.timers.next += 1;
        Ok(Answer::Value(0))
    }

    /// Reads a `struct sigevent`: the value, the signal, and its receiver.
    fn event_at(&self, t: &Thread, at: u64) -> Result<(u64, i32, Target), i32> {
        let [value, how, thread] = self.words::<EVENT_WORDS>(at).ok_or(libc::EFAULT)?;
        let (signal, notify) = (how as i32, (how >> 32) as i32);
        let target = match notify {
            libc::SIGEV_NONE => return Ok((value, signal, Target::Nobody)),
            libc::SIGEV_SIGNAL | libc::SIGEV_THREAD => Target::Process,
            libc::SIGEV_THREAD_ID => {
                let own = thread as i32;
                let is_own = own == t.own || self.threads.contains_key(&own);
                is_own.then_some(Target::Thread(own)).ok_or(libc::EINVAL)?
            }
            _ => return Err(libc::EINVAL),
        };
        if (1..=signals::LAST).contains(&signal) { Ok((value, signal, target)) } else { Err(libc::EINVAL) }
    }

    fn start_timer(&mut self, id: i32, a: [u64; 6]) -> Result<Answer, i32> {
        if a[2] == 0 {
            return Err(libc::EINVAL);
        }
        let span = |at: u64| self.span_at(at).unwrap_or(Err(libc::EFAULT));
        let (every_ns, first_ns) = (span(a[2])?, span(a[2].saturating_add(16))?);
        let timer = self.timers.list.get(&id).ok_or(libc::EINVAL)?;
        let clock = (a[1] as i32 & libc::TIMER_ABSTIME != 0).then_some(timer.clock);
        let deadline_ns = self.deadline(first_ns, clock);
        if a[3] != 0
            && let Answer::Value(failed @ ..0) = self.tell_timer(timer, a[3])
        {
            return Err(-failed as i32);
        }
        if let Some(timer) = self.timers.list.get_mut(&id) {
            (timer.next_ns, timer.every_ns) = ((first_ns > 0).then_some(deadline_ns), every_ns);
            timer.overrun = 0;
        }
        Ok(Answer::Value(0))
    }

    /// Writes a timer's interval, and the time until it next expires.
    fn tell_timer(&self, timer: &Timer, at: u64) -> Answer {
        // A timer that is about to expire must not look disarmed. A timer without a signal expires silently.
        let left_ns = match (timer.next_ns, timer.target) {
            (None, _) => 0,
            (Some(at), Target::Nobody) if at <= self.now_ns => match timer.every_ns {
                0 => 0,
                every => every - (self.now_ns - at) % every,
            },
            (Some(at), _) => at.saturating_sub(self.now_ns).max(1),
        };
        let words = [timer.every_ns, left_ns].map(|ns| [ns / SECOND_NS, ns % SECOND_NS]);
        self.put_words(at, &words.concat())
    }

    /// Returns when one of them next sends a signal.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        let tells = |timer: &&Timer| !matches!(timer.target, Target::Nobody);
        self.timers.list.values().filter(tells).filter_map(|timer| timer.next_ns).min()
    }

    /// Sends the signals of timers that have expired.
    pub(crate) fn ring_timers(&mut self) -> Result<(), ProgramError> {
        let now_ns = self.now_ns;
        let due: Vec<i32> = self
            .timers
            .list
            .iter()
            .filter(|(_, timer)| timer.has_expired(now_ns))
            .map(|(&id, _)| id)
            .collect();
        for id in due {
            self.expire_timer(id)?;
        }
        Ok(())
    }

    /// Handles a timer that has expired. As on a kernel, a timer has at most one pending signal, and further expiries
    /// are counted.
    fn expire_timer(&mut self, id: i32) -> Result<(), ProgramError> {
        let Some(timer) = self.timers.list.get(&id) else { return Ok(()) };
        let (signal, target) = (timer.signal, timer.target);
        let tid = match target {
            Target::Nobody => return Ok(()),
            Target::Process => Some(self.host.pid),
            Target::Thread(own) => self.threads.get(&own).map(|thread| thread.tid),
        };
        let is_pending = tid.is_some_and(|tid| self.host.pending(tid) >> (signal - 1) & 1 == 1);
        let now_ns = self.now_ns;
        let Some(timer) = self.timers.list.get_mut(&id) else { return Ok(()) };
        let times = i32::try_from(timer.advance(now_ns)).unwrap_or(i32::MAX);
        if is_pending {
            timer.overrun = timer.overrun.saturating_add(times);
            return Ok(());
        }
        timer.overrun = times - 1;
        let info = SignalInfo::of_timer(signal, id, timer.overrun, timer.value);
        match target {
            Target::Nobody => Ok(()),
            Target::Process => self.send_to_one(None, info),
            Target::Thread(own) => self.send_to(own, info),
        }
    }
}
