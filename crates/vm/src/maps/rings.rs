//! Ring buffers, as used by programs and their user space.

use super::ring::Ring;
use super::{Body, Maps};
use crate::memory::Region;
use keel_abi::bpf::{Ea, Errno, MapId, RingCount};

impl Maps {
    fn ring(&mut self, map: MapId) -> Option<&mut Ring> {
        match self.body_mut(map)? {
            Body::Ring(ring) => Some(ring),
            _ => None,
        }
    }

    fn user_ring(&mut self, map: MapId) -> Option<&mut Ring> {
        match self.body_mut(map)? {
            Body::UserRing(ring) => Some(ring),
            _ => None,
        }
    }

    /// Bytes ever reserved, and the ring; `None` if the map is not a ring buffer.
    pub(crate) fn ring_pages<'r>(&self, region: &'r Region, map: MapId) -> Option<(u64, &'r [u8])> {
        match self.body(map)? {
            Body::Ring(ring) => ring.pages(region),
            _ => None,
        }
    }

    /// User space has read up to this position.
    pub(crate) fn ring_read(&mut self, map: MapId, consumer: u64) {
        if let Some(ring) = self.ring(map) {
            ring.read_until(consumer);
        }
    }

    /// `bpf_ringbuf_reserve`: where a record of `len` bytes begins; `None` if it does not fit.
    pub fn ring_reserve(&mut self, region: &mut Region, map: MapId, len: u64) -> Option<Ea> {
        self.ring(map)?.reserve(region, len)
    }

    /// `bpf_ringbuf_submit`, or with `discard` `bpf_ringbuf_discard`: the map, and the record's bytes; `None` if no
    /// reserved record begins there.
    pub fn ring_commit(&mut self, region: &mut Region, record: Ea, discard: bool) -> Option<(MapId, u64)> {
        let mut maps = self.maps.iter().enumerate();
        maps.find_map(|(number, map)| match &map.body {
            Body::Ring(ring) => Some((MapId(number as u32), ring.commit(region, record, discard)?)),
            _ => None,
        })
    }

    /// User space has read all submitted records, up to one that is still reserved.
    pub fn ring_consume(&mut self, region: &Region, map: MapId) {
        if let Some(ring) = self.ring(map) {
            ring.consume(region);
        }
    }

    /// `bpf_ringbuf_query`; `None` if the map is not a ring buffer.
    pub fn ring_count(&self, map: MapId, what: RingCount) -> Option<u64> {
        match self.body(map)? {
            Body::Ring(ring) => Some(ring.count(what)),
            _ => None,
        }
    }

    /// Reads from a ring buffer as user space does: the oldest submitted records, at most `most`; `None` if the map is
    /// not a ring buffer.
    pub fn take_records(&mut self, region: &Region, map: MapId, most: usize) -> Option<Vec<Vec<u8>>> {
        Some(self.ring(map)?.take(region, most))
    }

    /// Writes a record to a user ring buffer, as user space does.
    ///
    /// # Errors
    /// Those of libbpf's `user_ring_buffer__reserve()`: E2BIG if it can never fit, ENOSPC if it does not fit now;
    /// EINVAL if the map is not a user ring buffer.
    pub fn put_record(&mut self, region: &mut Region, map: MapId, record: &[u8]) -> Result<(), Errno> {
        self.user_ring(map).ok_or(Errno::EINVAL)?.put(region, record)
    }

    /// Bytes that programs have consumed from a user ring buffer; `None` if the map is not one.
    pub(crate) fn ring_consumed(&self, map: MapId) -> Option<u64> {
        match self.body(map)? {
            Body::UserRing(ring) => Some(ring.consumed()),
            _ => None,
        }
    }

    /// User space that has mapped a user ring buffer has written these bytes, from the oldest record on.
    pub(crate) fn ring_written(&mut self, region: &mut Region, map: MapId, producer: u64, bytes: &[u8]) {
        if let Some(ring) = self.user_ring(map) {
            ring.written(region, producer, bytes);
        }
    }

    /// Begins a `bpf_user_ringbuf_drain`.
    ///
    /// # Errors
    /// EBUSY while another CPU drains the map; EINVAL if it is not a user ring buffer.
    pub(crate) fn begin_drain(&mut self, map: MapId) -> Result<(), Errno> {
        let ring = self.user_ring(map).ok_or(Errno::EINVAL)?;
        if std::mem::replace(&mut ring.draining, true) { Err(Errno::EBUSY) } else { Ok(()) }
    }

    /// The next record of a drain, and its length.
    ///
    /// # Errors
    /// ENOENT if there is none; EAGAIN if it was discarded, and the next one may be tried; E2BIG if no dynptr can hold
    /// it; EINVAL if it ends beyond the written bytes.
    pub(crate) fn peek_record(&mut self, region: &Region, map: MapId) -> Result<(Ea, u64), Errno> {
        self.user_ring(map).ok_or(Errno::EINVAL)?.peek(region)
    }

    /// The drain is done with a record of this length.
    pub(crate) fn release_record(&mut self, map: MapId, len: u64) {
        if let Some(ring) = self.user_ring(map) {
            ring.release(len);
        }
    }

    /// Ends a drain.
    pub(crate) fn end_drain(&mut self, map: MapId) {
        if let Some(ring) = self.user_ring(map) {
            ring.draining = false;
        }
    }
}
