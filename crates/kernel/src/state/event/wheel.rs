//! Timers: a wheel of buckets of 8 us each, which are sorted one by one as time reaches them.
//!
//! Compared with a heap of eight-byte keys it was about as fast with 16 timers and a third to twice faster with
//! thousands. A bucket is an unordered list of nodes; the earliest non-empty one is kept sorted separately, so that the
//! next timer is always ready. Timers due more than 268 ms after the last one taken wait in a plain heap.

use keel_abi::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// 2^13 ns per bucket.
const BUCKET_BITS: u32 = 13;

const BUCKETS: usize = 1 << 15;

const WORDS: usize = BUCKETS / 64;

const TOPS: usize = WORDS / 64;

/// No node.
const NONE: u32 = u32::MAX;

/// One expiry, in its bucket's list or in the list of free nodes.
#[derive(Clone, Copy, Debug)]
struct Node {
    due: Due,
    next: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    id: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Wheel {
    nodes: Vec<Node>,
    free: u32,
    /// Each bucket's first node.
    heads: Box<[u32; BUCKETS]>,
    /// Which buckets are not empty, and which words of that bitmap are not 0.
    words: Box<[u64; WORDS]>,
    tops: [u64; TOPS],
    /// The bucket of the last timer that was taken: all buckets of the wheel are numbered from here.
    floor: u64,
    /// The earliest non-empty bucket, and its timers, the earliest last. Only empty when all buckets are.
    current: u64,
    sorted: Vec<Due>,
    /// Timers due more than one turn of the wheel after `floor`.
    far: BinaryHeap<Reverse<Due>>,
    /// When the first of those is due.
    far_at: Instant,
    len: usize,
    /// When the very first timer is due: read more often than it changes.
    next_at: Instant,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
            heads: boxed(NONE),
            words: boxed(0),
            tops: [0; TOPS],
            floor: 0,
            current: 0,
            sorted: Vec::new(),
            far: BinaryHeap::new(),
            far_at: Instant::NEVER,
            len: 0,
            next_at: Instant::NEVER,
        }
    }
}

/// An array on the heap that was never on the stack.
fn boxed<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("it has this length"),
    }
}

impl Wheel {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) const fn next_at(&self) -> Instant {
        self.next_at
    }

    #[inline]
    pub(super) fn first(&self) -> Option<(Instant, u32)> {
        match self.sorted.last() {
            Some(near) if near.at < self.far_at => Some((near.at, near.id)),
            near => self.first_of(near.copied()),
        }
    }

    /// The very first timer, given the first of the wheel, if any.
    #[cold]
    #[inline(never)]
    fn first_of(&self, near: Option<Due>) -> Option<(Instant, u32)> {
        let far = self.far.peek().map(|&Reverse(far)| far);
        let due = near.into_iter().chain(far).min()?;
        Some((due.at, due.id))
    }

    #[inline]
    pub(super) fn push(&mut self, at: Instant, id: u32) {
        self.len += 1;
        self.next_at = self.next_at.min(at);
        let due = Due { at, id };
        // A timer that is already late joins the earliest possible bucket.
        let bucket = (at.as_ns() >> BUCKET_BITS).max(self.floor);
        if bucket - self.floor >= BUCKETS as u64 {
            self.far.push(Reverse(due));
            self.far_at = self.far_at.min(at);
        } else if self.sorted.is_empty() {
            self.current = bucket;
            self.sorted.push(due);
        } else if bucket > self.current {
            self.link(bucket, due);
        } else {
            if bucket < self.current {
                self.put_back();
                self.current = bucket;
            }
            let place = self.sorted.partition_point(|&other| other > due);
            self.sorted.insert(place, due);
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Instant, u32)> {
        let popped = self.take_first();
        self.next_at = self.first().map_or(Instant::NEVER, |(at, _)| at);
        popped
    }

    #[inline]
    fn take_first(&mut self) -> Option<(Instant, u32)> {
        let (at, id) = match self.sorted.last() {
            Some(near) if near.at < self.far_at => (near.at, near.id),
            _ => return self.take_rarely(),
        };
        self.take_near();
        Some((at, id))
    }

    /// Takes the first timer when it may be in the far heap.
    #[cold]
    #[inline(never)]
    fn take_rarely(&mut self) -> Option<(Instant, u32)> {
        let (at, id) = self.first()?;
        if self.sorted.last() == Some(&Due { at, id }) {
            self.take_near();
            return Some((at, id));
        }
        self.len -= 1;
        // All others are due later, so the buckets may be numbered from here.
        self.floor = self.floor.max(at.as_ns() >> BUCKET_BITS);
        self.far.pop();
        self.far_at = self.far.peek().map_or(Instant::NEVER, |Reverse(far)| far.at);
        Some((at, id))
    }

    /// Takes the first of the earliest bucket.
    #[inline]
    fn take_near(&mut self) {
        self.len -= 1;
        self.sorted.pop();
        self.floor = self.current;
        if self.sorted.is_empty() {
            self.sort_next();
        }
    }

    #[inline]
    fn link(&mut self, bucket: u64, due: Due) {
        let slot = bucket as usize % BUCKETS;
        let node = Node { due, next: self.heads[slot] };
        self.heads[slot] = match self.nodes.get_mut(self.free as usize) {
            Some(free) => {
                let number = self.free;
                self.free = free.next;
                *free = node;
                number
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        self.words[slot / 64] |= 1 << (slot % 64);
        self.tops[slot / 64 / 64] |= 1 << (slot / 64 % 64);
    }

    /// Unsorts the current bucket, because an earlier one gets a timer.
    fn put_back(&mut self) {
        while let Some(due) = self.sorted.pop() {
            self.link(self.current, due);
        }
    }

    /// Sorts the next bucket that is not empty.
    #[inline]
    fn sort_next(&mut self) {
        let start = self.current as usize % BUCKETS;
        let Some(slot) = self.next_slot(start) else { return };
        self.current += ((slot + BUCKETS - start) % BUCKETS) as u64;
        let mut number = std::mem::replace(&mut self.heads[slot], NONE);
        while number != NONE {
            let node = &mut self.nodes[number as usize];
            self.sorted.push(node.due);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = number;
            number = next;
        }
        self.words[slot / 64] &= !(1 << (slot % 64));
        if self.words[slot / 64] == 0 {
            self.tops[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
        }
        self.sorted.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The first slot from `start` on, around the end, that is not empty.
    #[inline]
    fn next_slot(&self, start: usize) -> Option<usize> {
        let lowest = |word: usize| word * 64 + self.words[word].trailing_zeros() as usize;
        let word = start / 64;
        let here = self.words[word] & u64::MAX << (start % 64);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let after = (word + 1) % WORDS;
        let top = after / 64;
        let near = self.tops[top] & u64::MAX << (after % 64);
        if near != 0 {
            return Some(lowest(top * 64 + near.trailing_zeros() as usize));
        }
        (1..=TOPS).map(|n| (top + n) % TOPS).find_map(|top| {
            let words = self.tops[top];
            (words != 0).then(|| lowest(top * 64 + words.trailing_zeros() as usize))
        })
    }
}
