//! Reads the contents of a sample, and the trailer of other records, as the event's attribute (`perf_event_attr`)
//! describes them.

use crate::formats::{Order, u32_at, u64_at};
use rustc_hash::FxHashMap;

/// Bits of `sample_type` (`PERF_SAMPLE_*`).
mod has {
    pub(super) const IP: u64 = 1;
    pub(super) const TID: u64 = 1 << 1;
    pub(super) const TIME: u64 = 1 << 2;
    pub(super) const ADDR: u64 = 1 << 3;
    pub(super) const READ: u64 = 1 << 4;
    pub(super) const CALLCHAIN: u64 = 1 << 5;
    pub(super) const ID: u64 = 1 << 6;
    pub(super) const CPU: u64 = 1 << 7;
    pub(super) const PERIOD: u64 = 1 << 8;
    pub(super) const STREAM_ID: u64 = 1 << 9;
    pub(super) const RAW: u64 = 1 << 10;
    pub(super) const IDENTIFIER: u64 = 1 << 16;
}

/// `sample_id_all` among an attribute's flags, which big-endian machines count from the other end.
const SAMPLE_ID_ALL: u32 = 18;
/// The maximum number of ids that are remembered.
const MOST_IDS: usize = 1 << 20;

/// The sample format of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    sample_type: u64,
    read_format: u64,
    /// Whether other records have a trailer.
    trailers: bool,
    /// The offsets of the task, the time and the CPU in a sample, and of the part with variable length.
    tid: Option<usize>,
    time: Option<usize>,
    cpu: Option<usize>,
    rest: usize,
}

impl Format {
    fn new(sample_type: u64, read_format: u64, trailers: bool) -> Self {
        /// The parts of eight bytes, in order.
        const PARTS: [u64; 9] = [
            has::IDENTIFIER,
            has::IP,
            has::TID,
            has::TIME,
            has::ADDR,
            has::ID,
            has::STREAM_ID,
            has::CPU,
            has::PERIOD,
        ];
        let there = || PARTS.iter().filter(|&&part| sample_type & part != 0);
        let place = |part: u64| there().position(|&there| there == part).map(|place| place * 8);
        let (tid, time, cpu) = (place(has::TID), place(has::TIME), place(has::CPU));
        Self { sample_type, read_format, trailers, tid, time, cpu, rest: there().count() * 8 }
    }
}

/// The sample formats of all events.
#[derive(Clone, Debug)]
pub(super) struct Formats {
    pub(super) order: Order,
    all: Vec<Format>,
    /// Whether all formats are the same.
    same: bool,
    by_id: FxHashMap<u64, usize>,
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<'a> {
    pub(super) at: u64,
    pub(super) cpu: u32,
    pub(super) tid: Option<u32>,
    pub(super) raw: &'a [u8],
}

/// The end of other records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trailer {
    pub(super) at: u64,
    pub(super) cpu: u32,
}

impl Formats {
    pub(super) fn new(order: Order) -> Self {
        Self { order, all: Vec::new(), same: true, by_id: FxHashMap::default() }
    }

    /// Reads an attribute and the ids of its events.
    pub(super) fn learn(&mut self, attribute: &[u8], ids: &[u8]) {
        let number = |at| u64_at(attribute, at, self.order);
        let (Some(sample_type), Some(read_format), Some(flags)) = (number(24), number(32), number(40)) else {
            return;
        };
        let bit = match self.order {
            Order::Little => SAMPLE_ID_ALL,
            Order::Big => 63 - SAMPLE_ID_ALL,
        };
        let format = Format::new(sample_type, read_format, flags & 1 << bit != 0);
        self.same &= self.all.first().is_none_or(|first| *first == format);
        for id in ids.chunks_exact(8).filter_map(|id| u64_at(id, 0, self.order)) {
            if self.by_id.len() < MOST_IDS {
                self.by_id.insert(id, self.all.len());
            }
        }
        self.all.push(format);
    }

