//! Implements waiting for several things: poll, eventfd, timerfd. epoll has its own module. keel checks whether a
//! descriptor is ready, but never waits for that on the host.

use crate::ProgramError;
use crate::bpf::rings::Ready;
use crate::calls::{Answer, error};
use crate::fds::Kind;
use crate::program::{Program, Wait};
use crate::thread::Thread;
use crate::timers::advance;
use std::collections::BTreeMap;

const IN: u32 = libc::EPOLLIN as u32;
const OUT: u32 = libc::EPOLLOUT as u32;
/// The size of `struct pollfd`, in bytes.
const POLL_BYTES: u64 = 8;
/// The maximum number of descriptors in one call.
const MOST: u64 = 1024;
const MILLISECOND_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

impl Program {
    pub(crate) fn event_call(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
        expired: bool,
    ) -> Result<Option<Answer>, ProgramError> {
        match self.event_call_itself(t, number, a, expired)? {
            Some(answer) => self.before_wait(t, answer).map(Some),
            None => Ok(None),
        }
    }

    fn event_call_itself(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
        expired: bool,
    ) -> Result<Option<Answer>, ProgramError> {
        Ok(Some(match number {
            libc::SYS_epoll_create1 | libc::SYS_epoll_create => {
                self.new_fd(t, Kind::Epoll(BTreeMap::new()), false)?
            }
            libc::SYS_eventfd2 | libc::SYS_eventfd => {
                let flags = if number == libc::SYS_eventfd2 { a[1] as i32 } else { 0 };
                let one_by_one = flags & libc::EFD_SEMAPHORE != 0;
                let kind = Kind::Counter { count: a[0] & 0xffff_ffff, one_by_one };
                self.new_fd(t, kind, flags & libc::EFD_NONBLOCK != 0)?
            }
            libc::SYS_timerfd_create => match a[0] as i32 {
                clock if is_timer_clock(clock) => {
                    let kind = Kind::Timer { clock, next_ns: None, every_ns: 0 };
                    self.new_fd(t, kind, a[1] as i32 & libc::TFD_NONBLOCK != 0)?
                }
                _ => error(libc::EINVAL),
            },
            libc::SYS_timerfd_settime => self.set_timer(a),
            libc::SYS_timerfd_gettime => self.tell_timer_fd(a),
            libc::SYS_epoll_ctl => self.epoll_ctl(a),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => {
                self.epoll_wait(t, a, timeout_ms(a[3]), expired)?
            }
            libc::SYS_epoll_pwait2 => match self.timeout_at(a[3]) {
                Ok(timeout) => self.epoll_wait(t, a, timeout, expired)?,
                Err(errno) => error(errno),
            },
            libc::SYS_poll => self.poll(t, a, timeout_ms(a[2]), expired)?,
            libc::SYS_ppoll => match self.timeout_at(a[2]) {
                Ok(timeout) => self.poll(t, a, timeout, expired)?,
                Err(errno) => error(errno),
            },
            libc::SYS_select => self.select(t, a, expired)?,
            libc::SYS_pselect6 => self.pselect(t, a, expired)?,
            libc::SYS_signalfd | libc::SYS_signalfd4 => self.signal_fd(t, number, a)?,
            _ => return self.watch_call(t, number, a),
        }))
    }

    pub(crate) fn timeout_at(&self, at: u64) -> Result<Option<u64>, i32> {
        match at {
            0 => Ok(None),
            at => self.span_at(at).unwrap_or(Err(libc::EFAULT)).map(Some),
        }
    }

