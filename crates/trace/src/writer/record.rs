//! Encodes an event as a record. Most of a file is events, so each is encoded without checking the buffer's end: a
//! record has at most [`MOST`] bytes, which the writer has reserved.

use crate::format::{
    CHOOSERS, Memory, SAME_CPU, SAME_PREV, SAME_TIME, TIMERS, WHYS, index_in, kind, more, number_of,
    put_number, zigzag,
};
use crate::{Act, Call, Event, Lock, Piping, Source, What};
use keel_abi::tape::Room;
use keel_abi::{CpuId, DsqId, Instant, TaskId};

/// The maximum size of an event's record, in bytes: 16 for its beginning, and numbers of 32 and 64 bits in 5 and 10
/// bytes each.
const MOST: usize = 64;
/// The maximum number of records in a batch.
pub(super) const AT_ONCE: usize = 128;
/// The size of a full batch, in bytes. It is a power of two, so a place in the batch is one without a check.
const FULL: usize = AT_ONCE * MOST;
/// A place in the batch has so many bytes after it, which a number may use.
const WIDE: usize = 8;

/// The bytes of a batch.
type Bytes = [u8; FULL + WIDE];

/// The records of at most [`AT_ONCE`] events.
pub(super) struct Batch {
    bytes: Box<Bytes>,
    len: usize,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self { bytes: Box::new([0; FULL + WIDE]), len: 0 }
    }

    /// Returns the records.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Encodes these events in place of the ones before, and returns their number. There are at most [`AT_ONCE`].
    #[inline(always)]
    pub(super) fn encode<'a>(&mut self, memory: &mut Memory, events: impl Iterator<Item = &'a Event>) -> u64 {
        let mut records = 0;
        let mut len = 0;
        for event in events {
            let mut record = Record { bytes: &mut self.bytes, len: len + 1, cpu: event.cpu };
            let flags = record.begin(memory, event.at);
            let kind = record.body(memory, event.at, &event.what);
            record.bytes[len % FULL] = kind | flags;
            debug_assert!(record.len - len <= MOST);
            (len, records) = (record.len, records + 1);
        }
        self.len = len;
        records
    }
}

/// A record that is being encoded. What is not inline takes it apart, so that its parts can stay in registers.
struct Record<'a> {
    bytes: &'a mut Bytes,
    /// The end of the record so far.
    len: usize,
    /// The CPU of the event.
    cpu: CpuId,
}

