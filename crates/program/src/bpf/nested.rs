//! Handles maps of maps: the program puts maps into them by their descriptors, and reads their ids.
//!
//! The entries are also kept here after the object is loaded. A map that is put into a map of maps later is created at
//! that moment, like the map of maps' template, and gets the elements that the program has put into it so far.

use super::elements::index_of;
use super::info::FIRST_ID;
use super::maps::{INNER_MAP, Map, kind};
use crate::desk::{Desk, Inner};
use crate::program::Program;
use keel_abi::bpf::Errno;

/// `BPF_NOEXIST`, `BPF_EXIST`.
const NOEXIST: u64 = 1;
const EXIST: u64 = 2;

impl Program {
    /// Puts a map into a map of maps.
    pub(super) fn put_map(
        &mut self,
        outer: u32,
        key: Vec<u8>,
        value: &[u8],
        flags: u64,
        desk: &mut dyn Desk,
    ) -> Result<(), Errno> {
        let inner = self.inner_map(outer, value)?;
        let m = &self.bpf.maps[outer as usize];
        let is_array = m.kind == kind::ARRAY_OF_MAPS;
        match flags {
            // An array's entries all exist, filled or not.
            NOEXIST if is_array => return Err(Errno::EEXIST),
            EXIST if !is_array && !m.values.contains_key(&key) => return Err(Errno::ENOENT),
            0..=EXIST => {}
            _ => return Err(Errno::EINVAL),
        }
        if let (true, Err(_)) = (is_array, index_of(m, &key)) {
            return Err(Errno::E2BIG);
        }
        if let Some(place) = m.place {
            let index = index_of(m, &key)?;
            self.nest(place, index, inner, desk)?;
        }
        let flags = if is_array { 0 } else { flags };
        self.bpf.maps[outer as usize].set_early(key, inner.to_le_bytes().to_vec(), flags, 0)
    }

    /// Returns the map of a descriptor, which must match the template of the map of maps (`bpf_map_meta_equal()`).
    fn inner_map(&self, outer: u32, value: &[u8]) -> Result<u32, Errno> {
        let fd = <[u8; 4]>::try_from(value).map(i32::from_le_bytes);
        let number = fd.ok().and_then(|fd| self.map_of(fd)).ok_or(Errno(libc::EBADF))?;
        let like = |map: u32| {
            let m = &self.bpf.maps[map as usize];
            let entries = (m.is_array() && m.flags & INNER_MAP == 0).then_some(m.max_entries);
            (m.kind, m.key_size, m.value_size, m.flags, entries)
        };
        match self.bpf.maps[outer as usize].inner {
            Some(inner) if like(inner) == like(number) => Ok(number),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Puts a map into the loaded object's map of maps, after creating it there if it is new.
    fn nest(&mut self, outer: u32, index: u32, number: u32, desk: &mut dyn Desk) -> Result<(), Errno> {
        let m = &mut self.bpf.maps[number as usize];
        if let Some(place) = m.place {
            return desk.nest(outer, index, Inner::Loaded(place)).map(drop);
        }
        let pages = m.file.as_ref().filter(|_| m.kind == kind::ARRAY);
        let place = desk.nest(outer, index, Inner::New { max_entries: m.max_entries, pages })?;
        m.place = Some(place);
        let is_queue = m.is_queue();
        for (key, (value, _)) in std::mem::take(&mut m.values) {
            match is_queue {
                true => desk.push(place, &value, 0)?,
                false => self.set_value(number, key, value, 0, desk)?,
            }
        }
        Ok(())
    }
}

impl Map {
    /// Returns the id of the map in an entry.
    pub(super) fn inner_id(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let (number, _) = self.values.get(key).ok_or(Errno::ENOENT)?;
        let number = <[u8; 4]>::try_from(&number[..]).map_or(0, u32::from_le_bytes);
        Ok((FIRST_ID + number).to_le_bytes().to_vec())
    }

    /// Removes the map from an entry.
    pub(super) fn remove_map(&mut self, key: &[u8], desk: &mut dyn Desk) -> Result<(), Errno> {
        if !self.values.contains_key(key) {
            return Err(Errno::ENOENT);
        }
        if let Some(place) = self.place {
            desk.take_out(place, index_of(self, key)?)?;
        }
        self.values.remove(key);
        Ok(())
    }
}
