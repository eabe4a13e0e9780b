//! Implements epoll: descriptors that are waited for together. Edge-triggered ones are reported again when more has
//! arrived.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::fds::Kind;
use crate::program::Program;
use crate::thread::Thread;

/// The size of `struct epoll_event`, in bytes.
const EVENT_BYTES: usize = 12;
/// The maximum number of events in one answer.
const MOST: u64 = 1024;
/// The events that every descriptor reports, even if not requested.
const ALWAYS: u32 = (libc::EPOLLHUP | libc::EPOLLERR) as u32;
const IN: u32 = libc::EPOLLIN as u32;
const EDGES: u32 = libc::EPOLLET as u32;
const ONCE: u32 = libc::EPOLLONESHOT as u32;

/// A descriptor of an epoll instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    events: u32,
    data: u64,
    /// If edge-triggered, what has been reported: the events, and how much had arrived by then.
    told: Option<(u32, u64)>,
}

impl Watched {
    const fn wants_edges(self) -> bool {
        self.events & EDGES != 0
    }

    /// Returns whether it matters how much has arrived. Both ends of a pipe know how much is in it.
    const fn counts_input(self) -> bool {
        self.wants_edges() && self.events & IN != 0
    }

    /// Returns whether there is something that has not been reported.
    fn is_new(self, ready: u32, came: u64) -> bool {
        self.told.is_none_or(|(events, before)| ready & !events != 0 || came > before)
    }

    /// Forgets what has been reported, so that it may be reported again.
    pub(crate) const fn forget(&mut self) {
        self.told = None;
    }
}

impl Program {
    pub(crate) fn epoll_ctl(&mut self, a: [u64; 6]) -> Answer {
        let (op, fd) = (a[1] as i32, a[2] as i32);
        let mut event = [0; EVENT_BYTES];
        if op != libc::EPOLL_CTL_DEL && !self.host.read(a[3], &mut event) {
            return error(libc::EFAULT);
        }
        let events = u32::from_le_bytes([event[0], event[1], event[2], event[3]]) | ALWAYS;
        let data = u64::from_le_bytes(std::array::from_fn(|i| event[4 + i]));
        let (Some(open), Some(_)) = (self.fds.get(a[0] as i32), self.fds.get(fd)) else {
            return error(libc::EBADF);
        };
        if a[0] as i32 == fd {
            return error(libc::EINVAL);
        }
        let mut kind = open.kind.borrow_mut();
        let Kind::Epoll(list) = &mut *kind else { return error(libc::EINVAL) };
        match op {
            libc::EPOLL_CTL_ADD if list.contains_key(&fd) => return error(libc::EEXIST),
            libc::EPOLL_CTL_MOD if !list.contains_key(&fd) => return error(libc::ENOENT),
            libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD => {
                list.insert(fd, Watched { events, data, told: None });
            }
            libc::EPOLL_CTL_DEL => {
                if list.remove(&fd).is_none() {
                    return error(libc::ENOENT);
                }
            }
            _ => return error(libc::EINVAL),
        }
        Answer::Value(0)
    }

    pub(crate) fn epoll_wait(
        &mut self,
        t: &mut Thread,
        a: [u64; 6],
        timeout_ns: Option<u64>,
        expired: bool,
    ) -> Result<Answer, ProgramError> {
        let Some(open) = self.fds.get(a[0] as i32).cloned() else { return Ok(error(libc::EBADF)) };
        let list = match &*open.kind.borrow() {
            Kind::Epoll(list) => list.clone(),
            _ => return Ok(error(libc::EINVAL)),
        };
        if a[2] as i32 <= 0 {
            return Ok(error(libc::EINVAL));
        }
        let most = a[2].min(MOST) as usize;
        let mut found = Vec::new();
        let mut after = list.clone();
        for (fd, watched) in list {
            let ready = self.readiness(t, fd)? & watched.events;
            let came = if watched.counts_input() { self.came(t, fd)? } else { 0 };
            let Some(next) = after.get_mut(&fd) else { continue };
            if let Some((told, _)) = &mut next.told {
                *told &= ready;
            }
            if ready != 0 && watched.is_new(ready, came) && found.len() < most * EVENT_BYTES {
                found.extend_from_slice(&ready.to_le_bytes());
                found.extend_from_slice(&watched.data.to_le_bytes());
                next.told = watched.wants_edges().then_some((ready, came));
                if watched.events & ONCE != 0 {
                    next.events = 0;
                }
            }
        }
        if let Kind::Epoll(list) = &mut *open.kind.borrow_mut() {
            *list = after;
        }
        Ok(match found.len() / EVENT_BYTES {
            0 => self.wait_at_most(timeout_ns, expired).unwrap_or(Answer::Value(0)),
            count => self.put(a[1], &found, count as i64),
        })
    }

    /// Returns a number that increases when something arrives at a descriptor and nothing is read from it meanwhile.
    fn came(&mut self, t: &mut Thread, fd: i32) -> Result<u64, ProgramError> {
        let Some(open) = self.fds.get(fd) else { return Ok(0) };
        let came = match &*open.kind.borrow() {
            Kind::Counter { count, .. } => *count,
            Kind::Timer { next_ns: Some(next), every_ns, .. } if *next <= self.now_ns => {
                (self.now_ns - next).checked_div(*every_ns).map_or(1, |more| more + 1)
            }
            Kind::Listener { waiting, .. } => waiting.len() as u64,
            Kind::Watch(watches) => watches.events.len() as u64,
            Kind::Map(map) => self.bpf.maps[*map as usize].producer,
            Kind::Pipe => u64::MAX,
            _ => 0,
        };
        if came != u64::MAX {
            return Ok(came);
        }
        let args = [fd as u64, libc::FIONREAD, self.page, 0, 0, 0];
        t.call(&mut self.host, libc::SYS_ioctl, args)?;
        Ok(self.words::<1>(self.page).map_or(0, |[bytes]| bytes & 0xffff_ffff))
    }

    /// Returns whether one of an epoll instance's descriptors is ready. Those of an instance inside it don't count.
    pub(crate) fn has_ready(&mut self, t: &mut Thread, epoll: i32) -> Result<bool, ProgramError> {
        let Some(open) = self.fds.get(epoll).cloned() else { return Ok(false) };
        let list = match &*open.kind.borrow() {
            Kind::Epoll(list) => list.clone(),
            _ => return Ok(false),
        };
        for (fd, watched) in list {
            let is_epoll = self.fds.get(fd).is_some_and(|open| matches!(*open.kind.borrow(), Kind::Epoll(_)));
            if !is_epoll && self.readiness(t, fd)? & watched.events != 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
