//! BPF maps that behave like the kernel's, with their values in simulated memory.
//!
//! Each method follows the rules of the kernel function that it names. Lookups, updates and walks find entries in the
//! same order in every run, and no choice of keys can raise their cost beyond the logarithm of the number of entries.

mod arena;
mod array;
mod error;
mod features;
mod hash;
mod index;
mod kinds;
mod nested;
mod pages;
mod plan;
mod queue;
mod recency;
mod ring;
mod rings;
mod slots;
mod storage;

#[cfg(test)]
mod tests;

pub(crate) use arena::{kernel_address, user_half};
pub(crate) use array::is_one_array;
pub use error::MapError;
pub use features::features;

use crate::memory::Region;
use arena::Arena;
use array::Array;
use hash::Hash;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, MapId, MapInfo, MapKey, Owner};
use keel_object::model::MapDef;
use nested::Nested;
use plan::Plan;
use queue::Queue;
use ring::Ring;
use storage::Storage;

/// The distance from one map's handle to the next; about the size of `struct bpf_map`.
const HANDLE_STRIDE: u64 = 256;

enum Body {
    Array(Array),
    Hash(Box<Hash>),
    Queue(Queue),
    TaskStorage(Storage),
    CgroupStorage(Storage),
    Ring(Ring),
    UserRing(Ring),
    Nested(Nested),
    Arena(Box<Arena>),
    /// It never contains an event.
    PerfEvents,
}

struct Map {
    info: MapInfo,
    kptrs: Vec<u32>,
    body: Body,
}

/// An entry that a walk over a map has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: MapKey,
    /// Its value's address, on the requested CPU.
    pub value: Ea,
    /// Where the walk continues.
    pub next: u64,
}

/// The maps of an object.
pub struct Maps {
    maps: Vec<Map>,
    /// The first handle.
    handles: Ea,
    /// The number of handles.
    most: u64,
    cpus: u32,
}

impl Maps {
    /// Creates the maps.
    ///
    /// # Errors
    /// Fails for an unsupported type, a definition that the kernel would refuse, or when out of memory.
    pub fn new(defs: &[MapDef], cpus: u32, region: &mut Region) -> Result<Self, MapError> {
        Self::with_room_for(0, defs, cpus, region)
    }

    /// Like [`Maps::new`], with room for `spare` more.
    pub(crate) fn with_room_for(
        spare: u32,
        defs: &[MapDef],
        cpus: u32,
        region: &mut Region,
    ) -> Result<Self, MapError> {
        let reserved = nested::handle_bytes(defs) + HANDLE_STRIDE * u64::from(spare);
        let handles = region.place_read_only(reserved).ok_or_else(|| MapError::TooLarge {
            map: defs.first().map_or_else(String::new, |d| d.name.clone()),
            bytes: reserved,
        })?;
        // Read-only memory comes first in the region.
        let mut bodies: Vec<Option<Body>> = defs.iter().map(|_| None).collect();
        for read_only in [true, false] {
            for (def, body) in defs.iter().zip(&mut bodies).filter(|(def, _)| def.read_only == read_only) {
                *body = Some(Body::new(&Plan::new(def, cpus), defs, region)?);
            }
        }
        let maps = defs.iter().zip(bodies.into_iter().flatten());
        let maps = maps
            .map(|(def, body)| Map { info: info_of(&Plan::new(def, cpus)), kptrs: def.kptrs.clone(), body })
            .collect();
        Ok(Self { maps, handles, most: reserved / HANDLE_STRIDE, cpus })
    }

    /// The same maps with their initial contents, at new places: the old ones are unreachable from now on.
    /// Read-only global data is placed among the rest.
    ///
    /// # Errors
    /// As for [`Maps::new`].
    pub(crate) fn recreate(&self, defs: &[MapDef], region: &mut Region) -> Result<Self, MapError> {
        let mut again = Self { maps: Vec::new(), ..*self };
        again.extend(defs, region)?;
        Ok(again)
    }

