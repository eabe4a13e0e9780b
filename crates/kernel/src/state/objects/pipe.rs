//! Pipes and local sockets of a recording, which behave as in Linux, and their waiting tasks.
//!
//! A pipe is a row of pages. A page holds the data of one write; a later write that fits into the rest of the last page
//! goes there, unless either is a packet. A page is free again when all of it has been read. A writer wakes a reader
//! only if it found the pipe empty, and a reader wakes a writer only if it found the pipe full. A task that has waited
//! wakes the next of its kind if there is more to do.
//!
//! A socket's messages take memory. Each message wakes all waiting readers. Writers that found no memory are all woken
//! when three quarters of it are free (`unix_writable()`).

use keel_abi::TaskId;
use keel_abi::scx::wake;
use keel_abi::tape::{PAGE_BYTES, RecordedPipe, Room, message_memory};
use std::collections::VecDeque;

/// The flags of all these wakeups: the waker is about to sleep.
pub(crate) const FLAGS: u64 = wake::TTWU | wake::SYNC;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Put { packet: bool },
    Take,
}

/// All pipes and sockets of a recording.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    list: Vec<Pipe>,
    /// By task: the rest of the transfer in which it waits.
    left: Vec<Option<u32>>,
}

#[derive(Debug, Default)]
struct Pipe {
    room: Room,
    held: VecDeque<Piece>,
    /// The memory that a socket's messages take.
    memory: u64,
    readers: VecDeque<TaskId>,
    writers: VecDeque<TaskId>,
}

/// A non-empty page or message, and the range of bytes that is left in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    from: u32,
    to: u32,
    /// Later writes don't join it.
    is_packet: bool,
    memory: u64,
}

/// The outcome of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// The transfer is complete: otherwise the task waits.
    pub(crate) done: bool,
    /// The tasks that it wakes, in this order.
    pub(crate) wakes: Vec<TaskId>,
}

impl Pipes {
    pub(super) fn new(recorded: &[RecordedPipe]) -> Self {
        Self { list: recorded.iter().map(Pipe::new).collect(), left: Vec::new() }
    }

    /// `task` writes or reads `bytes`, or the rest of them if it has waited.
    pub(crate) fn pass(&mut self, task: TaskId, number: u32, bytes: u32, way: Way) -> Passed {
        let Some(pipe) = self.list.get_mut(number as usize) else {
            return Passed { done: true, ..Passed::default() };
        };
        if task.index() >= self.left.len() {
            self.left.resize(task.index() + 1, None);
        }
        let (before, mut wakes) = (self.left[task.index()].take(), Vec::new());
        let wanted = before.unwrap_or(bytes);
        let rest = match (pipe.room, way) {
            (Room::Pages(_), Way::Put { packet }) => pipe.put(wanted, packet, &mut wakes),
            (Room::Memory(_), Way::Put { .. }) => pipe.send(wanted, &mut wakes),
            (_, Way::Take) => pipe.take(wanted, &mut wakes),
        };
        if before.is_some() {
            wakes.extend(pipe.next(way));
        }
        if rest > 0 {
            self.left[task.index()] = Some(rest);
            pipe.waiters(way).push_back(task);
        }
        Passed { done: rest == 0, wakes }
    }
}

impl Pipe {
    fn new(recorded: &RecordedPipe) -> Self {
        let mut pipe = Self { room: recorded.room, ..Self::default() };
        let mut left = recorded.held_bytes;
        while left > 0 {
            let to = left.min(PAGE_BYTES);
            pipe.held.push_back(Piece { from: 0, to, is_packet: false, memory: 0 });
            left -= to;
        }
        pipe
    }

    fn is_full(&self) -> bool {
        match self.room {
            Room::Pages(pages) => self.held.len() >= pages.max(1) as usize,
            Room::Memory(memory) => self.memory >= u64::from(memory.max(1)),
        }
    }

    fn waiters(&mut self, way: Way) -> &mut VecDeque<TaskId> {
        match way {
            Way::Put { .. } => &mut self.writers,
            Way::Take => &mut self.readers,
        }
    }

    /// Writes bytes to a pipe. Returns how many found no room.
    fn put(&mut self, bytes: u32, is_packet: bool, wakes: &mut Vec<TaskId>) -> u32 {
        let (was_empty, mut left) = (self.held.is_empty(), bytes);
        // The bytes beyond whole pages join the last page if they fit.
        let odd = bytes % PAGE_BYTES;
        let last = self.held.back_mut().filter(|last| !last.is_packet && last.to + odd <= PAGE_BYTES);
        if let Some(last) = last.filter(|_| !is_packet) {
            last.to += odd;
            left -= odd;
        }
        while left > 0 && !self.is_full() {
            let to = left.min(PAGE_BYTES);
            self.held.push_back(Piece { from: 0, to, is_packet, memory: 0 });
            left -= to;
        }
        if was_empty && left < bytes {
            wakes.extend(self.readers.pop_front());
        }
        left
    }

