//! Vtime order: a heap with four children per node.
//!
//! Nothing keeps a task's place: with each removal of the first task several others move, and each of their records is
//! somewhere else in the host's memory. A task that leaves from the middle, which is rare, is looked for.
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

/// A task and its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    key: Key,
    pub(super) task: TaskId,
}

impl Entry {
    #[inline]
    pub(super) fn key(&self) -> Key {
        self.key
    }
}

/// A task, and the number of its insert.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
struct Who {
    task: TaskId,
    seq: u32,
}

/// The vtimes are apart from the rest: what compares four children reads half a cache line.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    vtimes: Vec<u64>,
    tasks: Vec<Who>,
}

impl Heap {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    #[inline]
    pub(super) fn first(&self) -> Option<TaskId> {
        self.tasks.first().map(|who| who.task)
    }

    /// The tasks between the next leaf and the root, in a complete binary tree over the tasks.
    #[inline]
    pub(super) fn way_down(&self) -> impl Iterator<Item = TaskId> {
        let tasks = self.tasks.as_slice();
        let mut place = tasks.len() + 1;
        std::iter::from_fn(move || {
            place /= 2;
            tasks.get(place.wrapping_sub(1)).map(|who| who.task)
        })
    }

    /// The parent and the first child of a task in that tree.
    #[inline]
    pub(super) fn neighbours(&self, task: TaskId) -> [Option<TaskId>; 2] {
        let place = self.place(task) + 1;
        let at = |place: usize| self.tasks.get(place.wrapping_sub(1)).map(|who| who.task);
        [at(place / 2), at(place * 2)]
    }

    /// Where a task is that is in the heap.
    fn place(&self, task: TaskId) -> usize {
        self.tasks.iter().position(|who| who.task == task).expect("the task is in this queue")
    }

