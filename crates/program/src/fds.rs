//! The program's descriptors: the object behind each number. All calls that create, copy or close one pass through
//! here.

use crate::epoll::Watched;
use crate::object::Traced;
use crate::watches::Watches;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// What a descriptor is.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Standard output or error: output is stored.
    Output,
    /// A file of the host or of the scratch tree, open for reading.
    File,
    /// `/dev/random`, `/dev/urandom`.
    Random,
    /// A folder, with its name.
    Folder(String),
    /// An end of a pipe, or of a pair of sockets.
    Pipe,
    /// `eventfd(2)`.
    Counter { count: u64, one_by_one: bool },
    /// `timerfd_create(2)`: its clock, when it next expires, and its interval.
    Timer { clock: i32, next_ns: Option<u64>, every_ns: u64 },
    /// `epoll_create(2)`: its descriptors.
    Epoll(BTreeMap<i32, Watched>),
    /// A Unix socket that has no name and is not connected.
    Socket,
    /// A Unix socket with this name, and the connections that wait to be accepted.
    Listener { name: Vec<u8>, waiting: VecDeque<i32> },
    /// `signalfd(2)`: the host has the signals.
    Signals,
    /// `inotify_init(2)`.
    Watch(Watches),
    /// An object of bpf(2).
    Map(u32),
    /// A loaded program.
    Prog(u32),
    /// Types.
    Btf(u32),
    /// Something attached.
    Link(Link),
}

/// What a link refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// The scheduler.
    Scheduler,
    /// A tracing program.
    Trace(Traced),
    /// Nothing any more: the scheduler has been detached.
    Gone,
}

/// A descriptor's object, shared by its copies.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) kind: Rc<RefCell<Kind>>,
    pub(crate) nonblocking: bool,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Fds(BTreeMap<i32, Open>);

impl Default for Fds {
    fn default() -> Self {
        let mut fds = Self(BTreeMap::new());
        for (fd, kind) in [(0, Kind::File), (1, Kind::Output), (2, Kind::Output)] {
            fds.put(fd, kind, false);
        }
        fds
    }
}

impl Fds {
    pub(crate) fn put(&mut self, fd: i32, kind: Kind, nonblocking: bool) {
        self.0.insert(fd, Open { kind: Rc::new(RefCell::new(kind)), nonblocking });
    }

    pub(crate) fn get(&self, fd: i32) -> Option<&Open> {
        self.0.get(&fd)
    }

    pub(crate) fn get_mut(&mut self, fd: i32) -> Option<&mut Open> {
        self.0.get_mut(&fd)
    }

    /// Makes `new` a copy of `old`. Returns its previous object, if that is closed by this.
    pub(crate) fn copy(&mut self, old: i32, new: i32) -> Option<Kind> {
        let open = self.0.get(&old).cloned()?;
        self.0.insert(new, open).and_then(last)
    }

    /// Adds a descriptor for an object that others share.
    pub(crate) fn share(&mut self, fd: i32, open: Open) {
        self.0.insert(fd, open);
    }

    /// Closes a descriptor. Returns its object if this was the last copy.
    pub(crate) fn close(&mut self, fd: i32) -> Option<Kind> {
        self.0.values().for_each(|open| {
            if let Kind::Epoll(list) = &mut *open.kind.borrow_mut() {
                list.remove(&fd);
            }
        });
        self.0.remove(&fd).and_then(last)
    }

    /// Returns whether any such object is still open.
    pub(crate) fn any(&self, wanted: impl Fn(&Kind) -> bool) -> bool {
        self.0.values().any(|open| wanted(&open.kind.borrow()))
    }

    /// Changes objects of some kind.
    pub(crate) fn each(&self, mut act: impl FnMut(&mut Kind)) {
        let mut done = Vec::new();
        for open in self.0.values() {
            // Copies share their object.
            if !done.contains(&Rc::as_ptr(&open.kind)) {
                done.push(Rc::as_ptr(&open.kind));
                act(&mut open.kind.borrow_mut());
            }
        }
    }

    /// Returns which descriptors are open, in order.
    pub(crate) fn numbers(&self) -> Vec<i32> {
        self.0.keys().copied().collect()
    }

    /// Notes that something has been read from a descriptor, or that it has been full, so that edge-triggered waiters
    /// are notified again.
    pub(crate) fn used(&self, fd: i32) {
        let Some(used) = self.get(fd).map(|open| Rc::clone(&open.kind)) else { return };
        let is_same = |fd: &i32| self.get(*fd).is_some_and(|open| Rc::ptr_eq(&open.kind, &used));
        for open in self.0.values().filter(|open| !Rc::ptr_eq(&open.kind, &used)) {
            if let Kind::Epoll(list) = &mut *open.kind.borrow_mut() {
                list.iter_mut().filter(|(fd, _)| is_same(fd)).for_each(|(_, watched)| watched.forget());
            }
        }
    }

    /// Returns the socket of this name.
    pub(crate) fn listener(&self, wanted: &[u8]) -> Option<i32> {
        let is_it =
            |open: &Open| matches!(&*open.kind.borrow(), Kind::Listener { name, .. } if name == wanted);
        self.0.iter().find(|(_, open)| is_it(open)).map(|(&fd, _)| fd)
    }

    /// Removes a socket's name. The socket stays open, but can't be found any more.
    pub(crate) fn forget_name(&self, gone: &[u8]) {
        for open in self.0.values() {
            if let Kind::Listener { name, .. } = &mut *open.kind.borrow_mut()
                && name == gone
            {
                name.clear();
            }
        }
    }

    /// Returns when the next timer expires after now. One that has expired but was not read does not hide the others.
    pub(crate) fn next_timer(&self, now_ns: u64) -> Option<u64> {
        let timers = self.0.values().filter_map(|open| match *open.kind.borrow() {
            Kind::Timer { next_ns, .. } => next_ns,
            _ => None,
        });
        timers.filter(|&at| at > now_ns).min()
    }

    /// Returns whether an epoll instance watches a map.
    pub(crate) fn polls_a_ring(&self) -> bool {
        let is_map = |fd: &i32| self.get(*fd).is_some_and(|open| matches!(*open.kind.borrow(), Kind::Map(_)));
        self.any(|kind| matches!(kind, Kind::Epoll(list) if list.keys().any(is_map)))
    }
}

/// Returns the object, if nothing else shares it.
pub(crate) fn last(open: Open) -> Option<Kind> {
    Rc::into_inner(open.kind).map(RefCell::into_inner)
}
