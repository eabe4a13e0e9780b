//! Accesses the loaded object's maps as bpf(2) does.

use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, MapId, MapKey, World};
use keel_abi::companion::View;
use keel_program::{Desk, Inner, RingView};
use keel_vm::memory::VmWorld;
use std::os::fd::AsFd;

/// The maps in simulated memory, as seen through bpf(2).
pub(super) struct Maps<'a> {
    pub(super) world: &'a mut VmWorld,
    pub(super) cpu: CpuId,
    /// Shows which cgroups and tasks exist, on a running machine.
    pub(super) view: Option<&'a dyn View>,
}

impl Maps<'_> {
    /// Copies bytes to simulated memory for the duration of `act`.
    fn with<T>(&mut self, bytes: &[u8], act: impl FnOnce(&mut Self, Ea) -> T) -> Result<T, Errno> {
        let at = self.world.alloc(bytes.len() as u64).ok_or(Errno::ENOMEM)?;
        if let Some(to) = self.world.slice_mut(at, bytes.len() as u64) {
            to.copy_from_slice(bytes);
        }
        let done = act(self, at);
        self.world.free(at);
        Ok(done)
    }
}

impl Desk for Maps<'_> {
    fn lookup(&mut self, map: u32, key: &[u8], cpu: u32) -> Result<Vec<u8>, Errno> {
        let len = u64::from(self.world.map_info(MapId(map)).value_size);
        let found = self.with(key, |maps, at| maps.world.map_lookup(MapId(map), at, CpuId(cpu)))?;
        let found = found.ok_or(Errno::ENOENT)?;
        Ok(self.world.slice(found, len).ok_or(Errno::EFAULT)?.to_vec())
    }

    fn update(&mut self, map: u32, key: &[u8], value: &[u8], flags: u64, cpu: u32) -> Result<(), Errno> {
        self.with(key, |maps, key| {
            maps.with(value, |maps, value| maps.world.map_update(MapId(map), key, value, flags, CpuId(cpu)))?
        })?
    }

    fn delete(&mut self, map: u32, key: &[u8]) -> Result<(), Errno> {
        self.with(key, |maps, at| maps.world.map_delete(MapId(map), at))?
    }

    fn nest(&mut self, outer: u32, index: u32, inner: Inner<'_>) -> Result<u32, Errno> {
        let (maps, region) = self.world.maps_mut();
        match inner {
            Inner::Loaded(place) => maps.put_inner(MapId(outer), index, MapId(place)).map(|()| place),
            Inner::New { max_entries, pages } => {
                let added = maps.add_inner(region, MapId(outer), index, max_entries)?;
                if let Some(pages) = pages {
                    self.world.share_pages(added, pages.as_fd()).map_err(|_| Errno::ENOMEM)?;
                }
                Ok(added.0)
            }
        }
    }

    fn take_out(&mut self, outer: u32, index: u32) -> Result<(), Errno> {
        let (maps, _) = self.world.maps_mut();
        maps.take_inner(MapId(outer), index).then_some(()).ok_or(Errno::ENOENT)
    }

    fn push(&mut self, map: u32, value: &[u8], flags: u64) -> Result<(), Errno> {
        self.with(value, |maps, at| maps.world.map_push(MapId(map), at, flags))?
    }

    fn pop(&mut self, map: u32, keep: bool) -> Result<Vec<u8>, Errno> {
        let len = self.world.map_info(MapId(map)).value_size;
        self.with(&vec![0; len as usize], |maps, at| {
            maps.world.map_pop(MapId(map), at, keep)?;
            Ok(maps.world.slice(at, u64::from(len)).ok_or(Errno::EFAULT)?.to_vec())
        })?
    }

    fn next_key(&mut self, map: u32, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        let len = u64::from(self.world.map_info(MapId(map)).key_size);
        let maps = self.world.maps();
        // After a missing key the iteration starts over; after the last one it ends.
        let from = key.and_then(|key| maps.after(MapId(map), key)).unwrap_or(0);
        match maps.walk(MapId(map), from, self.cpu).ok_or(Errno::ENOENT)?.key {
            MapKey::Index(index) => Ok(index.to_le_bytes().to_vec()),
            MapKey::At(at) => Ok(self.world.slice(at, len).ok_or(Errno::EFAULT)?.to_vec()),
        }
    }

    fn ring(&mut self, map: u32) -> Option<RingView<'_>> {
        let (producer, data) = self.world.ring_pages(MapId(map))?;
        Some(RingView { producer, data })
    }

    fn ring_read(&mut self, map: u32, consumer: u64) {
        self.world.ring_read(MapId(map), consumer);
    }

    fn ring_consumed(&mut self, map: u32) -> Option<u64> {
        self.world.ring_consumed(MapId(map))
    }

    fn ring_written(&mut self, map: u32, producer: u64, bytes: &[u8]) {
        self.world.ring_written(MapId(map), producer, bytes);
    }

    fn view(&self) -> Option<&dyn View> {
        self.view
    }

    fn arena_touched(&mut self, map: u32, first: u64, count: u64) {
        self.world.arena_touched(MapId(map), first, count);
    }
}
