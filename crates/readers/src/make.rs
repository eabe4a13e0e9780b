//! Writers for every format, for tests: random records are written and read back, and must be the same.

mod events;
pub(crate) mod perf;
mod perfetto;
mod text;
pub(crate) mod tracedat;

pub(crate) use events::{Shape, any_records};
pub(crate) use perf::{PerfShape, perf};
pub(crate) use perfetto::{PacketPacking, PerfettoShape, perfetto};
pub(crate) use text::{TextShape, text};
pub(crate) use tracedat::{DatShape, Packing, tracedat};

use crate::formats::Order;

/// Bytes in a file's order.
pub(crate) struct Bytes {
    pub(crate) order: Order,
    pub(crate) bytes: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new(order: Order) -> Self {
        Self { order, bytes: Vec::new() }
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u8(&mut self, n: u8) -> &mut Self {
        self.raw(&[n])
    }

    pub(crate) fn u16(&mut self, n: u16) -> &mut Self {
        let bytes = if self.order == Order::Little { n.to_le_bytes() } else { n.to_be_bytes() };
        self.raw(&bytes)
    }

    pub(crate) fn u32(&mut self, n: u32) -> &mut Self {
        let bytes = if self.order == Order::Little { n.to_le_bytes() } else { n.to_be_bytes() };
        self.raw(&bytes)
    }

    pub(crate) fn u64(&mut self, n: u64) -> &mut Self {
        let bytes = if self.order == Order::Little { n.to_le_bytes() } else { n.to_be_bytes() };
        self.raw(&bytes)
    }

    /// Appends two numbers in eight bytes, the first one first.
    pub(crate) fn pair(&mut self, first: u32, second: u32) -> &mut Self {
        self.u32(first).u32(second)
    }

    pub(crate) fn pad(&mut self, to: usize) -> &mut Self {
        let length = self.bytes.len().next_multiple_of(to);
        self.bytes.resize(length, 0);
        self
    }
}
