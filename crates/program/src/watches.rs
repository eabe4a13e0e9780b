//! Implements inotify: a program is notified of cgroups that are created and removed. No other file that it sees
//! changes on its own.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::desk::Desk;
use crate::fds::Kind;
use crate::program::Program;
use crate::thread::Thread;
use std::collections::{BTreeMap, VecDeque};

/// Names in events are padded to a multiple of this, which is also the size of the rest of an event.
const EVENT_BYTES: usize = 16;
/// The longest time until a watcher notices a change.
const WATCH_POLL_NS: u64 = 10_000_000;
/// `/proc/sys/fs/inotify/max_queued_events`.
const MOST_EVENTS: usize = 16_384;

/// Folders that have been created and removed, in this order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) gone: Vec<String>,
    pub(crate) made: Vec<String>,
}

/// The watches of an inotify descriptor, and its pending events.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    last: i32,
    paths: BTreeMap<i32, (String, u32)>,
    pub(crate) events: VecDeque<Vec<u8>>,
}

impl Watches {
    fn add(&mut self, path: &str, mask: u32) -> Result<i32, i32> {
        let wanted = mask & libc::IN_ALL_EVENTS;
        if wanted == 0 {
            return Err(libc::EINVAL);
        }
        match self.paths.iter_mut().find(|(_, (other, _))| other == path) {
            Some(_) if mask & libc::IN_MASK_CREATE != 0 => Err(libc::EEXIST),
            Some((&number, (_, old))) => {
                *old = if mask & libc::IN_MASK_ADD != 0 { *old | wanted } else { wanted };
                Ok(number)
            }
            None => {
                self.last += 1;
                self.paths.insert(self.last, (path.to_owned(), wanted));
                Ok(self.last)
            }
        }
    }

    fn remove(&mut self, number: i32) -> Result<(), i32> {
        self.paths.remove(&number).ok_or(libc::EINVAL)?;
        self.tell(number, libc::IN_IGNORED, "");
        Ok(())
    }

    fn tell(&mut self, number: i32, what: u32, name: &str) {
        if self.events.len() >= MOST_EVENTS {
            return;
        }
        let (number, what) =
            if self.events.len() + 1 == MOST_EVENTS { (-1, libc::IN_Q_OVERFLOW) } else { (number, what) };
        let room = if name.is_empty() { 0 } else { (name.len() + 1).next_multiple_of(EVENT_BYTES) };
        let mut event =
            [number.to_le_bytes(), what.to_le_bytes(), [0; 4], (room as u32).to_le_bytes()].concat();
        event.extend_from_slice(name.as_bytes());
        event.resize(EVENT_BYTES + room, 0);
        self.events.push_back(event);
    }

    /// Returns the watches on this path for this event.
    fn of(&self, path: &str, event: u32) -> Vec<i32> {
        let wants = |&(_, (own, mask)): &(&i32, &(String, u32))| own == path && mask & event != 0;
        self.paths.iter().filter(wants).map(|(&number, _)| number).collect()
    }

    fn see(&mut self, changes: &Changes) {
        for path in &changes.gone {
            for number in self.of(path, libc::IN_DELETE_SELF) {
                self.tell(number, libc::IN_DELETE_SELF, "");
            }
            for number in self.of(path, libc::IN_ALL_EVENTS) {
                self.paths.remove(&number);
                self.tell(number, libc::IN_IGNORED, "");
            }
            self.tell_parent(path, libc::IN_DELETE);
        }
        for path in &changes.made {
            self.tell_parent(path, libc::IN_CREATE);
        }
    }

    fn tell_parent(&mut self, path: &str, what: u32) {
        let Some((folder, name)) = path.rsplit_once('/') else { return };
        for number in self.of(folder, what) {
            self.tell(number, what | libc::IN_ISDIR, name);
        }
    }

    /// Returns the events that fit into this many bytes.
    pub(crate) fn read(&mut self, room: usize) -> Result<Vec<u8>, i32> {
        match self.events.front() {
            None => return Err(libc::EAGAIN),
            Some(first) if first.len() > room => return Err(libc::EINVAL),
            Some(_) => {}
        }
        let mut bytes = Vec::new();
        while self.events.front().is_some_and(|next| bytes.len() + next.len() <= room) {
            bytes.extend(self.events.pop_front().unwrap_or_default());
        }
        Ok(bytes)
    }
}

impl Program {
    pub(crate) fn watch_call(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
    ) -> Result<Option<Answer>, ProgramError> {
        Ok(Some(match number {
            libc::SYS_inotify_init => self.new_fd(t, Kind::Watch(Watches::default()), false)?,
            libc::SYS_inotify_init1 => {
                let nonblocking = a[0] as i32 & libc::IN_NONBLOCK != 0;
                self.new_fd(t, Kind::Watch(Watches::default()), nonblocking)?
            }
            libc::SYS_inotify_add_watch => self.add_watch(a),
            libc::SYS_inotify_rm_watch => {
                self.with_watches(a[0], |watches| watches.remove(a[1] as i32).map(|()| 0))
            }
            _ => return Ok(None),
        }))
    }

