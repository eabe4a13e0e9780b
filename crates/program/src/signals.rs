//! Handles signals: Ctrl-C, those that the program sends itself, and the calls that wait for signals.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::desk::Desk;
use crate::fds::Kind;
use crate::host::{INFO_BYTES, SignalInfo};
use crate::program::{Event, Program, Wait};
use crate::thread::Thread;

/// A span of no time, at the beginning of keel's page.
const NO_SPAN: [u8; 16] = [0; 16];
/// The size of `struct signalfd_siginfo`, in bytes, and the offset of the sender's pid, which is followed by its uid.
const SIGNAL_BYTES: usize = 128;
const SENDER_AT: u64 = 12;
/// Their offset in `siginfo_t`.
const INFO_SENDER_AT: u64 = 16;
/// The offset, in both, of the source of the signal.
const CODE_AT: u64 = 8;
/// The size of a signal mask, in bytes.
const MASK_BYTES: u64 = 8;
/// The machine's first task, which always exists.
const FIRST_PID: i32 = 1;
/// The highest signal number.
pub(crate) const LAST: i32 = 64;

impl Program {
    /// Sends the program SIGINT, as Ctrl-C does.
    ///
    /// # Errors
    /// The host fails.
    pub fn interrupt(&mut self) -> Result<(), ProgramError> {
        self.send(libc::SIGINT)
    }

    /// Sends the process a signal from outside.
    pub(crate) fn send(&mut self, signal: i32) -> Result<(), ProgramError> {
        self.send_to_one(None, SignalInfo::plain(signal))
    }

    /// Sends a signal to one thread. As on a kernel, the first thread handles it unless it blocks it, and the thread
    /// that handles it stops waiting. The caller is not in the table.
    pub(crate) fn send_to_one(
        &mut self,
        caller: Option<&Thread>,
        info: SignalInfo,
    ) -> Result<(), ProgramError> {
        let signal = info.number();
        let first = self.machine.pid;
        let mut order: Vec<i32> =
            self.threads.keys().copied().chain(caller.map(|thread| thread.own)).collect();
        order.sort_unstable_by_key(|&own| (own != first, own));
        for own in order {
            match (self.threads.get(&own), caller) {
                (Some(thread), _) if !self.blocks(thread, signal) => return self.send_to(own, info),
                (None, Some(caller)) if !self.host.blocks(caller.tid, signal) => {
                    self.host.signal(caller.tid, &info);
                    return Ok(());
                }
                _ => {}
            }
        }
        // A thread that waits for the signal receives it.
        self.host.signal_process(&info);
        Ok(())
    }

    /// Sends a signal to a thread that is not in a call now. Its wait ends, unless it blocks the signal.
    pub(crate) fn send_to(&mut self, own: i32, info: SignalInfo) -> Result<(), ProgramError> {
        let signal = info.number();
        let Some(mut thread) = self.threads.remove(&own) else { return Ok(()) };
        let is_blocked = self.blocks(&thread, signal);
        self.host.signal(thread.tid, &info);
        if !is_blocked && let Some(wait) = self.waiting.remove(&own) {
            self.tell_rest(&thread, wait.deadline_ns);
            match self.mask_of_wait(&thread).filter(|_| self.host.catches(thread.tid, signal)) {
                Some(mask) => self.end_by_handler(&mut thread, mask)?,
                None => thread.interrupt(&mut self.host)?,
            }
            self.ready.push_back(own);
        }
        self.threads.insert(own, thread);
        Ok(())
    }

    /// Ends a call that waits with this mask because of a pending signal that the mask allows. The host handles it as
    /// for `rt_sigsuspend`: the handler runs, and then the thread has its own mask again.
    fn end_by_handler(&mut self, t: &mut Thread, mask: u64) -> Result<(), ProgramError> {
        t.call(&mut self.host, libc::SYS_rt_sigsuspend, [mask, MASK_BYTES, 0, 0, 0, 0]).map(|_| ())
    }

