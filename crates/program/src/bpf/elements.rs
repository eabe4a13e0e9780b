//! Handles elements of maps: the program's lookups, updates, removals and walks.

use super::attr::Attr;
use super::maps::{LINK, Map, kind};
use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::desk::Desk;
use crate::fds::Link;
use crate::program::Program;
use keel_abi::bpf::Errno;
use std::ops::Bound;
use std::os::unix::fs::FileExt;

/// `BPF_NOEXIST`, `BPF_EXIST`.
const NOEXIST: u64 = 1;
const EXIST: u64 = 2;
/// The maximum number of bytes of a key or value.
const MOST_BYTES: usize = 512 << 20;

impl Program {
    /// Reads the map and the key that a command names.
    fn element(&self, attr: &Attr) -> Result<(u32, Vec<u8>), i32> {
        let map = self.map_of(attr.fd(0)).ok_or(libc::EBADF)?;
        let mut key = vec![0; self.bpf.maps[map as usize].key_size as usize];
        if key.len() > MOST_BYTES || !self.host.read(attr.u64(8), &mut key) {
            return Err(libc::EFAULT);
        }
        Ok((map, key))
    }

    /// Returns the size of a value as user space sees it, in bytes.
    pub(super) fn user_bytes(&self, map: u32) -> usize {
        let map = &self.bpf.maps[map as usize];
        let cpus = if map.is_per_cpu() { self.bpf.cpus as usize } else { 1 };
        if map.is_per_cpu() { map.stride() as usize * cpus } else { map.value_size as usize }
    }

    pub(super) fn map_lookup(&mut self, attr: &Attr, desk: &mut dyn Desk) -> Answer {
        let (map, key) = match self.element(attr) {
            Ok(found) => found,
            Err(errno) => return error(errno),
        };
        match self.value(map, &key, desk) {
            Ok(value) => self.put(attr.u64(16), &value, 0),
            Err(errno) => error(errno.0),
        }
    }

    /// Looks up an element and removes it; in a queue or a stack, the next one.
    pub(super) fn map_take(&mut self, attr: &Attr, desk: &mut dyn Desk) -> Answer {
        let (map, key) = match self.element(attr) {
            Ok(found) => found,
            Err(errno) => return error(errno),
        };
        let m = &self.bpf.maps[map as usize];
        let taken = match (m.is_queue(), m.place) {
            (true, Some(place)) => desk.pop(place, false),
            (true, None) => self.value(map, &key, desk).inspect(|_| self.bpf.maps[map as usize].pop_early()),
            (false, _) if m.is_array() => Err(Errno::EOPNOTSUPP),
            (false, _) => {
                let value = self.value(map, &key, desk);
                value.and_then(|value| self.remove(map, &key, desk).map(|()| value))
            }
        };
        match taken {
            Ok(value) => self.put(attr.u64(16), &value, 0),
            Err(errno) => error(errno.0),
        }
    }

    /// Removes an element of a map that has keys.
    pub(super) fn remove(&mut self, map: u32, key: &[u8], desk: &mut dyn Desk) -> Result<(), Errno> {
        let m = &mut self.bpf.maps[map as usize];
        match m.place {
            Some(place) => desk.delete(place, key),
            None => m.values.remove(key).map(drop).ok_or(Errno::ENOENT),
        }
    }

    pub(super) fn value(&self, map: u32, key: &[u8], desk: &mut dyn Desk) -> Result<Vec<u8>, Errno> {
        let bytes = self.user_bytes(map);
        let m = &self.bpf.maps[map as usize];
        if m.has_maps() {
            return m.inner_id(key);
        }
        if let (kind::ARRAY, Some(file)) = (m.kind, &m.file) {
            let mut value = vec![0; bytes];
            let read = file.read_exact_at(&mut value, m.stride() * u64::from(index_of(m, key)?));
            return read.map(|()| value).map_err(|_| Errno::EINVAL);
        }
        let Some(place) = m.place else { return m.early_value(key, bytes) };
        if m.is_queue() {
            return desk.pop(place, true);
        }
        if !m.is_per_cpu() {
            return desk.lookup(place, key, 0);
        }
        let mut value = Vec::with_capacity(bytes);
        for cpu in 0..self.bpf.cpus {
            let one = desk.lookup(place, key, cpu)?;
            value.extend_from_slice(&one);
            value.resize((cpu as usize + 1) * m.stride() as usize, 0);
        }
        Ok(value)
    }

