//! Clients outside the run ask the program's server of statistics: what they send is handed on at points of virtual time,
//! and so is what the server answers.
//!
//! Each client has a pair of sockets of the program's, as [`stats`](crate::stats) has one. While a client is there the
//! program's task is woken for each point, so the run depends on it; without clients nothing is different. The run is
//! held back to the host's clock, so that somebody has the time to ask. That clock decides nothing else.

use crate::ProgramError;
use crate::program::Program;
use crate::stats::{CHUNK, may_call_beside};
use crate::thread::Thread;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// From one point to the next, in nanoseconds.
const APART_NS: u64 = 10_000_000;
/// Bytes that wait in one direction at most.
const MOST: usize = 1 << 20;
/// Clients at a time.
const MOST_CLIENTS: usize = 64;

/// Where clients come, and those who are there.
pub(crate) struct Relay {
    listener: Arc<UnixListener>,
    begun: Instant,
    next_ns: u64,
    clients: Vec<Client>,
}

struct Client {
    outside: UnixStream,
    /// The program's end.
    inside: u64,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    has_asked_all: bool,
}

impl Program {
    /// From now on hands on what clients of this socket, which does not block, and the program's server of statistics
    /// have to say to one another. Virtual time goes no faster than the host's.
    pub fn relay(&mut self, listener: Arc<UnixListener>) {
        self.relay = Some(Relay { listener, begun: Instant::now(), next_ns: 0, clients: Vec::new() });
    }

    /// When the program is to be woken for clients.
    pub(crate) fn next_point(&self) -> Option<u64> {
        let relay = self.relay.as_ref().filter(|relay| !relay.clients.is_empty());
        relay.map(|_| self.now_ns + APART_NS)
    }

    /// Beside a thread that waits, where all do.
    pub(crate) fn relay_while_waiting(&mut self) -> Result<(), ProgramError> {
        let waits = |own: &&i32| self.threads.get(own).is_some_and(|t| may_call_beside(t.number()));
        let Some(own) = self.waiting.keys().find(waits).copied() else { return Ok(()) };
        let Some(mut thread) = self.threads.remove(&own) else { return Ok(()) };
        let done = self.look_at_clients(&mut thread);
        self.threads.insert(own, thread);
        done
    }

    /// Hands on what there is, beside the call that a thread has stopped at.
    pub(crate) fn look_at_clients(&mut self, t: &mut Thread) -> Result<(), ProgramError> {
        let now_ns = self.now_ns.saturating_sub(self.since_ns);
        let is_due = |relay: &mut Relay| now_ns >= relay.next_ns && may_call_beside(t.number());
        let Some(mut relay) = self.relay.take_if(is_due) else { return Ok(()) };
        relay.next_ns = now_ns.saturating_add(APART_NS);
        let ahead = Duration::from_nanos(now_ns).saturating_sub(relay.begun.elapsed());
        std::thread::sleep(ahead);
        self.admit(t, &mut relay)?;
        let mut stay = Vec::new();
        for mut client in std::mem::take(&mut relay.clients) {
            match self.exchange(t, &mut client)? {
                true => stay.push(client),
                false => {
                    t.call(&mut self.host, libc::SYS_close, [client.inside, 0, 0, 0, 0, 0])?;
                }
            }
        }
        relay.clients = stay;
        self.relay = Some(relay);
        Ok(())
    }

    /// Connects those who have come. They wait until there is a server.
    fn admit(&mut self, t: &mut Thread, relay: &mut Relay) -> Result<(), ProgramError> {
        while relay.clients.len() < MOST_CLIENTS && self.has_server() {
            let Ok((outside, _)) = relay.listener.accept() else { break };
            if outside.set_nonblocking(true).is_err() {
                continue;
            }
            let Some(inside) = self.call_server(t)? else { break };
            let (to_server, to_client) = Default::default();
            relay.clients.push(Client { outside, inside, to_server, to_client, has_asked_all: false });
        }
        Ok(())
    }

    /// Both directions, as far as it goes; whether there is more to come.
    fn exchange(&mut self, t: &mut Thread, client: &mut Client) -> Result<bool, ProgramError> {
        if !client.has_asked_all {
            match client.hear() {
                Ok(has_asked_all) => client.has_asked_all = has_asked_all,
                Err(_) => return Ok(false),
            }
            if !self.send_on(t, client)? {
                return Ok(false);
            }
        }
        let is_answering = self.take_answer(t, client)?;
        Ok(client.answer().is_ok() && is_answering)
    }

    /// To the server; false where it has hung up.
    fn send_on(&mut self, t: &mut Thread, client: &mut Client) -> Result<bool, ProgramError> {
        while !client.to_server.is_empty() {
            let len = client.to_server.len().min(CHUNK as usize);
            self.host.write(self.page, &client.to_server[..len]);
            let flags = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as u64;
            let args = [client.inside, self.page, len as u64, flags, 0, 0];
            match t.call(&mut self.host, libc::SYS_sendto, args)?.0 {
                sent @ 1.. => drop(client.to_server.drain(..sent as usize)),
                again if again == -i64::from(libc::EAGAIN) => {
                    // The rest goes on at the next point.
                    client.has_asked_all = false;
                    return Ok(true);
                }
                _ => return Ok(false),
            }
        }
        if client.has_asked_all {
            let args = [client.inside, libc::SHUT_WR as u64, 0, 0, 0, 0];
            t.call(&mut self.host, libc::SYS_shutdown, args)?;
        }
        Ok(true)
    }

    /// From the server; false where it has hung up.
    fn take_answer(&mut self, t: &mut Thread, client: &mut Client) -> Result<bool, ProgramError> {
        while client.to_client.len() < MOST {
            let args = [client.inside, self.page, CHUNK, libc::MSG_DONTWAIT as u64, 0, 0];
            let got = match t.call(&mut self.host, libc::SYS_recvfrom, args)?.0 {
                got @ 1.. => got as usize,
                again if again == -i64::from(libc::EAGAIN) => return Ok(true),
                _ => return Ok(false),
            };
            let mut bytes = vec![0; got.min(CHUNK as usize)];
            if !self.host.read(self.page, &mut bytes) {
                return Ok(false);
            }
            client.to_client.append(&mut bytes);
        }
        Ok(true)
    }
}

impl Client {
    /// What the client has said; true when it says no more.
    fn hear(&mut self) -> io::Result<bool> {
        let mut bytes = [0; CHUNK as usize];
        while self.to_server.len() < MOST {
            match self.outside.read(&mut bytes) {
                Ok(0) => return Ok(true),
                Ok(got) => self.to_server.extend_from_slice(&bytes[..got]),
                Err(e) => return if is_later(&e) { Ok(false) } else { Err(e) },
            }
        }
        Ok(false)
    }

    /// Tells the client as much as it takes.
    fn answer(&mut self) -> io::Result<()> {
        while !self.to_client.is_empty() {
            match self.outside.write(&self.to_client) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => drop(self.to_client.drain(..sent)),
                Err(e) => return if is_later(&e) { Ok(()) } else { Err(e) },
            }
        }
        Ok(())
    }
}

/// Is it for the next point?
fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
