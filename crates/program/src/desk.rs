//! The interface to the owner of the loaded object's maps.

use keel_abi::bpf::Errno;
use keel_abi::companion::View;
use std::fs::File;

/// A ring buffer as user space sees it.
pub struct RingView<'a> {
    /// The number of bytes ever reserved.
    pub producer: u64,
    /// The bytes of the ring, followed by as many with the ends of records that would be split.
    pub data: &'a [u8],
}

/// A map to put into a map of maps.
#[derive(Clone, Copy, Debug)]
pub enum Inner<'a> {
    /// An existing map, by its index.
    Loaded(u32),
    /// A new map, like the template of the map of maps.
    New {
        /// Its size.
        max_entries: u32,
        /// The pages that the program may map.
        pages: Option<&'a File>,
    },
}

/// Maps of the loaded object, by their index in [`Object::maps`](keel_object::Object::maps).
pub trait Desk {
    /// Returns a value; in a per-CPU map, this CPU's.
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
    /// Puts a map into an entry of a map of maps, and returns its index.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn nest(&mut self, outer: u32, index: u32, inner: Inner<'_>) -> Result<u32, Errno>;
    /// Removes the map from an entry of a map of maps.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn take_out(&mut self, outer: u32, index: u32) -> Result<(), Errno>;
    /// Puts a value into a queue or a stack.
    ///
    /// # Errors
    /// Those of bpf(2).
    fn push(&mut self, map: u32, value: &[u8], flags: u64) -> Result<(), Errno>;
    /// Returns the next value of a queue or a stack. It is not removed if `keep` is set.
    ///
    /// # Errors
    /// Those of bpf(2), such as `ENOENT` if there is none.
    fn pop(&mut self, map: u32, keep: bool) -> Result<Vec<u8>, Errno>;
    /// Returns the key after this one, or the first.
    ///
    /// # Errors
    /// Those of bpf(2), such as `ENOENT` after the last.
    fn next_key(&mut self, map: u32, key: Option<&[u8]>) -> Result<Vec<u8>, Errno>;
    /// Returns a ring buffer, or `None` if the map is not one.
    fn ring(&mut self, map: u32) -> Option<RingView<'_>>;
    /// Notes that user space has read a ring buffer up to this position.
    fn ring_read(&mut self, map: u32, consumer: u64);
    /// Returns the number of bytes that programs have consumed from a user ring buffer, or `None` if the map is not
    /// one.
    fn ring_consumed(&mut self, map: u32) -> Option<u64>;
    /// Notes that user space has written a user ring buffer up to this position. `bytes` are the ring's bytes that have
    /// not been consumed.
    fn ring_written(&mut self, map: u32, producer: u64, bytes: &[u8]);
    /// Returns a view of the running machine, or `None` before the run and after it.
    fn view(&self) -> Option<&dyn View>;
    /// Notes that user space has touched `count` pages of an arena, from `first` on. It may have touched them before.
    fn arena_touched(&mut self, map: u32, first: u64, count: u64);
}

/// A desk without maps, for use before anything is loaded.
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

    fn view(&self) -> Option<&dyn View> {
        None
    }

    fn arena_touched(&mut self, _: u32, _: u64, _: u64) {}
}
