//! Pipes and sockets: byte buffers and their waiting tasks.

use keel_abi::TaskId;
use keel_abi::lines::Line;
use keel_abi::scx::wake;
use keel_abi::task::{Channel, ChannelKind};
use std::collections::VecDeque;

/// All channels of a workload.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    pub(crate) list: Vec<Buffer>,
    /// By task: the rest of the transfer in which it waits.
    left: Vec<Option<u32>>,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) kind: ChannelKind,
    capacity: u32,
    held: u32,
    pub(crate) readers: VecDeque<TaskId>,
    pub(crate) writers: VecDeque<TaskId>,
    /// The line of its head: lock, indices, wait queues.
    pub(crate) head: Line,
    /// Stands for each line of its content.
    pub(crate) content: Line,
}

impl Channels {
    pub(crate) fn new(channels: &[Channel]) -> Self {
        let buffer = |c: &Channel| Buffer {
            kind: c.kind,
            capacity: c.capacity_bytes.max(1),
            held: 0,
            readers: VecDeque::new(),
            writers: VecDeque::new(),
            head: Line::default(),
            content: Line::default(),
        };
        Self { list: channels.iter().map(buffer).collect(), left: Vec::new() }
    }

    /// Takes the rest of the transfer in which `task` waited: it continues.
    #[inline]
    pub(crate) fn take_left(&mut self, task: TaskId) -> Option<u32> {
        self.left.get_mut(task.index())?.take()
    }

    /// `task` waits in a transfer with `bytes` left.
    pub(crate) fn leave(&mut self, task: TaskId, bytes: u32) {
        if task.index() >= self.left.len() {
            self.left.resize(task.index() + 1, None);
        }
        self.left[task.index()] = Some(bytes);
    }
}

impl Buffer {
    /// Moves up to `bytes`; returns how many were moved.
    #[inline]
    pub(crate) fn pass(&mut self, way: Way, bytes: u32) -> u32 {
        match way {
            Way::In => {
                let moved = bytes.min(self.capacity - self.held);
                self.held += moved;
                moved
            }
            Way::Out => {
                let moved = bytes.min(self.held);
                self.held -= moved;
                moved
            }
        }
    }

    /// Returns whether tasks wait for it.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        !self.readers.is_empty() || !self.writers.is_empty()
    }

    /// Takes up to two waiting tasks that can go on after a transfer this way: one of the other side first.
    pub(crate) fn next_waiting(&mut self, way: Way) -> (Option<Wake>, Option<Wake>) {
        match way {
            Way::In => (self.next_reader(), self.next_writer()),
            Way::Out => (self.next_writer(), self.next_reader()),
        }
    }

    /// A waiting reader, if there is something to read.
    fn next_reader(&mut self) -> Option<Wake> {
        if self.readers.is_empty() || self.held == 0 {
            return None;
        }
        // pipe_write() and sock_def_readable() wake synchronously, a futex does not.
        let sync = if self.kind == ChannelKind::Queue { 0 } else { wake::SYNC };
        Some((self.readers.pop_front()?, wake::TTWU | sync))
    }

    /// A waiting writer that has enough space: any in a pipe, three quarters in a local socket
    /// (`unix_writable()`), a third in TCP (`sk_stream_is_writeable()`).
    fn next_writer(&mut self) -> Option<Wake> {
        let room = u64::from(self.capacity - self.held);
        let capacity = u64::from(self.capacity);
        let (enough, flags) = match self.kind {
            ChannelKind::Pipe => (room > 0, wake::TTWU | wake::SYNC),
            ChannelKind::Unix => (room * 4 >= capacity * 3, wake::TTWU | wake::SYNC),
            ChannelKind::Tcp => (room * 3 >= capacity, wake::TTWU),
            ChannelKind::Queue => (room > 0, wake::TTWU),
        };
        if !enough {
            return None;
        }
        Some((self.writers.pop_front()?, flags))
    }
}

/// A task to wake, and the flags of its wakeup.
pub(crate) type Wake = (TaskId, u64);

/// Whether bytes go into a buffer or out of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(kind: ChannelKind) -> Buffer {
        let mut channels = Channels::new(&[Channel { kind, capacity_bytes: 100 }]);
        channels.list.pop().expect("there is one")
    }

    #[test]
    fn a_buffer_holds_what_fits() {
        let mut b = buffer(ChannelKind::Pipe);
        let mut check = |way, bytes, expected| assert_eq!((b.pass(way, bytes), b.held), expected);
        check(Way::Out, 10, (0, 0));
        check(Way::In, 60, (60, 60));
        check(Way::In, 60, (40, 100));
        check(Way::In, 1, (0, 100));
        check(Way::Out, 30, (30, 70));
        check(Way::Out, 200, (70, 0));
    }

    #[test]
    fn a_writer_is_woken_when_there_is_enough_space() {
        let check = |kind, held, expected: Option<u64>| {
            let mut b = buffer(kind);
            b.held = held;
            b.writers.push_back(TaskId(7));
            assert_eq!(b.next_writer(), expected.map(|flags| (TaskId(7), flags)), "{kind:?} {held}");
        };
        let sync = wake::TTWU | wake::SYNC;
        check(ChannelKind::Pipe, 100, None);
        check(ChannelKind::Pipe, 99, Some(sync));
        check(ChannelKind::Unix, 26, None);
        check(ChannelKind::Unix, 25, Some(sync));
        check(ChannelKind::Tcp, 67, None);
        check(ChannelKind::Tcp, 66, Some(wake::TTWU));
    }

    #[test]
    fn a_reader_is_woken_when_there_is_something() {
        let mut b = buffer(ChannelKind::Tcp);
        b.readers.extend([TaskId(1), TaskId(2)]);
        assert_eq!(b.next_reader(), None);
        b.pass(Way::In, 1);
        assert_eq!(b.next_reader(), Some((TaskId(1), wake::TTWU | wake::SYNC)));
        assert_eq!(b.readers, [TaskId(2)]);
    }
}
