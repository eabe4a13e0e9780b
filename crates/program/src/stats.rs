//! Queries the program's own statistics server, like a monitor in another terminal, and keeps its answers.

use crate::ProgramError;
use crate::program::Program;
use crate::server::{Heard, may_call_beside};
use crate::thread::Thread;

/// The query.
const QUESTION: &[u8] = b"{\"req\":\"stats\",\"args\":{}}\n";
/// The maximum number of bytes of an answer.
const MOST: usize = 1 << 20;

/// The queries and answers.
#[derive(Default)]
pub(crate) struct Stats {
    every_ns: Option<u64>,
    next_ns: u64,
    talk: Option<Talk>,
    answers: Vec<(u64, String)>,
}

/// A connection that is kept open, because a server reports what has changed since the last query.
struct Talk {
    fd: u64,
    /// The time of the unanswered query.
    asked_ns: Option<u64>,
    got: Vec<u8>,
}

impl Stats {
    /// Forgets the server, which is gone.
    pub(crate) fn forget_server(&mut self) {
        self.talk = None;
    }
}

impl Program {
    /// Queries the program's statistics server from now on, if it has one: at once, and then at this interval.
    pub fn ask_every(&mut self, every_ns: u64) {
        self.stats.every_ns = Some(every_ns.max(1));
    }

    /// Returns the server's answers since the last call: a line of JSON each, and the time of the query in nanoseconds
    /// since the scheduler was first attached. Untrusted text.
    pub fn take_answers(&mut self) -> Vec<(u64, String)> {
        std::mem::take(&mut self.stats.answers)
    }

    /// Sends a query, or checks for the answer, in addition to the call at which a thread has stopped.
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

    /// Checks for the answer to the query sent at `asked_ns`.
    fn listen(&mut self, t: &mut Thread, fd: u64, asked_ns: u64) -> Result<(), ProgramError> {
        let bytes = match self.hear_server(t, fd)? {
            Heard::Nothing => return Ok(()),
            Heard::Bytes(bytes) => bytes,
            Heard::End => return self.hang_up(t, fd),
        };
        let Some(talk) = &mut self.stats.talk else { return Ok(()) };
        talk.got.extend(bytes);
        if let Some(end) = talk.got.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = talk.got.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line[..end]).into_owned();
            talk.asked_ns = None;
            self.stats.answers.push((asked_ns, text));
        } else if talk.got.len() > MOST {
            self.hang_up(t, fd)?;
        }
        Ok(())
    }

    fn ask(&mut self, t: &mut Thread, fd: u64, now_ns: u64, every_ns: u64) -> Result<(), ProgramError> {
        self.stats.next_ns = now_ns.saturating_add(every_ns);
        let sent = self.tell_server(t, fd, QUESTION)?;
        match &mut self.stats.talk {
            Some(talk) if sent == Some(QUESTION.len()) => talk.asked_ns = Some(now_ns),
            // It closed the connection after its last answer: connect again next time.
            _ => {
                self.stats.next_ns = now_ns;
                self.hang_up(t, fd)?;
            }
        }
        Ok(())
    }

    fn hang_up(&mut self, t: &mut Thread, fd: u64) -> Result<(), ProgramError> {
        self.stats.talk = None;
        self.leave_server(t, fd)
    }
}