    /// Sends a message to a socket. Returns its bytes if there is no memory for it.
    fn send(&mut self, bytes: u32, wakes: &mut Vec<TaskId>) -> u32 {
        if self.is_full() {
            return bytes;
        }
        let memory = message_memory(bytes);
        self.memory += memory;
        self.held.push_back(Piece { from: 0, to: bytes, is_packet: false, memory });
        wakes.extend(self.readers.drain(..));
        0
    }

    /// Reads bytes. Returns how many were missing.
    fn take(&mut self, bytes: u32, wakes: &mut Vec<TaskId>) -> u32 {
        let (mut left, mut frees) = (bytes, false);
        while left > 0
            && let Some(piece) = self.held.front_mut()
        {
            let taken = left.min(piece.to - piece.from);
            piece.from += taken;
            left -= taken;
            let Piece { from, to, memory, .. } = *piece;
            if from == to {
                frees |= matches!(self.room, Room::Memory(_)) || self.is_full();
                self.held.pop_front();
                self.memory -= memory;
            }
        }
        match self.room {
            Room::Pages(_) if frees => wakes.extend(self.writers.pop_front()),
            Room::Memory(memory) if frees && self.memory * 4 <= u64::from(memory) => {
                wakes.extend(self.writers.drain(..));
            }
            _ => {}
        }
        left
    }

    /// The next waiter like the one that does this, if there is something to do for it.
    fn next(&mut self, way: Way) -> Option<TaskId> {
        let has = match (self.room, way) {
            // All of these have been woken already.
            (Room::Memory(_), _) => false,
            (_, Way::Put { .. }) => !self.is_full(),
            (_, Way::Take) => !self.held.is_empty(),
        };
        if has { self.waiters(way).pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executes `text`, word by word: task, `+` (`*` for a packet) or `-`, bytes. For each word `expected` says whether
    /// the task is done (`.`) or waits (`!`), or which tasks it wakes.
    fn check_room(room: Room, held_bytes: u32, text: &str, expected: &str) {
        let mut pipes = Pipes::new(&[RecordedPipe { room, held_bytes }]);
        let said: Vec<String> = text
            .split_whitespace()
            .map(|word| {
                let (task, bytes) = word.split_once(['+', '*', '-']).expect("a task and bytes");
                let packet = word.contains('*');
                let way = if word.contains('-') { Way::Take } else { Way::Put { packet } };
                let task = TaskId(task.parse().expect("a number"));
                let passed = pipes.pass(task, 0, bytes.parse().expect("a number"), way);
                let wakes: Vec<String> = passed.wakes.iter().map(|task| task.0.to_string()).collect();
                format!("{}{}", if passed.done { "" } else { "!" }, wakes.join(","))
            })
            .map(|word| if word.is_empty() { ".".to_owned() } else { word })
            .collect();
        assert_eq!(said.join(" "), expected, "{text}");
    }

    fn check(pages: u32, held_bytes: u32, text: &str, expected: &str) {
        check_room(Room::Pages(pages), held_bytes, text, expected);
    }

    #[test]
    fn who_comes_first_waits() {
        // Reader or writer may come first; only a write to an empty pipe wakes, and it wakes the first waiter.
        check(16, 0, "1+100 2-100 2-100 1+100 2-100", ". . ! 2 .");
        check(16, 0, "2-100 3-100 1+100 1+100", "! ! 2 .");
        // A woken reader that leaves something wakes the next.
        check(16, 0, "2-100 3-100 1+100 1+100 2-100", "! ! 2 . 3");
        // A woken reader keeps waiting if another was first.
        check(16, 0, "2-100 1+100 3-100 2-100", "! 2 . !");
        // Bytes that were already in the pipe.
        check(16, 100, "2-100 2-100", ". !");
    }

    #[test]
    fn a_page_is_free_when_all_of_it_was_read() {
        check(1, 0, "1+4000 1+96 1+1", ". . !");
        check(1, 0, "1+4000 1+97", ". !");
        check(1, 0, "1+4096 3+1 2-4000 2-96", ". ! . 3");
        // A large write continues page by page as there is room.
        check(2, 0, "1+12288 2-4096 1+0 2-8192", "! 1 . .");
        check(2, 0, "1+12288 2-4096 1+0 3+1 2-4096", "! 1 . ! 3");
    }

    #[test]
    fn a_packet_has_a_page_of_its_own() {
        check(2, 0, "1*10 1*10 1*10 2-10", ". . ! 1");
        check(2, 0, "1*10 1+10 1+10 1*10", ". . . !");
    }

    #[test]
    fn a_socket_holds_messages_and_wakes_all_writers_when_most_is_read() {
        let check = |text, expected| check_room(Room::Memory(3 * 768), 0, text, expected);
        check("1+100 1+100 1+100 1+100 3+100 2-100 2-100 2-100", ". . . ! ! . . 1,3");
        check("2-100 3-100 1+100", "! ! 2,3");
        check("2-150 1+100 2-0 1+100 2-0", "! 2 ! 2 .");
    }
}
