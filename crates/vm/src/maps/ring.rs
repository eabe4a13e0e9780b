//! `RINGBUF` and `USER_RINGBUF`: records of any length, from programs to user space and back.
//!
//! A record begins with a header of 8 bytes, whose first 4 are its length and two flags, and takes a multiple of 8
//! bytes. Positions only grow; everything between the consumer's and the producer's is in use. The kernel maps the
//! pages twice, so that a record is never split; here there is twice the memory.

use super::kinds;
use super::plan::Plan;
use crate::maps::MapError;
use crate::memory::{PAGE_BYTES, Region};
use keel_abi::bpf::{Ea, Errno, RingCount};

/// `BPF_RINGBUF_BUSY_BIT`: reserved, and not yet submitted.
const BUSY: u32 = 1 << 31;
/// `BPF_RINGBUF_DISCARD_BIT`: to be skipped.
const DISCARD: u32 = 1 << 30;
/// `BPF_RINGBUF_HDR_SZ`.
const HEADER: u64 = 8;
/// `RINGBUF_MAX_RECORD_SZ`.
const MAX_RECORD: u64 = u32::MAX as u64 / 4;
/// `RINGBUF_PGOFF` and `RINGBUF_NR_META_PAGES`: pages of a `struct bpf_ringbuf` before its data.
const PAGES_BEFORE: u64 = 3;
/// `DYNPTR_MAX_SIZE`: a longer record cannot be passed to a program.
const MAX_DYNPTR: u64 = (1 << 24) - 1;

/// A ring of records.
pub(super) struct Ring {
    data: Ea,
    /// Bytes of data, minus one.
    mask: u64,
    consumer: u64,
    producer: u64,
    /// The oldest record that had not been submitted or discarded at the last check.
    pending: u64,
    /// Whether a program is taking records out.
    pub(super) draining: bool,
}

/// The bytes that a record takes, including the header.
const fn footprint(len: u64) -> u64 {
    (len + HEADER).next_multiple_of(8)
}

impl Ring {
    pub(super) fn new(plan: &Plan<'_>, region: &mut Region) -> Result<Self, MapError> {
        let def = plan.def;
        plan.require(def.key_size == 0 && def.value_size == 0, "a ring buffer has neither key nor value")?;
        if def.kind == kinds::RINGBUF && def.flags & kinds::RB_OVERWRITE != 0 {
            let kind = "BPF_MAP_TYPE_RINGBUF with BPF_F_RB_OVERWRITE".to_owned();
            return Err(MapError::Unsupported { map: def.name.clone(), kind });
        }
        plan.require(def.flags & !kinds::NUMA_NODE == 0, "it has flags that ring buffers do not take")?;
        plan.require(def.max_entries > 0, "max_entries is 0")?;
        plan.require(def.max_entries <= 1 << 31, "a ring buffer has at most 2 GiB")?;
        // libbpf's `adjust_ringbuf_sz()`: the kernel only accepts a power of two of whole pages.
        let bytes = u64::from(def.max_entries).next_power_of_two().max(PAGE_BYTES);
        let buffer = plan.total(2 * bytes, 1)?;
        let data = region.place(buffer, PAGE_BYTES).ok_or_else(|| plan.too_large(buffer))?;
        Ok(Self { data, mask: bytes - 1, consumer: 0, producer: 0, pending: 0, draining: false })
    }

    fn header_at(&self, position: u64) -> Ea {
        self.data.offset(position & self.mask)
    }

    fn header(&self, region: &Region, position: u64) -> u32 {
        let bytes = region.slice(self.header_at(position), 4).and_then(|bytes| bytes.try_into().ok());
        u32::from_le_bytes(bytes.expect("a ring's data is in the region"))
    }

    fn set_header(&self, region: &mut Region, position: u64, len: u32) {
        let page = (position & self.mask) / PAGE_BYTES + PAGES_BEFORE;
        region.store(self.header_at(position), HEADER, page << 32 | u64::from(len));
    }

    /// `__bpf_ringbuf_reserve()`: the place of the record's bytes, which keep their old contents.
    pub(super) fn reserve(&mut self, region: &mut Region, len: u64) -> Option<Ea> {
        let bytes = footprint(len.min(MAX_RECORD));
        if len > MAX_RECORD || bytes > self.mask + 1 {
            return None;
        }
        while self.pending < self.producer {
            let header = self.header(region, self.pending);
            if header & BUSY != 0 {
                break;
            }
            self.pending += footprint(u64::from(header & !DISCARD));
        }
        let end = self.producer + bytes;
        if end - self.consumer > self.mask || end - self.pending > self.mask {
            return None;
        }
        let at = self.producer;
        self.set_header(region, at, len as u32 | BUSY);
        self.producer = end;
        Some(self.header_at(at).offset(HEADER))
    }

    /// `bpf_ringbuf_commit()`: the record's bytes; `None` if no reserved record begins there.
    pub(super) fn commit(&self, region: &mut Region, record: Ea, discard: bool) -> Option<u64> {
        let at = record.0.wrapping_sub(self.data.0).wrapping_sub(HEADER);
        if at > self.mask || !at.is_multiple_of(8) {
            return None;
        }
        let header = self.header(region, at);
        if header & BUSY == 0 {
            return None;
        }
        self.set_header(region, at, header & !BUSY | if discard { DISCARD } else { 0 });
        Some(u64::from(header & !BUSY))
    }

