//! Connects to the program's own statistics server (scx_stats): a line of JSON in each direction through a Unix socket.
//!
//! A connection is a pair of the program's sockets. keel uses the other end when a thread has stopped at a call, so
//! that the order of everything stays a function of the program, of time, and of the queries and their times.

use crate::ProgramError;
use crate::fds::Kind;
use crate::program::Program;
use crate::thread::Thread;

/// The path at which scx_stats servers listen.
const PLACE: &[u8] = b"/var/run/scx/root/stats";
/// The number of bytes that are moved at a time, through keel's page.
const CHUNK: usize = 4096;

/// A message from a connection.
pub(crate) enum Heard {
    Nothing,
    Bytes(Vec<u8>),
    /// The server has closed the connection.
    End,
}

impl Program {
    /// Returns whether the program has a server.
    pub(crate) fn has_server(&self) -> bool {
        self.page != 0 && self.fds.listener(PLACE).is_some()
    }

    /// Connects to the server. Returns `None` if the program has none, or it accepts no more.
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

    /// Sends the beginning of `bytes` to the server. Returns how many bytes it has accepted, or `None` if it has closed
    /// the connection.
    pub(crate) fn tell_server(
        &mut self,
        t: &mut Thread,
        fd: u64,
        bytes: &[u8],
    ) -> Result<Option<usize>, ProgramError> {
        let chunk = &bytes[..bytes.len().min(CHUNK)];
        self.host.write(self.page, chunk);
        let flags = (libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) as u64;
        let args = [fd, self.page, chunk.len() as u64, flags, 0, 0];
        let (sent, _) = t.call(&mut self.host, libc::SYS_sendto, args)?;
        Ok(match sent {
            _ if sent == -i64::from(libc::EAGAIN) => Some(0),
            _ => usize::try_from(sent).ok(),
        })
    }

    /// Returns the server's message, if it has sent anything.
    pub(crate) fn hear_server(&mut self, t: &mut Thread, fd: u64) -> Result<Heard, ProgramError> {
        let (page, flags) = (self.page, libc::MSG_DONTWAIT as u64);
        let (got, _) = t.call(&mut self.host, libc::SYS_recvfrom, [fd, page, CHUNK as u64, flags, 0, 0])?;
        if got == -i64::from(libc::EAGAIN) {
            return Ok(Heard::Nothing);
        }
        let mut bytes = vec![0; got.max(0) as usize];
        let is_read = self.host.read(page, &mut bytes);
        Ok(if bytes.is_empty() || !is_read { Heard::End } else { Heard::Bytes(bytes) })
    }

    /// Tells the server that nothing more will be sent.
    pub(crate) fn finish_server(&mut self, t: &mut Thread, fd: u64) -> Result<(), ProgramError> {
        t.call(&mut self.host, libc::SYS_shutdown, [fd, libc::SHUT_WR as u64, 0, 0, 0, 0])?;
        Ok(())
    }

    /// Ends a connection.
    pub(crate) fn leave_server(&mut self, t: &mut Thread, fd: u64) -> Result<(), ProgramError> {
        t.call(&mut self.host, libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
        Ok(())
    }
}

/// Returns whether other calls may be made before this one. Not if the call ends or creates a thread or returns from a
/// signal.
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