    fn set_timer(&mut self, a: [u64; 6]) -> Answer {
        let (now, is_absolute) = (self.now_ns, a[1] as i32 & libc::TFD_TIMER_ABSTIME != 0);
        let (Some(Ok(every)), Some(Ok(first))) = (self.span_at(a[2]), self.span_at(a[2].saturating_add(16)))
        else {
            return error(libc::EINVAL);
        };
        let Some(open) = self.fds.get(a[0] as i32) else { return error(libc::EBADF) };
        let mut kind = open.kind.borrow_mut();
        let Kind::Timer { clock, next_ns, every_ns } = &mut *kind else { return error(libc::EINVAL) };
        let deadline = self.deadline(first, is_absolute.then_some(*clock));
        let old = timer_words(*next_ns, *every_ns, now);
        (*next_ns, *every_ns) = ((first > 0).then_some(deadline), every);
        drop(kind);
        if a[3] == 0 { Answer::Value(0) } else { self.put_words(a[3], &old) }
    }

    fn tell_timer_fd(&self, a: [u64; 6]) -> Answer {
        let Some(open) = self.fds.get(a[0] as i32) else { return error(libc::EBADF) };
        match *open.kind.borrow() {
            Kind::Timer { next_ns, every_ns, .. } => {
                self.put_words(a[1], &timer_words(next_ns, every_ns, self.now_ns))
            }
            _ => error(libc::EINVAL),
        }
    }

    fn poll(
        &mut self,
        t: &mut Thread,
        a: [u64; 6],
        timeout_ns: Option<u64>,
        expired: bool,
    ) -> Result<Answer, ProgramError> {
        if a[1] > MOST {
            return Ok(error(libc::EINVAL));
        }
        let mut list = vec![0; (a[1] * POLL_BYTES) as usize];
        if !self.host.read(a[0], &mut list) {
            return Ok(error(libc::EFAULT));
        }
        let mut count = 0;
        for entry in list.chunks_exact_mut(POLL_BYTES as usize) {
            let fd = i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let wanted = u32::from(u16::from_le_bytes([entry[4], entry[5]]));
            let ready = match fd {
                ..0 => 0,
                fd if self.fds.get(fd).is_none() => libc::POLLNVAL as u32,
                fd => self.readiness(t, fd)? & (wanted | (libc::POLLHUP | libc::POLLERR) as u32),
            };
            entry[6..8].copy_from_slice(&(ready as u16).to_le_bytes());
            count += i64::from(ready != 0);
        }
        let wait = self.wait_at_most(timeout_ns, expired).filter(|_| count == 0);
        Ok(wait.unwrap_or_else(|| self.put(a[0], &list, count)))
    }

    /// Returns whether a thread waits for a ring buffer in `poll`, not through an epoll instance.
    pub(crate) fn polls_a_ring_alone(&self) -> bool {
        let is_ring = |fd: i32| self.map_of(fd).is_some_and(|map| self.bpf.maps[map as usize].is_ring());
        self.waiting.keys().filter_map(|own| self.threads.get(own)).any(|thread| {
            let [at, count, ..] = thread.args();
            let polls = matches!(thread.number(), libc::SYS_poll | libc::SYS_ppoll);
            polls
                && (0..count.min(MOST))
                    .any(|i| self.word_at(at + i * POLL_BYTES).is_some_and(|fd| is_ring(fd as i32)))
        })
    }

    /// Returns how a call that has found nothing waits, or `None` if its time is over.
    pub(crate) fn wait_at_most(&self, timeout_ns: Option<u64>, expired: bool) -> Option<Answer> {
        let deadline_ns = timeout_ns.map(|ns| self.now_ns.saturating_add(ns));
        (!expired && timeout_ns != Some(0)).then_some(Answer::Wait(Wait::Retry, deadline_ns))
    }

