//! Pipes and sockets: bounded byte buffers. A task that finds one full or empty blocks.
//!
//! A woken task checks again, like the kernel's waits, and may find that another was faster. Every send that finds a
//! reader waiting wakes it; a writer is woken once enough has been read.

use crate::paths::sim::Sim;
use crate::state::cost::{Costs, KernelLines};
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use crate::state::objects::channel::{Buffer, Wake, Way};
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::lines::Holder;
use keel_abi::task::{ChannelKind, ObjectId};
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    pub(super) fn send(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32) -> Then {
        self.transfer(c, task, channel, bytes, Way::In)
    }

    pub(super) fn receive(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32) -> Then {
        self.transfer(c, task, channel, bytes, Way::Out)
    }

    #[inline(always)]
    fn transfer(&mut self, c: CpuId, task: TaskId, channel: ObjectId, bytes: u32, way: Way) -> Then {
        let Kernel { objects, lines, machine, cpus, .. } = &mut self.k;
        let before = objects.channels.take_left(task);
        let wanted = before.unwrap_or(bytes);
        let buffer = &mut objects.channels.list[channel.0 as usize];
        let moved = buffer.pass(way, wanted);
        let wakes = match moved > 0 && buffer.has_waiting() {
            true => buffer.next_waiting(way),
            false => (None, None),
        };
        let calls = match buffer.kind {
            ChannelKind::Queue => moved < wanted || wakes.0.is_some(),
            ChannelKind::Pipe | ChannelKind::Unix | ChannelKind::Tcp => before.is_none(),
        };
        let cost_ps = transfer_ps(lines, &machine.costs, buffer, cpus.holder(), moved, way);
        self.k.charge_ps(c, cost_ps);
        if calls {
            self.syscall(c);
        }
        if moved == wanted && wakes == (None, None) {
            return Then::Act;
        }
        self.end_transfer(c, task, channel, (wanted - moved, way), wakes)
    }

    /// The end of a transfer that has to wait with so many bytes left, or to wake others.
    #[inline(never)]
    fn end_transfer(
        &mut self,
        c: CpuId,
        task: TaskId,
        channel: ObjectId,
        (left, way): (u32, Way),
        (first, second): (Option<Wake>, Option<Wake>),
    ) -> Then {
        if left > 0 {
            self.wait_in(task, channel, left, way);
            self.give_up_cpu(c, task);
        } else {
            self.k.this_cpu().stack.push(Frame::Act);
        }
        let wakes = [first, second].into_iter().flatten();
        let wakes = wakes.map(|(wakee, flags)| Frame::Wake { task: wakee, flags, waker: task });
        self.k.this_cpu().stack.extend(wakes);
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
}

/// What it costs `by` to move so many bytes, without the system call.
#[inline(always)]
fn transfer_ps(
    lines: &KernelLines,
    costs: &Costs,
    buffer: &mut Buffer,
    by: &Holder,
    moved: u32,
    way: Way,
) -> u64 {
    let transfers = lines.transfers();
    let head_ps = transfers.write_by_ps(&mut buffer.head, by);
    if moved == 0 {
        return head_ps;
    }
    let own_ns = match buffer.kind {
        ChannelKind::Pipe => costs.pipe_ns,
        ChannelKind::Unix => costs.unix_ns,
        ChannelKind::Tcp => costs.tcp_ns,
        ChannelKind::Queue => costs.lock_acquire_ns,
    };
    let line_ps = match way {
        Way::In => transfers.write_by_ps(&mut buffer.content, by),
        Way::Out => transfers.read_by_ps(&mut buffer.content, by),
    };
    let copy_ps = u64::from(moved) * costs.copy_kb_ns * 1000 / 1024;
    head_ps + own_ns * 1000 + copy_ps + line_ps * u64::from(moved).div_ceil(1 << transfers.line_log2())
}
