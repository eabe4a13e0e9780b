//! Creates the program's maps.

use super::attr::Attr;
use super::batch::Walked;
use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::fds::Kind;
use crate::program::Program;
use crate::thread::Thread;
use keel_object::Btf;
use keel_object::btf::TypeId;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};

/// `enum bpf_map_type`, as far as it matters here.
pub(crate) mod kind {
    pub(crate) const HASH: u32 = 1;
    pub(crate) const ARRAY: u32 = 2;
    pub(crate) const PERCPU_HASH: u32 = 5;
    pub(crate) const PERCPU_ARRAY: u32 = 6;
    pub(crate) const LRU_HASH: u32 = 9;
    pub(crate) const LRU_PERCPU_HASH: u32 = 10;
    pub(crate) const ARRAY_OF_MAPS: u32 = 12;
    pub(crate) const HASH_OF_MAPS: u32 = 13;
    pub(crate) const QUEUE: u32 = 22;
    pub(crate) const STACK: u32 = 23;
    pub(crate) const STRUCT_OPS: u32 = 26;
    pub(crate) const RINGBUF: u32 = 27;
    pub(crate) const USER_RINGBUF: u32 = 31;
    pub(crate) const ARENA: u32 = 33;
    pub(crate) const LAST: u32 = 34;
}

/// `BPF_F_RDONLY_PROG`, `BPF_F_MMAPABLE`.
pub(crate) const RDONLY_PROG: u32 = 1 << 7;
pub(crate) const MMAPABLE: u32 = 1 << 10;

/// `BPF_F_INNER_MAP`: arrays in a map of maps may be of any length.
pub(crate) const INNER_MAP: u32 = 1 << 12;
/// `BPF_F_LINK`.
pub(crate) const LINK: u32 = 1 << 13;

pub(crate) const PAGE_BYTES: u64 = 4096;
/// The maximum size of one map in the program's memory, in bytes.
const MOST_BYTES: u64 = 4 << 30;
/// The maximum number of bytes of a key, of a value, and of a per-CPU value (`PCPU_MIN_UNIT_SIZE`).
const MOST_KEY_BYTES: u32 = 1 << 20;
const MOST_VALUE_BYTES: u32 = 512 << 20;
const MOST_PER_CPU_BYTES: u32 = 32 << 10;

/// A map.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) max_entries: u32,
    pub(crate) flags: u32,
    pub(crate) extra: u64,
    /// For a map of maps: the template of its maps.
    pub(crate) inner: Option<u32>,
    /// For a struct_ops map: the number of its value's type among the kernel's.
    pub(crate) ops_value: u32,
    /// The offsets of pointers to the kernel's objects in its value.
    pub(crate) kptrs: Vec<u32>,
    /// The pages that the program may map.
    pub(crate) file: Option<File>,
    /// The elements that the program has put into it before anything was loaded, with their order.
    pub(crate) values: BTreeMap<Vec<u8>, (Vec<u8>, u64)>,
    pub(crate) frozen: bool,
    /// How far the last batches have walked through a hash map.
    pub(super) walked: Option<Walked>,
    /// The address at which the program has mapped its pages.
    pub(crate) mapped_at: Option<u64>,
    /// Its index in the loaded object.
    pub(crate) place: Option<u32>,
    /// For a ring buffer: how far it has been written and read.
    pub(crate) producer: u64,
    pub(crate) consumer: u64,
    /// For an arena: the blocks of its file at the last check.
    pub(crate) blocks: u64,
}

impl Map {
    pub(crate) fn is_per_cpu(&self) -> bool {
        matches!(self.kind, kind::PERCPU_ARRAY | kind::PERCPU_HASH | kind::LRU_PERCPU_HASH)
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self.kind, kind::ARRAY | kind::PERCPU_ARRAY)
    }

    /// Returns whether it is a queue or a stack, whose values have no keys.
    pub(crate) fn is_queue(&self) -> bool {
        matches!(self.kind, kind::QUEUE | kind::STACK)
    }

    /// Returns whether it is a ring buffer, in either direction.
    pub(crate) fn is_ring(&self) -> bool {
        matches!(self.kind, kind::RINGBUF | kind::USER_RINGBUF)
    }

    /// Returns whether the kernel would create this ring buffer (`ringbuf_map_alloc()`).
    fn is_possible_ring(&self) -> bool {
        let bytes = self.max_entries;
        let has_sizes = self.key_size != 0 || self.value_size != 0;
        !has_sizes && bytes.is_power_of_two() && u64::from(bytes).is_multiple_of(PAGE_BYTES)
    }

    /// Returns whether its values are other maps, which the program sets by descriptor.
    pub(crate) fn has_maps(&self) -> bool {
        matches!(self.kind, kind::ARRAY_OF_MAPS | kind::HASH_OF_MAPS)
    }

    /// Returns the distance from one value of an array to the next, in bytes.
    pub(crate) fn stride(&self) -> u64 {
        u64::from(self.value_size).next_multiple_of(8)
    }

    /// Returns the size of the pages that the program may map, in bytes, or `None` if it may not map any.
    fn file_bytes(&self) -> Option<u64> {
        match self.kind {
            kind::ARRAY if self.flags & MMAPABLE != 0 => Some(
                self.stride()
                    .saturating_mul(u64::from(self.max_entries))
                    .min(2 * MOST_BYTES)
                    .next_multiple_of(PAGE_BYTES),
            ),
            // The data is stored twice, so that a record that wraps is in one piece.
            kind::RINGBUF => Some(2 * PAGE_BYTES + 2 * u64::from(self.max_entries)),
            // Its data is mapped twice.
            kind::USER_RINGBUF => Some(2 * PAGE_BYTES + u64::from(self.max_entries)),
            kind::ARENA => Some(u64::from(self.max_entries) * PAGE_BYTES),
            _ => None,
        }
    }
}

