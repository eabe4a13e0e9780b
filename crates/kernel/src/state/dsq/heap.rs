//! Vtime order: a heap with four children per node that knows each task's place.
//!
//! Vtimes compare like the kernel's `time_before64()`, wrapping; equal ones by the number of their insert. If vtimes
//! are more than half the range apart, this is not a total order: which task comes first is then arbitrary, but always
//! the same.

use crate::state::dsq::links::{Links, Stay};
use keel_abi::TaskId;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) vtime: u64,
    pub(super) seq: u32,
}

impl Key {
    #[inline]
    pub(super) fn before(self, other: Self) -> bool {
        // Equal vtimes are rare, so this branch is easy to predict; the result of the comparison is not.
        match self.vtime.wrapping_sub(other.vtime) as i64 {
            0 => (self.seq.wrapping_sub(other.seq) as i32) < 0,
            ahead => ahead < 0,
        }
    }

    #[inline]
    pub(super) fn compare(self, other: Self) -> Ordering {
        let vtime = self.vtime.wrapping_sub(other.vtime) as i64;
        let seq = self.seq.wrapping_sub(other.seq) as i32;
        vtime.cmp(&0).then(seq.cmp(&0))
    }
}

/// A task and its key, in 16 bytes: four children fill a cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    vtime: u64,
    seq: u32,
    pub(super) task: TaskId,
}

impl Entry {
    #[inline]
    pub(super) fn key(&self) -> Key {
        Key { vtime: self.vtime, seq: self.seq }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    entries: Vec<Entry>,
}

impl Heap {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub(super) fn first(&self) -> Option<TaskId> {
        self.entries.first().map(|e| e.task)
    }

    /// The tasks between the next leaf and the root, in a complete binary tree over the tasks.
    #[inline]
    pub(super) fn way_down(&self) -> impl Iterator<Item = TaskId> {
        let entries = self.entries.as_slice();
        let mut place = entries.len() + 1;
        std::iter::from_fn(move || {
            place /= 2;
            entries.get(place.wrapping_sub(1)).map(|entry| entry.task)
        })
    }

    /// The parent and the first child of a task in that tree.
    #[inline]
    pub(super) fn neighbours(&self, links: &Links, task: TaskId) -> [Option<TaskId>; 2] {
        let place = links.at(task).prev_or_place as usize + 1;
        let at = |place: usize| self.entries.get(place.wrapping_sub(1)).map(|entry| entry.task);
        [at(place / 2), at(place * 2)]
    }

    /// All entries, in no order.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    #[inline(always)]
    pub(super) fn push(&mut self, links: &mut Links, vtime: u64, task: TaskId, stay: Stay) {
        let (entry, place) = (Entry { vtime, seq: stay.seq, task }, self.entries.len());
        let link = links.enter(task, stay);
        // The first one has no parent.
        let parent = self.entries.get(place.wrapping_sub(1) / 4);
        let stays = parent.is_none_or(|parent| !entry.key().before(parent.key()));
        if !stays || place == self.entries.capacity() {
            return self.push_rising(links, entry);
        }
        link.prev_or_place = place as u32;
        self.entries.push(entry);
    }

    /// Like `push` for an entry that may come before its parent, or needs more memory.
    #[inline(never)]
    fn push_rising(&mut self, links: &mut Links, entry: Entry) {
        let place = self.entries.len();
        self.entries.push(entry);
        self.rise(links, place, entry);
    }

    #[inline(never)]
    pub(super) fn remove(&mut self, links: &mut Links, task: TaskId) {
        let place = links.at(task).prev_or_place as usize;
        debug_assert_eq!(self.entries[place].task, task);
        let last = self.entries.pop().expect("the task is in the heap");
        if place == self.entries.len() {
            return;
        }
        if place > 0 && last.key().before(self.entries[(place - 1) / 4].key()) {
            self.rise(links, place, last);
        } else {
            self.sink_from(links, place, last);
        }
    }

    #[inline(never)]
    fn sink_from(&mut self, links: &mut Links, hole: usize, entry: Entry) {
        self.sink(links, hole, entry);
    }

