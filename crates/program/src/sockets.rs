//! Implements Unix sockets between the program's own threads, such as a statistics server and its clients. Connected
//! sockets are a pair that the host creates. Listeners and their names exist only here. Apart from the program, only
//! keel itself (`stats`) and its clients (`relay`) connect.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::fds::Kind;
use crate::program::{Program, Wait};
use crate::thread::Thread;
use std::collections::VecDeque;

/// The sizes of `struct sockaddr_un`, and of the family before the name, in bytes.
const ADDRESS_BYTES: u64 = 110;
const FAMILY_BYTES: usize = 2;
/// The maximum number of connections that wait to be accepted (`SOMAXCONN`).
const MOST_WAITING: usize = 4096;

/// The offset in `struct msghdr` of the length of the control data.
const CONTROL_LEN_AT: u64 = 40;

type Done = Result<Answer, ProgramError>;

/// Replaces a wait by `EAGAIN` if `MSG_DONTWAIT` is set.
fn at_once(flags: u64, answer: Answer) -> Answer {
    match answer {
        Answer::Wait(..) if flags as i32 & libc::MSG_DONTWAIT != 0 => error(libc::EAGAIN),
        answer => answer,
    }
}

impl Program {
    pub(crate) fn socket_call(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
    ) -> Result<Option<Answer>, ProgramError> {
        let fd = a[0] as i32;
        if matches!(number, libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_accept | libc::SYS_accept4) {
            self.fds.used(fd);
        }
        let answer = self.socket_call_itself(t, number, a, fd)?;
        Ok(answer.map(|answer| self.after_write(fd, answer)))
    }

    fn socket_call_itself(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
        fd: i32,
    ) -> Result<Option<Answer>, ProgramError> {
        Ok(Some(match number {
            libc::SYS_socket if fd != libc::AF_UNIX => error(libc::EAFNOSUPPORT),
            libc::SYS_socket => self.new_fd(t, Kind::Socket, a[1] as i32 & libc::SOCK_NONBLOCK != 0)?,
            libc::SYS_bind => self.bind(fd, a),
            libc::SYS_listen => match self.fds.get(fd) {
                Some(_) => Answer::Value(0),
                None => error(libc::EBADF),
            },
            libc::SYS_connect => self.connect(t, a)?,
            libc::SYS_accept => self.accept(t, fd, a[1], 0)?,
            libc::SYS_accept4 => self.accept(t, fd, a[1], a[3] as i32)?,
            libc::SYS_shutdown | libc::SYS_setsockopt | libc::SYS_getsockopt if self.is_connected(fd) => {
                self.native(t, a)?
            }
            libc::SYS_shutdown | libc::SYS_setsockopt => Answer::Value(0),
            libc::SYS_getsockopt => self.option(a),
            libc::SYS_getsockname | libc::SYS_getpeername if self.is_connected(fd) => self.native(t, a)?,
            libc::SYS_getsockname => self.tell_name(fd, a),
            libc::SYS_getpeername => error(self.no_peer(fd)),
            libc::SYS_sendmsg | libc::SYS_recvmsg if !self.is_connected(fd) => error(self.no_peer(fd)),
            libc::SYS_sendto => at_once(a[3], self.write(t, a)?),
            libc::SYS_recvfrom => at_once(a[3], self.read(t, a, false)?),
            libc::SYS_sendmsg => match self.words::<1>(a[1].saturating_add(CONTROL_LEN_AT)) {
                Some([0]) => at_once(a[2], self.write(t, a)?),
                Some(_) => {
                    self.refused.insert("sending descriptors or credentials".into());
                    error(libc::EINVAL)
                }
                None => error(libc::EFAULT),
            },
            libc::SYS_recvmsg => at_once(a[2], self.read(t, a, false)?),
            _ => return Ok(None),
        }))
    }

    fn is_connected(&self, fd: i32) -> bool {
        self.fds.get(fd).is_some_and(|open| matches!(*open.kind.borrow(), Kind::Pipe))
    }

    /// Returns why a call that needs a connection fails.
    fn no_peer(&self, fd: i32) -> i32 {
        match self.fds.get(fd).map(|open| matches!(*open.kind.borrow(), Kind::Socket | Kind::Listener { .. }))
        {
            None => libc::EBADF,
            Some(true) => libc::ENOTCONN,
            Some(false) => libc::ENOTSOCK,
        }
    }

