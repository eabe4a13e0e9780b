//! Signals: Ctrl-C, and the calls that wait for signals.

use crate::ProgramError;
use crate::calls::Answer;
use crate::program::{Program, Wait};
use crate::thread::Thread;

/// A span of no time, at the beginning of keel's page.
const NO_SPAN: [u8; 16] = [0; 16];

impl Program {
    /// Ctrl-C: the program gets SIGINT. As on a kernel, the first thread handles it unless it blocks it, and a wait of
    /// who handles it ends.
    ///
    /// # Errors
    /// The host fails.
    pub fn interrupt(&mut self) -> Result<(), ProgramError> {
        let first = self.machine.pid;
        let others = self.threads.keys().copied().filter(|&own| own != first);
        let handles = |own: &i32| {
            self.threads.get(own).is_some_and(|thread| !self.host.blocks(thread.tid, libc::SIGINT))
        };
        let Some(own) = [first].into_iter().chain(others).find(handles) else {
            // A thread that waits for the signal receives it.
            self.host.signal_process(libc::SIGINT);
            return Ok(());
        };
        let Some(mut thread) = self.threads.remove(&own) else { return Ok(()) };
        self.host.signal(thread.tid, libc::SIGINT);
        if let Some(wait) = self.waiting.remove(&own) {
            self.tell_rest(&thread, wait.deadline_ns);
            thread.interrupt(&mut self.host)?;
            self.ready.push_back(own);
        }
        self.threads.insert(own, thread);
        Ok(())
    }

    /// If a signal ends a relative sleep, the call returns the time that was left.
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

    /// `pause`: until a handler has run.
    pub(crate) fn pause(&self) -> Answer {
        Answer::Wait(Wait::Sleep, None)
    }

    /// `rt_sigtimedwait`: the host has the pending signals, and is asked without waiting.
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
                Some(Err(errno)) => return Ok(crate::calls::error(errno)),
                None => return Ok(crate::calls::error(libc::EFAULT)),
            },
        };
        self.host.write(self.page, &NO_SPAN);
        let args = [a[0], a[1], self.page, a[3], 0, 0];
        match t.call(&mut self.host, libc::SYS_rt_sigtimedwait, args)? {
            (value, _) if value == -i64::from(libc::EAGAIN) && !expired => {
                Ok(Answer::Wait(Wait::Retry, deadline))
            }
            (value, _) => Ok(Answer::Value(value)),
        }
    }
}
