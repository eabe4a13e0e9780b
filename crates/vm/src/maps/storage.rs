//! `TASK_STORAGE` and `CGRP_STORAGE`: a value per owner, in segments indexed by the owner's id.
//!
//! Segment `s` has room for `FIRST << s` owners, so that a few words locate any owner's value, and memory is reserved
//! as ids grow. An owner keeps its place for good: ids are not reused, and a value is zeroed when it is created.

use super::plan::Plan;
use crate::maps::MapError;
use crate::memory::{HUGE_BYTES, PAGE_BYTES, Region};
use keel_abi::bpf::{Ea, Errno};

/// Owners of the first segment.
const FIRST: u64 = 1 << FIRST_LOG;
const FIRST_LOG: u32 = 10;
/// The most owners; a higher id gets no value, as when out of memory.
const MAX_OWNERS: u32 = 1 << 24;
/// The offset of the value in its lines: the kernel stores a pointer to the map before it (`struct
/// bpf_local_storage_data`).
const VALUE_AT: u64 = 8;
/// `BPF_LOCAL_STORAGE_MAX_VALUE_SIZE`, minus the element's own fields.
const MAX_VALUE: u32 = u16::MAX as u32 - 128;

/// The values of a storage map.
pub(super) struct Storage {
    /// Where each segment's first value is; 0 until it is needed.
    segments: Vec<u64>,
    stride: u64,
    value_size: u64,
    /// One bit per owner: whether it has a value.
    present: Vec<u64>,
}

impl Storage {
    pub(super) fn new(plan: &Plan<'_>) -> Result<Self, MapError> {
        let def = plan.def;
        plan.require(def.key_size == 4, "the key of local storage has 4 bytes")?;
        plan.require(def.max_entries == 0, "max_entries of local storage must be 0")?;
        plan.require(def.flags & super::kinds::NO_PREALLOC != 0, "local storage needs BPF_F_NO_PREALLOC")?;
        plan.require(def.value_size > 0, "its value has no bytes")?;
        plan.require(def.value_size <= MAX_VALUE, "a value of local storage has less than 64 KiB")?;
        let value_size = u64::from(def.value_size);
        let stride = (VALUE_AT + value_size).next_multiple_of(64);
        Ok(Self { segments: Vec::new(), stride, value_size, present: Vec::new() })
    }

    /// Where the owner's value is, or would be: its segment, and the offset in it.
    #[inline]
    fn place(&self, owner: u32) -> (usize, u64) {
        let n = u64::from(owner) + FIRST;
        let segment = n.ilog2();
        ((segment - FIRST_LOG) as usize, (n - (1 << segment)) * self.stride)
    }

    #[inline]
    fn has(&self, owner: u32) -> bool {
        self.present.get(owner as usize / 64).is_some_and(|word| word >> (owner % 64) & 1 != 0)
    }

    /// The owner's value, if it has one.
    #[inline]
    pub(super) fn get(&self, owner: u32) -> Option<Ea> {
        if !self.has(owner) {
            return None;
        }
        let (segment, offset) = self.place(owner);
        Some(Ea(self.segments[segment] + offset))
    }

    /// Creates a value for an owner that has none, from the bytes at `init` unless that is null.
    pub(super) fn create(&mut self, region: &mut Region, owner: u32, init: Ea) -> Option<Ea> {
        if owner >= MAX_OWNERS {
            return None;
        }
        let (segment, offset) = self.place(owner);
        let at = Ea(self.segment(region, segment)? + offset);
        region.slice_mut(at, self.value_size)?.fill(0);
        region.forget_accesses(at, self.value_size);
        if !init.is_null() && !region.copy(init, at, self.value_size) {
            return None;
        }
        let word = owner as usize / 64;
        if self.present.len() <= word {
            self.present.resize((word + 1).next_power_of_two(), 0);
        }
        self.present[word] |= 1 << (owner % 64);
        Some(at)
    }

    /// Where a segment's first value is.
    fn segment(&mut self, region: &mut Region, segment: usize) -> Option<u64> {
        if self.segments.len() <= segment {
            self.segments.resize(segment + 1, 0);
        }
        if self.segments[segment] == 0 {
            let len = (FIRST << segment) * self.stride;
            let huge = len >= 2 * HUGE_BYTES;
            let at = region.place(len + VALUE_AT, if huge { HUGE_BYTES } else { PAGE_BYTES })?;
            if huge {
                region.advise_huge(at, len);
            }
            self.segments[segment] = at.0 + VALUE_AT;
        }
        Some(self.segments[segment])
    }

    /// Returns whether these bytes are in the value area, but in no owner's value.
    pub(super) fn is_stale(&self, at: Ea, len: u64) -> bool {
        self.segments.iter().zip(FIRST_LOG..).any(|(&first, log)| {
            let off = at.0.wrapping_sub(first);
            let (index, within) = (off / self.stride, off % self.stride);
            let inside = first != 0 && index < 1 << log;
            let owner = || u32::try_from(index + (1 << log) - FIRST).unwrap_or(u32::MAX);
            inside && (!self.has(owner()) || within + len > self.value_size)
        })
    }

    /// Returns whether an address is among the values.
    pub(super) fn holds(&self, at: Ea) -> bool {
        self.segments.iter().zip(FIRST_LOG..).any(|(&first, log)| {
            let index = at.0.wrapping_sub(first) / self.stride;
            first != 0 && index < 1 << log
        })
    }

    /// Ends the owner's value.
    #[inline]
    pub(super) fn delete(&mut self, owner: u32) -> Result<(), Errno> {
        if !self.has(owner) {
            return Err(Errno::ENOENT);
        }
        self.present[owner as usize / 64] &= !(1 << (owner % 64));
        Ok(())
    }
}
