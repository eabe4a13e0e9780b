//! What a recorded task did, as ops of a few bytes each. In a workload made from a recording, each task has a [`Tape`]
//! instead of the steps that people write.
//!
//! An op costs exactly its own time: the time of a task's own system calls is in its [`Op::Kernel`]. The simulated
//! kernel charges the costs of scheduling as usual.

use crate::{CpuId, Instant, Span};
use std::sync::Arc;

/// One thing that a recorded task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Works for this long on an undisturbed CPU of nominal speed.
    Run(Span),
    /// Spends this many picoseconds in its own system calls.
    Kernel(u64),
    /// Waits until the semaphore has been posted again.
    Await(u32),
    /// Posts a semaphore, and wakes a waiter.
    Post {
        /// The semaphore.
        semaphore: u32,
        /// Whether the waker is about to wait itself (`SCX_WAKE_SYNC`).
        sync: bool,
    },
    /// Like `Post`, but takes effect after the op before it has begun: a wakeup while the task is on its way to sleep
    /// or to exit.
    PostMeanwhile {
        /// The semaphore.
        semaphore: u32,
        /// Whether the waker is about to wait itself (`SCX_WAKE_SYNC`).
        sync: bool,
    },
    /// Writes bytes to a pipe, waiting while it is full.
    Put {
        /// Its index in [`Recorded::pipes`].
        pipe: u32,
        /// The number of bytes.
        bytes: u32,
        /// Whether they take up pages of their own (`O_DIRECT`).
        packet: bool,
    },
    /// Reads bytes from a pipe, waiting until all have arrived.
    Take {
        /// Its index in [`Recorded::pipes`].
        pipe: u32,
        /// The number of bytes.
        bytes: u32,
    },
    /// Sleeps for this long.
    Sleep(Span),
    /// Sleeps until this instant of the run. Continues at once if that has passed.
    SleepUntil(Instant),
    /// Sleeps with a deferrable timer that is due after this long.
    SleepDeferrable(Span),
    /// Starts the task of this spec.
    Fork {
        /// The index of the spec.
        spec: u32,
        /// Whether it is a separate process rather than a thread.
        process: bool,
    },
    /// Executes this step of its spec, such as a change to the task itself.
    Step(u32),
    /// `sched_yield()`.
    Yield,
    /// Counts this many units as done.
    Count(u32),
    /// Exits.
    Exit,
}

mod tag {
    pub(super) const RUN: u8 = 0;
    pub(super) const KERNEL: u8 = 1;
    pub(super) const AWAIT: u8 = 2;
    pub(super) const POST: u8 = 3;
    pub(super) const POST_SYNC: u8 = 4;
    pub(super) const MEANWHILE: u8 = 5;
    pub(super) const MEANWHILE_SYNC: u8 = 6;
    pub(super) const SLEEP: u8 = 7;
    pub(super) const SLEEP_UNTIL: u8 = 8;
    pub(super) const SLEEP_DEFERRABLE: u8 = 9;
    pub(super) const FORK_THREAD: u8 = 10;
    pub(super) const FORK_PROCESS: u8 = 11;
    pub(super) const YIELD: u8 = 12;
    pub(super) const COUNT: u8 = 13;
    pub(super) const EXIT: u8 = 14;
    pub(super) const PUT: u8 = 15;
    pub(super) const TAKE: u8 = 16;
    pub(super) const PUT_PACKET: u8 = 17;
    pub(super) const STEP: u8 = 18;
}

/// A sequence of ops, each encoded as a byte and a number. A short run of work takes three bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape {
    bytes: Vec<u8>,
    ops: u64,
}

impl Tape {
    /// Returns the number of ops.
    pub const fn len(&self) -> u64 {
        self.ops
    }

    /// Returns whether it has no ops.
    pub const fn is_empty(&self) -> bool {
        self.ops == 0
    }

    /// Returns the bytes that it takes.
    pub fn size_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Adds an op.
    pub fn push(&mut self, op: Op) {
        self.ops += 1;
        let (tag, number) = coded(op);
        self.bytes.push(tag);
        if let Some(mut n) = number {
            while n >= 0x80 {
                self.bytes.push(n as u8 | 0x80);
                n >>= 7;
            }
            self.bytes.push(n as u8);
        }
    }

    /// Returns the byte at which the next op will be.
    pub const fn end(&self) -> usize {
        self.bytes.len()
    }