    /// Creates those of `defs` that don't exist yet: the last ones. Read-only global data is placed among the rest.
    ///
    /// # Errors
    /// As for [`Maps::new`], or if there are more maps than handles.
    pub(crate) fn extend(&mut self, defs: &[MapDef], region: &mut Region) -> Result<(), MapError> {
        if defs.len() as u64 > self.most {
            let map = defs.last().map_or_else(String::new, |def| def.name.clone());
            return Err(MapError::TooMany { map });
        }
        let defs: Vec<MapDef> = defs.iter().map(|def| MapDef { read_only: false, ..def.clone() }).collect();
        for def in defs.get(self.maps.len()..).unwrap_or_default() {
            let plan = Plan::new(def, self.cpus);
            let body = Body::new(&plan, &defs, region)?;
            self.maps.push(Map { info: info_of(&plan), kptrs: def.kptrs.clone(), body });
        }
        Ok(())
    }

    /// Returns whether there is an arena among them, for which the region needs a window.
    pub(crate) fn need_window(defs: &[MapDef]) -> bool {
        defs.iter().any(|def| def.kind == kinds::ARENA)
    }

    /// The map pointer of a map. Panics if there is no such map.
    pub fn handle(&self, map: MapId) -> Ea {
        assert!((map.0 as usize) < self.maps.len(), "the object has {} maps", self.maps.len());
        self.handles.offset(HANDLE_STRIDE * u64::from(map.0))
    }

    /// The map that a map pointer stands for.
    #[inline]
    pub fn at(&self, handle: Ea) -> Option<MapId> {
        let off = handle.0.wrapping_sub(self.handles.0);
        let known = off.is_multiple_of(HANDLE_STRIDE) && off / HANDLE_STRIDE < self.maps.len() as u64;
        known.then_some(MapId((off / HANDLE_STRIDE) as u32))
    }

    /// How a map was declared. Panics if there is no such map.
    #[inline]
    pub fn info(&self, map: MapId) -> MapInfo {
        self.maps[map.0 as usize].info
    }

    /// How many maps there are.
    pub fn count(&self) -> usize {
        self.maps.len()
    }

    #[inline]
    fn body(&self, map: MapId) -> Option<&Body> {
        self.maps.get(map.0 as usize).map(|m| &m.body)
    }

    #[inline]
    fn body_mut(&mut self, map: MapId) -> Option<&mut Body> {
        self.maps.get_mut(map.0 as usize).map(|m| &mut m.body)
    }

    /// The address of a byte in an array's first value.
    pub(crate) fn value_address(&self, map: MapId, offset: u32) -> Option<Ea> {
        match self.body(map)? {
            // Programs use its user-space address.
            Body::Arena(arena) => arena.variable_address(offset, 1),
            _ => self.variable(map, offset, 1),
        }
    }

    /// The address of bytes in an array's first value.
    pub(crate) fn variable(&self, map: MapId, offset: u32, len: u32) -> Option<Ea> {
        match self.body(map)? {
            Body::Array(array) => array.bytes_of_first(offset, len),
            Body::Arena(arena) => arena.variable(offset, len),
            _ => None,
        }
    }

    /// The pages of an array that user space maps: address and size.
    pub(crate) fn shared_pages(&self, map: MapId) -> Option<(Ea, u64)> {
        match self.body(map)? {
            Body::Array(array) => array.pages(),
            _ => None,
        }
    }

    /// An arena's pages in the window: the first one's number, and their count.
    pub(crate) fn arena_pages(&self, map: MapId) -> Option<(u64, u64)> {
        match self.body(map)? {
            Body::Arena(arena) => Some(arena.window_pages()),
            _ => None,
        }
    }

    /// User space has touched pages of an arena.
    pub(crate) fn arena_touched(&mut self, region: &mut Region, map: MapId, first: u64, count: u64) {
        if let Some(Body::Arena(arena)) = self.body_mut(map) {
            arena.touch(region, first, count);
        }
    }

