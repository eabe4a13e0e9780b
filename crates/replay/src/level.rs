//! Models the contents of a pipe while tapes are played without time. It is never full before the real pipe would be:
//! bytes that are not packets share pages as well as possible, and a socket is never full.

use keel_abi::tape::{PAGE_BYTES, RecordedPipe, Room};
use std::collections::{BTreeMap, VecDeque};

/// A pipe's level, and the tasks that wait at it.
#[derive(Debug)]
pub(crate) struct Level {
    /// Its number of pages.
    most: usize,
    held: VecDeque<Page>,
    /// The remaining transfers of the tasks that wait to write, and of those that wait to read.
    writers: BTreeMap<usize, u32>,
    readers: BTreeMap<usize, u32>,
    /// The remaining transfers of the tasks that check again.
    woken: BTreeMap<usize, u32>,
}

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
struct Page {
    bytes: u32,
    is_packet: bool,
}

/// What a task does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Put { packet: bool },
    Take,
}

impl Level {
    pub(crate) fn new(recorded: &RecordedPipe) -> Self {
        let most = match recorded.room {
            Room::Pages(pages) => pages.max(1) as usize,
            Room::Memory(_) => usize::MAX,
        };
        let mut level = Self {
            most,
            held: VecDeque::new(),
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            woken: BTreeMap::new(),
        };
        level.put(recorded.held_bytes, false);
        level
    }

    /// Lets `task` write or read `bytes`, or what is left of them since it waited. Returns whether that is all, and
    /// which tasks check again.
    pub(crate) fn pass(&mut self, task: usize, bytes: u32, way: Way) -> (bool, Vec<usize>) {
        let wanted = self.woken.remove(&task).unwrap_or(bytes);
        let left = match way {
            Way::Put { packet } => self.put(wanted, packet),
            Way::Take => self.take(wanted),
        };
        let (alike, others) = match way {
            Way::Put { .. } => (&mut self.writers, &mut self.readers),
            Way::Take => (&mut self.readers, &mut self.writers),
        };
        // One task of the other side has something to do now, and one of this side if this task has left something.
        let mut again = Vec::new();
        again.extend((left < wanted).then(|| others.pop_first()).flatten());
        again.extend((left == 0).then(|| alike.pop_first()).flatten());
        if left > 0 {
            alike.insert(task, left);
        }
        self.woken.extend(again.iter().copied());
        (left == 0, again.into_iter().map(|(task, _)| task).collect())
    }

    /// Puts bytes in. Returns the number of bytes that did not fit.
    fn put(&mut self, mut left: u32, is_packet: bool) -> u32 {
        if let Some(last) = self.held.back_mut().filter(|last| !last.is_packet && !is_packet) {
            let joins = left.min(PAGE_BYTES - last.bytes);
            last.bytes += joins;
            left -= joins;
        }
        while left > 0 && self.held.len() < self.most {
            let bytes = left.min(PAGE_BYTES);
            self.held.push_back(Page { bytes, is_packet });
            left -= bytes;
        }
        left
    }

    /// Takes bytes out. Returns the number of bytes that were missing.
    fn take(&mut self, mut left: u32) -> u32 {
        while left > 0
            && let Some(first) = self.held.front_mut()
        {
            let taken = left.min(first.bytes);
            first.bytes -= taken;
            left -= taken;
            if first.bytes == 0 {
                self.held.pop_front();
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_nothing_or_no_room_waits_and_looks_again() {
        let check = |room, held_bytes, text: &str, expected: &str| {
            let mut level = Level::new(&RecordedPipe { room, held_bytes });
            let said = text.split_whitespace().map(|word| {
                let (task, bytes) = word.split_once(['+', '*', '-']).expect("a task and bytes");
                let way =
                    if word.contains('-') { Way::Take } else { Way::Put { packet: word.contains('*') } };
                let (task, bytes) = (task.parse().expect("a number"), bytes.parse().expect("a number"));
                let (done, again) = level.pass(task, bytes, way);
                let again: Vec<String> = again.iter().map(ToString::to_string).collect();
                format!("{}{}", if done { "." } else { "!" }, again.join(","))
            });
            assert_eq!(said.collect::<Vec<_>>().join(" "), expected, "{text}");
        };
        check(Room::Pages(1), 0, "1+100 2-100 2-100 1+50 2-100 1+50 2-100", ". . ! .2 ! .2 .");
        check(Room::Pages(1), 96, "1+4000 1+1 2-1 1+1 2-4096", ". ! .1 . .");
        // A task that is done lets the next of its kind check.
        check(Room::Pages(9), 0, "2-10 3-10 1+20 2-10 3-10", "! ! .2 .3 .");
        // A packet occupies a whole page.
        check(Room::Pages(1), 0, "1*10 1*10 2-10 1*10", ". ! .1 .");
        check(Room::Memory(1), 0, "1+9000 1+9000 2-18000", ". . .");
    }
}
