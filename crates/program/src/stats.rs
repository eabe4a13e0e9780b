//! Asks the program's own server of statistics, as a monitor in another terminal would: by scx_stats' protocol, a line of
//! JSON each way through a Unix socket.
//!
//! The connection is a pair of sockets of the program's. Its other end is used when a thread has stopped at a call, so that
//! the order of everything stays a function of the program and of time.

use crate::ProgramError;
use crate::fds::Kind;
use crate::program::Program;
use crate::thread::Thread;

/// Where scx_stats' servers listen.
const PLACE: &[u8] = b"/var/run/scx/root/stats";
/// What is asked.
const QUESTION: &[u8] = b"{\"req\":\"stats\",\"args\":{}}\n";
/// The most bytes of an answer.
const MOST: usize = 1 << 20;
/// Bytes that are read at a time, into the page of keel's.
pub(crate) const CHUNK: u64 = 4096;

/// What the server is asked, and has answered.
#[derive(Default)]
pub(crate) struct Stats {
    every_ns: Option<u64>,
    next_ns: u64,
    talk: Option<Talk>,
    answers: Vec<(u64, String)>,
}

/// A connection, which stays: a server tells what has changed since it was asked last.
struct Talk {
    fd: u64,
    /// When it was asked what it has not answered yet.
    asked_ns: Option<u64>,
    got: Vec<u8>,
}

impl Program {
    /// From now on asks the program's server of statistics, if it has one: at once, and whenever so much time has passed.
    pub fn ask_every(&mut self, every_ns: u64) {
        self.stats.every_ns = Some(every_ns.max(1));
    }

    /// What the server has answered since this was asked last: a line of JSON each, and when it was asked, in nanoseconds
    /// since the scheduler was attached first. Untrusted text.
    pub fn take_answers(&mut self) -> Vec<(u64, String)> {
        std::mem::take(&mut self.stats.answers)
    }

    /// Asks, or looks for the answer, beside the call that a thread has stopped at.
    pub(crate) fn look_at_stats(&mut self, t: &mut Thread) -> Result<(), ProgramError> {
        let Some(every_ns) = self.stats.every_ns.filter(|_| may_call_beside(t.number())) else {
            return Ok(());
        };
        let now_ns = self.now_ns.saturating_sub(self.since_ns);
        match &self.stats.talk {
            Some(Talk { asked_ns: Some(asked_ns), fd, .. }) => {
                let (asked_ns, fd) = (*asked_ns, *fd);
                self.listen(t, fd, asked_ns)
            }
            Some(Talk { fd, .. }) if now_ns >= self.stats.next_ns => {
                let fd = *fd;
                self.ask(t, fd, now_ns, every_ns)
            }
            None if now_ns >= self.stats.next_ns => match self.call_server(t)? {
                Some(fd) => {
                    self.stats.talk = Some(Talk { fd, asked_ns: None, got: Vec::new() });
                    self.ask(t, fd, now_ns, every_ns)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Looks for the answer to what was asked then.
    fn listen(&mut self, t: &mut Thread, fd: u64, asked_ns: u64) -> Result<(), ProgramError> {
        let (page, flags) = (self.page, libc::MSG_DONTWAIT as u64);
        let (got, _) = t.call(&mut self.host, libc::SYS_recvfrom, [fd, page, CHUNK, flags, 0, 0])?;
        if got == -i64::from(libc::EAGAIN) {
            return Ok(());
        }
        let mut bytes = vec![0; got.max(0) as usize];
        let is_read = self.host.read(page, &mut bytes);
        let Some(talk) = &mut self.stats.talk else { return Ok(()) };
        talk.got.append(&mut bytes);
        if let Some(end) = talk.got.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = talk.got.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line[..end]).into_owned();
            talk.asked_ns = None;
            self.stats.answers.push((asked_ns, text));
        } else if got <= 0 || !is_read || talk.got.len() > MOST {
            self.hang_up(t, fd)?;
        }
        Ok(())
    }

    fn ask(&mut self, t: &mut Thread, fd: u64, now_ns: u64, every_ns: u64) -> Result<(), ProgramError> {
        self.stats.next_ns = now_ns.saturating_add(every_ns);
        self.host.write(self.page, QUESTION);
        let args = [fd, self.page, QUESTION.len() as u64, libc::MSG_NOSIGNAL as u64, 0, 0];
        let (sent, _) = t.call(&mut self.host, libc::SYS_sendto, args)?;
        match &mut self.stats.talk {
            Some(talk) if sent == QUESTION.len() as i64 => talk.asked_ns = Some(now_ns),
            // It hung up after its last answer: next time it gets a new call.
            _ => {
                self.stats.next_ns = now_ns;
                self.hang_up(t, fd)?;
            }
        }
        Ok(())
    }

    /// Does it have a server of statistics by now?
    pub(crate) fn has_server(&self) -> bool {
        self.page != 0 && self.fds.listener(PLACE).is_some()
    }

    /// A new connection to the server, if there is one: keel's end of it, a descriptor of the program's.
    pub(crate) fn call_server(&mut self, t: &mut Thread) -> Result<Option<u64>, ProgramError> {
        let Some(listener) = self.fds.listener(PLACE).filter(|_| self.page != 0) else { return Ok(None) };
        let Ok((own, other)) = self.socket_pair(t)? else { return Ok(None) };
        self.fds.put(other, Kind::Pipe, false);
        if let Some(open) = self.fds.get(listener)
            && let Kind::Listener { waiting, .. } = &mut *open.kind.borrow_mut()
        {
            waiting.push_back(other);
        }
        Ok(Some(own))
    }

    fn hang_up(&mut self, t: &mut Thread, fd: u64) -> Result<(), ProgramError> {
        self.stats.talk = None;
        t.call(&mut self.host, libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
        Ok(())
    }
}

/// May other calls be made before this one? Not where a thread goes away, comes or returns from a signal by it.
pub(crate) fn may_call_beside(number: i64) -> bool {
    !matches!(
        number,
        libc::SYS_exit
            | libc::SYS_exit_group
            | libc::SYS_rt_sigreturn
            | libc::SYS_clone
            | libc::SYS_clone3
            | libc::SYS_fork
            | libc::SYS_vfork
            | libc::SYS_execve
    )
}
