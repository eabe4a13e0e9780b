//! The contract with whoever has the maps of the loaded object.

use keel_abi::bpf::Errno;
use std::fs::File;

/// A ring buffer as user space sees it.
pub struct RingView<'a> {
    /// Bytes ever reserved.
    pub producer: u64,
    /// The bytes of the ring, and as many behind it, where the ends of records are that would be cut.
    pub data: &'a [u8],
}

/// A map that is put into a map of maps.
#[derive(Clone, Copy, Debug)]
pub enum Inner<'a> {
    /// One that has its place.
    Loaded(u32),
    /// One that was made since, like those that the map of maps is made for.
    New {
        /// How many elements it has room for.
        max_entries: u32,
        /// The pages that the program may map.
        pages: Option<&'a File>,
    },
}

/// Maps of the loaded object, by their place in [`Object::maps`](keel_object::Object::maps).
pub trait Desk {
    /// A value, of this CPU where each has its own.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn lookup(&mut self, map: u32, key: &[u8], cpu: u32) -> Result<Vec<u8>, Errno>;
    /// Sets a value.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn update(&mut self, map: u32, key: &[u8], value: &[u8], flags: u64, cpu: u32) -> Result<(), Errno>;
    /// Removes a value.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn delete(&mut self, map: u32, key: &[u8]) -> Result<(), Errno>;
    /// Puts a map into an entry of a map of maps; returns its place.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn nest(&mut self, outer: u32, index: u32, inner: Inner<'_>) -> Result<u32, Errno>;
    /// Takes the map out of an entry of a map of maps.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn take_out(&mut self, outer: u32, index: u32) -> Result<(), Errno>;
    /// Puts a value into a queue or a stack.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn push(&mut self, map: u32, value: &[u8], flags: u64) -> Result<(), Errno>;
    /// The next value of a queue or a stack, which stays there if it is to be kept.
    ///
    /// # Errors
    /// Those of bpf(2); `ENOENT` where there is none.
    fn pop(&mut self, map: u32, keep: bool) -> Result<Vec<u8>, Errno>;
    /// The key after this one, or the first.
    ///
    /// # Errors
    /// Those of bpf(2); `ENOENT` after the last.
    fn next_key(&mut self, map: u32, key: Option<&[u8]>) -> Result<Vec<u8>, Errno>;
    /// A ring buffer; nothing where the map is none.
    fn ring(&mut self, map: u32) -> Option<RingView<'_>>;
    /// User space has read so many bytes of a ring buffer.
    fn ring_read(&mut self, map: u32, consumer: u64);
    /// Bytes that programs have taken out of a user ring buffer; nothing where the map is none.
    fn ring_consumed(&mut self, map: u32) -> Option<u64>;
    /// User space has written a user ring buffer up to this position: the ring's bytes from what was taken out on.
    fn ring_written(&mut self, map: u32, producer: u64, bytes: &[u8]);
    /// User space has touched so many pages of an arena, from this one on; perhaps it had before.
    fn arena_touched(&mut self, map: u32, first: u64, count: u64);
}

/// Before anything is loaded there are no maps.
pub struct NoDesk;

impl Desk for NoDesk {
    fn lookup(&mut self, _: u32, _: &[u8], _: u32) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOENT)
    }

    fn update(&mut self, _: u32, _: &[u8], _: &[u8], _: u64, _: u32) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&mut self, _: u32, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::ENOENT)
    }

    fn nest(&mut self, _: u32, _: u32, _: Inner<'_>) -> Result<u32, Errno> {
        Err(Errno::EINVAL)
    }

    fn take_out(&mut self, _: u32, _: u32) -> Result<(), Errno> {
        Err(Errno::ENOENT)
    }

    fn push(&mut self, _: u32, _: &[u8], _: u64) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn pop(&mut self, _: u32, _: bool) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOENT)
    }

    fn next_key(&mut self, _: u32, _: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOENT)
    }

    fn ring(&mut self, _: u32) -> Option<RingView<'_>> {
        None
    }

    fn ring_read(&mut self, _: u32, _: u64) {}

    fn ring_consumed(&mut self, _: u32) -> Option<u64> {
        None
    }

    fn ring_written(&mut self, _: u32, _: u64, _: &[u8]) {}

    fn arena_touched(&mut self, _: u32, _: u64, _: u64) {}
}
