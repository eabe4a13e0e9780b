//! Reads bytes, numbers and texts from a file with arbitrary content, and tracks their positions.

use crate::TraceError;
use crate::format::MAX_TEXT;
use keel_abi::TaskId;
use std::io::Read;

const BUFFER: usize = 64 * 1024;

/// Reads ahead by a fixed amount, and counts what has been consumed.
pub(crate) struct Input<R> {
    from: R,
    buffer: Box<[u8]>,
    at: usize,
    filled: usize,
    /// The number of bytes before the buffer's first.
    before: u64,
    /// The offset of the current record.
    record: u64,
    checksum: crc32fast::Hasher,
    /// The position in the buffer from which bytes are not in the checksum yet.
    summed: usize,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(from: R) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        let checksum = crc32fast::Hasher::new();
        Self { from, buffer, at: 0, filled: 0, before: 0, record: 0, checksum, summed: 0 }
    }

    /// Returns the number of bytes consumed so far.
    pub(crate) fn position(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Notes that the next byte begins a record.
    pub(crate) fn mark(&mut self) {
        self.record = self.position();
    }

    /// Returns the error for the current record.
    pub(crate) fn damaged(&self, what: &'static str) -> TraceError {
        TraceError::Damaged { at: self.record, what }
    }

    /// Returns the checksum of all bytes consumed so far.
    pub(crate) fn checksum(&mut self) -> u32 {
        self.checksum.update(&self.buffer[self.summed..self.at]);
        self.summed = self.at;
        self.checksum.clone().finalize()
    }

    /// Returns the next byte, or `None` at the end of the file.
    #[inline]
    pub(crate) fn byte_or_end(&mut self) -> Result<Option<u8>, TraceError> {
        if self.at == self.filled && !self.fill()? {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.buffer[self.at - 1]))
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, TraceError> {
        self.byte_or_end()?.ok_or(TraceError::Truncated { at: self.position() })
    }

    #[cold]
    fn fill(&mut self) -> Result<bool, TraceError> {
        self.checksum.update(&self.buffer[self.summed..self.filled]);
        self.before += self.filled as u64;
        (self.at, self.filled, self.summed) = (0, 0, 0);
        loop {
            match self.from.read(&mut self.buffer) {
                Ok(read) => {
                    self.filled = read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::Io(error)),
            }
        }
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, TraceError> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut n = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(self.damaged("a number has more than 64 bits"))
    }

    /// Reads a number below `bound`. If it is not, the error is `what`.
    pub(crate) fn below(&mut self, bound: u64, what: &'static str) -> Result<u64, TraceError> {
        let n = self.number()?;
        if n < bound { Ok(n) } else { Err(self.damaged(what)) }
    }

    pub(crate) fn number32(&mut self, what: &'static str) -> Result<u32, TraceError> {
        self.below(1 << 32, what).map(|n| n as u32)
    }

    pub(crate) fn text(&mut self) -> Result<String, TraceError> {
        let len = self.below(MAX_TEXT as u64 + 1, "a text is too long")?;
        let mut bytes = Vec::new();
        for _ in 0..len {
            bytes.push(self.byte()?);
        }
        String::from_utf8(bytes).map_err(|_| self.damaged("a text is not UTF-8"))
    }

    /// Reads a task's number, which is the idle task's or below `bound`.
    #[inline]
    pub(crate) fn task(&mut self, bound: u64) -> Result<TaskId, TraceError> {
        match self.number()? {
            0 => Ok(TaskId::IDLE),
            n if n <= bound => Ok(TaskId(n as u32 - 1)),
            _ => Err(self.damaged("a task's number is far beyond those before it")),
        }
    }
}
