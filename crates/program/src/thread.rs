//! A thread of the program, stopped at a system call: the call, its arguments, and how it is answered.

use crate::ProgramError;
use crate::host::{Executed, Host, Regs, Stop};
use crate::identity::SLACK_NS;
use crate::policies::Policy;
use libc::pid_t;

/// A number of no system call, so that the kernel skips the call.
const NO_CALL: u64 = u64::MAX;
/// The size of the instruction `syscall`, in bytes.
const CALL_BYTES: u64 = 2;
/// The kernel's internal results of a call that a signal interrupts: it is restarted if the handler allows that
/// (`SA_RESTART`), or only if there is no handler.
const RESTART: i64 = -512;
const RESTART_NO_HANDLER: i64 = -514;

/// A thread.
pub(crate) struct Thread {
    /// Its number on the host.
    pub(crate) tid: pid_t,
    /// The number that the program sees.
    pub(crate) own: i32,
    /// The number of calls that it has made.
    pub(crate) calls: u64,
    /// The name that it has given itself.
    pub(crate) name: Vec<u8>,
    pub(crate) slack_ns: u64,
    pub(crate) policy: Policy,
    /// The registers at the entry of its call.
    entry: Regs,
    /// Whether the call has been executed or skipped.
    is_left: bool,
}

impl Thread {
    /// Creates a thread that is about to run and is not in a call.
    pub(crate) fn new(host: &Host, tid: pid_t, own: i32) -> Result<Self, ProgramError> {
        let entry = host.regs(tid)?;
        Ok(Self {
            tid,
            own,
            calls: 0,
            name: Vec::new(),
            slack_ns: SLACK_NS,
            policy: Policy::default(),
            entry,
            is_left: true,
        })
    }

    /// Lets it continue to its next call. Returns what stopped it instead, if it has ended.
    pub(crate) fn go_on(&mut self, host: &mut Host) -> Result<Option<Stop>, ProgramError> {
        match host.run(self.tid)? {
            Stop::Call => {
                self.entry = host.regs(self.tid)?;
                self.is_left = false;
                Ok(None)
            }
            stop => Ok(Some(stop)),
        }
    }

    /// Returns the call's number.
    pub(crate) fn number(&self) -> i64 {
        self.entry.orig_rax as i64
    }

    /// Returns the call's arguments.
    pub(crate) fn args(&self) -> [u64; 6] {
        let r = &self.entry;
        [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9]
    }

    /// Makes a call on behalf of the thread, in place of its own or after it.
    pub(crate) fn call(
        &mut self,
        host: &mut Host,
        number: i64,
        args: [u64; 6],
    ) -> Result<(i64, Option<pid_t>), ProgramError> {
        let mut regs = self.entry;
        [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9] = args;
        if self.is_left {
            regs.rip -= CALL_BYTES;
            regs.rax = number as u64;
            host.set_regs(self.tid, &regs)?;
            self.expect(host.run(self.tid)?)?;
        } else {
            regs.orig_rax = number as u64;
            host.set_regs(self.tid, &regs)?;
        }
        self.is_left = true;
        let mut new = None;
        loop {
            match host.run(self.tid)? {
                Stop::Call => break,
                Stop::Cloned(tid) => new = Some(tid),
                stop => self.expect(stop)?,
            }
        }
        let after = host.regs(self.tid)?;
        // Registers that a call may set besides its result.
        (self.entry.fs_base, self.entry.gs_base) = (after.fs_base, after.gs_base);
        Ok((after.rax as i64, new))
    }

    /// Executes a file in place of the process. Returns the error if that fails.
    pub(crate) fn execute(&mut self, host: &mut Host, args: [u64; 6]) -> Result<Option<i64>, ProgramError> {
        let mut regs = self.entry;
        [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9] = args;
        host.set_regs(self.tid, &regs)?;
        self.is_left = true;
        match host.execute(self.tid)? {
            Executed::Anew => Ok(None),
            Executed::Failed => Ok(Some(host.regs(self.tid)?.rax as i64)),
        }
    }

    fn expect(&self, stop: Stop) -> Result<(), ProgramError> {
        match stop {
            Stop::Call => Ok(()),
            stop => {
                Err(ProgramError::Host(format!("the program ended in a system call of keel's: {stop:?}")))
            }
        }
    }

    /// Answers its call. The thread continues when it is next run.
    pub(crate) fn answer(&mut self, host: &mut Host, value: i64) -> Result<(), ProgramError> {
        self.skip(host)?;
        let regs = Regs { rax: value as u64, orig_rax: NO_CALL, ..self.entry };
        host.set_regs(self.tid, &regs)
    }

    /// Returns whether its call returns `EINTR` after any handler. Those that wait for time or for events do.
    fn ends_by_handlers(&self) -> bool {
        match self.number() {
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep | libc::SYS_pause | libc::SYS_rt_sigtimedwait => {
                true
            }
            libc::SYS_rt_sigsuspend => true,
            libc::SYS_poll | libc::SYS_ppoll | libc::SYS_select | libc::SYS_pselect6 => true,
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => true,
            // With a deadline.
            libc::SYS_futex => self.args()[3] != 0,
            _ => false,
        }
    }

    /// Ends its call because of a signal: the kernel restarts it, or returns `EINTR`, as the handler requires.
    pub(crate) fn interrupt(&mut self, host: &mut Host) -> Result<(), ProgramError> {
        self.skip(host)?;
        let answer = if self.ends_by_handlers() { RESTART_NO_HANDLER } else { RESTART };
        let regs = Regs { rax: answer as u64, ..self.entry };
        host.set_regs(self.tid, &regs)
    }

    fn skip(&mut self, host: &mut Host) -> Result<(), ProgramError> {
        if !self.is_left {
            host.set_regs(self.tid, &Regs { orig_rax: NO_CALL, ..self.entry })?;
            let stop = host.run(self.tid)?;
            self.expect(stop)?;
            self.is_left = true;
        }
        Ok(())
    }
}