    /// `getsockopt` of a socket without a connection.
    fn option(&self, a: [u64; 6]) -> Answer {
        let value = match (self.no_peer(a[0] as i32), a[1] as i32, a[2] as i32) {
            (libc::ENOTCONN, libc::SOL_SOCKET, libc::SO_ERROR) => 0,
            (libc::ENOTCONN, libc::SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_STREAM,
            (libc::ENOTCONN, libc::SOL_SOCKET, libc::SO_DOMAIN) => libc::AF_UNIX,
            (libc::ENOTCONN, ..) => return error(libc::ENOPROTOOPT),
            (errno, ..) => return error(errno),
        };
        let (bytes, len) = (value.to_le_bytes(), 4_u32.to_le_bytes());
        match self.host.write(a[3], &bytes) && self.host.write(a[4], &len) {
            true => Answer::Value(0),
            false => error(libc::EFAULT),
        }
    }

    /// `getsockname` of a socket without a connection: a path ends with a zero.
    fn tell_name(&self, fd: i32, a: [u64; 6]) -> Answer {
        let Some(open) = self.fds.get(fd) else { return error(libc::EBADF) };
        let mut address = (libc::AF_UNIX as u16).to_le_bytes().to_vec();
        match &*open.kind.borrow() {
            Kind::Listener { name, .. } => {
                address.extend_from_slice(name);
                let is_path = name.first().is_some_and(|&first| first != 0);
                address.extend(is_path.then_some(0));
            }
            Kind::Socket => {}
            _ => return error(libc::ENOTSOCK),
        }
        let mut room = [0; 4];
        if !self.host.read(a[2], &mut room) {
            return error(libc::EFAULT);
        }
        let (shown, len) = (address.len().min(u32::from_le_bytes(room) as usize), address.len() as u32);
        match self.host.write(a[1], &address[..shown]) && self.host.write(a[2], &len.to_le_bytes()) {
            true => Answer::Value(0),
            false => error(libc::EFAULT),
        }
    }

    /// Reads the name in an address: a path up to its end.
    fn socket_name(&self, at: u64, len: u64) -> Result<Vec<u8>, i32> {
        let mut bytes = vec![0; len.min(ADDRESS_BYTES) as usize];
        if !self.host.read(at, &mut bytes) {
            return Err(libc::EFAULT);
        }
        let name = bytes.get(FAMILY_BYTES..).filter(|name| !name.is_empty()).ok_or(libc::EINVAL)?;
        let end = if name[0] == 0 { None } else { name.iter().position(|&b| b == 0) };
        Ok(name[..end.unwrap_or(name.len())].to_vec())
    }

    fn bind(&mut self, fd: i32, a: [u64; 6]) -> Answer {
        let name = match self.socket_name(a[1], a[2]) {
            Ok(name) => name,
            Err(errno) => return error(errno),
        };
        if self.fds.listener(&name).is_some() {
            return error(libc::EADDRINUSE);
        }
        let Some(open) = self.fds.get(fd) else { return error(libc::EBADF) };
        let mut kind = open.kind.borrow_mut();
        match *kind {
            Kind::Socket => {
                *kind = Kind::Listener { name, waiting: VecDeque::new() };
                Answer::Value(0)
            }
            Kind::Listener { .. } | Kind::Pipe => error(libc::EINVAL),
            _ => error(libc::ENOTSOCK),
        }
    }

    /// Connects a socket: one end of a pair replaces it, and the other one waits to be accepted.
    fn connect(&mut self, t: &mut Thread, a: [u64; 6]) -> Done {
        let fd = a[0] as i32;
        let name = match self.socket_name(a[1], a[2]) {
            Ok(name) => name,
            Err(errno) => return Ok(error(errno)),
        };
        let nonblocking = match self.fds.get(fd) {
            Some(open) if matches!(*open.kind.borrow(), Kind::Socket) => open.nonblocking,
            Some(_) => return Ok(error(libc::EISCONN)),
            None => return Ok(error(libc::EBADF)),
        };
        let Some(listener) = self.fds.listener(&name) else {
            let is_path = name[0] != 0;
            return Ok(error(if is_path { libc::ENOENT } else { libc::ECONNREFUSED }));
        };
        let (own, other) = match self.socket_pair(t)? {
            Ok(pair) => pair,
            Err(answer) => return Ok(Answer::Value(answer)),
        };
        t.call(&mut self.host, libc::SYS_dup3, [own, fd as u64, libc::O_CLOEXEC as u64, 0, 0, 0])?;
        t.call(&mut self.host, libc::SYS_close, [own, 0, 0, 0, 0, 0])?;
        self.fds.put(fd, Kind::Pipe, nonblocking);
        self.fds.put(other, Kind::Pipe, false);
        if let Some(open) = self.fds.get(listener)
            && let Kind::Listener { waiting, .. } = &mut *open.kind.borrow_mut()
        {
            if waiting.len() >= MOST_WAITING {
                return Ok(error(libc::EAGAIN));
            }
            waiting.push_back(other);
        }
        Ok(Answer::Value(0))
    }

    /// Creates two connected sockets. Returns them, or the host's error.
    pub(crate) fn socket_pair(&mut self, t: &mut Thread) -> Result<Result<(u64, i32), i64>, ProgramError> {
        let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as u64;
        let args = [libc::AF_UNIX as u64, kind, 0, self.page, 0, 0];
        let (made, _) = t.call(&mut self.host, libc::SYS_socketpair, args)?;
        Ok(match self.words(self.page).filter(|_| made == 0) {
            Some([pair]) => Ok((pair & 0xffff_ffff, (pair >> 32) as i32)),
            None => Err(made.min(-1)),
        })
    }

    fn accept(&mut self, t: &mut Thread, fd: i32, address: u64, flags: i32) -> Done {
        let Some(open) = self.fds.get(fd) else { return Ok(error(libc::EBADF)) };
        let nonblocking = open.nonblocking;
        let next = match &mut *open.kind.borrow_mut() {
            Kind::Listener { waiting, .. } => waiting.pop_front(),
            _ => return Ok(error(libc::EINVAL)),
        };
        match next {
            Some(new) => {
                if flags & libc::SOCK_NONBLOCK != 0 {
                    self.fds.put(new, Kind::Pipe, true);
                    let args = [new as u64, libc::F_SETFL as u64, libc::O_NONBLOCK as u64, 0, 0, 0];
                    t.call(&mut self.host, libc::SYS_fcntl, args)?;
                }
                if address != 0 {
                    // The connecting socket has no name.
                    self.host.write(address, &(libc::AF_UNIX as u16).to_le_bytes());
                }
                Ok(Answer::Value(i64::from(new)))
            }
            None if nonblocking => Ok(error(libc::EAGAIN)),
            None => Ok(Answer::Wait(Wait::Retry, None)),
        }
    }
}
