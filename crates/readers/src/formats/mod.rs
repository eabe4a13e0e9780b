//! Decodes events as the kernel writes them, with the descriptions in the recordings.
//!
//! Fields differ between kernels in offset, size and type, so nothing here is at a fixed offset: [`describe`] reads a
//! description (`events/sched/sched_switch/format`), [`field`] reads a field from a record's bytes, [`decode`] turns
//! fields into a record, [`quick`] does so for the usual layouts, and [`headers`] reads the part that perf.data and
//! trace.dat share.

mod decode;
mod describe;
mod field;
mod headers;
mod quick;
#[cfg(test)]
mod tests;

pub(crate) use decode::{Decoder, INTERRUPTS, States};
pub(crate) use describe::Description;
pub(crate) use headers::{Headers, Sections};

/// The byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    #[inline]
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// Returns the number at `at`, if there is one.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize, order: Order) -> Option<u16> {
    Some(order.u16(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// Returns the number at `at`, if there is one.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize, order: Order) -> Option<u32> {
    Some(order.u32(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Returns the number at `at`, if there is one.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize, order: Order) -> Option<u64> {
    Some(order.u64(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