    pub(super) fn map_update(&mut self, attr: &Attr, desk: &mut dyn Desk) -> Result<Answer, ProgramError> {
        let (map, key) = match self.element(attr) {
            Ok(found) => found,
            Err(errno) => return Ok(error(errno)),
        };
        let mut value = vec![0; self.user_bytes(map).min(MOST_BYTES)];
        if !self.host.read(attr.u64(16), &mut value) {
            return Ok(error(libc::EFAULT));
        }
        if self.bpf.maps[map as usize].frozen {
            return Ok(error(libc::EPERM));
        }
        if self.bpf.maps[map as usize].has_maps() {
            let done = self.put_map(map, key, &value, attr.u64(24), desk);
            return Ok(done.map_or_else(|errno| error(errno.0), |()| Answer::Value(0)));
        }
        match self.set_value(map, key, value, attr.u64(24), desk) {
            Ok(()) => self.updated(map),
            Err(errno) => Ok(error(errno.0)),
        }
    }

    /// Handles an update of a struct_ops map. Without a link, it attaches the scheduler.
    fn updated(&mut self, map: u32) -> Result<Answer, ProgramError> {
        let m = &self.bpf.maps[map as usize];
        match m.kind == kind::STRUCT_OPS && m.flags & LINK == 0 {
            true => self.attach(map, false),
            false => Ok(Answer::Value(0)),
        }
    }

    pub(super) fn set_value(
        &mut self,
        map: u32,
        key: Vec<u8>,
        value: Vec<u8>,
        flags: u64,
        desk: &mut dyn Desk,
    ) -> Result<(), Errno> {
        let (cpus, order) = (self.bpf.cpus, self.bpf.maps.iter().map(|m| m.values.len() as u64).sum());
        let m = &mut self.bpf.maps[map as usize];
        if let (kind::ARRAY, Some(file)) = (m.kind, &m.file) {
            let written = file.write_all_at(&value, m.stride() * u64::from(index_of(m, &key)?));
            return written.map_err(|_| Errno::EINVAL);
        }
        let Some(place) = m.place else {
            return if m.is_queue() {
                m.push_early(value, flags)
            } else {
                m.set_early(key, value, flags, order)
            };
        };
        if m.is_queue() {
            return desk.push(place, &value, flags);
        }
        if !m.is_per_cpu() {
            return desk.update(place, &key, &value, flags, 0);
        }
        let stride = m.stride() as usize;
        for cpu in 0..cpus {
            let own = &value[cpu as usize * stride..][..m.value_size as usize];
            // The first one decides whether the element may already exist.
            desk.update(place, &key, own, if cpu == 0 { flags } else { 0 }, cpu)?;
        }
        Ok(())
    }

    pub(super) fn map_delete(&mut self, attr: &Attr, desk: &mut dyn Desk) -> Result<Answer, ProgramError> {
        let (map, key) = match self.element(attr) {
            Ok(found) => found,
            Err(errno) => return Ok(error(errno)),
        };
        let m = &mut self.bpf.maps[map as usize];
        if m.frozen {
            return Ok(error(libc::EPERM));
        }
        if m.kind == kind::STRUCT_OPS {
            return self.detach_by_value(map);
        }
        let done = match m.place {
            _ if m.has_maps() => m.remove_map(&key, desk),
            Some(place) => desk.delete(place, &key),
            None if m.is_array() || m.is_queue() => Err(Errno::EINVAL),
            None => m.values.remove(&key).map(drop).ok_or(Errno::ENOENT),
        };
        Ok(done.map_or_else(|errno| error(errno.0), |()| Answer::Value(0)))
    }

    /// Handles the removal of a struct_ops map's value, which detaches a scheduler without a link.
    fn detach_by_value(&mut self, map: u32) -> Result<Answer, ProgramError> {
        if self.bpf.maps[map as usize].flags & LINK != 0 {
            return Ok(error(libc::EOPNOTSUPP));
        }
        if !self.bpf.is_attached {
            return Ok(error(libc::ENOENT));
        }
        Ok(Answer::Told(0, self.unlink(Link::Scheduler)?))
    }

