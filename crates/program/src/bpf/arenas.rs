//! Arenas: sparse files that both sides map. The program's first touch of a page allocates it.

use super::Bpf;
use super::maps::{Map, PAGE_BYTES, kind};
use crate::desk::Desk;
use rustix::fs::{SeekFrom, seek};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

/// The place of arenas for which the program gives no address: far from everything that the host places itself. Each
/// has 4 GiB, and crosses no multiple of that.
const FIRST_AT: u64 = 0x1000 << 32;
const APART: u64 = 1 << 32;

impl Bpf {
    /// Returns the address at which the program should map an arena.
    pub(crate) fn arena_address(&self, map: u32) -> u64 {
        let before = self.maps[..map as usize].iter().filter(|map| map.kind == kind::ARENA).count();
        FIRST_AT + APART * before as u64
    }

    /// Reports which pages the program has touched.
    pub(crate) fn read_arenas(&mut self, desk: &mut dyn Desk) {
        for map in self.maps.iter_mut().filter(|map| map.kind == kind::ARENA) {
            let (Some(place), Some(file)) = (map.place, &map.file) else { continue };
            // The blocks that both sides have touched so far.
            let blocks = file.metadata().map_or(0, |data| data.blocks());
            if blocks == map.blocks {
                continue;
            }
            map.blocks = blocks;
            for (first, count) in touched_pages(file) {
                desk.arena_touched(place, first, count);
            }
        }
    }
}

impl Map {
    /// Returns whether it is an arena that was mapped without a given address.
    pub(crate) fn is_arena(&self) -> bool {
        self.kind == kind::ARENA
    }
}

/// Returns the non-empty pages of an arena's file, as runs: the first page, and the count.
pub(crate) fn touched_pages(file: &File) -> impl Iterator<Item = (u64, u64)> {
    let pages = |(from, to): (u64, u64)| (from / PAGE_BYTES, to.div_ceil(PAGE_BYTES) - from / PAGE_BYTES);
    data_of(file).into_iter().map(pages)
}

/// Returns the non-empty ranges of a sparse file, in bytes.
fn data_of(file: &File) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Ok(from) = seek(file, SeekFrom::Data(at)) {
        let Ok(to) = seek(file, SeekFrom::Hole(from)) else { break };
        found.push((from, to));
        at = to;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::os::unix::fs::FileExt;

    #[test]
    fn pages_that_hold_something_are_found() {
        let check = |writes: &[u64], expected: &[(u64, u64)]| {
            let file = File::from(memfd_create("arena", MemfdFlags::CLOEXEC).expect("there is memory"));
            file.set_len(64 * PAGE_BYTES).expect("it is sparse");
            for &at in writes {
                file.write_all_at(&[0], at).expect("it is written");
            }
            assert_eq!(touched_pages(&file).collect::<Vec<_>>(), expected, "{writes:?}");
        };
        check(&[], &[]);
        // Zeroes count too: global variables begin as zeroes.
        check(&[63 * PAGE_BYTES + 7], &[(63, 1)]);
        check(&[0, PAGE_BYTES, 5 * PAGE_BYTES], &[(0, 2), (5, 1)]);
    }
}