    /// `kill`. Other tasks of the machine exist, but get no signals from the program.
    pub(crate) fn kill_process(
        &mut self,
        caller: &Thread,
        a: [u64; 6],
        desk: &dyn Desk,
    ) -> Result<Answer, ProgramError> {
        let [pid, signal] = [a[0], a[1]].map(|word| word as i32);
        let own = self.machine.pid;
        if [own, 0, -own].contains(&pid) {
            return self.kill(caller, None, SignalInfo::plain(signal));
        }
        let is_there = pid == FIRST_PID || desk.view().is_some_and(|view| view.task(pid).is_some());
        Ok(match (is_there, signal) {
            (false, _) => error(libc::ESRCH),
            (true, 0) => Answer::Value(0),
            (true, _) => {
                self.refused.insert("a signal for another process".into());
                error(libc::EPERM)
            }
        })
    }

    /// `kill`, `tgkill`: a signal for the process, or for one thread.
    pub(crate) fn kill(
        &mut self,
        caller: &Thread,
        target: Option<i32>,
        info: SignalInfo,
    ) -> Result<Answer, ProgramError> {
        let signal = info.number();
        let is_known = |own: i32| own == caller.own || self.threads.contains_key(&own);
        if !target.is_none_or(is_known) {
            return Ok(error(libc::ESRCH));
        }
        match (signal, target) {
            (0, _) => {}
            (libc::SIGKILL, _) => {
                self.note_exit(128 + signal);
                return Ok(Answer::Outside(Event::Exited(128 + signal)));
            }
            (1..=LAST, None) => self.send_to_one(Some(caller), info)?,
            (1..=LAST, Some(own)) if own == caller.own => self.host.signal(caller.tid, &info),
            (1..=LAST, Some(own)) => self.send_to(own, info)?,
            _ => return Ok(error(libc::EINVAL)),
        }
        Ok(Answer::Value(0))
    }

    /// `rt_sigqueueinfo`, `rt_tgsigqueueinfo`: a signal with a value, for the process itself or for one of its threads.
    pub(crate) fn queue_signal(
        &mut self,
        caller: &Thread,
        pid: u64,
        target: Option<i32>,
        signal: u64,
        at: u64,
    ) -> Result<Answer, ProgramError> {
        let mut bytes = [0; INFO_BYTES];
        if !self.host.read(at, &mut bytes) {
            return Ok(error(libc::EFAULT));
        }
        if pid as i32 != self.machine.pid {
            return Ok(error(libc::ESRCH));
        }
        match SignalInfo::queued(signal as i32, &bytes) {
            Some(info) => self.kill(caller, target, info),
            // A process may send itself signals with codes that are otherwise the kernel's.
            None => self.kill(caller, target, SignalInfo::plain(signal as i32)),
        }
    }

    /// Returns whether the thread blocks a signal. Some calls wait with another mask.
    fn blocks(&self, t: &Thread, signal: i32) -> bool {
        let mask = self.mask_of_wait(t).filter(|_| self.waiting.contains_key(&t.own));
        match mask.and_then(|at| self.words(at)) {
            Some([mask]) => is_in(signal, mask),
            None => self.host.blocks(t.tid, signal),
        }
    }

    /// Returns the address of the mask with which the thread's call waits, if it is not the thread's own.
    fn mask_of_wait(&self, t: &Thread) -> Option<u64> {
        let a = t.args();
        let at = match t.number() {
            libc::SYS_rt_sigsuspend => a[0],
            libc::SYS_ppoll => a[3],
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => a[4],
            libc::SYS_pselect6 if a[5] != 0 => self.words::<2>(a[5])?[0],
            _ => 0,
        };
        (at != 0).then_some(at)
    }

    /// Checks a call that is about to wait. If it waits with another mask, a pending signal ends it at once.
    pub(crate) fn before_wait(&mut self, t: &mut Thread, answer: Answer) -> Result<Answer, ProgramError> {
        let Some(at) = self.mask_of_wait(t).filter(|_| matches!(answer, Answer::Wait(..))) else {
            return Ok(answer);
        };
        match self.words(at) {
            None => Ok(error(libc::EFAULT)),
            Some([mask]) if self.host.pending(t.tid) & !mask == 0 => Ok(answer),
            Some(_) => self.end_by_handler(t, at).map(|()| Answer::AsIs),
        }
    }

    /// `rt_sigsuspend`: waits until a handler has run.
    pub(crate) fn suspend(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        match a[1] {
            MASK_BYTES => self.before_wait(t, Answer::Wait(Wait::Sleep, None)),
            _ => Ok(error(libc::EINVAL)),
        }
    }

