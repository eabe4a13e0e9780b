//! Reads a file ahead, so that the next bytes are contiguous and need not be copied.

use std::io::{ErrorKind, Read, Result};
use std::ops::Range;

/// The size of one read.
const PIECE: usize = 256 * 1024;

/// A file, and the bytes read ahead from it.
pub(crate) struct Ahead<R> {
    from: R,
    buffer: Vec<u8>,
    /// The bytes that have been read but not passed yet.
    there: Range<usize>,
    is_over: bool,
}

impl<R: Read> Ahead<R> {
    /// Begins at the position of `from`.
    pub(crate) fn new(from: R) -> Self {
        Self { from, buffer: vec![0; PIECE], there: 0..0, is_over: false }
    }

    /// Returns the bytes that have been read but not passed yet.
    #[inline]
    pub(crate) fn there(&self) -> &[u8] {
        &self.buffer[self.there.clone()]
    }

    /// Returns the bytes that were passed with this range. Valid until more is read.
    #[inline]
    pub(crate) fn passed(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Reads until `count` bytes are available, at most a piece. Returns fewer at the end of the file.
    #[inline]
    pub(crate) fn want(&mut self, count: usize) -> Result<&[u8]> {
        if self.there.len() < count {
            self.read_on(count)?;
        }
        Ok(self.there())
    }

    /// Passes `count` of the available bytes.
    #[inline]
    pub(crate) fn pass(&mut self, count: usize) -> Range<usize> {
        let passed = self.there.start..self.there.end.min(self.there.start + count);
        self.there.start = passed.end;
        passed
    }

    #[cold]
    fn read_on(&mut self, count: usize) -> Result<()> {
        debug_assert!(count <= PIECE, "a piece has no {count} bytes");
        self.buffer.copy_within(self.there.clone(), 0);
        self.there = 0..self.there.len();
        while self.there.len() < count && !self.is_over {
            match self.from.read(&mut self.buffer[self.there.end..]) {
                Ok(0) => self.is_over = true,
                Ok(more) => self.there.end += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Ahead<R> {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        let there = self.want(1)?;
        let count = there.len().min(to.len());
        to[..count].copy_from_slice(&there[..count]);
        self.pass(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes at a time, with interruptions in between.
    struct Drips<'a>(&'a [u8], bool);

    impl Read for Drips<'_> {
        fn read(&mut self, to: &mut [u8]) -> Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = self.0.len().min(to.len()).min(7);
            let (now, later) = self.0.split_at(count);
            to[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    #[test]
    fn what_is_wanted_lies_in_one_piece() {
        let all: Vec<u8> = (0..3 * PIECE).map(|n| (n / 3) as u8).collect();
        let mut ahead = Ahead::new(Drips(&all, false));
        let mut at = 0;
        for size in (1..2000).chain([PIECE, PIECE - 1, 5]).cycle() {
            let there = ahead.want(size).expect("memory can be read");
            let size = size.min(all.len() - at);
            assert_eq!(&there[..size], &all[at..at + size], "{at}");
            let passed = ahead.pass(size);
            assert_eq!(ahead.passed(passed), &all[at..at + size], "{at}");
            at += size;
            if at == all.len() {
                break;
            }
        }
        assert_eq!(ahead.want(1).expect("memory can be read"), b"");
    }
}
