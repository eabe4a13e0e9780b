//! `HASH`, `LRU_HASH` and their per-CPU kinds.
//!
//! Elements have the kernel's layout: a header, the key, the value. As in the kernel, an update of an existing key
//! writes another element, which replaces the old one; a program that holds the old value's address keeps seeing the
//! old value for a while. Each CPU has one spare element for that. Per-CPU values, and updates under the value's lock,
//! are written in place.

use super::index::{Index, Keys};
use super::kinds::{EXIST, LOCK, LRU_HASH, LRU_PERCPU_HASH, NO_PREALLOC, NOEXIST};
use super::plan::Plan;
use super::recency::Recency;
use super::slots::Slots;
use crate::maps::MapError;
use crate::memory::Region;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno};

/// Bytes of `struct htab_elem` before the key.
const HEADER: u64 = 48;

/// The places of elements and values.
struct Layout {
    elements: Ea,
    element_stride: u64,
    key_size: u64,
    value_size: u64,
    /// Slot 0's value on CPU 0, and the distances between slots and between CPUs.
    values: Ea,
    value_stride: u64,
    cpu_stride: u64,
    cpus: u32,
}

impl Layout {
    fn new(plan: &Plan<'_>, slots: u64, region: &mut Region) -> Result<Self, MapError> {
        let (key_size, value_size) = (u64::from(plan.def.key_size), u64::from(plan.def.value_size));
        let value_at = HEADER + key_size.next_multiple_of(8);
        let rounded = value_size.next_multiple_of(8);
        // The element of a per-CPU value has a pointer to it.
        let element_stride = value_at + if plan.per_cpu { 8 } else { rounded };
        let len = plan.total(element_stride, slots)?;
        let cpu_stride = if plan.per_cpu { (rounded * slots).next_multiple_of(64) } else { 0 };
        let values_len = plan.total(cpu_stride, u64::from(plan.cpus))?;
        let elements = plan.zeroed(len, region)?;
        let (values, value_stride) = match plan.per_cpu {
            true => (plan.zeroed(values_len, region)?, rounded),
            false => (elements.offset(value_at), element_stride),
        };
        let cpus = plan.cpus;
        Ok(Self { elements, element_stride, key_size, value_size, values, value_stride, cpu_stride, cpus })
    }

    fn key(&self, slot: u32) -> Ea {
        self.elements.offset(u64::from(slot) * self.element_stride + HEADER)
    }

    #[inline]
    fn value(&self, slot: u32, cpu: CpuId) -> Option<Ea> {
        let own = self.cpu_stride * u64::from(cpu.0);
        (cpu.0 < self.cpus).then(|| self.values.offset(own + u64::from(slot) * self.value_stride))
    }
}

/// A hash map.
pub(super) struct Hash {
    layout: Layout,
    index: Index,
    keys: Keys,
    slots: Slots,
    /// Each CPU's spare element; empty if values are per CPU.
    spare: Vec<u32>,
    recency: Option<Recency>,
    /// Whether values contain a lock for updates.
    has_lock: bool,
}

impl Hash {
    pub(super) fn new(plan: &Plan<'_>, region: &mut Region) -> Result<Self, MapError> {
        let def = plan.def;
        let lru = matches!(def.kind, LRU_HASH | LRU_PERCPU_HASH);
        plan.require(def.key_size > 0, "its key has no bytes")?;
        plan.require(def.value_size > 0, "its value has no bytes")?;
        plan.require(def.max_entries > 0, "max_entries is 0")?;
        plan.require(!lru || def.flags & NO_PREALLOC == 0, "an LRU map is always preallocated")?;
        plan.check_value_size()?;
        plan.check_element_size()?;
        let spares = if plan.per_cpu { 0 } else { plan.cpus };
        let slots = u64::from(def.max_entries) + u64::from(spares);
        let layout = Layout::new(plan, slots, region)?;
        // That many elements take less than 2^33 bytes.
        let slots = u32::try_from(slots).expect("an element has more than two bytes");
        Ok(Self {
            layout,
            index: Index::new(),
            keys: Keys::new(def.key_size as usize),
            slots: Slots::new(spares, slots),
            spare: (0..spares).collect(),
            recency: lru.then(Recency::new),
            has_lock: def.has_lock,
        })
    }

    #[inline]
    fn find(&self, region: &Region, key: Ea) -> Result<Option<u32>, Errno> {
        let key = region.slice(key, self.layout.key_size).ok_or(Errno::EFAULT)?;
        Ok(self.index.find(key, &self.keys))
    }

    /// `bpf_map_lookup_elem`.
    #[inline(never)]
    pub(super) fn lookup(&mut self, region: &Region, key: Ea, cpu: CpuId) -> Option<Ea> {
        let slot = self.find(region, key).ok()??;
        if let Some(recency) = &mut self.recency {
            recency.touch(slot);
        }
        self.layout.value(slot, cpu)
    }