    /// Writes the remaining time of a relative sleep that a signal ends.
    fn tell_rest(&self, t: &Thread, deadline_ns: Option<u64>) {
        let a = t.args();
        let at = match t.number() {
            libc::SYS_nanosleep => a[1],
            libc::SYS_clock_nanosleep if a[1] as i32 & libc::TIMER_ABSTIME == 0 => a[3],
            _ => 0,
        };
        if let Some(until_ns) = deadline_ns.filter(|_| at != 0) {
            // A bad address changes nothing: the call returns `EINTR` in any case.
            self.put_span(at, until_ns.saturating_sub(self.now_ns));
        }
    }

    /// `pause`: waits until a handler has run.
    pub(crate) fn pause(&self) -> Answer {
        Answer::Wait(Wait::Sleep, None)
    }

    /// `rt_sigtimedwait`. The host has the pending signals, and is queried without waiting.
    pub(crate) fn wait_for_signal(
        &mut self,
        t: &mut Thread,
        a: [u64; 6],
        expired: bool,
    ) -> Result<Answer, ProgramError> {
        let deadline = match a[2] {
            0 => None,
            at => match self.span_at(at) {
                Some(Ok(span)) => Some(self.deadline(span, None)),
                Some(Err(errno)) => return Ok(error(errno)),
                None => return Ok(error(libc::EFAULT)),
            },
        };
        self.host.write(self.page, &NO_SPAN);
        let args = [a[0], a[1], self.page, a[3], 0, 0];
        match t.call(&mut self.host, libc::SYS_rt_sigtimedwait, args)? {
            (value, _) if value == -i64::from(libc::EAGAIN) && !expired => {
                Ok(Answer::Wait(Wait::Retry, deadline))
            }
            (value, _) => {
                if value > 0 && a[1] != 0 {
                    self.hide_sender(a[1], INFO_SENDER_AT);
                }
                Ok(Answer::Value(value))
            }
        }
    }

    /// `signalfd`. The host creates it as non-blocking, so that no read from it waits there.
    pub(crate) fn signal_fd(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
    ) -> Result<Answer, ProgramError> {
        let old = a[0] as i32;
        let is_one = |kind: &Kind| matches!(kind, Kind::Signals);
        match self.fds.get(old) {
            _ if old == -1 => {}
            Some(open) if is_one(&open.kind.borrow()) => {}
            Some(_) => return Ok(error(libc::EINVAL)),
            None => return Ok(error(libc::EBADF)),
        }
        let flags = if number == libc::SYS_signalfd4 { a[3] as i32 } else { 0 };
        let args = [a[0], a[1], a[2], (flags | libc::SFD_NONBLOCK) as u64, 0, 0];
        let (fd, _) = t.call(&mut self.host, libc::SYS_signalfd4, args)?;
        match old {
            -1 => Ok(self.note(fd, Kind::Signals, flags & libc::SFD_NONBLOCK != 0)),
            _ => Ok(Answer::Value(fd)),
        }
    }

    /// Reads signals from the host. Their sender is the program itself, because it knows no other process.
    pub(crate) fn read_signals(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        if t.number() != libc::SYS_read {
            return Ok(error(libc::EINVAL));
        }
        let (value, _) = t.call(&mut self.host, libc::SYS_read, a)?;
        let count = usize::try_from(value).unwrap_or(0) / SIGNAL_BYTES;
        for place in 0..count {
            self.hide_sender(a[1] + (place * SIGNAL_BYTES) as u64, SENDER_AT);
        }
        Ok(Answer::Value(value))
    }

    /// Makes the program itself the sender of a signal that a process sent. Signals of timers and those with a value
    /// are unchanged.
    fn hide_sender(&self, info: u64, sender_at: u64) {
        let code = self.words::<1>(info + CODE_AT).map(|[word]| word as i32);
        if code.is_some_and(|code| [libc::SI_USER, libc::SI_TKILL].contains(&code)) {
            self.host.write(info + sender_at, &self.sender());
        }
    }

    /// Returns the pid and the uid of a signal's sender.
    fn sender(&self) -> [u8; 8] {
        u64::from(self.machine.pid.unsigned_abs()).to_le_bytes()
    }
}

fn is_in(signal: i32, mask: u64) -> bool {
    mask >> (signal - 1) & 1 == 1
}
