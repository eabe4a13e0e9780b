//! Queues of rows, linked through the rows, so that any row can leave its queue in constant time.
//!
//! A queue is a ring with a row of its own between its last row and its first one. So each row has neighbours, and
//! nothing asks whether it has.

/// What has neighbours in its queue.
pub(super) trait Linked {
    /// The rows before and after it.
    fn links(&mut self) -> &mut [u32; 2];
}

/// The row of an empty queue has these links.
#[inline]
pub(super) const fn empty(queue: u32) -> [u32; 2] {
    [queue; 2]
}

#[inline]
fn links(rows: &mut [impl Linked], row: u32) -> &mut [u32; 2] {
    rows[row as usize].links()
}

/// Puts `row` into a queue, as its last one. Returns whether it is the only one.
#[inline(always)]
pub(super) fn push_back(rows: &mut [impl Linked], queue: u32, row: u32) -> bool {
    let before = std::mem::replace(&mut links(rows, queue)[0], row);
    *links(rows, row) = [before, queue];
    links(rows, before)[1] = row;
    before == queue
}

/// Puts `row` into a queue, as its first one.
#[inline]
pub(super) fn push_front(rows: &mut [impl Linked], queue: u32, row: u32) {
    let after = std::mem::replace(&mut links(rows, queue)[1], row);
    *links(rows, row) = [queue, after];
    links(rows, after)[0] = row;
}

/// The first row of a queue.
#[inline]
pub(super) fn first(rows: &mut [impl Linked], queue: u32) -> Option<u32> {
    let first = links(rows, queue)[1];
    (first != queue).then_some(first)
}

/// A row with these links leaves its queue. Returns whether that is empty now.
#[inline(always)]
pub(super) fn remove(rows: &mut [impl Linked], [before, after]: [u32; 2]) -> bool {
    links(rows, before)[1] = after;
    links(rows, after)[0] = before;
    before == after
}