    /// Removes the root. Returns its first child in a complete binary tree over the tasks.
    #[inline(always)]
    pub(super) fn remove_first(&mut self, links: &mut Links) -> Option<TaskId> {
        let child = self.entries.get(1).map(|entry| entry.task);
        if self.entries.len() > 2 {
            self.remove_first_of_many(links);
            return child;
        }
        self.entries.swap_remove(0);
        if let Some(first) = self.entries.first() {
            links.at_mut(first.task).prev_or_place = 0;
        }
        child
    }

    #[inline(never)]
    fn remove_first_of_many(&mut self, links: &mut Links) {
        let last = self.entries.pop().expect("the heap has a root");
        self.sink(links, 0, last);
    }

    /// A key behind all others, for an insert with this number.
    #[cold]
    pub(super) fn behind_all(&self, seq: u32) -> Key {
        let mut last = self.entries[0].key();
        for entry in &self.entries {
            if last.before(entry.key()) {
                last = entry.key();
            }
        }
        Key { vtime: last.vtime, seq }
    }

    /// The first entry in order that comes after `key` and is `visible`.
    pub(super) fn first_after(&self, key: Option<Key>, visible: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let mut best: Option<Entry> = None;
        let mut open = vec![0];
        while let Some(place) = open.pop() {
            let Some(&entry) = self.entries.get(place) else { continue };
            if best.is_some_and(|b| !entry.key().before(b.key())) {
                continue;
            }
            let after = key.is_none_or(|key| key.before(entry.key()));
            if after && visible(&entry) {
                best = Some(entry);
            } else {
                open.extend(4 * place + 1..=4 * place + 4);
            }
        }
        best
    }

    /// The first task in order, excluding the root, that is `eligible`.
    #[cold]
    pub(super) fn first_after_root_where(&self, mut eligible: impl FnMut(TaskId) -> bool) -> Option<TaskId> {
        let mut open = BinaryHeap::new();
        self.open_children(&mut open, 0);
        while let Some(Open(entry, place)) = open.pop() {
            if eligible(entry.task) {
                return Some(entry.task);
            }
            self.open_children(&mut open, place);
        }
        None
    }

    fn open_children(&self, open: &mut BinaryHeap<Open>, place: usize) {
        for child in 4 * place + 1..=4 * place + 4 {
            if let Some(&entry) = self.entries.get(child) {
                open.push(Open(entry, child));
            }
        }
    }

    #[inline]
    fn put(&mut self, links: &mut Links, place: usize, entry: Entry) {
        self.entries[place] = entry;
        links.at_mut(entry.task).prev_or_place = place as u32;
    }

    #[inline(always)]
    fn rise(&mut self, links: &mut Links, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / 4;
            let above = self.entries[parent];
            if !entry.key().before(above.key()) {
                break;
            }
            self.put(links, hole, above);
            hole = parent;
        }
        self.put(links, hole, entry);
    }

    #[inline(always)]
    fn sink(&mut self, links: &mut Links, mut hole: usize, entry: Entry) {
        loop {
            let first = 4 * hole + 1;
            let Some(children) = self.entries.get(first..).filter(|rest| !rest.is_empty()) else { break };
            let lane = match children.first_chunk() {
                Some(four) => least_of_four(four),
                None => least(children),
            };
            let child = children[lane];
            if !child.key().before(entry.key()) {
                break;
            }
            self.put(links, hole, child);
            hole = first + lane;
        }
        self.put(links, hole, entry);
    }
}

/// Which of four comes first.
#[inline]
fn least_of_four(entries: &[Entry; 4]) -> usize {
    let key = |lane: usize| entries[lane % 4].key();
    let low = usize::from(key(1).before(key(0)));
    let high = 2 + usize::from(key(3).before(key(2)));
    if key(high).before(key(low)) { high } else { low }
}

/// Which of the last few comes first.
#[inline]
fn least(entries: &[Entry]) -> usize {
    let earlier = |a: usize, b: usize| if entries[b].key().before(entries[a].key()) { b } else { a };
    (1..entries.len()).fold(0, earlier)
}

/// An entry whose children are not looked at yet; the earliest is the greatest.
struct Open(Entry, usize);

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.key().compare(self.0.key())
    }
}
