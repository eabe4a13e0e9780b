//! Timers: a wheel of buckets of 8 us each, which are sorted one by one as time reaches them.
//!
//! Compared with a heap of eight-byte keys it was about as fast with 16 timers and clearly faster with thousands. A
//! bucket is an unordered list of nodes; the earliest non-empty one is kept apart, its first timer and a sorted list of
//! the rest, so that the next timer is always ready. Timers due more than 268 ms after the last one taken wait in a
//! plain heap.

use keel_abi::Instant;
use keel_abi::fetch::fetch_at;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// 2^13 ns per bucket.
const BUCKET_BITS: u32 = 13;

const BUCKETS: usize = 1 << 15;

const WORDS: usize = BUCKETS / 64;

const TOPS: usize = WORDS / 64;

/// Later than any bucket.
const NO_BUCKET: u64 = u64::MAX;

/// No node.
const NONE: u32 = u32::MAX;

/// One expiry, in its bucket's list or in the list of free nodes.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: Instant,
    id: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    id: u32,
}

/// No timer.
const NOTHING: Due = Due { at: Instant::NEVER, id: u32::MAX };

#[derive(Clone, Debug)]
pub(super) struct Wheel {
    nodes: Vec<Node>,
    free: u32,
    /// Each bucket's first node.
    heads: Box<[u32; BUCKETS]>,
    /// Which buckets other than the open one are not empty, and which words of that bitmap are not 0.
    words: Box<[u64; WORDS]>,
    tops: [u64; TOPS],
    /// The bucket of the last timer that was taken. The wheel holds so many buckets from here on, by their number since
    /// the beginning.
    floor: u64,
    /// The earliest non-empty bucket; [`NO_BUCKET`] if all are empty.
    current: u64,
    /// The first timer of that bucket; [`NOTHING`] only if all buckets are empty.
    first: Due,
    /// Its other timers, the earliest last.
    rest: Vec<Due>,
    /// The next node to look at of the bucket after that, if there are many timers: its list is followed while the open
    /// bucket's timers are taken, so that its nodes are near when it is opened. Only requests depend on it: it may be
    /// out of date.
    ahead: u32,
    /// The bucket was opened since [`Wheel::has_opened`] was last asked.
    has_opened: bool,
    /// Timers due more than one turn of the wheel after `floor`.
    far: BinaryHeap<Reverse<Due>>,
    /// When the first of those is due.
    far_at: Instant,
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
            current: NO_BUCKET,
            first: NOTHING,
            rest: Vec::new(),
            ahead: NONE,
            has_opened: false,
            far: BinaryHeap::new(),
            far_at: Instant::NEVER,
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
    /// The number of timers. It is not kept: only tests ask for it.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let next = |number: u32| self.nodes.get(number as usize).map(|node| node.next);
        let free = std::iter::successors(Some(self.free).filter(|&n| n != NONE), |&n| {
            next(n).filter(|&n| n != NONE)
        });
        let open = usize::from(self.first != NOTHING) + self.rest.len();
        open + self.nodes.len() - free.count() + self.far.len()
    }

    #[inline]
    pub(super) const fn next_at(&self) -> Instant {
        self.next_at
    }

    #[inline]
    pub(super) fn first(&self) -> Option<(Instant, u32)> {
        match self.first {
            Due { at, id } if at < self.far_at => Some((at, id)),
            near => self.first_of(near),
        }
    }

    /// The very first timer, given the first of the wheel.
    #[cold]
    #[inline(never)]
    fn first_of(&self, near: Due) -> Option<(Instant, u32)> {
        let due = self.far.peek().map_or(near, |&Reverse(far)| far.min(near));
        (due != NOTHING).then_some((due.at, due.id))
    }

    /// Adds a timer. Returns whether it may be the very first.
    #[inline(always)]
    pub(super) fn push(&mut self, at: Instant, id: u32) -> bool {
        let due = Due { at, id };
        // A timer that is already late joins the earliest possible bucket.
        let bucket = (at.as_ns() >> BUCKET_BITS).max(self.floor);
        // The open bucket has an earlier timer.
        let is_later = bucket > self.current && bucket - self.floor < BUCKETS as u64;
        if is_later {
            self.link(bucket, due);
        } else {
            self.push_rarely(bucket, due);
        }
        !is_later
    }

    /// Adds a timer that belongs to the open bucket, or before it, or not into the wheel.
    #[inline(never)]
    fn push_rarely(&mut self, bucket: u64, due: Due) {
        self.next_at = self.next_at.min(due.at);
        if bucket - self.floor >= BUCKETS as u64 {
            self.far.push(Reverse(due));
            self.far_at = self.far_at.min(due.at);
        } else if bucket == self.current {
            let later = due.max(self.first);
            self.first = self.first.min(due);
            let place = self.rest.partition_point(|&other| other > later);
            self.rest.insert(place, later);
        } else {
            if self.first != NOTHING {
                self.put_back();
            }
            self.current = bucket;
            self.first = due;
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Instant, u32)> {
        let Due { at, id } = self.first;
        if at >= self.far_at {
            return self.pop_rarely();
        }
        self.take_near();
        Some((at, id))
    }

    /// Takes the first timer when it may be in the far heap.
    #[cold]
    #[inline(never)]
    fn pop_rarely(&mut self) -> Option<(Instant, u32)> {
        let (at, id) = self.first_of(self.first)?;
        if self.first == (Due { at, id }) {
            self.take_near();
            return Some((at, id));
        }
        // All others are due later, so the wheel may hold the buckets from here on.
        self.floor = self.floor.max(at.as_ns() >> BUCKET_BITS);
        self.far.pop();
        self.far_at = self.far.peek().map_or(Instant::NEVER, |Reverse(far)| far.at);
        self.next_at = self.first.at.min(self.far_at);
        Some((at, id))
    }

    /// Returns whether the earliest bucket was opened since this was last asked.
    #[inline]
    pub(super) fn has_opened(&mut self) -> bool {
        std::mem::take(&mut self.has_opened)
    }

    /// The timers of the earliest bucket, in no order.
    #[inline]
    pub(super) fn bucket(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.first).chain(self.rest.iter().copied()).map(|due| due.id)
    }

    /// Takes the first of the earliest bucket.
    #[inline]
    fn take_near(&mut self) {
        self.floor = self.current;
        match self.rest.pop() {
            Some(next) => {
                self.first = next;
                self.look_ahead();
            }
            None => self.open_next(),
        }
        self.next_at = self.first.at.min(self.far_at);
    }

    #[inline(always)]
    fn link(&mut self, bucket: u64, due: Due) {
        let slot = bucket as usize % BUCKETS;
        let head = &mut self.heads[slot];
        match self.nodes.get_mut(self.free as usize) {
            Some(free) => {
                (free.at, free.id) = (due.at, due.id);
                let number = std::mem::replace(&mut self.free, free.next);
                free.next = std::mem::replace(head, number);
            }
            None => self.add_node(slot, due),
        }
        self.words[slot / 64] |= 1 << (slot % 64);
        self.tops[slot / 64 / 64] |= 1 << (slot / 64 % 64);
    }

    #[cold]
    #[inline(never)]
    fn add_node(&mut self, slot: usize, due: Due) {
        let number = self.nodes.len() as u32;
        let next = std::mem::replace(&mut self.heads[slot], number);
        self.nodes.push(Node { at: due.at, id: due.id, next });
    }

    /// Unsorts the current bucket, because an earlier one gets a timer.
    fn put_back(&mut self) {
        self.link(self.current, self.first);
        while let Some(due) = self.rest.pop() {
            self.link(self.current, due);
        }
    }

    /// Opens the next bucket that is not empty.
    #[inline]
    fn open_next(&mut self) {
        let start = self.current as usize % BUCKETS;
        let Some(slot) = self.next_slot(start).map(|slot| slot % BUCKETS) else {
            (self.current, self.first) = (NO_BUCKET, NOTHING);
            return;
        };
        self.has_opened = true;
        self.current += ((slot + BUCKETS - start) % BUCKETS) as u64;
        self.words[slot / 64] &= !(1 << (slot % 64));
        if self.words[slot / 64] == 0 {
            self.tops[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
        }
        let number = std::mem::replace(&mut self.heads[slot], NONE);
        let others = self.open_node(number);
        if others != NONE {
            self.sort(others);
        }
    }

    /// Frees a node, whose timer becomes the first. Returns the next one of its list.
    #[inline]
    fn open_node(&mut self, number: u32) -> u32 {
        let node = &mut self.nodes[number as usize];
        self.first = Due { at: node.at, id: node.id };
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = number;
        next
    }

    /// Sorts the open bucket, whose list continues with this node.
    #[inline(never)]
    fn sort(&mut self, mut number: u32) {
        while number != NONE {
            self.rest.push(self.first);
            number = self.open_node(number);
        }
        self.rest.push(self.first);
        self.rest.sort_unstable_by(|a, b| b.cmp(a));
        self.first = self.rest.pop().expect("there are two at least");
        let upcoming = self.next_slot(self.current as usize % BUCKETS);
        self.ahead = upcoming.map_or(NONE, |slot| self.heads[slot]);
        self.fetch_ahead();
    }

    /// Follows the list of the next bucket by one node.
    #[inline(always)]
    fn look_ahead(&mut self) {
        if let Some(node) = self.nodes.get(self.ahead as usize) {
            self.ahead = node.next;
            self.fetch_ahead();
        }
    }

    #[inline(always)]
    fn fetch_ahead(&self) {
        fetch_at(&self.nodes, self.ahead as usize);
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