    fn add_watch(&mut self, a: [u64; 6]) -> Answer {
        let path = match self.path(libc::AT_FDCWD, a[1]) {
            Ok(path) => path,
            Err(errno) => return error(errno),
        };
        if !self.tree.is_there(&path) {
            return error(libc::ENOENT);
        }
        let mask = a[2] as u32;
        if mask & libc::IN_ONLYDIR != 0 && !self.tree.is_folder(&path) {
            return error(libc::ENOTDIR);
        }
        self.with_watches(a[0], |watches| watches.add(&path, mask))
    }

    fn with_watches(&mut self, fd: u64, act: impl FnOnce(&mut Watches) -> Result<i32, i32>) -> Answer {
        let Some(open) = self.fds.get(fd as i32) else { return error(libc::EBADF) };
        match &mut *open.kind.borrow_mut() {
            Kind::Watch(watches) => match act(watches) {
                Ok(value) => Answer::Value(i64::from(value)),
                Err(errno) => error(errno),
            },
            _ => error(libc::EINVAL),
        }
    }

    pub(crate) fn tell_watchers(&mut self, changes: &Changes) {
        if *changes == Changes::default() {
            return;
        }
        self.fds.each(|kind| {
            if let Kind::Watch(watches) = kind {
                watches.see(changes);
            }
        });
    }

    fn watches(&self) -> bool {
        self.fds.any(|kind| matches!(kind, Kind::Watch(watches) if !watches.paths.is_empty()))
    }

    /// Returns when to look for changes next, if the program watches anything.
    pub(crate) fn next_watch(&self) -> Option<u64> {
        self.watches().then_some(self.watched_ns + WATCH_POLL_NS)
    }

    /// Checks for changes, if it is time for that.
    pub(crate) fn look_for_changes(&mut self, desk: &dyn Desk) -> Result<(), ProgramError> {
        if self.next_watch().is_none_or(|at| at > self.now_ns) {
            return Ok(());
        }
        self.watched_ns = self.now_ns;
        match desk.view() {
            Some(view) => self.show_cgroups(view),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number, event and name of all pending events.
    fn told(watches: &mut Watches) -> Vec<(i32, u32, String)> {
        let events: Vec<Vec<u8>> = watches.events.drain(..).collect();
        let word = |event: &[u8], at: usize| {
            u32::from_le_bytes([event[at], event[at + 1], event[at + 2], event[at + 3]])
        };
        let name =
            |event: &[u8]| String::from_utf8_lossy(&event[EVENT_BYTES..]).trim_end_matches('\0').to_owned();
        events.iter().map(|event| (word(event, 0) as i32, word(event, 4), name(event))).collect()
    }

    #[test]
    fn watchers_are_told_of_what_they_watch() {
        let mut watches = Watches::default();
        assert_eq!(watches.add("/a", libc::IN_CREATE), Ok(1));
        assert_eq!(watches.add("/a", libc::IN_DELETE | libc::IN_MASK_CREATE), Err(libc::EEXIST));
        assert_eq!(watches.add("/a", libc::IN_DELETE | libc::IN_MASK_ADD), Ok(1));
        assert_eq!(watches.add("/a/b", libc::IN_DELETE_SELF), Ok(2));
        assert_eq!(watches.add("/c", 0), Err(libc::EINVAL));
        let changes = |gone: &[&str], made: &[&str]| Changes {
            gone: gone.iter().map(|&path| path.to_owned()).collect(),
            made: made.iter().map(|&path| path.to_owned()).collect(),
        };
        watches.see(&changes(&["/a/b", "/x"], &["/a/new", "/a/new/deep"]));
        let folder = libc::IN_ISDIR;
        let expected = [
            (2, libc::IN_DELETE_SELF, String::new()),
            (2, libc::IN_IGNORED, String::new()),
            (1, libc::IN_DELETE | folder, "b".into()),
            (1, libc::IN_CREATE | folder, "new".into()),
        ];
        assert_eq!(told(&mut watches), expected);
        assert_eq!((watches.remove(2), watches.remove(1)), (Err(libc::EINVAL), Ok(())));
        assert_eq!(told(&mut watches), [(1, libc::IN_IGNORED, String::new())]);
    }

    #[test]
    fn whole_events_are_read() {
        let mut watches = Watches::default();
        watches.tell(1, libc::IN_CREATE, "of sixteen bytes");
        watches.tell(1, libc::IN_IGNORED, "");
        let mut check = |room: usize, expected: Result<usize, i32>| {
            assert_eq!(watches.read(room).map(|bytes| bytes.len()), expected, "{room}");
        };
        check(47, Err(libc::EINVAL));
        check(63, Ok(48));
        check(63, Ok(16));
        check(63, Err(libc::EAGAIN));
    }
}