    /// Adds an op before the one at byte `at`, which [`Tape::end`] has returned. This moves all later ones.
    pub fn insert(&mut self, at: usize, op: Op) {
        let end = self.end();
        self.push(op);
        let added = self.end() - end;
        self.bytes[at..].rotate_right(added);
    }

    /// Returns the op at byte `at`, and where the next one is, or `None` at the end.
    #[inline]
    pub fn read(&self, at: usize) -> Option<(Op, usize)> {
        let &tag = self.bytes.get(at)?;
        let mut at = at + 1;
        if matches!(tag, tag::YIELD | tag::EXIT) {
            return Some((if tag == tag::YIELD { Op::Yield } else { Op::Exit }, at));
        }
        let (mut n, mut shift) = (0, 0);
        loop {
            let &byte = self.bytes.get(at)?;
            at += 1;
            n |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 63 {
                return Some((decoded(tag, n), at));
            }
        }
    }

    /// Returns all ops, in order.
    pub fn iter(&self) -> impl Iterator<Item = Op> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (op, next) = self.read(at)?;
            at = next;
            Some(op)
        })
    }
}

impl Extend<Op> for Tape {
    fn extend<I: IntoIterator<Item = Op>>(&mut self, ops: I) {
        ops.into_iter().for_each(|op| self.push(op));
    }
}

impl FromIterator<Op> for Tape {
    fn from_iter<I: IntoIterator<Item = Op>>(ops: I) -> Self {
        let mut tape = Self::default();
        ops.into_iter().for_each(|op| tape.push(op));
        tape
    }
}

fn coded(op: Op) -> (u8, Option<u64>) {
    let or_sync = |sync, plain, with| if sync { with } else { plain };
    let (tag, number) = match op {
        Op::Run(span) => (tag::RUN, span.as_ns()),
        Op::Kernel(ps) => (tag::KERNEL, ps),
        Op::Await(semaphore) => (tag::AWAIT, u64::from(semaphore)),
        Op::Post { semaphore, sync } => (or_sync(sync, tag::POST, tag::POST_SYNC), u64::from(semaphore)),
        Op::PostMeanwhile { semaphore, sync } => {
            (or_sync(sync, tag::MEANWHILE, tag::MEANWHILE_SYNC), u64::from(semaphore))
        }
        Op::Put { pipe, bytes, packet } => (or_sync(packet, tag::PUT, tag::PUT_PACKET), of_pipe(pipe, bytes)),
        Op::Take { pipe, bytes } => (tag::TAKE, of_pipe(pipe, bytes)),
        Op::Sleep(span) => (tag::SLEEP, span.as_ns()),
        Op::SleepUntil(at) => (tag::SLEEP_UNTIL, at.as_ns()),
        Op::SleepDeferrable(span) => (tag::SLEEP_DEFERRABLE, span.as_ns()),
        Op::Fork { spec, process } => {
            (or_sync(process, tag::FORK_THREAD, tag::FORK_PROCESS), u64::from(spec))
        }
        Op::Count(units) => (tag::COUNT, u64::from(units)),
        Op::Step(step) => (tag::STEP, u64::from(step)),
        Op::Yield => return (tag::YIELD, None),
        Op::Exit => return (tag::EXIT, None),
    };
    (tag, Some(number))
}

/// Packs a pipe and a number of bytes into one number.
fn of_pipe(pipe: u32, bytes: u32) -> u64 {
    u64::from(pipe) << 32 | u64::from(bytes)
}

#[inline]
fn decoded(tag: u8, n: u64) -> Op {
    let id = n as u32;
    match tag {
        tag::RUN => Op::Run(Span::from_ns(n)),
        tag::KERNEL => Op::Kernel(n),
        tag::AWAIT => Op::Await(id),
        tag::POST | tag::POST_SYNC => Op::Post { semaphore: id, sync: tag == tag::POST_SYNC },
        tag::MEANWHILE | tag::MEANWHILE_SYNC => {
            Op::PostMeanwhile { semaphore: id, sync: tag == tag::MEANWHILE_SYNC }
        }
        tag::PUT | tag::PUT_PACKET => {
            Op::Put { pipe: (n >> 32) as u32, bytes: id, packet: tag == tag::PUT_PACKET }
        }
        tag::TAKE => Op::Take { pipe: (n >> 32) as u32, bytes: id },
        tag::SLEEP => Op::Sleep(Span::from_ns(n)),
        tag::SLEEP_UNTIL => Op::SleepUntil(Instant::from_ns(n)),
        tag::SLEEP_DEFERRABLE => Op::SleepDeferrable(Span::from_ns(n)),
        tag::FORK_THREAD | tag::FORK_PROCESS => Op::Fork { spec: id, process: tag == tag::FORK_PROCESS },
        tag::STEP => Op::Step(id),
        _ => Op::Count(id),
    }
}

