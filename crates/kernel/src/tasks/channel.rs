//! Pipes and sockets: bounded byte buffers. A task that finds one full or empty blocks.
//!
//! A woken task checks again, like the kernel's waits, and may find that another was faster. Every send that finds a
//! reader waiting wakes it; a writer is woken once enough has been read.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::objects::channel::Way;
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::task::{ChannelKind, ObjectId};
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    pub(super) fn send(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32) -> Then {
        self.transfer(c, task, channel, bytes, Way::In)
    }

    pub(super) fn receive(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32) -> Then {
        self.transfer(c, task, channel, bytes, Way::Out)
    }

    fn transfer(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32, way: Way) -> Then {
        let before = self.k.objects.channels.take_left(task);
        let wanted = before.unwrap_or(bytes);
        let buffer = &mut self.k.objects.channels.list[channel.0 as usize];
        let in_memory = buffer.kind == ChannelKind::Queue;
        let moved = buffer.pass(way, wanted);
        let (first, second) = match (moved, way) {
            (0, _) => (None, None),
            (_, Way::In) => (buffer.next_reader(), buffer.next_writer()),
            (_, Way::Out) => (buffer.next_writer(), buffer.next_reader()),
        };
        let calls = if in_memory { moved < wanted || first.is_some() } else { before.is_none() };
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
        if first.is_some() || second.is_some() {
            let wakes = [first, second].into_iter().flatten();
            let wakes = wakes.map(|(wakee, flags)| Frame::Wake { task: wakee, flags, waker: task });
            self.k.this_cpu().stack.extend(wakes);
        }
        Then::Leave
    }

    /// The rest of the transfer is tried again when the task is woken.
    fn wait_in(&mut self, task: TaskId, channel: ObjectId, rest: u32, way: Way) {
        self.k.task(task).next_step -= 1;
        self.k.objects.channels.leave(task, rest);
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
