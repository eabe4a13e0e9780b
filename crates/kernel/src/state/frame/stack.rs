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

    /// The place comes first, so that the frame's fields are written there and nowhere else: the host would have to wait
    /// if it copied what it has only just written field by field.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: Frame) {
        *self.next_place() = frame;
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
        stack.extend((0..100).map(frame));
        stack.push(frame(100));
        for n in (0..=100).rev() {
            assert_eq!(stack.pop(), Some(&frame(n)));
        }
        assert_eq!(stack.pop(), None);
        assert_eq!(stack.pop(), None);
        stack.push(frame(7));
        assert_eq!(stack.pop(), Some(&frame(7)));
        assert_eq!(stack.pop(), None);
    }
}
