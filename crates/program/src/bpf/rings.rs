//! Handles ring buffers that the program has mapped: writes to its pages before it continues, and reads them back when
//! it has stopped.
//!
//! Those that the program writes (`USER_RINGBUF`) are read whenever it has stopped, and the program sees how far they
//! have been consumed. Their file has a page with the consumer's position, a page with the producer's, and the data,
//! which the program maps twice in a row, so that a record that wraps is in one piece.

use super::Bpf;
use super::maps::{Map, PAGE_BYTES, kind};
use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::desk::Desk;
use crate::program::Program;
use crate::thread::Thread;
use std::fs::File;
use std::os::unix::fs::FileExt;

impl Bpf {
    /// Copies new records of the ring buffers to the program's pages.
    pub(crate) fn show_rings(&mut self, desk: &mut dyn Desk) {
        self.show_consumed(desk);
        for map in self.maps.iter_mut().filter(|map| map.kind == kind::RINGBUF) {
            let (Some(place), Some(file)) = (map.place, &map.file) else { continue };
            let Some(view) = desk.ring(place) else { continue };
            if view.producer == map.consumer || view.data.is_empty() {
                continue;
            }
            map.producer = view.producer;
            let size = view.data.len() as u64 / 2;
            let (first, len) = (map.consumer % size, (view.producer - map.consumer).min(size));
            let put = |from: u64, to: u64| {
                // The file has exactly these bytes; writing them does not fail.
                let _ = file.write_all_at(&view.data[from as usize..to as usize], 2 * PAGE_BYTES + from);
            };
            put(first, first + len);
            // Data after a record that would be split starts at the front again.
            put(0, (first + len).saturating_sub(size));
            let _ = file.write_all_at(&map.producer.to_le_bytes(), PAGE_BYTES);
        }
    }

    /// Reports how far the program has read.
    pub(crate) fn read_rings(&mut self, desk: &mut dyn Desk) {
        self.read_written(desk);
        for map in self.maps.iter_mut().filter(|map| map.kind == kind::RINGBUF && map.producer > map.consumer)
        {
            let (Some(place), Some(file)) = (map.place, &map.file) else { continue };
            let mut word = [0; 8];
            if file.read_exact_at(&mut word, 0).is_err() {
                continue;
            }
            let consumer = u64::from_le_bytes(word);
            // The program may write anything there.
            if consumer > map.consumer && consumer <= map.producer {
                map.consumer = consumer;
                desk.ring_read(place, consumer);
            }
        }
    }

    /// Returns whether there is something to read, or space to write.
    pub(crate) fn ring_is_ready(&self, map: u32) -> Ready {
        let Map { producer, consumer, max_entries, kind, .. } = self.maps[map as usize];
        match kind {
            kind::RINGBUF if producer > consumer => Ready::ToRead,
            kind::USER_RINGBUF if producer.saturating_sub(consumer) < u64::from(max_entries) => {
                Ready::ToWrite
            }
            _ => Ready::No,
        }
    }

    /// Shows the program how far its records have been consumed.
    fn show_consumed(&mut self, desk: &mut dyn Desk) {
        for map in self.maps.iter_mut().filter(|map| map.kind == kind::USER_RINGBUF) {
            let (Some(place), Some(file)) = (map.place, &map.file) else { continue };
            let Some(consumer) = desk.ring_consumed(place) else { continue };
            if consumer != map.consumer {
                map.consumer = consumer;
                // The file has exactly these bytes; writing them does not fail.
                let _ = file.write_all_at(&consumer.to_le_bytes(), 0);
            }
        }
    }

    /// Passes on the program's writes. A reserved record may be submitted at any time, so this includes everything that
    /// has not been consumed.
    fn read_written(&mut self, desk: &mut dyn Desk) {
        for map in self.maps.iter_mut().filter(|map| map.kind == kind::USER_RINGBUF) {
            let Some(file) = &map.file else { continue };
            let mut word = [0; 8];
            if file.read_exact_at(&mut word, PAGE_BYTES).is_err() {
                continue;
            }
            map.producer = u64::from_le_bytes(word);
            let Some(place) = map.place else { continue };
            let size = u64::from(map.max_entries);
            let len = map.producer.saturating_sub(map.consumer).min(size);
            // The file has these bytes.
            if let Ok(bytes) = data_of(file, map.consumer % size, len, size) {
                desk.ring_written(place, map.producer, &bytes);
            }
        }
    }
}

/// What a program may do with a ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    No,
    ToRead,
    ToWrite,
}

/// Reads `len` bytes of a ring from `first` on, wrapping to its front.
fn data_of(file: &File, first: u64, len: u64, size: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; len as usize];
    let (before, after) = bytes.split_at_mut(len.min(size - first) as usize);
    file.read_exact_at(before, 2 * PAGE_BYTES + first)?;
    file.read_exact_at(after, 2 * PAGE_BYTES)?;
    Ok(bytes)
}

impl Program {
    /// `ringbuf_map_mmap_user()`: maps a `USER_RINGBUF`'s pages, the data twice.
    pub(crate) fn map_user_ring(
        &mut self,
        t: &mut Thread,
        a: [u64; 6],
        map: u32,
    ) -> Result<Answer, ProgramError> {
        let size = u64::from(self.bpf.maps[map as usize].max_entries);
        let (len, from) = (a[1].checked_next_multiple_of(PAGE_BYTES).unwrap_or(u64::MAX), a[5]);
        let may_write = a[2] & libc::PROT_WRITE as u64 != 0;
        if may_write && from == 0 {
            return Ok(error(libc::EPERM));
        }
        let once = 2 * PAGE_BYTES + size;
        let Some(end) = from.checked_add(len).filter(|&end| end <= once + size) else {
            return Ok(error(libc::EINVAL));
        };
        let answer = self.native(t, a)?;
        let Answer::Value(at @ 0..) = answer else { return Ok(answer) };
        let second = from.max(once);
        if end > second {
            let flags = (libc::MAP_SHARED | libc::MAP_FIXED) as u64;
            let args = [at as u64 + (second - from), end - second, a[2], flags, a[4], second - size];
            let (value, _) = t.call(&mut self.host, libc::SYS_mmap, args)?;
            if value < 0 {
                return Ok(Answer::Value(value));
            }
        }
        Ok(answer)
    }
}
