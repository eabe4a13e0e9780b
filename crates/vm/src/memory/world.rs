//! The region and the maps in it, as used by programs and the host of a simulation.

use super::{DEFAULT_CAPACITY, Region, ReserveError};
use crate::maps::{MapError, Maps};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, MapId, MapInfo, MapKey, Owner, RingCount, World};
use keel_abi::lines::Transfers;
use keel_object::model::MapDef;
use std::io;
use std::os::fd::BorrowedFd;

/// The properties of a world, besides its maps.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// The costs of moving cache lines between CPUs.
    pub transfers: Transfers,
    /// CPUs of the machine: an entry of a per-CPU map has this many values.
    pub cpus: u32,
    /// How many maps may be added later.
    pub spare_maps: u32,
    /// Keep a table of live objects, for [`Region::is_live`].
    pub checked: bool,
    /// Bytes of address space to reserve.
    pub capacity: u64,
}

impl WorldConfig {
    /// A world of the usual size on this many CPUs, unchecked.
    pub fn new(transfers: Transfers, cpus: u32) -> Self {
        Self { transfers, cpus, spare_maps: 0, checked: false, capacity: DEFAULT_CAPACITY }
    }
}

/// Why a world cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// The host provides no address space.
    #[error(transparent)]
    Reserve(#[from] ReserveError),
    /// A map is invalid or not supported.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// The memory and maps of one simulation.
pub struct VmWorld {
    region: Region,
    maps: Maps,
}

impl VmWorld {
    /// A world with these maps; global data has its initial contents.
    ///
    /// # Errors
    /// Fails if a map is invalid or not supported, or the host provides no address space.
    pub fn new(maps: &[MapDef], config: WorldConfig) -> Result<Self, WorldError> {
        let WorldConfig { capacity, checked, transfers, cpus, spare_maps } = config;
        let mut region = match Maps::need_window(maps) {
            true => Region::with_window(capacity, checked, transfers)?,
            false => Region::new(capacity, checked, transfers)?,
        };
        let maps = Maps::with_room_for(spare_maps, maps, cpus, &mut region)?;
        Ok(Self { region, maps })
    }

    /// Recreates the maps, as for an object that is reloaded into the same world; arenas only if a user-space program
    /// maps them.
    ///
    /// # Errors
    /// Fails when out of memory, if one of the maps is another arena, or if there are more maps than at first.
    pub(crate) fn renew(&mut self, maps: &[MapDef]) -> Result<(), MapError> {
        if Maps::need_window(maps) && !self.region.empty_shared_window() {
            let arena = "an arena's window is made once".to_owned();
            return Err(MapError::TooLarge { map: arena, bytes: 0 });
        }
        self.maps = self.maps.recreate(maps, &mut self.region)?;
        Ok(())
    }

    /// Creates the maps that don't exist yet: the last ones.
    ///
    /// # Errors
    /// Fails when out of memory or room for maps, or if one of them is an arena.
    pub(crate) fn extend(&mut self, maps: &[MapDef]) -> Result<(), MapError> {
        let new = maps.get(self.maps.count()..).unwrap_or_default();
        if let Some(arena) = new.iter().find(|map| Maps::need_window(std::slice::from_ref(map))) {
            let kind = "ARENA, which is made with the first object".to_owned();
            return Err(MapError::Unsupported { map: arena.name.clone(), kind });
        }
        self.maps.extend(maps, &mut self.region)
    }

    /// The memory.
    #[inline]
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The memory, to change it.
    #[inline]
    pub fn region_mut(&mut self) -> &mut Region {
        &mut self.region
    }

    /// The maps.
    #[inline]
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// The maps and the memory that they are in.
    #[inline]
    pub fn maps_mut(&mut self) -> (&mut Maps, &mut Region) {
        (&mut self.maps, &mut self.region)
    }

    /// The map pointer that programs have for a map; [`World::map_at`] is the inverse. Panics if there is no such map.
    pub fn map_handle(&self, map: MapId) -> Ea {
        self.maps.handle(map)
    }

    /// The address of the byte `offset` of an array's first value, for `ld_imm64`; `None` if the map is not an array
    /// that all CPUs share, or the value has no such byte.
    pub fn map_value_address(&self, map: MapId, offset: u32) -> Option<Ea> {
        self.maps.value_address(map, offset)
    }

    /// The pages of an array or an arena that a user-space program has mapped become those of this file, with its
    /// contents. The file must be sealed against shrinking.
    ///
    /// # Errors
    /// Fails if the map has no such pages, or with the host's message.
    pub fn share_pages(&mut self, map: MapId, file: BorrowedFd<'_>) -> io::Result<()> {
        if let Some((first, count)) = self.maps.arena_pages(map) {
            return self.region.share_window(first, count, file);
        }
        let pages = self.maps.shared_pages(map);
        let (at, len) = pages.ok_or_else(|| io::Error::other("the map has no pages to share"))?;
        self.region.share(at, len, file)
    }

    /// User space has touched these pages of an arena whose pages are shared.
    pub fn arena_touched(&mut self, map: MapId, first: u64, count: u64) {
        self.maps.arena_touched(&mut self.region, map, first, count);
    }

    /// A ring buffer as user space sees it: bytes ever reserved, and the ring. `None` if the map is of another kind.
    pub fn ring_pages(&self, map: MapId) -> Option<(u64, &[u8])> {
        self.maps.ring_pages(&self.region, map)
    }

    /// User space has read a ring buffer up to this position.
    pub fn ring_read(&mut self, map: MapId, consumer: u64) {
        self.maps.ring_read(map, consumer);
    }

    /// Bytes that programs have consumed from a `USER_RINGBUF`; `None` if the map is of another kind.
    pub fn ring_consumed(&self, map: MapId) -> Option<u64> {
        self.maps.ring_consumed(map)
    }

    /// User space has mapped a `USER_RINGBUF`, and has written up to the position `producer`; `bytes` are the ring's
    /// bytes from [`VmWorld::ring_consumed`] on. All of this is untrusted.
    pub fn ring_written(&mut self, map: MapId, producer: u64, bytes: &[u8]) {
        self.maps.ring_written(&mut self.region, map, producer, bytes);
    }

    /// Reads from a `RINGBUF` as user space does: the oldest submitted records, at most `most`, in the order of their
    /// reservation, up to one that is still reserved. `None` if the map is of another kind.
    pub fn take_records(&mut self, map: MapId, most: usize) -> Option<Vec<Vec<u8>>> {
        self.maps.take_records(&self.region, map, most)
    }

    /// Writes a record to a `USER_RINGBUF` as user space does.
    ///
    /// # Errors
    /// E2BIG if the record can never fit, ENOSPC if it does not fit now, EINVAL if the map is of another kind.
    pub fn put_record(&mut self, map: MapId, record: &[u8]) -> Result<(), Errno> {
        self.maps.put_record(&mut self.region, map, record)
    }

    /// The bytes of a global variable; `None` if its map has no such bytes.
    pub fn read_variable(&self, map: MapId, offset: u32, len: u32) -> Option<&[u8]> {
        let at = self.maps.variable(map, offset, len)?;
        self.region.slice(at, u64::from(len))
    }

    /// Sets a global variable, read-only or not; false if its map has no such bytes.
    pub fn write_variable(&mut self, map: MapId, offset: u32, bytes: &[u8]) -> bool {
        let len = u32::try_from(bytes.len()).ok();
        let Some(at) = len.and_then(|len| self.maps.variable(map, offset, len)) else { return false };
        let target = self.region.slice_mut_anyway(at, bytes.len() as u64);
        target.map(|target| target.copy_from_slice(bytes)).is_some()
    }
}

impl World for VmWorld {
    #[inline]
    fn slice(&self, at: Ea, len: u64) -> Option<&[u8]> {
        self.region.slice(at, len)
    }

    #[inline]
    fn slice_mut(&mut self, at: Ea, len: u64) -> Option<&mut [u8]> {
        self.region.slice_mut(at, len)
    }

    #[inline(always)]
    fn words_at_once<const N: usize>(&self, at: Ea) -> Option<[u64; N]> {
        self.region.plain_words(at)
    }

    #[inline(always)]
    fn put_words_at_once<const N: usize>(&mut self, at: Ea, words: [u64; N]) -> bool {
        self.region.put_plain_words(at, words)
    }

    #[inline(always)]
    fn u64_at(&self, at: Ea) -> u64 {
        u64::from_le_bytes(self.region.known(at))
    }

    #[inline(always)]
    fn u32_at(&self, at: Ea) -> u32 {
        u32::from_le_bytes(self.region.known(at))
    }

    #[inline(always)]
    fn object<const N: usize>(&mut self, at: Ea) -> &mut [u8; N] {
        self.region.object(at)
    }

    #[inline(always)]
    fn put(&mut self, at: Ea, bytes: &[u8]) {
        self.region.put_known(at, bytes);
    }

    fn reserve(&mut self, len: u64) -> Option<Ea> {
        self.region.reserve(len)
    }

    fn alloc(&mut self, len: u64) -> Option<Ea> {
        self.region.alloc(len)
    }

    fn free(&mut self, at: Ea) {
        self.region.free(at);
    }

    #[inline]
    fn touch_ps(&mut self, at: Ea, len: u64, cpu: CpuId, write: bool) -> u64 {
        self.region.touch_ps(at, len, cpu, write)
    }

    #[inline]
    fn read_ps(&mut self, at: Ea, len: u64, cpu: CpuId) -> (u64, Option<&[u8]>) {
        self.region.read_ps(at, len, cpu)
    }

    #[inline(always)]
    fn fetch(&self, at: Ea, offsets: &[u64]) {
        self.region.fetch(at, offsets);
    }

    #[inline(always)]
    fn touch_lock_ps(&mut self, at: Ea, cpu: CpuId) -> u64 {
        self.region.touch_word_ps(at, cpu)
    }

    #[inline(always)]
    fn touch_lock_at_once(&mut self, at: Ea, cpu: CpuId) -> Option<u64> {
        self.region.touch_word_at_once(at, cpu)
    }

    #[inline(always)]
    fn map_lookup_at_once(&self, handle: Ea, key: Ea, cpu: CpuId) -> Option<Ea> {
        self.maps.lookup_in_array(&self.region, handle, key, cpu)
    }

    #[inline]
    fn map_at(&self, handle: Ea) -> Option<MapId> {
        self.maps.at(handle)
    }

    #[inline]
    fn map_info(&self, map: MapId) -> MapInfo {
        self.maps.info(map)
    }

    #[inline]
    fn map_lookup(&mut self, map: MapId, key: Ea, cpu: CpuId) -> Option<Ea> {
        self.maps.lookup(&mut self.region, map, key, cpu)
    }

    fn map_update(&mut self, map: MapId, key: Ea, value: Ea, flags: u64, cpu: CpuId) -> Result<(), Errno> {
        self.maps.update(&mut self.region, map, key, value, flags, cpu)
    }

    fn map_delete(&mut self, map: MapId, key: Ea) -> Result<(), Errno> {
        self.maps.delete(&mut self.region, map, key)
    }

    fn map_element(&self, map: MapId, at: Ea) -> Option<(MapKey, Ea)> {
        self.maps.element(map, at)
    }

    fn map_push(&mut self, map: MapId, value: Ea, flags: u64) -> Result<(), Errno> {
        self.maps.push(&mut self.region, map, value, flags)
    }

    fn map_pop(&mut self, map: MapId, value: Ea, keep: bool) -> Result<(), Errno> {
        self.maps.pop(&mut self.region, map, value, keep)
    }

    fn ring_reserve(&mut self, map: MapId, len: u64) -> Option<Ea> {
        self.maps.ring_reserve(&mut self.region, map, len)
    }

    fn ring_commit(&mut self, record: Ea, discard: bool) -> Option<(MapId, u64)> {
        self.maps.ring_commit(&mut self.region, record, discard)
    }

    fn ring_consume(&mut self, map: MapId) {
        self.maps.ring_consume(&self.region, map);
    }

    fn ring_count(&self, map: MapId, what: RingCount) -> Option<u64> {
        self.maps.ring_count(map, what)
    }

    #[inline]
    fn storage_get(&mut self, map: MapId, owner: Owner, create: bool, init: Ea) -> Option<Ea> {
        self.maps.storage_get(&mut self.region, map, owner, create, init)
    }

    fn arena_alloc(&mut self, map: MapId, at: Ea, pages: u32) -> Option<Ea> {
        self.maps.arena_alloc(&mut self.region, map, at, pages)
    }

    fn arena_at(&self, user: Ea) -> Ea {
        Ea(crate::maps::kernel_address(user.0))
    }

    fn arena_free(&mut self, map: MapId, at: Ea, pages: u32) -> u64 {
        self.maps.arena_free(&mut self.region, map, at, pages)
    }

    fn arena_reserve(&mut self, map: MapId, at: Ea, pages: u32) -> Result<(), Errno> {
        self.maps.arena_reserve(map, at, pages)
    }

    fn storage_delete(&mut self, map: MapId, owner: Owner) -> Result<(), Errno> {
        self.maps.storage_delete(map, owner)
    }

    #[inline]
    fn storage_forget(&mut self, owner: Owner) {
        self.maps.storage_forget(owner);
    }
}