    /// Like `learn`, from a pipe: the attribute's own size determines where the ids begin.
    pub(super) fn learn_piped(&mut self, body: &[u8]) {
        let size = u32_at(body, 4, self.order).map_or(0, |size| size as usize);
        if let Some((attribute, ids)) = body.split_at_checked(size).filter(|_| self.all.len() < 1 << 12) {
            self.learn(attribute, ids);
        }
    }

    #[inline]
    fn of(&self, id: Option<u64>) -> Option<&Format> {
        match self.same {
            true => self.all.first(),
            false => self.all.get(*self.by_id.get(&id?)?),
        }
    }

    /// Returns a sample's parts.
    #[inline]
    pub(super) fn sample<'a>(&self, body: &'a [u8]) -> Option<Sample<'a>> {
        // If samples differ, each begins with its id.
        let format = self.of(u64_at(body, 0, self.order))?;
        let word = |at: usize| u64_at(body, at, self.order);
        let (at, cpu) = (word(format.time?)?, self.halves(word(format.cpu?)?).0);
        let tid = match format.tid {
            Some(tid) => Some(self.halves(word(tid)?).1),
            None => None,
        };
        let mut parts = Parts { body, at: format.rest, order: self.order };
        if format.sample_type & has::READ != 0 {
            parts.skip_read(format.read_format)?;
        }
        if format.sample_type & has::CALLCHAIN != 0 {
            let calls = parts.u64()?;
            parts.skip(calls.checked_mul(8)?)?;
        }
        let raw = if format.sample_type & has::RAW != 0 { parts.raw()? } else { return None };
        Some(Sample { at, cpu, tid, raw })
    }

    /// Returns a record's trailer, or `None` if it has none, or no time or CPU.
    pub(super) fn trailer(&self, body: &[u8]) -> Option<Trailer> {
        let id = body.len().checked_sub(8).and_then(|at| u64_at(body, at, self.order));
        let format = self.of(id).filter(|format| format.trailers)?;
        let order = [has::TID, has::TIME, has::ID, has::STREAM_ID, has::CPU, has::IDENTIFIER];
        let there = order.iter().filter(|&&bit| format.sample_type & bit != 0);
        let mut at = body.len().checked_sub(there.clone().count() * 8)?;
        let (mut time, mut cpu) = (None, None);
        for &bit in there {
            let value = u64_at(body, at, self.order)?;
            match bit {
                has::TIME => time = Some(value),
                has::CPU => cpu = Some(self.halves(value).0),
                _ => {}
            }
            at += 8;
        }
        Some(Trailer { at: time?, cpu: cpu? })
    }

    /// Splits eight bytes into two numbers, the first one first.
    fn halves(&self, word: u64) -> (u32, u32) {
        match self.order {
            Order::Little => (word as u32, (word >> 32) as u32),
            Order::Big => ((word >> 32) as u32, word as u32),
        }
    }
}

/// A sample's parts, one after the other.
struct Parts<'a> {
    body: &'a [u8],
    at: usize,
    order: Order,
}

impl<'a> Parts<'a> {
    fn u64(&mut self) -> Option<u64> {
        let value = u64_at(self.body, self.at, self.order)?;
        self.at += 8;
        Some(value)
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        let at = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        self.at = Some(at).filter(|&at| at <= self.body.len())?;
        Some(())
    }

    /// Skips the values of a counter or of a group of counters.
    fn skip_read(&mut self, format: u64) -> Option<()> {
        let [enabled, running, id, group, lost] = [0, 1, 2, 3, 4].map(|bit| format >> bit & 1);
        let words = match group {
            0 => 1 + enabled + running + id + lost,
            _ => {
                let count = self.u64()?;
                count.checked_mul(1 + id + lost)?.checked_add(enabled + running)?
            }
        };
        self.skip(words.checked_mul(8)?)
    }

    fn raw(&mut self) -> Option<&'a [u8]> {
        let size = u32_at(self.body, self.at, self.order)? as usize;
        self.body.get(self.at + 4..(self.at + 4).checked_add(size)?)
    }
}
