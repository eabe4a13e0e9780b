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
pub(super) const MOST: usize = 64;

/// A record that is being encoded.
pub(super) struct Record<'a> {
    bytes: &'a mut [u8; MOST],
    len: usize,
    /// The CPU of the event.
    cpu: CpuId,
}

/// Encodes an event, and returns its size in bytes.
#[inline]
pub(super) fn encode(bytes: &mut [u8; MOST], memory: &mut Memory, event: &Event) -> usize {
    let Event { at, cpu, what } = *event;
    let mut record = Record { bytes, len: 1, cpu };
    let flags = record.begin(memory, at, cpu);
    let kind = record.body(memory, at, what);
    record.bytes[0] = kind | flags;
    debug_assert!(record.len <= MOST);
    record.len
}

impl Record<'_> {
    /// Encodes what follows the first byte: elapsed time, CPU. Returns flags for those that are omitted.
    #[inline(always)]
    fn begin(&mut self, memory: &mut Memory, at: Instant, cpu: CpuId) -> u8 {
        let mut flags = 0;
        match at.since(Instant::from_ns(memory.at)).as_ns() {
            0 => flags |= SAME_TIME,
            passed => {
                self.number(passed);
                memory.at += passed;
            }
        }
        match cpu == memory.cpu {
            true => flags |= SAME_CPU,
            false => {
                self.number(u64::from(cpu.0));
                memory.cpu = cpu;
            }
        }
        flags
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len % MOST] = byte;
        self.len += 1;
    }

    /// Encodes a number: seven bits per byte, the lowest first. The topmost bit means that more bytes follow. Most
    /// numbers need one or two.
    #[inline(always)]
    fn number(&mut self, n: u64) {
        match n {
            0..0x80 => self.byte(n as u8),
            0x80..0x4000 => {
                self.byte(n as u8 | 0x80);
                self.byte((n >> 7) as u8);
            }
            _ => self.large_number(n),
        }
    }

    #[inline(never)]
    fn large_number(&mut self, n: u64) {
        put_number(n, |byte| self.byte(byte));
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
    fn body(&mut self, memory: &mut Memory, at: Instant, what: What) -> u8 {
        match what {
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
            What::Acts { task, act } => self.act(at, task, act),
            What::Worked { task, user, kernel_ps } => {
                self.byte(more::WORKED);
                self.task(task);
                self.number(user.as_ns());
                self.number(kernel_ps);
                kind::MORE
            }
            rare => self.rare(rare),
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

    /// Encodes a rare event, and returns the kind.
    #[inline(never)]
    fn rare(&mut self, what: What) -> u8 {
        match what {
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
            frequent => unreachable!("{frequent:?} is not rare"),
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
