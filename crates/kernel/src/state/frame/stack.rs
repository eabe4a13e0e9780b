//! A CPU's remaining steps in the kernel, the next one last.
//!
//! A vector would do, but it copies the whole frame on each pop, while a step needs only a field or two. So frames are
//! read in place, and the place is free for the next frame right afterwards. The first few lie in the CPU itself, where
//! the host finds them without another cache miss.

use crate::state::frame::Frame;

/// How many frames lie in the CPU.
const NEAR: usize = 8;

/// A stack of frames.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Stack {
    /// How many are left to do; the rest of `near` is spare.
    top: usize,
    near: [Frame; NEAR],
    /// Those above `near`, and spare ones.
    far: Vec<Frame>,
}

impl Stack {
    /// Nothing to do.
    pub(crate) fn new() -> Self {
        Self { top: 0, near: [Frame::Act; NEAR], far: Vec::new() }
    }

    /// The place comes first, so that the frame's fields are written there and nowhere else: the host would have to
    /// wait if it copied what it has only just written field by field.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: Frame) {
        *self.next_place() = frame;
    }

    /// Like `push` in the paths of every event: what is rare is a call here, which makes the frame for itself.
    #[inline(always)]
    pub(crate) fn push_made(&mut self, frame: impl FnOnce() -> Frame) {
        let top = self.top;
        if top < NEAR {
            self.top = top + 1;
            self.near[top] = frame();
        } else {
            self.push_far(frame());
        }
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, frame: Frame) {
        self.push(frame);
    }

    /// Like `push_made` for two frames: `above` runs first, then `below`.
    #[inline(always)]
    pub(crate) fn push_two(&mut self, below: impl FnOnce() -> Frame, above: impl FnOnce() -> Frame) {
        let top = self.top;
        if top < NEAR - 1 {
            self.top = top + 2;
            self.near[top] = below();
            self.near[top + 1] = above();
        } else {
            self.push_two_far(below(), above());
        }
    }

    #[cold]
    #[inline(never)]
    fn push_two_far(&mut self, below: Frame, above: Frame) {
        self.push(below);
        self.push(above);
    }

    #[inline(always)]
    fn next_place(&mut self) -> &mut Frame {
        let top = self.top;
        self.top += 1;
        if top < NEAR { &mut self.near[top] } else { self.far_place(top - NEAR) }
    }

    #[cold]
    #[inline(never)]
    fn far_place(&mut self, number: usize) -> &mut Frame {
        if number == self.far.len() {
            self.far.push(Frame::Act);
        }
        &mut self.far[number]
    }

    /// Pushes frames; the last one runs first.
    #[inline]
    pub(crate) fn extend(&mut self, frames: impl IntoIterator<Item = Frame>) {
        for frame in frames {
            self.push(frame);
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<&Frame> {
        let last = self.top.checked_sub(1)?;
        self.top = last;
        self.at(last)
    }

    /// The frame with this number, from the lowest one on.
    #[inline]
    fn at(&self, number: usize) -> Option<&Frame> {
        if number < NEAR { Some(&self.near[number]) } else { self.far.get(number - NEAR) }
    }

    /// Returns whether nothing is left to do.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.top == 0
    }

    /// The next frame.
    pub(crate) fn last(&self) -> Option<&Frame> {
        self.at(self.top.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::CpuId;

    #[test]
    fn the_last_comes_first_however_many_there_are() {
        let mut stack = Stack::new();
        let frame = |n| Frame::Unlock { rq: CpuId(n) };
        (0..100).step_by(2).for_each(|n| stack.push_two(|| frame(n), || frame(n + 1)));
        stack.push(frame(100));
        for n in (0..=100).rev() {
            assert_eq!(stack.pop(), Some(&frame(n)));
        }
        assert_eq!(stack.pop(), None);
        assert_eq!(stack.pop(), None);
        stack.extend((1..8).map(frame));
        stack.push_two(|| frame(8), || frame(9));
        for n in (1..10).rev() {
            assert_eq!(stack.pop(), Some(&frame(n)));
        }
        assert_eq!(stack.pop(), None);
    }
}