    pub(super) fn map_next_key(&mut self, attr: &Attr, desk: &mut dyn Desk) -> Answer {
        let key = match (attr.u64(8), self.element(attr)) {
            (0, _) => None,
            (_, Ok((_, key))) => Some(key),
            (_, Err(errno)) => return error(errno),
        };
        let Some(map) = self.map_of(attr.fd(0)) else { return error(libc::EBADF) };
        match self.next_key(map, key.as_deref(), desk) {
            Ok(next) => self.put(attr.u64(16), &next, 0),
            Err(errno) => error(errno.0),
        }
    }

    /// Returns the key after this one, or the first.
    pub(super) fn next_key(
        &self,
        map: u32,
        key: Option<&[u8]>,
        desk: &mut dyn Desk,
    ) -> Result<Vec<u8>, Errno> {
        let m = &self.bpf.maps[map as usize];
        match m.place {
            _ if m.is_array() || m.kind == kind::ARRAY_OF_MAPS => {
                let index = key.map_or(Some(0), |key| {
                    let word = <[u8; 4]>::try_from(key).map_or(u32::MAX, u32::from_le_bytes);
                    if word >= m.max_entries { Some(0) } else { word.checked_add(1) }
                });
                let index = index.filter(|&index| index < m.max_entries);
                index.map(|index| index.to_le_bytes().to_vec()).ok_or(Errno::ENOENT)
            }
            Some(place) if !m.has_maps() => desk.next_key(place, key),
            _ => {
                let from = match key.filter(|key| m.values.contains_key(*key)) {
                    Some(key) => Bound::Excluded(key),
                    None => Bound::Unbounded,
                };
                let mut rest = m.values.range::<[u8], _>((from, Bound::Unbounded));
                rest.next().map(|(next, _)| next.clone()).ok_or(Errno::ENOENT)
            }
        }
    }
}

impl Map {
    /// Looks up a value before anything is loaded.
    fn early_value(&self, key: &[u8], bytes: usize) -> Result<Vec<u8>, Errno> {
        if self.is_queue() {
            let next = self.next_early().and_then(|place| self.values.get(place));
            return next.map(|(value, _)| value.clone()).ok_or(Errno::ENOENT);
        }
        match self.values.get(key) {
            Some((value, _)) => Ok(value.clone()),
            None if self.is_array() => index_of(self, key).map(|_| vec![0; bytes]),
            None => Err(Errno::ENOENT),
        }
    }

    /// Returns the next value of a queue or a stack.
    fn next_early(&self) -> Option<&Vec<u8>> {
        if self.kind == kind::QUEUE { self.values.keys().next() } else { self.values.keys().next_back() }
    }

    /// `queue_stack_map_push_elem()`. A queue's values have increasing numbers instead of keys.
    fn push_early(&mut self, value: Vec<u8>, flags: u64) -> Result<(), Errno> {
        if flags > EXIST || flags == NOEXIST {
            return Err(Errno::EINVAL);
        }
        if self.values.len() >= self.max_entries as usize {
            if flags != EXIST {
                return Err(Errno::E2BIG);
            }
            self.values.pop_first();
        }
        let last = self.values.last_key_value().map_or(0, |(_, (_, place))| place + 1);
        self.values.insert(last.to_be_bytes().to_vec(), (value, last));
        Ok(())
    }

    /// Removes the next value of a queue or a stack.
    fn pop_early(&mut self) {
        if let Some(next) = self.next_early().cloned() {
            self.values.remove(&next);
        }
    }

    pub(super) fn set_early(
        &mut self,
        key: Vec<u8>,
        value: Vec<u8>,
        flags: u64,
        order: u64,
    ) -> Result<(), Errno> {
        let is_there = self.values.contains_key(&key);
        if self.is_array() {
            index_of(self, &key)?;
        }
        if flags > 7 {
            return Err(Errno::EINVAL);
        }
        match flags {
            NOEXIST if is_there || self.is_array() => return Err(Errno::EEXIST),
            EXIST if !is_there && !self.is_array() => return Err(Errno::ENOENT),
            _ if !is_there && self.values.len() >= self.max_entries as usize => return Err(Errno::E2BIG),
            _ => {}
        }
        self.values.insert(key, (value, order));
        Ok(())
    }
}

/// Returns an array's index, which must be in range.
pub(super) fn index_of(map: &Map, key: &[u8]) -> Result<u32, Errno> {
    let index = <[u8; 4]>::try_from(key).map(u32::from_le_bytes).map_err(|_| Errno::EINVAL)?;
    if index < map.max_entries { Ok(index) } else { Err(Errno::ENOENT) }
}