impl Record<'_> {
    /// Encodes what follows the first byte: elapsed time, CPU. Returns flags for those that are omitted.
    #[inline(always)]
    fn begin(&mut self, memory: &mut Memory, at: Instant) -> u8 {
        let mut flags = 0;
        match at.since(Instant::from_ns(memory.at)).as_ns() {
            0 => flags |= SAME_TIME,
            passed => {
                self.number(passed);
                memory.at += passed;
            }
        }
        match self.cpu == memory.cpu {
            true => flags |= SAME_CPU,
            false => {
                self.number(u64::from(self.cpu.0));
                memory.cpu = self.cpu;
            }
        }
        flags
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len % FULL] = byte;
        self.len += 1;
    }

    /// Encodes a number: seven bits per byte, the lowest first. The topmost bit means that more bytes follow. Most
    /// numbers need one or two.
    #[inline(always)]
    fn number(&mut self, n: u64) {
        match n {
            0..0x80 => self.byte(n as u8),
            0x80..0x4000 => self.wide(n & 0x7f | 0x80 | n >> 7 << 8, 2),
            _ => self.len = Self::large_number(self.bytes, self.len, self.cpu, n),
        }
    }

    /// Appends the first `used` of these bytes.
    #[inline(always)]
    fn wide(&mut self, bytes: u64, used: usize) {
        let start = self.len % FULL;
        if let Some(place) = self.bytes[start..].first_chunk_mut() {
            *place = bytes.to_le_bytes();
        }
        self.len += used;
    }

    /// Encodes a number of more than two bytes, and returns the record's new end.
    #[inline(never)]
    fn large_number(bytes: &mut Bytes, len: usize, cpu: CpuId, n: u64) -> usize {
        let mut record = Record { bytes, len, cpu };
        match n {
            0..0x1000_0000 => {
                let spread = n & 0x7f | (n & 0x3f80) << 1 | (n & 0x1f_c000) << 2 | (n & 0xfe0_0000) << 3;
                let is_short = n < 0x20_0000;
                record.wide(spread | if is_short { 0x8080 } else { 0x80_8080 }, if is_short { 3 } else { 4 });
            }
            _ => put_number(n, |byte| record.byte(byte)),
        }
        record.len
    }

    #[inline(always)]
    fn task(&mut self, task: TaskId) {
        self.number(number_of(task));
    }

    /// A CPU by its distance from the record's own.
    #[inline(always)]
    fn target(&mut self, cpu: CpuId) {
        self.number(zigzag(i64::from(cpu.0) - i64::from(self.cpu.0)));
    }

    /// Encodes a DSQ, with its two topmost bits as the lowest ones.
    #[inline(always)]
    fn dsq(&mut self, dsq: DsqId) {
        self.number(dsq.0.rotate_left(2));
    }

    /// Encodes what follows the beginning, and returns the kind.
    #[inline(always)]
    fn body(&mut self, memory: &mut Memory, at: Instant, what: &What) -> u8 {
        match *what {
            What::Switch { prev, why, next } => {
                let running = std::mem::replace(memory.running(self.cpu), next);
                let same = if running == prev { SAME_PREV } else { 0 };
                if same == 0 {
                    self.task(prev);
                }
                self.task(next);
                (kind::SWITCH + index_in(&WHYS, &why)) | same
            }
            What::Wakeup { task, target, waker } | What::Woken { task, target, waker, .. } => {
                self.three(kind::WAKEUP, task, target, waker)
            }
            What::Migrate { task, from, to } | What::Pulled { task, from, to } => {
                self.task(task);
                self.target(from);
                self.target(to);
                kind::MIGRATE
            }
            What::Placed { task, prev, chosen, by, idle } => {
                self.task(task);
                self.target(prev);
                self.target(chosen);
                self.byte(index_in(&CHOOSERS, &by) << 1 | u8::from(idle));
                kind::PLACED
            }
            What::Queued { task, dsq, len } => self.queue(kind::QUEUED, task, dsq, len),
            What::Unqueued { task, dsq, len } => self.queue(kind::UNQUEUED, task, dsq, len),
            What::Kick { target, flags } => {
                self.target(target);
                self.number(flags);
                kind::KICK
            }
            What::Callback { op, task, took, insns } => {
                self.byte(op as u8);
                self.task(task);
                self.number(took.as_ns());
                self.number(u64::from(insns));
                kind::CALLBACK
            }
            What::Count { task, units } => {
                self.task(task);
                self.number(u64::from(units));
                kind::COUNT
            }
            What::Worked { task, user, kernel_ps } => {
                self.byte(more::WORKED);
                self.task(task);
                self.number(user.as_ns());
                self.number(kernel_ps);
                kind::MORE
            }
            ref other => {
                let (kind, len) = Self::apart(self.bytes, self.len, self.cpu, (at, other));
                self.len = len;
                kind
            }
        }
    }

    #[inline(always)]
    fn three(&mut self, kind: u8, task: TaskId, target: CpuId, by: TaskId) -> u8 {
        self.task(task);
        self.target(target);
        self.task(by);
        kind
    }

    #[inline(always)]
    fn queue(&mut self, kind: u8, task: TaskId, dsq: DsqId, len: u32) -> u8 {
        self.task(task);
        self.dsq(dsq);
        self.number(u64::from(len));
        kind
    }

    /// Encodes an event that is less frequent, and returns the kind and the record's end.
    #[inline(never)]
    fn apart(bytes: &mut Bytes, len: usize, cpu: CpuId, (at, what): (Instant, &What)) -> (u8, usize) {
        let mut record = Record { bytes, len, cpu };
        let kind = record.other(at, what);
        (kind, record.len)
    }

    #[inline(always)]
    fn other(&mut self, at: Instant, what: &What) -> u8 {
        match *what {
            What::Acts { task, act } => self.act(at, task, act),
            What::Fork { child, target, parent } => self.three(kind::FORK, child, target, parent),
            What::Exit { task } => self.one(kind::EXIT, task),
            What::Held { task } => self.one(kind::HELD, task),
            What::LockWait { lock, waited } => self.lock_wait(lock, waited.as_ns()),
            // No writer asks for events in brief.
            What::LockWaits { waited } => self.lock_wait(Lock::Bpf(0), waited.as_ns()),
            What::Online { target, up } => {
                self.target(target);
                if up { kind::ONLINE } else { kind::OFFLINE }
            }
            What::Bypass { on } => {
                if on {
                    kind::BYPASS_ON
                } else {
                    kind::BYPASS_OFF
                }
            }
            What::Priority { task, prio, weight } => {
                self.task(task);
                self.number(zigzag(i64::from(prio)));
                self.number(u64::from(weight));
                kind::PRIORITY
            }
            What::Awaits { task, mutex, owner } => {
                self.task(task);
                self.number(u64::from(mutex));
                self.task(owner);
                kind::AWAITS
            }
            What::Throttled { task, on, group: 0 } => {
                self.byte(if on { more::THROTTLED } else { more::UNTHROTTLED });
                self.one(kind::MORE, task)
            }
            What::Throttled { task, on, group } => {
                self.byte(if on { more::GROUP_THROTTLED } else { more::GROUP_UNTHROTTLED });
                self.task(task);
                self.number(u64::from(group));
                kind::MORE
            }
            What::Reserved { target, on } => {
                self.byte(if on { more::RESERVED } else { more::UNRESERVED });
                self.target(target);
                kind::MORE
            }
            What::Waited { task, call, source } => {
                self.byte(more::WAITED);
                self.task(task);
                self.byte(index_in(&Call::ALL, &call) | index_in(&Source::ALL, &source) << 4);
                kind::MORE
            }
            What::Piped { task, pipe, bytes, room, how } => {
                self.byte(more::PIPED + index_in(&Piping::ALL, &how));
                self.task(task);
                self.number(u64::from(pipe));
                self.number(u64::from(bytes));
                self.number(match room {
                    Room::Pages(pages) => u64::from(pages) << 1,
                    Room::Memory(bytes) => u64::from(bytes) << 1 | 1,
                });
                kind::MORE
            }
            What::Lost { events } => {
                self.number(u64::from(events));
                kind::LOST
            }
            ref frequent => unreachable!("{frequent:?} is not rare"),
        }
    }

    fn one(&mut self, kind: u8, task: TaskId) -> u8 {
        self.task(task);
        kind
    }

    fn act(&mut self, at: Instant, task: TaskId, act: Act) -> u8 {
        let (which, number) = match act {
            Act::Wakes { wakee, sync } => {
                (if sync { more::WAKES_SYNC } else { more::WAKES }, Some(number_of(wakee)))
            }
            Act::Waits => (more::WAITS, None),
            Act::Sleeps { until, timer } => {
                (more::SLEEPS + index_in(&TIMERS, &timer), Some(until.as_ns().saturating_sub(at.as_ns())))
            }
            Act::Begins { at: due } => (more::BEGINS, Some(at.as_ns().saturating_sub(due.as_ns()))),
            Act::Forks { child, process } => {
                (if process { more::FORKS_PROCESS } else { more::FORKS_THREAD }, Some(number_of(child)))
            }
            Act::Yields => (more::YIELDS, None),
            Act::Exits => (more::EXITS, None),
        };
        self.byte(which);
        self.task(task);
        number.into_iter().for_each(|number| self.number(number));
        kind::MORE
    }

    fn lock_wait(&mut self, lock: Lock, waited: u64) -> u8 {
        let kind = match lock {
            Lock::Runqueue(target) => {
                self.target(target);
                kind::WAIT_RUNQUEUE
            }
            Lock::Dsq(dsq) => {
                self.dsq(dsq);
                kind::WAIT_DSQ
            }
            Lock::Bpf(address) => {
                self.number(address);
                kind::WAIT_BPF
            }
        };
        self.number(waited);
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Events and facts have numbers in common, so both encode them alike.
        #[test]
        fn a_number_is_encoded_as_in_a_fact(n in any::<u64>(), bits in 0u32..64) {
            let n = n >> bits;
            let mut bytes = [0; FULL + WIDE];
            let mut record = Record { bytes: &mut bytes, len: 0, cpu: CpuId(0) };
            record.number(n);
            let mut expected = Vec::new();
            put_number(n, |byte| expected.push(byte));
            prop_assert_eq!(&record.bytes[..record.len], &expected[..]);
        }
    }
}