    /// `htab_map_update_elem()`, `htab_lru_map_update_elem()` and their per-CPU kinds.
    pub(super) fn update(
        &mut self,
        region: &mut Region,
        key: Ea,
        value: Ea,
        flags: u64,
        cpu: CpuId,
    ) -> Result<(), Errno> {
        let only = flags & !LOCK;
        if only > EXIST || cpu.0 >= self.layout.cpus || (flags & LOCK != 0 && !self.has_lock) {
            return Err(Errno::EINVAL);
        }
        region.slice(value, self.layout.value_size).ok_or(Errno::EFAULT)?;
        match self.find(region, key)? {
            Some(_) if only == NOEXIST => Err(Errno::EEXIST),
            None if only == EXIST => Err(Errno::ENOENT),
            Some(old) if self.spare.is_empty() || flags & LOCK != 0 => {
                self.write_value(region, old, value, cpu);
                self.recency.iter_mut().for_each(|r| r.touch(old));
                Ok(())
            }
            Some(old) => {
                let new = std::mem::replace(&mut self.spare[cpu.index()], old);
                self.keys.copy(old, new);
                self.unlink(old);
                self.link(region, new);
                self.write_value(region, new, value, cpu);
                Ok(())
            }
            None => self.insert(region, key, value, cpu),
        }
    }

    fn insert(&mut self, region: &mut Region, key: Ea, value: Ea, cpu: CpuId) -> Result<(), Errno> {
        let slot = match self.slots.take() {
            Some(slot) => slot,
            None => self.evict().ok_or(Errno::E2BIG)?,
        };
        // Before the value is written: the key may be in the memory of an old one.
        self.keys.set(slot, region.slice(key, self.layout.key_size).ok_or(Errno::EFAULT)?);
        self.link(region, slot);
        if self.layout.cpu_stride > 0 {
            self.clear_values(region, slot);
        }
        self.write_value(region, slot, value, cpu);
        Ok(())
    }

    /// Frees the least recently used element, in a map that tracks use.
    fn evict(&mut self) -> Option<u32> {
        let slot = self.recency.as_ref()?.oldest()?;
        self.unlink(slot);
        Some(slot)
    }

    /// `pcpu_init_value()`: the values of the other CPUs start at zero.
    fn clear_values(&self, region: &mut Region, slot: u32) {
        for cpu in 0..self.layout.cpus {
            let at = self.layout.value(slot, CpuId(cpu)).expect("the map has values on every CPU");
            region.slice_mut(at, self.layout.value_size).expect("values are in the region").fill(0);
        }
    }

    fn write_value(&self, region: &mut Region, slot: u32, value: Ea, cpu: CpuId) {
        let at = self.layout.value(slot, cpu).expect("the caller has looked at the CPU");
        assert!(region.copy(value, at, self.layout.value_size), "the caller has looked at the value");
    }

    /// The element in `slot`, whose key is in `keys`, becomes part of the map. Programs may read its key in memory;
    /// writing there changes nothing here.
    fn link(&mut self, region: &mut Region, slot: u32) {
        let key = self.keys.get(slot);
        let target = region.slice_mut(self.layout.key(slot), self.layout.key_size);
        target.expect("elements are in the region").copy_from_slice(key);
        region.forget_accesses(self.layout.key(slot), self.layout.element_stride);
        self.index.insert(slot, &self.keys);
        self.slots.fill(slot);
        self.recency.iter_mut().for_each(|r| r.add(slot));
    }

    fn unlink(&mut self, slot: u32) {
        self.index.remove(slot, &self.keys);
        self.slots.empty(slot);
        self.recency.iter_mut().for_each(|r| r.remove(slot));
    }

    /// `htab_map_delete_elem()`.
    pub(super) fn delete(&mut self, region: &Region, key: Ea) -> Result<(), Errno> {
        let slot = self.find(region, key)?.ok_or(Errno::ENOENT)?;
        self.unlink(slot);
        self.slots.give(slot);
        Ok(())
    }

    /// The key and the value of the element that holds an address.
    pub(super) fn holding(&self, at: Ea) -> Option<(Ea, Ea)> {
        let off = at.0.checked_sub(self.layout.elements.0).filter(|_| self.layout.cpu_stride == 0)?;
        let (slot, key, value) = self.next(off / self.layout.element_stride, CpuId(0))?;
        (u64::from(slot) == off / self.layout.element_stride).then_some((key, value))
    }

    /// Returns whether these bytes are in the element area, but in no key or value that the map holds.
    pub(super) fn is_stale(&self, at: Ea, len: u64) -> bool {
        let l = &self.layout;
        let holds = |off: u64, stride: u64, size: u64| {
            self.slots.is_used((off / stride) as u32) && off % stride + len <= size
        };
        let slots = u64::from(self.slots.limit());
        let off = at.0.wrapping_sub(l.elements.0);
        if off < l.element_stride * slots {
            let (slot, within) = (off - off % l.element_stride, off % l.element_stride);
            let value_at = HEADER + l.key_size.next_multiple_of(8);
            let value_size = if l.cpu_stride == 0 { l.value_size } else { 0 };
            return match within {
                0..HEADER => true,
                _ if within < value_at => !holds(off - HEADER, l.element_stride, l.key_size),
                _ => !holds(slot + within - value_at, l.element_stride, value_size),
            };
        }
        let off = at.0.wrapping_sub(l.values.0);
        match off.checked_div(l.cpu_stride) {
            Some(cpu) if cpu < u64::from(l.cpus) => {
                let within = off % l.cpu_stride;
                within >= l.value_stride * slots || !holds(within, l.value_stride, l.value_size)
            }
            _ => false,
        }
    }

    /// The slot of a key's element. This is no use of the element.
    pub(super) fn slot_of(&self, key: &[u8]) -> Option<u32> {
        self.index.find(key, &self.keys)
    }

    /// The first element at or after `from`: its slot, key and value.
    pub(super) fn next(&self, from: u64, cpu: CpuId) -> Option<(u32, Ea, Ea)> {
        let slot = self.slots.next_used(from)?;
        Some((slot, self.layout.key(slot), self.layout.value(slot, cpu)?))
    }
}
