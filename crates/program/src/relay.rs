//! Connects clients outside the run to the program's own statistics server.
//!
//! The program's owner reports what the clients do ([`Clients`]) each time a thread has stopped at a call. While a
//! client is connected, the program's task is woken at intervals for that. So a run with clients depends on when they
//! connect and what they request; a run without clients is unaffected. A client that connects before there is a server
//! waits for it.

use crate::ProgramError;
use crate::program::Program;
use crate::server::{Heard, may_call_beside};
use crate::thread::Thread;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// How often the program's task is woken while a client is connected, in nanoseconds.
pub(crate) const CLIENT_POLL_NS: u64 = 10_000_000;
/// The maximum number of bytes from one client that wait to be sent to the server. Beyond that the client is
/// disconnected.
const MOST: usize = 1 << 20;

/// Clients of the program's server.
pub trait Clients: Debug + Send + Sync {
    /// Returns what they have done since the last call. The run has reached `now_ns`, in nanoseconds since the
    /// scheduler was first attached. It continues when this returns.
    fn news(&self, now_ns: u64) -> Vec<News>;

    /// Called when the server has sent a client these bytes. They are untrusted.
    fn hears(&self, client: u64, bytes: &[u8]);

    /// Called when the server has disconnected a client, or accepts no more.
    fn ends(&self, client: u64);
}

/// What a client has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// It connects. Numbers are never reused.
    Connects(u64),
    /// It sends these bytes.
    Sends(u64, Vec<u8>),
    /// It sends nothing more: it waits for an answer, or has disconnected.
    Finishes(u64),
}

/// The clients' connections.
#[derive(Default)]
pub(crate) struct Relay {
    clients: Option<Arc<dyn Clients>>,
    links: BTreeMap<u64, Link>,
}

struct Link {
    /// The connection to the server; `None` before there is a server.
    fd: Option<u64>,
    unsent: Vec<u8>,
    has_finished: bool,
}

impl Relay {
    /// Forgets the server, which is gone, and the connections to it.
    pub(crate) fn forget_server(&mut self) {
        let linked = self.links.extract_if(.., |_, link| link.fd.is_some());
        for (client, _) in linked {
            if let Some(clients) = &self.clients {
                clients.ends(client);
            }
        }
    }
}

impl Program {
    /// Lets these clients connect to the program's statistics server, as soon as it has one.
    pub fn admit(&mut self, clients: Arc<dyn Clients>) {
        self.relay.clients = Some(clients);
    }

    /// Closes all clients' connections, and accepts no more.
    pub fn dismiss_clients(&mut self) {
        if let Some(clients) = self.relay.clients.take() {
            self.relay.links.keys().for_each(|&client| clients.ends(client));
        }
    }

    /// Returns whether a client is connected to the server.
    pub(crate) fn has_clients(&self) -> bool {
        self.relay.clients.is_some() && self.relay.links.values().any(|link| link.fd.is_some())
    }

    /// Passes messages between clients and server while all threads wait, in addition to one of their calls.
    pub(crate) fn look_at_clients_while_waiting(&mut self) -> Result<(), ProgramError> {
        let can_wait = |own: &&i32| self.threads.get(own).is_some_and(|t| may_call_beside(t.number()));
        let Some(own) = self.waiting.keys().find(can_wait).copied() else { return Ok(()) };
        let mut thread = self.threads.remove(&own).expect("who waits is there");
        let looked = self.look_at_clients(&mut thread);
        self.threads.insert(own, thread);
        looked
    }

    /// Passes messages between clients and server, in addition to the call at which a thread has stopped.
    pub(crate) fn look_at_clients(&mut self, t: &mut Thread) -> Result<(), ProgramError> {
        if !may_call_beside(t.number()) {
            return Ok(());
        }
        let Some(clients) = self.relay.clients.clone() else { return Ok(()) };
        for news in clients.news(self.now_ns.saturating_sub(self.since_ns)) {
            match news {
                News::Connects(client) => {
                    self.relay
                        .links
                        .insert(client, Link { fd: None, unsent: Vec::new(), has_finished: false });
                }
                News::Sends(client, bytes) => {
                    if let Some(link) = self.relay.links.get_mut(&client) {
                        link.unsent.extend(bytes);
                    }
                }
                News::Finishes(client) => {
                    if let Some(link) = self.relay.links.get_mut(&client) {
                        link.has_finished = true;
                    }
                }
            }
        }
        let linked: Vec<u64> = self.relay.links.keys().copied().collect();
        for client in linked {
            if !self.pass_on(t, client, &*clients)? {
                self.let_go(t, client)?;
                clients.ends(client);
            }
        }
        Ok(())
    }

    /// Passes messages between one client and the server. Returns false if the connection is over.
    fn pass_on(&mut self, t: &mut Thread, client: u64, clients: &dyn Clients) -> Result<bool, ProgramError> {
        let has_server = self.has_server();
        let Some(link) = self.relay.links.get(&client) else { return Ok(true) };
        let fd = match link.fd {
            Some(fd) => fd,
            None if !has_server => {
                let is_gone = link.has_finished && link.unsent.is_empty();
                return Ok(!is_gone && link.unsent.len() <= MOST);
            }
            None => match self.call_server(t)? {
                Some(fd) => fd,
                None => return Ok(false),
            },
        };
        let Some(link) = self.relay.links.get_mut(&client) else { return Ok(true) };
        link.fd = Some(fd);
        let (mut unsent, has_finished) = (std::mem::take(&mut link.unsent), link.has_finished);
        if !unsent.is_empty() {
            let Some(sent) = self.tell_server(t, fd, &unsent)? else { return Ok(false) };
            unsent.drain(..sent);
        }
        let is_too_much = unsent.len() > MOST;
        // The server ends the connection: it may still have an answer.
        let is_end = has_finished && unsent.is_empty();
        if is_end {
            self.finish_server(t, fd)?;
        }
        if let Some(link) = self.relay.links.get_mut(&client) {
            link.unsent = unsent;
            link.has_finished = has_finished && !is_end;
        }
        Ok(match self.hear_server(t, fd)? {
            Heard::Nothing => !is_too_much,
            Heard::Bytes(bytes) => {
                clients.hears(client, &bytes);
                !is_too_much
            }
            Heard::End => false,
        })
    }

    fn let_go(&mut self, t: &mut Thread, client: u64) -> Result<(), ProgramError> {
        match self.relay.links.remove(&client).and_then(|link| link.fd) {
            Some(fd) => self.leave_server(t, fd),
            None => Ok(()),
        }
    }
}