/// When and where a recorded task that no other task forked appeared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// When it starts.
    pub at: Instant,
    /// The CPU that creates it.
    pub cpu: CpuId,
}

/// The capacity of a pipe or a local socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// A pipe's pages. Each holds the data of one write, and what further small writes append.
    Pages(u32),
    /// Bytes of memory for a socket's messages, including their overhead.
    Memory(u32),
}

impl Default for Room {
    fn default() -> Self {
        Self::Pages(16)
    }
}

/// The size of a page, in bytes.
pub const PAGE_BYTES: u32 = 4096;

/// Returns the memory that a local socket's message takes (`skb->truesize`): its descriptor, and a buffer that includes
/// the kernel's trailer and is rounded up to a power of two.
pub const fn message_memory(bytes: u32) -> u64 {
    let (at_end, descriptor) = (320, 256);
    let buffer = (bytes as u64 + at_end).next_power_of_two();
    descriptor + if buffer < 512 { 512 } else { buffer }
}

/// A recorded pipe or local socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedPipe {
    /// Its capacity.
    pub room: Room,
    /// The bytes in it when the recording begins.
    pub held_bytes: u32,
}

/// What a workload made from a recording has instead of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The tape of each spec's task.
    pub tapes: Vec<Tape>,
    /// When and where tasks that are not forked start, in the order of their specs.
    pub begins: Vec<Begin>,
    /// The number of semaphores.
    pub semaphores: u32,
    /// The pipes.
    pub pipes: Vec<RecordedPipe>,
}

/// A recording that the runs of a comparison share.
pub type SharedRecorded = Arc<Recorded>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_gives_back_what_was_put_on_it() {
        let ops = [
            Op::Run(Span::from_ns(0)),
            Op::Run(Span::from_ns(u64::MAX)),
            Op::Kernel(127),
            Op::Await(128),
            Op::Post { semaphore: 1, sync: false },
            Op::Post { semaphore: u32::MAX, sync: true },
            Op::PostMeanwhile { semaphore: 2, sync: false },
            Op::PostMeanwhile { semaphore: 3, sync: true },
            Op::Put { pipe: 0, bytes: u32::MAX, packet: false },
            Op::Put { pipe: 1, bytes: 1, packet: true },
            Op::Take { pipe: u32::MAX, bytes: 0 },
            Op::Sleep(Span::from_us(50)),
            Op::SleepUntil(Instant::from_ns(1 << 40)),
            Op::SleepDeferrable(Span::from_ms(1)),
            Op::Fork { spec: 7, process: false },
            Op::Fork { spec: 8, process: true },
            Op::Step(6),
            Op::Yield,
            Op::Count(9),
            Op::Exit,
        ];
        let tape: Tape = ops.into_iter().collect();
        assert_eq!(tape.iter().collect::<Vec<_>>(), ops);
        assert_eq!(tape.len(), ops.len() as u64);
    }

    #[test]
    fn an_op_can_come_between_others() {
        let mut tape = Tape::default();
        let ends = [Op::Yield, Op::Run(Span::from_us(300)), Op::Await(1000)].map(|op| {
            let end = tape.end();
            tape.push(op);
            end
        });
        for (at, number) in ends.into_iter().rev().zip(3..) {
            tape.insert(at, Op::Count(number * 1000));
        }
        tape.insert(tape.end(), Op::Exit);
        let expected = [
            Op::Count(5000),
            Op::Yield,
            Op::Count(4000),
            Op::Run(Span::from_us(300)),
            Op::Count(3000),
            Op::Await(1000),
            Op::Exit,
        ];
        assert_eq!(tape.iter().collect::<Vec<_>>(), expected);
        assert_eq!(tape.len(), expected.len() as u64);
    }

    #[test]
    fn an_op_takes_few_bytes() {
        let check = |op, expected: usize| {
            let tape: Tape = [op].into_iter().collect();
            assert_eq!(tape.bytes.len(), expected, "{op:?}");
        };
        check(Op::Run(Span::from_ns(100)), 2);
        check(Op::Run(Span::from_us(300)), 4);
        check(Op::Await(5), 2);
        check(Op::Exit, 1);
    }
}
