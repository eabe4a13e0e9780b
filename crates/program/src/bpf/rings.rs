//! Ring buffers that the program has mapped: shown to it before it goes on, read back when it has stopped.

use super::Bpf;
use super::maps::{Map, PAGE_BYTES, kind};
use crate::desk::Desk;
use std::os::unix::fs::FileExt;

impl Bpf {
    /// Copies what is new in the ring buffers into the program's pages.
    pub(crate) fn show_rings(&mut self, desk: &mut dyn Desk) {
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
            // What begins after a record that would be cut begins at the front again.
            put(0, (first + len).saturating_sub(size));
            let _ = file.write_all_at(&map.producer.to_le_bytes(), PAGE_BYTES);
        }
    }

    /// Tells how far the program has read.
    pub(crate) fn read_rings(&mut self, desk: &mut dyn Desk) {
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

    /// Is there something to read?
    pub(crate) fn ring_has_data(&self, map: u32) -> bool {
        let Map { producer, consumer, .. } = &self.maps[map as usize];
        producer > consumer
    }
}
