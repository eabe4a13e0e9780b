//! A CPU's remaining steps in the kernel, the next one last.
//!
//! A vector would do, but it copies the whole frame on each pop, while a step needs only a field or two. So frames are
//! read in place, and the place is free for the next frame right afterwards.

use crate::state::frame::Frame;

/// A stack of frames.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Entries up to `top` are left to do; the rest is spare.
    frames: Vec<Frame>,
    top: usize,
}

impl Stack {
    /// Nothing to do.
    pub(crate) fn new() -> Self {
        Self { frames: vec![Frame::Act; 16], top: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, frame: Frame) {
        if self.top >= self.frames.len() {
            self.grow();
        }
        self.frames[self.top] = frame;
        self.top += 1;
    }

    /// Pushes frames; the last one runs first.
    #[inline]
    pub(crate) fn extend(&mut self, frames: impl IntoIterator<Item = Frame>) {
        frames.into_iter().for_each(|frame| self.push(frame));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<&Frame> {
        let last = self.top.checked_sub(1)?;
        self.top = last;
        self.frames.get(last)
    }

    /// The next frame.
    pub(crate) fn last(&self) -> Option<&Frame> {
        self.frames.get(self.top.checked_sub(1)?)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.frames.resize(self.frames.len() * 2, Frame::Act);
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
