//! The region's bytes as slices and words, for the host and the engine. Most words are [`Plain`](super::plain::Plain),
//! and need only one comparison; everything else is off the hot path.
#![allow(unsafe_code)]

use super::Region;
use super::plain::OBJECT;
use crate::memory::BASE;
use keel_abi::CpuId;
use keel_abi::bpf::Ea;
use keel_abi::fetch::fetch;

impl Region {
    /// `len` bytes, or `None` if any of them is out of bounds.
    #[inline(always)]
    pub fn slice(&self, at: Ea, len: u64) -> Option<&[u8]> {
        if self.plain.holds(at, len) {
            // SAFETY: what is plain is in bounds; and as in `slice_anywhere`.
            return Some(unsafe { self.slice_at(at.0.wrapping_sub(BASE), len) });
        }
        self.slice_anywhere(at, len)
    }

    /// The number of four bytes, if they are plain.
    #[inline(always)]
    pub(crate) fn plain_u32(&self, at: Ea) -> Option<u32> {
        if !self.plain.holds(at, 4) {
            return None;
        }
        // SAFETY: as in `slice`.
        let bytes = unsafe { self.slice_at(at.0.wrapping_sub(BASE), 4) };
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// Like `slice` for bytes that need not be plain.
    fn slice_anywhere(&self, at: Ea, len: u64) -> Option<&[u8]> {
        let off = self.inside(at, len)?;
        // SAFETY: they are in bounds.
        Some(unsafe { self.slice_at(off, len) })
    }

    /// Picoseconds that `cpu` waits for the lines of bytes that it reads, and the bytes; nothing if any of them is out
    /// of bounds.
    #[inline]
    pub(in crate::memory) fn read_ps(&mut self, at: Ea, len: u64, cpu: CpuId) -> (u64, Option<&[u8]>) {
        let Some(off) = self.inside(at, len) else { return (0, None) };
        let price_ps = self.touch_inside_ps(off, len, cpu, false);
        // SAFETY: they are in bounds, and as in `slice_at`.
        (price_ps, Some(unsafe { self.slice_at(off, len) }))
    }

    /// `N` bytes that the host knows to be in bounds; panics if they are not.
    #[inline(always)]
    pub(in crate::memory) fn known<const N: usize>(&self, at: Ea) -> [u8; N] {
        if !self.plain.holds(at, N as u64) {
            return self.known_anywhere(at);
        }
        // SAFETY: what is plain is in bounds; and as in `slice_at`.
        unsafe { *self.plain_place(at).cast::<[u8; N]>() }
    }

    #[cold]
    #[inline(never)]
    fn known_anywhere<const N: usize>(&self, at: Ea) -> [u8; N] {
        let bytes = self.slice_anywhere(at, N as u64).and_then(|bytes| bytes.try_into().ok());
        bytes.expect("the host's own objects are in the world")
    }

    /// Words that lie side by side, or `None` if they are not all plain.
    #[inline(always)]
    pub(in crate::memory) fn plain_words<const N: usize>(&self, at: Ea) -> Option<[u64; N]> {
        if !self.plain.holds_all(at, 8 * N as u64) {
            return None;
        }
        let place = self.plain_place(at).cast::<u64>();
        // One by one: as an array they would go through the stack.
        // SAFETY: what is plain is in bounds, and so is all between two plain words; and as in `slice_at`.
        Some(std::array::from_fn(|i| u64::from_le(unsafe { place.add(i).read_unaligned() })))
    }

    /// Writes words side by side; returns whether they are all plain. Otherwise none is written.
    #[inline(always)]
    pub(in crate::memory) fn put_plain_words<const N: usize>(&mut self, at: Ea, words: [u64; N]) -> bool {
        let are_plain = self.plain.holds_all(at, 8 * N as u64);
        if are_plain {
            // SAFETY: what is plain is in bounds and writable, and so is all between two plain words; `self` is held
            // exclusively.
            unsafe {
                let place = self.plain_place(at).cast::<u64>();
                for (i, word) in words.into_iter().enumerate() {
                    place.add(i).write_unaligned(word.to_le());
                }
            }
        }
        are_plain
    }

    /// Requests the host's memory for bytes at these offsets from an address, and for the state of the lines of the
    /// first and the last of them. Objects that may be out of bounds, and offsets beyond the largest, are ignored.
    #[inline(always)]
    pub(in crate::memory) fn fetch(&self, at: Ea, offsets: &[u64]) {
        if !self.plain.holds_object(at, OBJECT) {
            return;
        }
        let off = at.0.wrapping_sub(BASE);
        let inside = || offsets.iter().copied().filter(|&offset| offset < OBJECT);
        // SAFETY: what is plain is in bounds, and all tables have an entry for every line of the region; as in
        // `slice_at`.
        unsafe {
            let bytes = self.bytes.start().as_ptr().add(off as usize);
            for offset in inside() {
                fetch(&*bytes.add(offset as usize));
            }
            for offset in [inside().next(), inside().next_back()].into_iter().flatten() {
                let line = self.line_at(off + offset) as usize;
                fetch(&*self.sharers.start().as_ptr().cast::<u64>().add(line));
                fetch(&*self.writers.start().as_ptr().cast::<u16>().add(line));
                fetch(&*self.moves.raw().places.add(line));
            }
        }
    }

    /// An object that the host knows to be in bounds and writable; panics if it is not.
    #[inline(always)]
    pub(in crate::memory) fn object<const N: usize>(&mut self, at: Ea) -> &mut [u8; N] {
        if !self.plain.holds_object(at, N as u64) {
            return self.object_anywhere(at);
        }
        // SAFETY: what is plain is in bounds and writable; and as in `slice_at`, with `self` held exclusively.
        unsafe { &mut *self.plain_place(at).cast::<[u8; N]>() }
    }

    /// Where the host finds an address that is plain: `plain_start` is part of the mapping `bytes`, and comes from the
    /// mapping's own pointer.
    #[inline(always)]
    fn plain_place(&self, at: Ea) -> *mut u8 {
        self.plain_start.wrapping_add(self.plain.distance(at))
    }

    #[cold]
    #[inline(never)]
    fn object_anywhere<const N: usize>(&mut self, at: Ea) -> &mut [u8; N] {
        let bytes = self.slice_mut_anywhere(at, N as u64).and_then(|bytes| bytes.try_into().ok());
        bytes.expect("the host's own objects are in the world")
    }

    /// Writes bytes to a place that the host knows to be in bounds; panics if it is not.
    #[inline(always)]
    pub(in crate::memory) fn put_known(&mut self, at: Ea, bytes: &[u8]) {
        let len = bytes.len() as u64;
        if !self.plain.holds(at, len) {
            return self.put_known_anywhere(at, bytes);
        }
        // SAFETY: what is plain is in bounds and writable; and as in `slice_at`, with `self` held exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.plain_place(at), len as usize) }.copy_from_slice(bytes);
    }

    #[cold]
    #[inline(never)]
    fn put_known_anywhere(&mut self, at: Ea, bytes: &[u8]) {
        let place = self.slice_mut_anywhere(at, bytes.len() as u64);
        place.expect("the host's own objects are in the world").copy_from_slice(bytes);
    }

    /// The bytes at an offset.
    ///
    /// # Safety
    /// They are in bounds.
    #[inline(always)]
    unsafe fn slice_at(&self, off: u64, len: u64) -> &[u8] {
        // SAFETY: the bytes are within the mapping, which is initialised (zeroed) and lives as long as `self`; any
        // writer holds `self` exclusively or runs when no reference into the region is alive.
        unsafe { std::slice::from_raw_parts(self.bytes.start().as_ptr().add(off as usize), len as usize) }
    }

    /// `len` bytes to write, or `None` if any of them is out of bounds or read-only.
    #[inline(always)]
    pub fn slice_mut(&mut self, at: Ea, len: u64) -> Option<&mut [u8]> {
        if self.plain.holds(at, len) {
            // SAFETY: what is plain is in bounds.
            return Some(unsafe { self.slice_mut_at(at.0.wrapping_sub(BASE), len) });
        }
        self.slice_mut_anywhere(at, len)
    }

    /// Like `slice_mut` for bytes that need not be plain.
    fn slice_mut_anywhere(&mut self, at: Ea, len: u64) -> Option<&mut [u8]> {
        if at.0.wrapping_sub(BASE) < self.writable_from {
            return None;
        }
        self.slice_mut_anyway(at, len)
    }

    /// `len` bytes to write, read-only or not: for the initial contents of read-only objects.
    #[inline]
    pub fn slice_mut_anyway(&mut self, at: Ea, len: u64) -> Option<&mut [u8]> {
        let off = self.inside(at, len)?;
        // SAFETY: they are in bounds.
        Some(unsafe { self.slice_mut_at(off, len) })
    }

    /// The bytes at an offset, to write.
    ///
    /// # Safety
    /// They are in bounds.
    #[inline(always)]
    unsafe fn slice_mut_at(&mut self, off: u64, len: u64) -> &mut [u8] {
        // SAFETY: as in `slice_at`; `self` is held exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.start().as_ptr().add(off as usize), len as usize) }
    }
}