impl Program {
    pub(super) fn map_create(&mut self, t: &mut Thread, attr: &Attr) -> Result<Answer, ProgramError> {
        let mut map = Map {
            kind: attr.u32(0),
            key_size: attr.u32(4),
            value_size: attr.u32(8),
            max_entries: attr.u32(12),
            flags: attr.u32(16),
            name: attr.name(28),
            extra: attr.u64(64),
            inner: None,
            ops_value: attr.u32(60),
            kptrs: self.kptrs(attr),
            file: None,
            values: BTreeMap::new(),
            frozen: false,
            walked: None,
            mapped_at: None,
            place: None,
            producer: 0,
            consumer: 0,
            blocks: 0,
        };
        if map.kind == 0 || map.kind > kind::LAST {
            return Ok(error(libc::EINVAL));
        }
        let most = if map.is_per_cpu() { MOST_PER_CPU_BYTES } else { MOST_VALUE_BYTES };
        if map.key_size > MOST_KEY_BYTES || map.value_size > most {
            return Ok(error(libc::E2BIG));
        }
        if map.has_maps() {
            match self.map_of(attr.fd(20)) {
                Some(inner) if self.bpf.maps[inner as usize].has_maps() => return Ok(error(libc::EINVAL)),
                Some(inner) => map.inner = Some(inner),
                None => return Ok(error(libc::EBADF)),
            }
        }
        if map.is_ring() && !map.is_possible_ring() {
            return Ok(error(libc::EINVAL));
        }
        let answer = match map.file_bytes() {
            Some(bytes) if bytes > MOST_BYTES => error(libc::E2BIG),
            Some(bytes) => self.new_file(t, bytes, &mut map.file)?,
            None => self.new_fd(t, Kind::Socket, false)?,
        };
        if let Answer::Value(fd @ 0..) = answer {
            self.fds.put(fd as i32, Kind::Map(self.bpf.maps.len() as u32), false);
            self.bpf.maps.push(map);
        }
        Ok(answer)
    }

    /// Returns the offsets of pointers to the kernel's objects in the values of a new map, by its types.
    fn kptrs(&self, attr: &Attr) -> Vec<u32> {
        let types = self.fds.get(attr.fd(48)).and_then(|open| match *open.kind.borrow() {
            Kind::Btf(types) => Some(types),
            _ => None,
        });
        let value = attr.u32(56);
        let Some(types) = types.filter(|_| value > 0) else { return Vec::new() };
        let types = Btf::parse(&self.bpf.types[types as usize]).unwrap_or_default();
        if (value as usize) < types.len() { types.kptr_offsets(TypeId(value)) } else { Vec::new() }
    }

    /// Creates an unnamed file that the program may map, and that keel also has open. Its size is sealed: otherwise the
    /// program could remove pages that keel uses.
    fn new_file(
        &mut self,
        t: &mut Thread,
        bytes: u64,
        file: &mut Option<File>,
    ) -> Result<Answer, ProgramError> {
        self.host.write(self.page, b"map\0");
        let flags = u64::from(libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        let (fd, _) = t.call(&mut self.host, libc::SYS_memfd_create, [self.page, flags, 0, 0, 0, 0])?;
        if fd < 0 {
            return Ok(Answer::Value(fd));
        }
        let number = fd as u64;
        t.call(&mut self.host, libc::SYS_ftruncate, [number, bytes, 0, 0, 0, 0])?;
        let seals = (libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL) as u64;
        t.call(&mut self.host, libc::SYS_fcntl, [number, libc::F_ADD_SEALS as u64, seals, 0, 0, 0])?;
        let path = format!("/proc/{}/fd/{fd}", self.host.pid);
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let opened =
            opened.map_err(|e| ProgramError::Host(format!("a map's pages: {}", crate::host::reason(&e))))?;
        let size = opened.metadata().map_or(0, |data| data.len());
        if size != bytes {
            return Err(ProgramError::Host(format!("a map's pages: {size} bytes of {bytes}")));
        }
        *file = Some(opened);
        Ok(Answer::Value(fd))
    }
}
