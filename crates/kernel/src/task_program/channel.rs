//! Pipes and sockets: bounded buffers of bytes that block who finds them full or empty.
//!
//! Whoever is woken looks again, as the kernel's waits do, and may find that another was first.
//! A reader is woken by every send that finds one waiting, a writer once enough has been taken out.

use super::Then;
use crate::frame::Frame;
use crate::sim::Sim;
use keel_abi::bpf::Engine;
use keel_abi::lines::Line;
use keel_abi::scx::wake;
use keel_abi::task::{Channel, ChannelKind, ObjectId};
use keel_abi::{CpuId, TaskId};
use std::collections::VecDeque;

/// All channels of a workload.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    list: Vec<Buffer>,
    /// By task: what is left of the transfer that it waits in.
    left: Vec<Option<u32>>,
}

#[derive(Debug)]
struct Buffer {
    kind: ChannelKind,
    capacity: u32,
    held: u32,
    readers: VecDeque<TaskId>,
    writers: VecDeque<TaskId>,
    /// Its head: lock, indices, wait queues.
    head: Line,
    /// Stands for each line of what it holds.
    content: Line,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
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

    fn left(&mut self, task: TaskId) -> &mut Option<u32> {
        if task.index() >= self.left.len() {
            self.left.resize(task.index() + 1, None);
        }
        &mut self.left[task.index()]
    }
}

impl Buffer {
    /// Moves up to `bytes`; how many were moved.
    fn pass(&mut self, way: Way, bytes: u32) -> u32 {
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

    /// A waiting reader that there is something for.
    fn next_reader(&mut self) -> Option<(TaskId, u64)> {
        if self.held == 0 {
            return None;
        }
        // pipe_write() and sock_def_readable() wake synchronously, a futex does not.
        let sync = if self.kind == ChannelKind::Queue { 0 } else { wake::SYNC };
        Some((self.readers.pop_front()?, wake::TTWU | sync))
    }

    /// A waiting writer that there is room for: any in a pipe, three quarters in a local socket
    /// (`unix_writable()`), a third in TCP (`sk_stream_is_writeable()`).
    fn next_writer(&mut self) -> Option<(TaskId, u64)> {
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

impl<E: Engine> Sim<E> {
    pub(super) fn send(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32) -> Then {
        self.transfer(c, task, channel, bytes, Way::In)
    }

    pub(super) fn receive(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32) -> Then {
        self.transfer(c, task, channel, bytes, Way::Out)
    }

    fn transfer(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32, way: Way) -> Then {
        let before = self.k.objects.channels.left(task).take();
        let wanted = before.unwrap_or(bytes);
        let buffer = &mut self.k.objects.channels.list[channel.0 as usize];
        let in_memory = buffer.kind == ChannelKind::Queue;
        let moved = buffer.pass(way, wanted);
        let woken = match (moved, way) {
            (0, _) => [None, None],
            (_, Way::In) => [buffer.next_reader(), buffer.next_writer()],
            (_, Way::Out) => [buffer.next_writer(), buffer.next_reader()],
        };
        let calls = if in_memory { moved < wanted || woken[0].is_some() } else { before.is_none() };
        if calls {
            self.syscall(c);
        }
        self.charge_transfer(c, channel, moved, way);
        if moved < wanted {
            self.wait_in(task, channel, wanted - moved, way);
            self.give_up_cpu(c, task);
        } else {
            self.k.this_cpu().stack.push(Frame::Act);
        }
        for (wakee, flags) in woken.into_iter().flatten() {
            self.k.this_cpu().stack.push(Frame::Wake { task: wakee, flags, waker: task });
        }
        Then::Leave
    }

    /// The rest of the transfer is tried again when the task is woken.
    fn wait_in(&mut self, task: TaskId, channel: ObjectId, rest: u32, way: Way) {
        self.k.task(task).next_step -= 1;
        *self.k.objects.channels.left(task) = Some(rest);
        let buffer = &mut self.k.objects.channels.list[channel.0 as usize];
        match way {
            Way::In => buffer.writers.push_back(task),
            Way::Out => buffer.readers.push_back(task),
        }
    }

    fn charge_transfer(&mut self, c: CpuId, channel: ObjectId, moved: u32, way: Way) {
        let costs = &self.k.machine.costs;
        let transfers = self.k.lines.transfers();
        let buffer = &mut self.k.objects.channels.list[channel.0 as usize];
        let mut ps = transfers.write_ps(&mut buffer.head, c);
        if moved > 0 {
            let own_ns = match buffer.kind {
                ChannelKind::Pipe => costs.pipe_ns,
                ChannelKind::Unix => costs.unix_ns,
                ChannelKind::Tcp => costs.tcp_ns,
                ChannelKind::Queue => costs.lock_acquire_ns,
            };
            let line_ps = match way {
                Way::In => transfers.write_ps(&mut buffer.content, c),
                Way::Out => transfers.read_ps(&mut buffer.content, c),
            };
            ps += own_ns * 1000 + u64::from(moved) * costs.copy_kb_ns * 1000 / 1024;
            ps += line_ps * u64::from(moved).div_ceil(1 << transfers.line_log2());
        }
        self.k.charge_ps(c, ps);
    }
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