    /// All entries, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        (0..self.tasks.len()).filter_map(|place| self.entry(place))
    }

    fn entry(&self, place: usize) -> Option<Entry> {
        let (&vtime, &Who { task, seq }) = (self.vtimes.get(place)?, self.tasks.get(place)?);
        Some(Entry { key: Key { vtime, seq }, task })
    }

    #[inline(always)]
    pub(super) fn push(&mut self, links: &mut Links, vtime: u64, task: TaskId, stay: Stay) {
        let place = self.vtimes.len();
        links.enter(task, stay);
        // The first one has no parent. The newest comes behind equal ones.
        let parent = self.vtimes.get(place.wrapping_sub(1) / 4);
        let stays = parent.is_none_or(|&parent| vtime.wrapping_sub(parent) as i64 >= 0);
        if !stays || place == self.vtimes.capacity() {
            return self.push_rising(vtime, Who { task, seq: stay.seq });
        }
        self.vtimes.push(vtime);
        self.tasks.push(Who { task, seq: stay.seq });
    }

    /// Like `push` for one that may come before its parent, or needs more memory.
    #[inline(never)]
    fn push_rising(&mut self, vtime: u64, who: Who) {
        let place = self.vtimes.len();
        self.vtimes.push(vtime);
        self.tasks.push(who);
        self.rise(place, vtime, who);
    }

    #[inline(never)]
    pub(super) fn remove(&mut self, task: TaskId) {
        let place = self.place(task);
        let (vtime, last) = self.pop();
        if place == self.tasks.len() {
            return;
        }
        let parent = place.wrapping_sub(1) / 4;
        if place > 0 && is_before((vtime, last), (self.vtimes[parent], self.tasks[parent])) {
            self.rise(place, vtime, last);
        } else {
            self.sink_from(place, vtime, last);
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> (u64, Who) {
        let (vtime, task) = (self.vtimes.pop(), self.tasks.pop());
        (vtime.expect("the heap has a root"), task.expect("each vtime is a task's"))
    }

    #[inline(never)]
    fn sink_from(&mut self, hole: usize, vtime: u64, who: Who) {
        self.sink(hole, vtime, who);
    }

    /// Removes the root. Returns its first child in a complete binary tree over the tasks.
    #[inline(always)]
    pub(super) fn remove_first(&mut self) -> Option<TaskId> {
        let child = self.tasks.get(1).map(|who| who.task);
        if self.tasks.len() > 2 {
            self.remove_first_of_many();
            return child;
        }
        self.vtimes.swap_remove(0);
        self.tasks.swap_remove(0);
        child
    }

    #[inline(never)]
    fn remove_first_of_many(&mut self) {
        let (vtime, task) = self.pop();
        self.sink(0, vtime, task);
    }

    /// A vtime behind all others.
    #[cold]
    pub(super) fn behind_all(&self) -> u64 {
        let mut last = self.vtimes[0];
        for &vtime in &self.vtimes {
            if (last.wrapping_sub(vtime) as i64) < 0 {
                last = vtime;
            }
        }
        last
    }

    /// The first entry in order that comes after `key` and is `visible`.
    pub(super) fn first_after(&self, key: Option<Key>, visible: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let mut best: Option<Entry> = None;
        let mut open = vec![0];
        while let Some(place) = open.pop() {
            let Some(entry) = self.entry(place) else { continue };
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
            if let Some(entry) = self.entry(child) {
                open.push(Open(entry, child));
            }
        }
    }

    #[inline]
    fn put(&mut self, place: usize, vtime: u64, who: Who) {
        self.vtimes[place] = vtime;
        self.tasks[place] = who;
    }

    #[inline(always)]
    fn rise(&mut self, mut hole: usize, vtime: u64, who: Who) {
        let vtimes = self.vtimes.as_mut_slice();
        // One bounds check serves both.
        let tasks = &mut self.tasks[..vtimes.len()];
        while hole > 0 {
            let parent = (hole - 1) / 4;
            let above = (vtimes[parent], tasks[parent]);
            if !is_before((vtime, who), above) {
                break;
            }
            (vtimes[hole], tasks[hole]) = above;
            hole = parent;
        }
        (vtimes[hole], tasks[hole]) = (vtime, who);
    }

    /// Fills the hole at this place with a task, after those below it have moved up that come before it.
    #[inline(always)]
    fn sink(&mut self, mut place: usize, vtime: u64, who: Who) {
        let vtimes = self.vtimes.as_mut_slice();
        // One bounds check serves both.
        let tasks = &mut self.tasks[..vtimes.len()];
        // Those in the group `place` are the children of the task there.
        while let Some(four) = vtimes[1..].as_chunks().0.get(place) {
            let Some(lane) = least_of_four(four) else { return self.sink_among_equals(place, vtime, who) };
            let child = 4 * place + 1 + lane;
            let least = vtimes[child];
            let ahead = least.wrapping_sub(vtime) as i64;
            if ahead >= 0 {
                if ahead == 0 {
                    return self.sink_among_equals(place, vtime, who);
                }
                return self.put(place, vtime, who);
            }
            vtimes[place] = least;
            tasks[place] = tasks[child];
            place = child;
        }
        // The last group may not be full. Nothing is below it.
        let first = 4 * place + 1;
        if first < vtimes.len() {
            return self.sink_into_last(place, vtime, who);
        }
        vtimes[place] = vtime;
        tasks[place] = who;
    }

    /// Like `sink` for a hole above the last group, which is not full.
    #[inline(never)]
    fn sink_into_last(&mut self, mut place: usize, vtime: u64, who: Who) {
        let Some(child) = least_of_last(&self.vtimes, 4 * place + 1) else {
            return self.sink_among_equals(place, vtime, who);
        };
        let least = self.vtimes[child];
        let ahead = least.wrapping_sub(vtime) as i64;
        if ahead == 0 {
            return self.sink_among_equals(place, vtime, who);
        }
        if ahead < 0 {
            self.put(place, least, self.tasks[child]);
            place = child;
        }
        self.put(place, vtime, who);
    }

    /// Like `sink` if some of the vtimes to be compared are equal.
    #[inline(never)]
    fn sink_among_equals(&mut self, mut hole: usize, vtime: u64, who: Who) {
        loop {
            let first = 4 * hole + 1;
            let at = |place: usize| (self.vtimes[place], self.tasks[place]);
            let earlier = |a: usize, b: usize| if is_before(at(b), at(a)) { b } else { a };
            let Some(least) = (first..self.tasks.len().min(first + 4)).reduce(earlier) else { break };
            let up = at(least);
            if !is_before(up, (vtime, who)) {
                break;
            }
            self.put(hole, up.0, up.1);
            hole = least;
        }
        self.put(hole, vtime, who);
    }
}

/// Returns whether one queued task comes before another.
#[inline(always)]
fn is_before(a: (u64, Who), b: (u64, Who)) -> bool {
    let key = |(vtime, who): (u64, Who)| Key { vtime, seq: who.seq };
    key(a).before(key(b))
}

/// Which of four comes first; `None` if two vtimes that decide it are equal.
#[inline(always)]
fn least_of_four(four: &[u64; 4]) -> Option<usize> {
    let ahead = |a: usize, b: usize| four[a % 4].wrapping_sub(four[b % 4]);
    let (one, three) = (ahead(1, 0), ahead(3, 2));
    let (low, high) = ((one >> 63) as usize, 2 + (three >> 63) as usize);
    if one == 0 || three == 0 || four[high % 4] == four[low % 4] {
        return None;
    }
    Some(if (ahead(high, low) as i64) < 0 { high } else { low })
}

/// Which of the last few comes first, which begin at this place; `None` if two vtimes that decide it are equal.
#[inline(always)]
fn least_of_last(vtimes: &[u64], first: usize) -> Option<usize> {
    let mut least = first;
    for place in first + 1..vtimes.len() {
        match vtimes[place].wrapping_sub(vtimes[least]) as i64 {
            0 => return None,
            ahead if ahead < 0 => least = place,
            _ => {}
        }
    }
    Some(least)
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
