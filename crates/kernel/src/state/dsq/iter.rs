//! Iteration as `bpf_iter_scx_dsq` does it: forwards or backwards, without the tasks that are queued after it began,
//! and undisturbed by tasks that leave in the meantime.
//!
//! Usually only a few tasks of a vtime queue are visited, so the first steps search the heap; going further, or
//! backwards, sorts the queue once. A sorted copy serves every iteration that began before the copy was made: tasks
//! that have left since are skipped, tasks that came since are invisible.

use crate::state::dsq::fifo::Fifo;
use crate::state::dsq::heap::{Entry, Heap, Key};
use crate::state::dsq::links::Links;
use crate::state::dsq::{Dsq, DsqHandle};
use keel_abi::TaskId;

/// Steps that search the heap before the queue is sorted.
const SEARCHED_STEPS: u32 = 8;

/// The state of an iteration. It owns nothing: it may be dropped at any time.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    queue: u32,
    reverse: bool,
    /// The queue's last insert when the iteration began.
    limit: u32,
    steps: u32,
    last: Last,
    /// FIFO: a task that was visited before the last one.
    anchor: Option<Seen>,
}

/// The task that was last returned.
#[derive(Clone, Copy, Debug)]
enum Last {
    None,
    Fifo(Seen),
    Vtime(Key),
}

/// A task of a FIFO queue as it was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    task: TaskId,
    seq: u32,
    rank: u32,
}

/// A vtime queue's tasks in order, as of insert `made_at`.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorted {
    entries: Vec<Entry>,
    made_at: u32,
}

impl Cursor {
    /// The queue that it iterates over.
    pub const fn queue(&self) -> DsqHandle {
        DsqHandle(self.queue)
    }
}

impl Dsq {
    /// Begins an iteration (`bpf_iter_scx_dsq_new()`); `reverse` is `SCX_DSQ_ITER_REV`.
    pub const fn iter_new(&self, reverse: bool) -> Cursor {
        Cursor { queue: self.handle, reverse, limit: self.seq, steps: 0, last: Last::None, anchor: None }
    }

    /// The next task that was queued before the iteration began and still is
    /// (`bpf_iter_scx_dsq_next()`).
    pub fn iter_next(&mut self, links: &Links, cursor: &mut Cursor) -> Option<TaskId> {
        debug_assert_eq!(cursor.queue, self.handle, "a cursor belongs to its queue");
        cursor.steps += 1;
        if self.fifo.is_empty() {
            self.next_by_vtime(links, cursor)
        } else {
            self.next_in_fifo(links, cursor)
        }
    }

    /// Returns whether `task` has been in this queue since before the iteration began. Otherwise a move with this cursor
    /// fails (`scx_dsq_move()`).
    pub fn sees(&self, links: &Links, cursor: &Cursor, task: TaskId) -> bool {
        let link = links.at(task);
        link.queue == self.handle && !is_after(link.seq, cursor.limit)
    }

    fn next_in_fifo(&self, links: &Links, cursor: &mut Cursor) -> Option<TaskId> {
        let mut at = self.resume(links, cursor);
        while let Some(task) = at {
            if self.sees(links, cursor, task) && !is_passed(links, cursor, task) {
                let link = links.at(task);
                if let Last::Fifo(last) = cursor.last
                    && self.still(links, last)
                {
                    cursor.anchor = Some(last);
                }
                cursor.last = Last::Fifo(Seen { task, seq: link.seq, rank: link.rank });
                return Some(task);
            }
            at = Fifo::step(links, task, cursor.reverse);
        }
        None
    }

    /// The task at which the walk continues: behind the last one, behind one visited before it, or at the end where the
    /// iteration began.
    fn resume(&self, links: &Links, cursor: &Cursor) -> Option<TaskId> {
        let last = match cursor.last {
            Last::Fifo(last) => Some(last),
            _ => None,
        };
        let known = [last, cursor.anchor].into_iter().flatten().find(|&seen| self.still(links, seen));
        match known {
            Some(seen) => Fifo::step(links, seen.task, cursor.reverse),
            None if cursor.reverse => self.fifo.last(),
            None => self.fifo.first(),
        }
    }

    fn still(&self, links: &Links, seen: Seen) -> bool {
        let link = links.at(seen.task);
        link.queue == self.handle && link.seq == seen.seq
    }

    fn next_by_vtime(&mut self, links: &Links, cursor: &mut Cursor) -> Option<TaskId> {
        let last = match cursor.last {
            Last::Vtime(key) => Some(key),
            _ => None,
        };
        let found = if cursor.reverse || cursor.steps > SEARCHED_STEPS {
            self.next_sorted(links, cursor, last)
        } else {
            self.heap.first_after(last, |entry| !is_after(entry.key().seq, cursor.limit))
        };
        let entry = found?;
        cursor.last = Last::Vtime(entry.key());
        Some(entry.task)
    }

    fn next_sorted(&mut self, links: &Links, cursor: &Cursor, last: Option<Key>) -> Option<Entry> {
        if self.sorted.entries.is_empty() || is_after(cursor.limit, self.sorted.made_at) {
            self.sorted = Sorted { entries: sorted(&self.heap, self.seq), made_at: self.seq };
        }
        let entries = &self.sorted.entries;
        let me = self.handle;
        let visible = |entry: &&Entry| {
            let link = links.at(entry.task);
            link.queue == me && link.seq == entry.key().seq && !is_after(entry.key().seq, cursor.limit)
        };
        if cursor.reverse {
            let end = last.map_or(entries.len(), |last| entries.partition_point(|e| e.key().before(last)));
            entries[..end].iter().rev().find(visible).copied()
        } else {
            let start = last.map_or(0, |last| entries.partition_point(|e| !last.before(e.key())));
            entries[start..].iter().find(visible).copied()
        }
    }
}

/// Sorted relative to the heap's root and the newest insert, which is a total order for any vtimes.
fn sorted(heap: &Heap, newest: u32) -> Vec<Entry> {
    let mut entries = heap.entries().collect::<Vec<_>>();
    if let Some(root) = entries.first().map(|e| e.key().vtime) {
        entries.sort_unstable_by_key(|e| {
            (e.key().vtime.wrapping_sub(root) as i64, std::cmp::Reverse(newest.wrapping_sub(e.key().seq)))
        });
    }
    entries
}

/// Returns whether insert `seq` came after insert `limit`.
fn is_after(seq: u32, limit: u32) -> bool {
    seq.wrapping_sub(limit) as i32 > 0
}

/// Returns whether the walk has already passed `task`'s place.
fn is_passed(links: &Links, cursor: &Cursor, task: TaskId) -> bool {
    let Last::Fifo(last) = cursor.last else { return false };
    let ahead = links.at(task).rank.wrapping_sub(last.rank) as i32;
    if cursor.reverse { ahead >= 0 } else { ahead <= 0 }
}