    /// Returns which events a descriptor has, as poll(2) names them.
    pub(crate) fn readiness(&mut self, t: &mut Thread, fd: i32) -> Result<u32, ProgramError> {
        let Some(open) = self.fds.get(fd) else { return Ok(0) };
        let ready = match &*open.kind.borrow() {
            Kind::Output => OUT,
            Kind::File | Kind::Random | Kind::Folder(_) => IN | OUT,
            Kind::Counter { count, .. } => {
                if *count > 0 {
                    IN | OUT
                } else {
                    OUT
                }
            }
            Kind::Timer { next_ns, .. } => {
                if next_ns.is_some_and(|at| at <= self.now_ns) {
                    IN
                } else {
                    0
                }
            }
            Kind::Map(map) => match self.bpf.ring_is_ready(*map) {
                Ready::No => 0,
                Ready::ToRead => IN,
                Ready::ToWrite => OUT,
            },
            Kind::Listener { waiting, .. } => {
                if waiting.is_empty() {
                    0
                } else {
                    IN
                }
            }
            Kind::Socket | Kind::Prog(_) | Kind::Btf(_) | Kind::Link(_) => 0,
            Kind::Watch(watches) => {
                if watches.events.is_empty() {
                    0
                } else {
                    IN
                }
            }
            Kind::Pipe | Kind::Signals | Kind::Epoll(_) => u32::MAX,
        };
        if ready != u32::MAX {
            return Ok(ready);
        }
        if matches!(*open.kind.borrow(), Kind::Epoll(_)) {
            return Ok(if self.has_ready(t, fd)? { IN } else { 0 });
        }
        self.ask_host(t, fd)
    }

    /// Asks the host, which knows what is in a pipe and which signals are pending.
    pub(crate) fn ask_host(&mut self, t: &mut Thread, fd: i32) -> Result<u32, ProgramError> {
        let mut entry = [0; POLL_BYTES as usize];
        entry[..4].copy_from_slice(&fd.to_le_bytes());
        entry[4..6].copy_from_slice(&((libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP) as u16).to_le_bytes());
        self.host.write(self.page, &entry);
        t.call(&mut self.host, libc::SYS_poll, [self.page, 1, 0, 0, 0, 0])?;
        self.host.read(self.page, &mut entry);
        Ok(u32::from(u16::from_le_bytes([entry[6], entry[7]])))
    }

    /// Returns whether a descriptor is read as a word of eight bytes.
    pub(crate) fn has_words(&self, fd: i32) -> bool {
        self.fds
            .get(fd)
            .is_some_and(|open| matches!(*open.kind.borrow(), Kind::Counter { .. } | Kind::Timer { .. }))
    }

    /// Reads a descriptor that keel implements. Returns `None` if the host does.
    pub(crate) fn read_own(&mut self, fd: i32) -> Option<Result<u64, i32>> {
        let now = self.now_ns;
        let open = self.fds.get(fd)?;
        match &mut *open.kind.borrow_mut() {
            Kind::Counter { count: 0, .. } => Some(Err(libc::EAGAIN)),
            Kind::Counter { count, one_by_one: true } => {
                *count -= 1;
                Some(Ok(1))
            }
            Kind::Counter { count, .. } => Some(Ok(std::mem::take(count))),
            Kind::Timer { next_ns, every_ns, .. } => match advance(next_ns, *every_ns, now) {
                0 => Some(Err(libc::EAGAIN)),
                times => Some(Ok(times)),
            },
            _ => None,
        }
    }
}

/// Returns a `struct itimerspec`: a timer's interval, and the time until it next expires.
fn timer_words(next_ns: Option<u64>, every_ns: u64, now_ns: u64) -> [u64; 4] {
    let left_ns = match next_ns {
        None => 0,
        Some(next) if next > now_ns => next - now_ns,
        Some(next) => (now_ns - next).checked_rem(every_ns).map_or(0, |since| every_ns - since),
    };
    [every_ns / SECOND_NS, every_ns % SECOND_NS, left_ns / SECOND_NS, left_ns % SECOND_NS]
}

/// Returns whether `timerfd_create` accepts this clock.
const fn is_timer_clock(clock: i32) -> bool {
    matches!(
        clock,
        libc::CLOCK_REALTIME
            | libc::CLOCK_MONOTONIC
            | libc::CLOCK_BOOTTIME
            | libc::CLOCK_REALTIME_ALARM
            | libc::CLOCK_BOOTTIME_ALARM
    )
}

/// Converts a timeout in milliseconds. A negative one means none.
fn timeout_ms(value: u64) -> Option<u64> {
    u64::try_from(value as i32).ok().map(|ms| ms * MILLISECOND_NS)
}
