//! Timers: a heap of four children a node, its keys eight bytes each.
//!
//! A key is the instant above the timer's number, 44 and 20 bits. What does not fit (later than
//! 4.8 hours, or numbers from 2^20) waits in a second, plain heap that is usually empty. Nodes
//! lie four to a group, and a group never straddles a cache line.

use keel_abi::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of a key that hold the timer's number.
const ID_BITS: u32 = 20;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
/// No timer; also fills the group that is not full.
const NONE: u64 = u64::MAX;
/// The first instant that does not fit a key.
const KEY_END_NS: u64 = (1 << (64 - ID_BITS)) - 1;
/// Where the root lies, so that the children of node `i` are the group `i - 2`.
const ROOT: usize = 3;

#[derive(Clone, Debug)]
#[repr(align(32))]
struct Group([u64; 4]);

#[derive(Clone, Debug)]
pub(super) struct Heap {
    groups: Vec<Group>,
    /// One past the last node.
    end: usize,
    rest: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Default for Heap {
    fn default() -> Self {
        Self { groups: vec![Group([NONE; 4])], end: ROOT, rest: BinaryHeap::new() }
    }
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.end - ROOT + self.rest.len()
    }

    #[inline]
    pub(super) fn push(&mut self, at: Instant, id: u32) {
        if at.as_ns() < KEY_END_NS && u64::from(id) <= ID_MASK {
            self.push_key(at.as_ns() << ID_BITS | u64::from(id));
        } else {
            self.rest.push(Reverse((at, id)));
        }
    }

    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        let root = self.root();
        let near = if root == NONE { Instant::NEVER } else { Instant::from_ns(root >> ID_BITS) };
        match self.rest.peek() {
            None => near,
            Some(Reverse((at, _))) => near.min(*at),
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<(Instant, u32)> {
        let near = (self.root() != NONE).then(|| unpack(self.root()));
        match self.rest.peek() {
            None => near,
            Some(&Reverse(far)) => Some(near.map_or(far, |near| near.min(far))),
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Instant, u32)> {
        let first = self.first()?;
        if !self.rest.is_empty() && self.rest.peek() == Some(&Reverse(first)) {
            self.rest.pop();
        } else {
            self.pop_key();
        }
        Some(first)
    }

    #[inline]
    fn root(&self) -> u64 {
        self.groups[0].0[ROOT]
    }

    #[inline]
    fn put(&mut self, node: usize, key: u64) {
        self.groups[node / 4].0[node % 4] = key;
    }

    #[inline]
    fn push_key(&mut self, key: u64) {
        let mut hole = self.end;
        if hole.is_multiple_of(4) {
            self.groups.push(Group([NONE; 4]));
        }
        self.end += 1;
        while hole > ROOT {
            let parent = hole / 4 + 2;
            let above = self.groups[parent / 4].0[parent % 4];
            if above <= key {
                break;
            }
            self.put(hole, above);
            hole = parent;
        }
        self.put(hole, key);
    }

    /// Takes the root away: the last node falls from the top to its place.
    #[inline]
    fn pop_key(&mut self) {
        let last = self.end - 1;
        let key = self.groups[last / 4].0[last % 4];
        self.put(last, NONE);
        if last.is_multiple_of(4) {
            self.groups.pop();
        }
        self.end = last;
        if last == ROOT {
            return;
        }
        let mut hole = ROOT;
        while let Some(group) = self.groups.get(hole - 2) {
            let (lane, least) = least(&group.0);
            if key <= least {
                break;
            }
            self.put(hole, least);
            hole = (hole - 2) * 4 + lane;
        }
        self.put(hole, key);
    }
}

#[inline]
fn least(keys: &[u64; 4]) -> (usize, u64) {
    let (i, a) = if keys[1] < keys[0] { (1, keys[1]) } else { (0, keys[0]) };
    let (j, b) = if keys[3] < keys[2] { (3, keys[3]) } else { (2, keys[2]) };
    if b < a { (j, b) } else { (i, a) }
}

#[inline]
fn unpack(key: u64) -> (Instant, u32) {
    (Instant::from_ns(key >> ID_BITS), (key & ID_MASK) as u32)
}
