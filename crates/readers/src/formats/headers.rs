//! Reads the layout of the kernel's events, which perf.data contains as tracing data and with which trace.dat begins.
//!
//! It consists of the endianness, the size of a `long`, the header of ring buffer pages, and each event's description.
//! If it is truncated, the complete part is used.

use super::{Decoder, Description, Order};
use std::io::Read;

/// Its first bytes.
pub(crate) const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";
/// The maximum length of a description, in bytes.
const LONGEST: u64 = 1 << 20;
/// The maximum number of descriptions in a system, and of systems.
const MOST_EVENTS: u32 = 1 << 16;
const MOST_SYSTEMS: u32 = 1 << 12;
/// The maximum size of symbols and print formats, which are skipped.
const SKIPPED: u64 = 1 << 30;

/// The contents.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    pub(crate) version: u32,
    pub(crate) order: Order,
    /// The size of a page, in bytes.
    pub(crate) page: u32,
    /// The description of a page's head.
    pub(crate) page_head: Description,
    pub(crate) decoder: Decoder,
}

/// Reads its sections, one after the other, from any source. Methods return `None` if they end too early or are
/// invalid.
pub(crate) struct Sections<R> {
    pub(crate) from: R,
    pub(crate) order: Order,
}

impl<R: Read> Sections<R> {
    pub(crate) fn bytes(&mut self, count: u64, most: u64) -> Option<Vec<u8>> {
        if count > most {
            return None;
        }
        let mut bytes = Vec::new();
        self.from.by_ref().take(count).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == count).then_some(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(|bytes| self.order.u16(bytes))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(|bytes| self.order.u32(bytes))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(|bytes| self.order.u64(bytes))
    }

    /// Reads a text that ends with a zero.
    pub(crate) fn text(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        loop {
            match self.u8()? {
                0 => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                _ if bytes.len() > 4096 => return None,
                byte => bytes.push(byte),
            }
        }
    }

    pub(crate) fn skip(&mut self, count: u64) -> Option<()> {
        let skipped = std::io::copy(&mut self.from.by_ref().take(count), &mut std::io::sink()).ok()?;
        (skipped == count).then_some(())
    }

    /// Reads `header_page`: how a page of the ring buffer begins.
    pub(crate) fn page_head(&mut self) -> Option<Description> {
        if self.text()? != "header_page" {
            return None;
        }
        let size = self.u64()?;
        let text = self.bytes(size, LONGEST)?;
        // It has only fields, but neither a name nor a number.
        let text = format!("name: page\nID: 0\n{}", String::from_utf8_lossy(&text));
        if self.text()? != "header_event" {
            return None;
        }
        let size = self.u64()?;
        self.bytes(size, LONGEST)?;
        Description::read(&text)
    }

    /// Reads ftrace's own events, which are preceded by their number, and those of all systems.
    pub(crate) fn events(&mut self, decoder: &mut Decoder) -> Option<()> {
        let count = self.u32()?;
        self.descriptions(count, decoder)?;
        self.systems(decoder)
    }

    /// Reads the events of all systems.
    pub(crate) fn systems(&mut self, decoder: &mut Decoder) -> Option<()> {
        for _ in 0..Some(self.u32()?).filter(|&count| count <= MOST_SYSTEMS)? {
            self.text()?;
            let count = self.u32()?;
            self.descriptions(count, decoder)?;
        }
        Some(())
    }

    pub(crate) fn descriptions(&mut self, count: u32, decoder: &mut Decoder) -> Option<()> {
        for _ in 0..Some(count).filter(|&count| count <= MOST_EVENTS)? {
            let size = self.u64()?;
            let text = self.bytes(size, LONGEST)?;
            if let Some(event) = Description::read(&String::from_utf8_lossy(&text)) {
                decoder.learn(&event);
            }
        }
        Some(())
    }

    /// Skips symbols, print formats and names, none of which is needed.
    pub(crate) fn skip_rest(&mut self, with_names: bool) -> Option<()> {
        for _ in 0..2 {
            let size = u64::from(self.u32()?);
            self.skip(size)?;
        }
        if with_names {
            let size = self.u64()?;
            self.skip(Some(size).filter(|&size| size <= SKIPPED)?)?;
        }
        Some(())
    }
}

impl Headers {
    /// Reads the beginning of such a part. Returns `None` if it is not one.
    pub(crate) fn begin<R: Read>(from: &mut Sections<R>) -> Option<Self> {
        if &from.array()? != MAGIC {
            return None;
        }
        let version = from.text()?;
        // perf writes 0.6.
        let version = version.rsplit('.').next()?.parse().ok()?;
        let order = match from.u8()? {
            0 => Order::Little,
            1 => Order::Big,
            _ => return None,
        };
        from.order = order;
        // The size of a `long`; the fields' sizes are more reliable.
        let _ = from.u8()?;
        let page = from.u32()?;
        let page_head = Description::default();
        Some(Self { version, order, page, page_head, decoder: Decoder::new(order) })
    }

    /// Reads perf's tracing data, as far as it is complete.
    pub(crate) fn of_perf(bytes: &[u8]) -> Option<Self> {
        let mut from = Sections { from: bytes, order: Order::Little };
        let mut headers = Self::begin(&mut from)?;
        headers.page_head = from.page_head()?;
        let _ = from.events(&mut headers.decoder);
        Some(headers)
    }
}
