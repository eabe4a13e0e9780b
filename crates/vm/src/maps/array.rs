//! `ARRAY` and `PERCPU_ARRAY`: values side by side, by an index of 32 bits.

use super::kinds::{self, EXIST, LOCK, NOEXIST};
use super::plan::Plan;
use crate::maps::MapError;
use crate::memory::{PAGE_BYTES, Region};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno};
use keel_object::model::MapDef;

/// Copies contents into zeroed memory, except pages of zeroes: a large `.bss` commits no memory.
fn fill(buffer: &mut [u8], contents: &[u8]) {
    const ZEROES: [u8; PAGE_BYTES as usize] = [0; PAGE_BYTES as usize];
    for (buffer, page) in buffer.chunks_mut(ZEROES.len()).zip(contents.chunks(ZEROES.len())) {
        if page != &ZEROES[..page.len()] {
            buffer.copy_from_slice(page);
        }
    }
}

/// Returns whether it is an array of one value that begins at a line and stays in its place.
pub(crate) fn is_one_array(def: &MapDef) -> bool {
    def.kind == kinds::ARRAY && def.max_entries == 1
}

/// The values of an array.
pub(super) struct Array {
    first: Ea,
    stride: u64,
    entries: u32,
    value_size: u64,
    /// The distance from one CPU's values to the next CPU's; 0 if all CPUs share them.
    cpu_stride: u64,
    /// The number of CPUs with their own values; 1 if they share them.
    cpus: u32,
    /// Whether values contain a lock for updates.
    has_lock: bool,
}

impl Array {
    pub(super) fn new(plan: &Plan<'_>, region: &mut Region) -> Result<Self, MapError> {
        let def = plan.def;
        plan.require(def.key_size == 4, "the key of an array has 4 bytes")?;
        plan.require(def.max_entries > 0, "max_entries is 0")?;
        plan.require(def.value_size > 0, "its value has no bytes")?;
        plan.check_value_size()?;
        plan.require(def.initial.len() as u64 <= u64::from(def.value_size), "its contents exceed its value")?;
        let stride = u64::from(def.value_size).next_multiple_of(8);
        let one = stride * u64::from(def.max_entries);
        // CPUs' own values don't share lines.
        let cpu_stride = if plan.per_cpu { one.next_multiple_of(64) } else { 0 };
        let cpus = if plan.per_cpu { plan.cpus } else { 1 };
        let len = if plan.per_cpu { plan.total(cpu_stride, u64::from(cpus))? } else { plan.total(one, 1)? };
        let first = match def.read_only {
            true => region.place_read_only(len).ok_or_else(|| plan.too_large(len))?,
            false => plan.zeroed(len, region)?,
        };
        for cpu in (0..u64::from(cpus)).filter(|_| !def.is_zero) {
            let value = region.slice_mut_anyway(first.offset(cpu * cpu_stride), def.initial.len() as u64);
            fill(value.expect("the buffer was just placed"), &def.initial);
        }
        let value_size = u64::from(def.value_size);
        Ok(Self {
            first,
            stride,
            entries: def.max_entries,
            value_size,
            cpu_stride,
            cpus,
            has_lock: def.has_lock,
        })
    }

    /// `bpf_map_lookup_elem`.
    #[inline]
    pub(super) fn lookup(&self, region: &Region, key: Ea, cpu: CpuId) -> Option<Ea> {
        let key = region.slice(key, 4)?;
        self.value(u32::from_le_bytes(key.try_into().ok()?), cpu)
    }

    /// The address of a value.
    #[inline]
    pub(super) fn value(&self, index: u32, cpu: CpuId) -> Option<Ea> {
        let own = match self.cpu_stride {
            0 => 0,
            stride if cpu.0 < self.cpus => stride * u64::from(cpu.0),
            _ => return None,
        };
        (index < self.entries).then(|| self.first.offset(own + self.stride * u64::from(index)))
    }

    /// `array_map_update_elem()`.
    pub(super) fn update(
        &self,
        region: &mut Region,
        key: Ea,
        value: Ea,
        flags: u64,
        cpu: CpuId,
    ) -> Result<(), Errno> {
        if flags & !LOCK > EXIST {
            return Err(Errno::EINVAL);
        }
        let key = region.slice(key, 4).ok_or(Errno::EFAULT)?;
        let index = u32::from_le_bytes(key.try_into().map_err(|_| Errno::EFAULT)?);
        if index >= self.entries {
            return Err(Errno::E2BIG);
        }
        if flags & NOEXIST != 0 {
            return Err(Errno::EEXIST);
        }
        if flags & LOCK != 0 && !self.has_lock {
            return Err(Errno::EINVAL);
        }
        let target = self.value(index, cpu).ok_or(Errno::EINVAL)?;
        if region.copy(value, target, self.value_size) { Ok(()) } else { Err(Errno::EFAULT) }
    }

    /// The address of bytes of the first value, if all CPUs share it.
    pub(super) fn bytes_of_first(&self, offset: u32, len: u32) -> Option<Ea> {
        let fits = u64::from(offset) + u64::from(len) <= self.value_size;
        (self.cpu_stride == 0 && fits).then(|| self.first.offset(u64::from(offset)))
    }

    /// The pages that user space may map, and their bytes.
    pub(super) fn pages(&self) -> Option<(Ea, u64)> {
        let bytes = self.stride * u64::from(self.entries);
        let is_aligned = self.first.0.is_multiple_of(PAGE_BYTES) && self.cpu_stride == 0;
        is_aligned.then_some((self.first, bytes.next_multiple_of(PAGE_BYTES)))
    }

    /// The index whose value holds an address, and where that value begins.
    pub(super) fn holding(&self, at: Ea) -> Option<(u32, Ea)> {
        let off = at.0.checked_sub(self.first.0).filter(|_| self.cpu_stride == 0)?;
        self.next(off / self.stride, CpuId(0))
    }

    /// The first index at or after `from`, with its value.
    pub(super) fn next(&self, from: u64, cpu: CpuId) -> Option<(u32, Ea)> {
        let index = u32::try_from(from).ok()?;
        Some((index, self.value(index, cpu)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_arrive_whole_whatever_pages_are_zero() {
        let page = PAGE_BYTES as usize;
        let check = |len: usize, set: &[usize]| {
            let mut contents = vec![0; len];
            set.iter().for_each(|&at| contents[at] = 7);
            let mut buffer = vec![0; len];
            fill(&mut buffer, &contents);
            assert_eq!(buffer, contents, "{len} bytes, {set:?}");
        };
        check(0, &[]);
        check(3, &[2]);
        check(page, &[page - 1]);
        check(3 * page + 1, &[]);
        check(3 * page + 1, &[page, 3 * page]);
    }
}