    /// `bpf_ringbuf_query()`.
    pub(super) fn count(&self, what: RingCount) -> u64 {
        match what {
            RingCount::Available => self.producer - self.consumer,
            RingCount::Size => self.mask + 1,
            RingCount::Consumer => self.consumer,
            RingCount::Producer => self.producer,
        }
    }

    /// Like libbpf's `ring_buffer__consume_n()`: the oldest submitted records, at most `most`, in the order of their
    /// reservation, up to one that is still reserved.
    pub(super) fn take(&mut self, region: &Region, most: usize) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        while records.len() < most && self.consumer < self.producer {
            let header = self.header(region, self.consumer);
            if header & BUSY != 0 {
                break;
            }
            let len = u64::from(header & !DISCARD);
            if header & DISCARD == 0 {
                let record = region.slice(self.header_at(self.consumer).offset(HEADER), len);
                records.push(record.expect("a ring's data is in the region").to_vec());
            }
            self.consumer += footprint(len);
        }
        records
    }

    /// Bytes ever reserved, and the ring with the memory behind it, which holds the ends of records that would be
    /// split.
    pub(super) fn pages<'r>(&self, region: &'r Region) -> Option<(u64, &'r [u8])> {
        Some((self.producer, region.slice(self.data, 2 * (self.mask + 1))?))
    }

    /// User space reports how far it has read; an impossible position is ignored.
    pub(super) fn read_until(&mut self, consumer: u64) {
        if consumer >= self.consumer && consumer <= self.producer {
            self.consumer = consumer;
        }
    }

    /// Consumes all submitted records, up to one that is still reserved.
    pub(super) fn consume(&mut self, region: &Region) {
        while self.consumer < self.producer {
            let header = self.header(region, self.consumer);
            if header & BUSY != 0 {
                break;
            }
            self.consumer += footprint(u64::from(header & !DISCARD));
        }
    }

    /// Like libbpf's `user_ring_buffer__reserve()` and `_submit()`.
    pub(super) fn put(&mut self, region: &mut Region, record: &[u8]) -> Result<(), Errno> {
        let len = record.len() as u64;
        if len > MAX_RECORD || footprint(len) > self.mask + 1 {
            return Err(Errno::E2BIG);
        }
        let used = self.producer.saturating_sub(self.consumer);
        if footprint(len) > (self.mask + 1).saturating_sub(used) {
            return Err(Errno::ENOSPC);
        }
        let at = self.header_at(self.producer).offset(HEADER);
        let buffer = region.slice_mut(at, len).expect("a ring's data is in the region");
        buffer.copy_from_slice(record);
        self.set_header(region, self.producer, len as u32);
        self.producer += footprint(len);
        Ok(())
    }

    /// Bytes that programs have consumed so far.
    pub(super) fn consumed(&self) -> u64 {
        self.consumer
    }

    /// User space that has mapped the pages reports how far it has written, with the ring's bytes from the oldest
    /// record on. This is untrusted: [`Ring::peek`] checks each record.
    pub(super) fn written(&mut self, region: &mut Region, producer: u64, bytes: &[u8]) {
        let size = self.mask + 1;
        let bytes = &bytes[..bytes.len().min(size as usize)];
        let first = self.consumer & self.mask;
        let (before, after) = bytes.split_at(bytes.len().min((size - first) as usize));
        for (at, piece) in [(first, before), (0, after)] {
            for at in [at, at + size] {
                let to = region.slice_mut(self.data.offset(at), piece.len() as u64);
                to.expect("a ring's data is in the region").copy_from_slice(piece);
            }
        }
        self.producer = producer;
    }

    /// `__bpf_user_ringbuf_peek()`: the oldest record, and its length. ENOENT if there is none yet, EAGAIN if it was
    /// discarded and is now gone, EINVAL and E2BIG if user space has written nonsense.
    pub(super) fn peek(&mut self, region: &Region) -> Result<(Ea, u64), Errno> {
        if !self.producer.is_multiple_of(8) {
            return Err(Errno::EINVAL);
        }
        if self.consumer >= self.producer {
            return Err(Errno::ENOENT);
        }
        let header = self.header(region, self.consumer);
        let len = u64::from(header & !(BUSY | DISCARD));
        if footprint(len) > self.producer - self.consumer {
            return Err(Errno::EINVAL);
        }
        if footprint(len) > self.mask + 1 || len > MAX_DYNPTR {
            return Err(Errno::E2BIG);
        }
        if header & DISCARD != 0 {
            self.consumer += footprint(len);
            return Err(Errno::EAGAIN);
        }
        if header & BUSY != 0 {
            return Err(Errno::ENOENT);
        }
        Ok((self.header_at(self.consumer).offset(HEADER), len))
    }

    /// `__bpf_user_ringbuf_sample_release()`.
    pub(super) fn release(&mut self, len: u64) {
        self.consumer += footprint(len);
    }
}