    /// `bpf_map_lookup_elem`, and `bpf_map_lookup_percpu_elem` with another `cpu`.
    #[inline]
    pub fn lookup(&mut self, region: &mut Region, map: MapId, key: Ea, cpu: CpuId) -> Option<Ea> {
        match self.body(map) {
            Some(Body::Array(array)) => array.lookup(region, key, cpu),
            _ => self.lookup_by_search(region, map, key, cpu),
        }
    }

    /// Like `lookup` for the map with this handle, if it is an array and the key is where programs usually have it; the
    /// address is null if there is no such element.
    #[inline(always)]
    pub(crate) fn lookup_in_array(&self, region: &Region, handle: Ea, key: Ea, cpu: CpuId) -> Option<Ea> {
        match self.body(self.at(handle)?)? {
            Body::Array(array) => Some(array.value(region.plain_u32(key)?, cpu).unwrap_or_default()),
            _ => None,
        }
    }

    /// Like `lookup` for a map whose elements have no fixed places.
    #[inline(never)]
    fn lookup_by_search(&mut self, region: &mut Region, map: MapId, key: Ea, cpu: CpuId) -> Option<Ea> {
        let inner = match self.body_mut(map)? {
            Body::Hash(hash) => return hash.lookup(region, key, cpu),
            Body::Nested(nested) => nested.lookup(region, key)?,
            _ => return None,
        };
        Some(self.handle(inner))
    }

    /// `bpf_map_update_elem`.
    ///
    /// # Errors
    /// The kernel's errors; EFAULT if key or value are outside the region.
    pub fn update(
        &mut self,
        region: &mut Region,
        map: MapId,
        key: Ea,
        value: Ea,
        flags: u64,
        cpu: CpuId,
    ) -> Result<(), Errno> {
        let Map { body, kptrs, .. } = self.maps.get_mut(map.0 as usize).ok_or(Errno::EINVAL)?;
        match body {
            Body::Array(array) => array.update(region, key, value, flags, cpu)?,
            Body::Hash(hash) => hash.update(region, key, value, flags, cpu)?,
            Body::TaskStorage(_) | Body::CgroupStorage(_) | Body::Arena(_) => return Err(Errno::EOPNOTSUPP),
            _ => return Err(Errno::EINVAL),
        }
        if !kptrs.is_empty() {
            self.clear_kptrs(region, map, key, cpu);
        }
        Ok(())
    }

    /// An update never copies pointers to the kernel's objects (`copy_map_value()`).
    #[cold]
    fn clear_kptrs(&mut self, region: &mut Region, map: MapId, key: Ea, cpu: CpuId) {
        let Some(element) = self.lookup(region, map, key, cpu) else { return };
        for &offset in &self.maps[map.0 as usize].kptrs {
            region.store(element.offset(u64::from(offset)), 8, 0);
        }
    }

    /// `bpf_map_delete_elem`.
    ///
    /// # Errors
    /// The kernel's errors; EFAULT if the key is outside the region.
    pub fn delete(&mut self, region: &mut Region, map: MapId, key: Ea) -> Result<(), Errno> {
        match self.body_mut(map).ok_or(Errno::EINVAL)? {
            Body::Hash(hash) => hash.delete(region, key),
            Body::TaskStorage(_) | Body::CgroupStorage(_) | Body::Arena(_) => Err(Errno::EOPNOTSUPP),
            _ => Err(Errno::EINVAL),
        }
    }

