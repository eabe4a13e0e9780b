//! Tracks pipes and local sockets of recordings that have reads and writes. Both are called pipes here.
//!
//! Wakeups show only waits that occurred: a reader that arrived a little later than its data did not wait, and nothing
//! would make it wait in a replay in which it arrives earlier. So reads and writes become steps on the tapes, whether
//! or not they waited, and waits follow from the pipe's contents.
//!
//! A recorded wait in a pipe's read or write is not a step of its own. It is first put on the tape like any other,
//! because only the end of the read shows how much was read, or that there was nothing more to read. The end removes
//! it.

use keel_abi::tape::{Op, PAGE_BYTES, RecordedPipe, Room, Tape};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A wait: its semaphore, and the semaphore's number of earlier waits and posts.
pub(crate) type Nth = (u32, u32);

/// What a wait on the tape really is.
#[derive(Clone, Copy, Debug, Default)]
struct Instead {
    /// The pipe, if the wait is part of reading from or writing to it.
    pipe: Option<u32>,
    /// The op that then replaces it: the read itself, if this is the first of its waits.
    op: Option<Op>,
    /// The op that replaces it if it is not part of a transfer. `None` if it is left as it is.
    otherwise: Option<Op>,
}

/// What the recording shows about a pipe.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    room: Room,
    put: u64,
    taken: u64,
    /// The number of bytes that must have been in it at first.
    held: u64,
    /// The number of bytes of writes that have not ended.
    open: u64,
    /// Whether a task that is left out uses it.
    is_shared: bool,
}

impl Seen {
    /// Returns whether all transfers are known.
    fn is_whole(&self) -> bool {
        let most = match self.room {
            Room::Pages(pages) => u64::from(pages) * u64::from(PAGE_BYTES),
            Room::Memory(bytes) => bytes.into(),
        };
        let rest = (self.held + self.put).saturating_sub(self.taken);
        !self.is_shared && self.held <= most && rest <= most + self.open
    }
}

/// All pipes of a recording.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    numbers: FxHashMap<u32, u32>,
    list: Vec<Seen>,
    instead: FxHashMap<Nth, Instead>,
    /// Tasks that ended in the middle of their last write to a pipe, and that pipe.
    cut: BTreeSet<(u32, u32)>,
}

impl Pipes {
    /// Returns the replay's number of a pipe in the stream.
    pub(crate) fn number(&mut self, pipe: u32, room: Room, tells: bool) -> u32 {
        let next = self.list.len() as u32;
        let number = *self.numbers.entry(pipe).or_insert(next);
        if number == next {
            self.list.push(Seen { room, ..Seen::default() });
        }
        if tells {
            // A socket's memory is its sender's.
            self.list[number as usize].room = room;
        }
        number
    }

    /// Notes that a task that is left out uses a pipe.
    pub(crate) fn is_shared(&mut self, number: u32) {
        self.list[number as usize].is_shared = true;
    }

    /// Notes that a task starts to write. Returns the op for its tape.
    pub(crate) fn put(&mut self, number: u32, bytes: u32, packet: bool) -> Op {
        self.list[number as usize].put += u64::from(bytes);
        Op::Put { pipe: number, bytes, packet }
    }

    /// Notes that a task has read, after these waits. Returns the next op for its tape.
    pub(crate) fn take(&mut self, number: u32, bytes: u32, waits: &[Nth]) -> Option<Op> {
        let seen = &mut self.list[number as usize];
        seen.taken += u64::from(bytes);
        seen.held = seen.held.max(seen.taken.saturating_sub(seen.put));
        if bytes == 0 {
            return None;
        }
        let mut op = Some(Op::Take { pipe: number, bytes });
        for wait in waits {
            let instead = self.instead.entry(*wait).or_default();
            (instead.pipe, instead.op) = (Some(number), op.take());
        }
        op
    }

    /// Notes that a wait belongs to a write to a pipe, or to a read whose pipe is not known yet.
    pub(crate) fn waits(&mut self, wait: Nth, pipe: Option<u32>, otherwise: Option<Op>) {
        self.instead.insert(wait, Instead { pipe, op: None, otherwise });
    }

    /// Notes that a write has not ended.
    pub(crate) fn is_open(&mut self, number: u32, bytes: u32) {
        self.list[number as usize].open += u64::from(bytes);
    }

    /// Returns whether there are no pipes, and no waits at any.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.instead.is_empty()
    }

    /// Returns which of them are replayed by their contents.
    pub(crate) fn whole(&self) -> BTreeSet<u32> {
        (0..self.list.len() as u32).filter(|&number| self.list[number as usize].is_whole()).collect()
    }

    /// Notes that a task ended in the middle of its last write to a pipe, and nobody read the part that was written.
    pub(crate) fn is_cut(&mut self, task: u32, pipe: u32) {
        if !self.cut.insert((task, pipe)) {
            self.is_shared(pipe);
        }
    }

    /// Returns a task's tape as it is played.
    pub(crate) fn settled(&self, task: u32, tape: &Tape) -> Tape {
        let settled = self.without_parts(tape);
        let cut = self.cut.range((task, 0)..=(task, u32::MAX)).map(|(_, pipe)| *pipe);
        cut.fold(settled, |tape, pipe| {
            let is_put = |op| matches!(op, Op::Put { pipe: of, .. } if of == pipe);
            let last = tape.iter().filter(|op| is_put(*op)).count();
            let mut nth = 0;
            let is_kept = |op: &Op| {
                nth += usize::from(is_put(*op));
                !is_put(*op) || nth < last
            };
            tape.iter().filter(is_kept).collect()
        })
    }

    /// Returns a tape without the waits and wakeups that follow from the contents of pipes.
    fn without_parts(&self, tape: &Tape) -> Tape {
        let (mut posts, mut waits) = (FxHashMap::default(), FxHashMap::default());
        let nth = |counts: &mut FxHashMap<u32, u32>, semaphore: u32| {
            let count = counts.entry(semaphore).or_insert(0);
            *count += 1;
            (semaphore, *count - 1)
        };
        let is_whole = |pipe: u32| self.list.get(pipe as usize).is_some_and(Seen::is_whole);
        let is_part =
            |wait: &Nth| self.instead.get(wait).map(|instead| (instead, instead.pipe.is_some_and(is_whole)));
        let settled = |op: Op| match op {
            Op::Put { pipe, .. } | Op::Take { pipe, .. } => is_whole(pipe).then_some(op),
            Op::Await(semaphore) => match is_part(&nth(&mut waits, semaphore)) {
                Some((instead, true)) => instead.op,
                Some((instead, false)) => instead.otherwise.or(Some(op)),
                None => Some(op),
            },
            Op::Post { semaphore, .. } | Op::PostMeanwhile { semaphore, .. } => {
                match is_part(&nth(&mut posts, semaphore)) {
                    Some((_, true)) => None,
                    _ => Some(op),
                }
            }
            other => Some(other),
        };
        tape.iter().filter_map(settled).collect()
    }

    /// Returns the pipes as they are when the recording begins.
    pub(crate) fn recorded(&self) -> Vec<RecordedPipe> {
        let pipe = |seen: &Seen| RecordedPipe {
            room: seen.room,
            held_bytes: if seen.is_whole() { seen.held as u32 } else { 0 },
        };
        self.list.iter().map(pipe).collect()
    }
}
