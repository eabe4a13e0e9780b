//! Answers each system call.

use crate::ProgramError;
use crate::desk::Desk;
use crate::names::name_of;
use crate::program::{Event, Program, Wait};
use crate::thread::Thread;

/// How a call is answered.
pub(crate) enum Answer {
    /// It returns this.
    Value(i64),
    /// The host has answered it, and set all registers.
    AsIs,
    /// It waits, at most until this time.
    Wait(Wait, Option<u64>),
    /// The owner answers it.
    Outside(Event),
    /// It returns this, and the owner is notified.
    Told(i64, Event),
    /// The thread ends.
    Leaves,
    /// The program has been executed again, so the thread is gone.
    Begins,
}

/// Returns a negative error number, as a call returns it.
pub(crate) const fn error(errno: i32) -> Answer {
    Answer::Value(-(errno as i64))
}

type Done = Result<Answer, ProgramError>;

impl Program {
    /// Answers the call at which the thread has stopped. `expired` means that it has waited until its deadline.
    pub(crate) fn dispatch(&mut self, t: &mut Thread, desk: &mut dyn Desk, expired: bool) -> Done {
        if self.page == 0 {
            self.page = self.map_page(t)?;
        }
        self.caller = Some(t.own);
        let a = t.args();
        match t.number() {
            libc::SYS_bpf => self.bpf_call(t, a, desk),
            libc::SYS_futex => self.futex(a, expired),
            libc::SYS_rt_sigreturn => {
                t.call(&mut self.host, libc::SYS_rt_sigreturn, a)?;
                Ok(Answer::AsIs)
            }
            libc::SYS_kill => self.kill_process(t, a, desk),
            libc::SYS_exit => Ok(self.thread_exits()),
            libc::SYS_exit_group => {
                self.note_exit(a[0] as i32 & 0xff);
                Ok(Answer::Told(0, Event::Exited(a[0] as i32 & 0xff)))
            }
            libc::SYS_write | libc::SYS_writev | libc::SYS_pwrite64 => {
                let answer = self.write(t, a)?;
                Ok(self.after_write(a[0] as i32, answer))
            }
            libc::SYS_read | libc::SYS_readv => {
                self.fds.used(a[0] as i32);
                self.read(t, a, expired)
            }
            number => match self.time_call(t, number, a, expired)? {
                Some(answer) => Ok(answer),
                None => self.dispatch_rest(t, desk, number, a, expired),
            },
        }
    }

    fn dispatch_rest(
        &mut self,
        t: &mut Thread,
        desk: &mut dyn Desk,
        number: i64,
        a: [u64; 6],
        expired: bool,
    ) -> Done {
        self.show_what_is_there(number, a, desk)?;
        if number == libc::SYS_getcpu {
            return Ok(self.current_cpu(t, a, desk));
        }
        if let Some(answer) = self.futex_call(number, a)? {
            return Ok(answer);
        }
        if let Some(answer) = self.event_call(t, number, a, expired)? {
            return Ok(answer);
        }
        if let Some(answer) = self.file_call(t, number, a)? {
            return Ok(answer);
        }
        if let Some(answer) = self.socket_call(t, number, a)? {
            return Ok(answer);
        }
        if let Some(answer) = self.process_call(t, number, a)? {
            return Ok(answer);
        }
        if is_harmless(number) {
            return self.native(t, a);
        }
        self.refused.insert(name_of(number));
        Ok(error(libc::ENOSYS))
    }

    /// Lets the host execute the call with these arguments.
    pub(crate) fn native(&mut self, t: &mut Thread, a: [u64; 6]) -> Done {
        let (value, _) = t.call(&mut self.host, t.number(), a)?;
        Ok(Answer::Value(value))
    }

    /// Maps a page for strings and structures of keel's own calls.
    fn map_page(&mut self, t: &mut Thread) -> Result<u64, ProgramError> {
        let (rw, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let args = [0, 2 * 4096, rw as u64, private as u64, u64::MAX, 0];
        let (at, _) = t.call(&mut self.host, libc::SYS_mmap, args)?;
        match u64::try_from(at) {
            Ok(at) => Ok(at),
            Err(_) => Err(ProgramError::Host("the program has no memory for a page of keel's".into())),
        }
    }
}

/// Returns whether a call concerns only the caller's own memory and signals.
fn is_harmless(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_munmap
            | libc::SYS_mprotect
            | libc::SYS_madvise
            | libc::SYS_mremap
            | libc::SYS_brk
            | libc::SYS_mlock
            | libc::SYS_munlock
            | libc::SYS_mlockall
            | libc::SYS_munlockall
            | libc::SYS_mincore
            | libc::SYS_msync
            | libc::SYS_rt_sigaction
            | libc::SYS_rt_sigprocmask
            | libc::SYS_rt_sigpending
            | libc::SYS_sigaltstack
            | libc::SYS_arch_prctl
            | libc::SYS_set_robust_list
    )
}