    /// `bpf_map_push_elem`.
    ///
    /// # Errors
    /// E2BIG if it is full and `flags` does not say to replace; EOPNOTSUPP for other types.
    pub fn push(&mut self, region: &mut Region, map: MapId, value: Ea, flags: u64) -> Result<(), Errno> {
        match self.body_mut(map) {
            Some(Body::Queue(queue)) => queue.push(region, value, flags),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// `bpf_map_pop_elem`, or with `keep` `bpf_map_peek_elem`.
    ///
    /// # Errors
    /// ENOENT when it is empty (`value` is zeroed); EOPNOTSUPP for other types.
    pub fn pop(&mut self, region: &mut Region, map: MapId, value: Ea, keep: bool) -> Result<(), Errno> {
        match self.body_mut(map) {
            Some(Body::Queue(queue)) => queue.pop(region, value, keep),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// The first entry at or after `from`, which is 0 at first and then [`Entry::next`]: a walk for
    /// `bpf_for_each_map_elem`. It ends whatever happens to the map in the meantime: a deleted entry is skipped, an
    /// updated one may be visited again at its new place.
    pub fn walk(&self, map: MapId, from: u64, cpu: CpuId) -> Option<Entry> {
        match self.body(map)? {
            Body::Array(array) => {
                let (index, value) = array.next(from, cpu)?;
                Some(Entry { key: MapKey::Index(index), value, next: from + 1 })
            }
            Body::Hash(hash) => {
                let (slot, key, value) = hash.next(from, cpu)?;
                Some(Entry { key: MapKey::At(key), value, next: u64::from(slot) + 1 })
            }
            _ => None,
        }
    }

    /// Where a walk goes on after a key; `None` if the map does not have it.
    pub fn after(&self, map: MapId, key: &[u8]) -> Option<u64> {
        let place = match self.body(map)? {
            Body::Array(_) => u32::from_le_bytes(key.try_into().ok()?),
            Body::Hash(hash) => hash.slot_of(key)?,
            _ => return None,
        };
        Some(u64::from(place) + 1)
    }

    /// The element whose value contains an address: its key, and where its value begins. Per-CPU values are not
    /// searched.
    pub fn element(&self, map: MapId, at: Ea) -> Option<(MapKey, Ea)> {
        match self.body(map)? {
            Body::Array(array) => array.holding(at).map(|(index, value)| (MapKey::Index(index), value)),
            Body::Hash(hash) => hash.holding(at).map(|(key, value)| (MapKey::At(key), value)),
            _ => None,
        }
    }

    /// The map whose values, shared by all CPUs, contain an address; `in_arena` if it is an address of the arena.
    pub(crate) fn map_of(&self, at: Ea, in_arena: bool) -> Option<MapId> {
        let holds = |map: &MapId| match self.body(*map) {
            Some(Body::Arena(_)) => in_arena,
            Some(Body::TaskStorage(storage) | Body::CgroupStorage(storage)) => storage.holds(at),
            _ => self.element(*map, at).is_some(),
        };
        (0..self.maps.len() as u32).map(MapId).find(holds)
    }

    /// The arena behind a map.
    fn arena(&mut self, map: MapId) -> Option<&mut Arena> {
        match self.body_mut(map)? {
            Body::Arena(arena) => Some(arena),
            _ => None,
        }
    }

    /// `bpf_arena_alloc_pages()`: the user-space address of the pages, at `at` unless that is null; `None` if the map
    /// is not an arena or has no such pages left.
    pub fn arena_alloc(&mut self, region: &mut Region, map: MapId, at: Ea, count: u32) -> Option<Ea> {
        self.arena(map)?.alloc(region, at, count)
    }

    /// `bpf_arena_free_pages()`: returns the number of freed pages.
    pub fn arena_free(&mut self, region: &mut Region, map: MapId, at: Ea, count: u32) -> u64 {
        self.arena(map).map_or(0, |arena| arena.free(region, at, count))
    }

    /// `bpf_arena_reserve_pages()`.
    ///
    /// # Errors
    /// EINVAL if the map is not an arena or the pages are beyond its end, EBUSY if some of the pages are not free.
    pub fn arena_reserve(&mut self, map: MapId, at: Ea, count: u32) -> Result<(), Errno> {
        self.arena(map).ok_or(Errno::EINVAL)?.reserve(at, count)
    }

    /// For the checked mode: returns whether these bytes are in a map's element area, but in no element that it holds.
    pub(crate) fn is_stale(&self, at: Ea, len: u64) -> bool {
        self.maps.iter().any(|map| match &map.body {
            Body::Hash(hash) => hash.is_stale(at, len),
            Body::TaskStorage(storage) | Body::CgroupStorage(storage) => storage.is_stale(at, len),
            _ => false,
        })
    }

    /// Returns whether the map can be walked. `bpf_for_each_map_elem` takes arrays and hashes only.
    pub fn is_walkable(&self, map: MapId) -> bool {
        matches!(self.body(map), Some(Body::Array(_) | Body::Hash(_)))
    }

    #[inline]
    fn storage(&mut self, map: MapId, owner: Owner) -> Option<(&mut Storage, u32)> {
        match (self.body_mut(map)?, owner) {
            (Body::TaskStorage(storage), Owner::Task(id)) => Some((storage, id)),
            (Body::CgroupStorage(storage), Owner::Cgroup(id)) => Some((storage, id)),
            _ => None,
        }
    }

    /// The owner's value, created if there is none and `create` is set.
    #[inline]
    pub fn storage_get(
        &mut self,
        region: &mut Region,
        map: MapId,
        owner: Owner,
        create: bool,
        init: Ea,
    ) -> Option<Ea> {
        let (storage, id) = self.storage(map, owner)?;
        match storage.get(id) {
            None if create => storage.create(region, id, init),
            value => value,
        }
    }

    /// Ends the owner's value in one map.
    ///
    /// # Errors
    /// ENOENT if it has none; EINVAL if the map is for another kind of owner.
    pub fn storage_delete(&mut self, map: MapId, owner: Owner) -> Result<(), Errno> {
        let (storage, id) = self.storage(map, owner).ok_or(Errno::EINVAL)?;
        storage.delete(id)
    }

    /// Ends the owner's values in every map.
    pub fn storage_forget(&mut self, owner: Owner) {
        for map in &mut self.maps {
            let gone = match (&mut map.body, owner) {
                (Body::TaskStorage(storage), Owner::Task(id)) => storage.delete(id),
                (Body::CgroupStorage(storage), Owner::Cgroup(id)) => storage.delete(id),
                _ => continue,
            };
            // Most owners have no value in most maps.
            let (Ok(()) | Err(_)) = gone;
        }
    }
}

impl Body {
    fn new(plan: &Plan<'_>, defs: &[MapDef], region: &mut Region) -> Result<Self, MapError> {
        Ok(match plan.def.kind {
            kinds::ARRAY | kinds::PERCPU_ARRAY => Self::Array(Array::new(plan, region)?),
            kinds::HASH | kinds::PERCPU_HASH | kinds::LRU_HASH | kinds::LRU_PERCPU_HASH => {
                Self::Hash(Box::new(Hash::new(plan, region)?))
            }
            kinds::QUEUE => Self::Queue(Queue::new(plan, false, region)?),
            kinds::STACK => Self::Queue(Queue::new(plan, true, region)?),
            kinds::TASK_STORAGE => Self::TaskStorage(Storage::new(plan)?),
            kinds::CGRP_STORAGE => Self::CgroupStorage(Storage::new(plan)?),
            kinds::RINGBUF => Self::Ring(Ring::new(plan, region)?),
            kinds::USER_RINGBUF => Self::UserRing(Ring::new(plan, region)?),
            kinds::ARRAY_OF_MAPS => Self::Nested(Nested::new(plan, defs)?),
            kinds::ARENA => Self::Arena(Box::new(Arena::new(plan, region)?)),
            kinds::PERF_EVENT_ARRAY => {
                plan.require(plan.def.key_size == 4, "the key of an array has 4 bytes")?;
                plan.require(plan.def.value_size == 4, "the value of an array of events has 4 bytes")?;
                Self::PerfEvents
            }
            kind => {
                return Err(MapError::Unsupported { map: plan.def.name.clone(), kind: kinds::name(kind) });
            }
        })
    }
}

fn info_of(plan: &Plan<'_>) -> MapInfo {
    let def = plan.def;
    // libbpf's `map_set_def_max_entries()`: room for one event per CPU.
    let is_unset = def.kind == kinds::PERF_EVENT_ARRAY && def.max_entries == 0;
    let max_entries = if is_unset { plan.cpus } else { def.max_entries };
    MapInfo { kind: def.kind, key_size: def.key_size, value_size: def.value_size, max_entries }
}
