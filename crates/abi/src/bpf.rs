//! The contract between what executes BPF (an [`Engine`]) and what plays the kernel (a
//! [`Host`]), over the [`World`] of memory and maps that programs see.
//!
//! The host starts a callback on a CPU. When the program calls a helper or kfunc the engine asks the host, which
//! answers with a value or with [`Reply::Suspend`]: then the callback is frozen and [`Engine::start`] returns, so that
//! the host may let other CPUs run first or run a nested callback. [`Engine::resume`] repeats the same call with
//! [`CallSite::again`] set, and the callback continues from there. A frozen stack never holds a frame of the host.

use crate::clocks::Clocks;
use crate::scx::Op;
use crate::{CpuId, Instant};

/// An address in simulated memory, as BPF code sees it. Never an address of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ea(pub u64);

impl Ea {
    /// The null pointer.
    pub const NULL: Self = Self(0);

    /// The address `bytes` further on.
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Is it the null pointer?
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

/// A helper or kfunc, numbered by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(pub u32);

/// A map of the loaded object, in the order of the object's maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapId(pub u32);

/// A program of the loaded object, in the order of the object's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry(pub u32);

/// What a callback has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// BPF instructions executed.
    pub insns: u64,
    /// Picoseconds spent waiting for cache lines.
    pub stall_ps: u64,
}

/// An error number, as helpers return it negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// No such entry.
    pub const ENOENT: Self = Self(2);
    /// No space left (a full hash map).
    pub const E2BIG: Self = Self(7);
    /// Try again (a full ring buffer).
    pub const EAGAIN: Self = Self(11);
    /// Out of memory.
    pub const ENOMEM: Self = Self(12);
    /// Bad address.
    pub const EFAULT: Self = Self(14);
    /// Busy.
    pub const EBUSY: Self = Self(16);
    /// Exists already.
    pub const EEXIST: Self = Self(17);
    /// Invalid argument.
    pub const EINVAL: Self = Self(22);
    /// No space left (a full ring buffer, to user space).
    pub const ENOSPC: Self = Self(28);
    /// Out of range.
    pub const ERANGE: Self = Self(34);
    /// It would never end.
    pub const EDEADLK: Self = Self(35);
    /// Not supported.
    pub const EOPNOTSUPP: Self = Self(95);
    /// It took too long.
    pub const ETIMEDOUT: Self = Self(110);

    /// The value that a helper puts into R0.
    pub const fn as_r0(self) -> u64 {
        -(self.0 as i64) as u64
    }
}

/// A map as the object declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapInfo {
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Entries at most.
    pub max_entries: u32,
}

/// `struct bpf_dynptr_kern` of memory that is written and read as it is: an address, and how much of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dynptr {
    /// Where it begins.
    pub data: Ea,
    /// Bytes.
    pub len: u32,
}

impl Dynptr {
    /// Bytes of the structure.
    pub const BYTES: u64 = 16;
    /// `DYNPTR_MAX_SIZE`.
    pub const MAX_LEN: u32 = (1 << 24) - 1;
    /// `BPF_DYNPTR_TYPE_LOCAL`, where the kernel keeps it.
    const LOCAL: u32 = 1 << 28;

    /// A dynptr to this many bytes.
    pub const fn new(data: Ea, len: u32) -> Self {
        Self { data, len }
    }

    /// As laid out in memory.
    pub fn to_bytes(self) -> [u8; 16] {
        let size = u64::from(self.len | Self::LOCAL);
        (u128::from(self.data.0) | u128::from(size) << 64).to_le_bytes()
    }

    /// From memory; nothing where it is a null one (`bpf_dynptr_set_null()`).
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        let word = u128::from_le_bytes(bytes);
        let data = Ea(word as u64);
        (!data.is_null()).then_some(Self { data, len: (word >> 64) as u32 & Self::MAX_LEN })
    }

    /// The address of `len` bytes from `offset` on (`bpf_dynptr_check_off_len()`).
    pub fn part(self, offset: u64, len: u64) -> Option<Ea> {
        let size = u64::from(self.len);
        (offset <= size && len <= size - offset).then(|| self.data.offset(offset))
    }
}

/// Location of a map element's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKey {
    /// An array's index; it is not in memory.
    Index(u32),
    /// The address of the key.
    At(Ea),
}

/// What `bpf_ringbuf_query()` returns for a ring buffer, in bytes, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingCount {
    /// `BPF_RB_AVAIL_DATA`: not yet consumed.
    Available,
    /// `BPF_RB_RING_SIZE`.
    Size,
    /// `BPF_RB_CONS_POS`: consumed since the beginning.
    Consumer,
    /// `BPF_RB_PROD_POS`: reserved since the beginning.
    Producer,
}

/// Whose local storage a map holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A task, by its dense id.
    Task(u32),
    /// A cgroup, by a dense id.
    Cgroup(u32),
}

/// The memory and maps that BPF code can reach. The host accesses them through this trait too.
pub trait World {
    /// `len` readable bytes, or nothing where any of them is outside the world.
    fn slice(&self, at: Ea, len: u64) -> Option<&[u8]>;
    /// `len` writable bytes, or nothing where any of them is outside the world or read-only.
    fn slice_mut(&mut self, at: Ea, len: u64) -> Option<&mut [u8]>;
    /// Memory that is zeroed, lazily committed, aligned to a page and never freed; `None` when the
    /// world is full. All of it counts as one live object.
    fn reserve(&mut self, len: u64) -> Option<Ea>;
    /// An object of its own: zeroed, aligned to 8 bytes, or to 64 where it is at least as long.
    fn alloc(&mut self, len: u64) -> Option<Ea>;
    /// Ends an object that [`World::alloc`] gave.
    fn free(&mut self, at: Ea);
    /// Picoseconds that `cpu` waits for the lines under these bytes, which it then holds.
    fn touch_ps(&mut self, at: Ea, len: u64, cpu: CpuId, write: bool) -> u64;

    /// The map that a map pointer in a register refers to.
    fn map_at(&self, handle: Ea) -> Option<MapId>;
    /// How the map was declared.
    fn map_info(&self, map: MapId) -> MapInfo;
    /// The value's address, on `cpu` where the map is per CPU.
    fn map_lookup(&mut self, map: MapId, key: Ea, cpu: CpuId) -> Option<Ea>;
    /// `bpf_map_update_elem` with its `BPF_ANY`, `BPF_NOEXIST` and `BPF_EXIST`.
    fn map_update(&mut self, map: MapId, key: Ea, value: Ea, flags: u64, cpu: CpuId) -> Result<(), Errno>;
    /// `bpf_map_delete_elem`.
    fn map_delete(&mut self, map: MapId, key: Ea) -> Result<(), Errno>;
    /// The element of an array or hash whose value, shared by all CPUs, holds the address: its key, and where its
    /// value begins.
    fn map_element(&self, map: MapId, at: Ea) -> Option<(MapKey, Ea)>;
    /// `bpf_map_push_elem` on queues and stacks.
    fn map_push(&mut self, map: MapId, value: Ea, flags: u64) -> Result<(), Errno>;
    /// `bpf_map_pop_elem`, or with `keep` `bpf_map_peek_elem`; zeroes `value` where it fails.
    fn map_pop(&mut self, map: MapId, value: Ea, keep: bool) -> Result<(), Errno>;
    /// `bpf_ringbuf_reserve` on a ring buffer: where a record of `len` bytes begins; nothing when it does not fit.
    fn ring_reserve(&mut self, map: MapId, len: u64) -> Option<Ea>;
    /// `bpf_ringbuf_submit`, or with `discard` `bpf_ringbuf_discard`: the ring buffer, and the record's bytes; nothing
    /// when `record` was not reserved.
    fn ring_commit(&mut self, record: Ea, discard: bool) -> Option<(MapId, u64)>;
    /// User space has read all that was submitted to a ring buffer.
    fn ring_consume(&mut self, map: MapId);
    /// `bpf_ringbuf_query`; nothing when the map is no ring buffer.
    fn ring_count(&self, map: MapId, what: RingCount) -> Option<u64>;
    /// `bpf_arena_alloc_pages`: the user's address of this many consecutive zeroed pages, at `at` unless that is null.
    /// `None` if the map is not an arena or has too few pages left.
    fn arena_alloc(&mut self, map: MapId, at: Ea, pages: u32) -> Option<Ea>;
    /// `bpf_arena_free_pages`: how many pages were given back; none when the map is no arena.
    fn arena_free(&mut self, map: MapId, at: Ea, pages: u32) -> u64;
    /// `bpf_arena_reserve_pages`; EINVAL when the map is no arena.
    fn arena_reserve(&mut self, map: MapId, at: Ea, pages: u32) -> Result<(), Errno>;
    /// Where loads and stores find the byte of the arena that has this address for user space.
    fn arena_at(&self, user: Ea) -> Ea;
    /// The value of an owner in a task or cgroup storage map. With `create`, it is created if it is missing, from the
    /// bytes at `init` unless that is null.
    fn storage_get(&mut self, map: MapId, owner: Owner, create: bool, init: Ea) -> Option<Ea>;
    /// Ends the owner's value in one map.
    fn storage_delete(&mut self, map: MapId, owner: Owner) -> Result<(), Errno>;
    /// Removes the owner's values from every map: the owner no longer exists.
    fn storage_forget(&mut self, owner: Owner);

    /// A copy of `N` bytes.
    #[inline]
    fn bytes<const N: usize>(&self, at: Ea) -> Option<[u8; N]>
    where
        Self: Sized,
    {
        self.slice(at, N as u64).and_then(|s| s.try_into().ok())
    }

    /// The 64-bit word at an address of the host's own; panics outside the world.
    #[inline]
    fn u64_at(&self, at: Ea) -> u64
    where
        Self: Sized,
    {
        u64::from_le_bytes(self.bytes(at).expect("the host's own objects are in the world"))
    }

    /// The 32-bit word at an address of the host's own; panics outside the world.
    #[inline]
    fn u32_at(&self, at: Ea) -> u32
    where
        Self: Sized,
    {
        u32::from_le_bytes(self.bytes(at).expect("the host's own objects are in the world"))
    }

    /// Writes bytes at an address of the host's own; panics outside the world.
    #[inline]
    fn put(&mut self, at: Ea, bytes: &[u8])
    where
        Self: Sized,
    {
        self.slice_mut(at, bytes.len() as u64)
            .expect("the host's own objects are in the world")
            .copy_from_slice(bytes);
    }
}

/// A program's position when it calls out.
pub struct CallSite<'a, W> {
    /// The memory and maps.
    pub world: &'a mut W,
    /// The CPU that the callback runs on.
    pub cpu: CpuId,
    /// What this callback has used up to this call, the call instruction included.
    pub usage: Usage,
    /// The call was suspended before and is made again.
    pub again: bool,
    /// Which call of the object it is: [`Engine::place`] returns its place in the object.
    pub number: u32,
}

/// The position of a call in an object's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPlace {
    /// The program's or subprogram's name.
    pub program: String,
    /// The instruction's index within it.
    pub insn: u32,
    /// `file:line: text` where the object has line information.
    pub source: Option<String>,
}

/// The host's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// R0. The engine then zeroes R1 to R5.
    Value(u64),
    /// Freeze the callback and return to its driver; the call is made again later.
    Suspend,
    /// The program may not go on. Boxed, so that an answer fits in two registers.
    Stop(Box<FaultKind>),
}

/// The kernel's side of a call.
pub trait Host<W: World> {
    /// Serves helper or kfunc `func`.
    fn call(&mut self, site: CallSite<'_, W>, func: FuncId, args: &[u64; 5]) -> Reply;

    /// The instant that the callback of `cpu` has reached with this usage, if no other CPU has anything to do earlier.
    /// Otherwise `None`: the engine then freezes the callback, and asks again with `again` set after
    /// [`Engine::resume`]. Called before each atomic instruction, and sometimes in a loop of `may_goto`.
    fn turn(&mut self, cpu: CpuId, usage: Usage, again: bool) -> Option<Instant>;

    /// Costs in picoseconds that the first call is to be charged with, for an engine that may serve it by itself; the host
    /// forgets them. Nothing where the host must serve it.
    fn take_spent_ps(&mut self) -> Option<u64> {
        None
    }

    /// Gives back what [`Host::take_spent_ps`] gave and no call was charged with.
    fn give_spent_ps(&mut self, _ps: u64) {}

    /// What a clock shows to a callback with this usage. Asked only where [`Host::take_spent_ps`] gave something.
    fn clock(&mut self, _usage: Usage) -> Instant {
        Instant::ZERO
    }

    /// What the callback that runs now has been charged with so far. Only an engine that keeps a profile asks.
    fn meter(&self) -> Meter {
        Meter { origin: Origin::Program, charged_ps: 0 }
    }

    /// What has happened before what, where that is kept. Only an engine that looks for data races asks.
    fn clocks(&mut self) -> Option<&mut Clocks> {
        None
    }
}

/// What called a program of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The kernel, on behalf of a callback of the scheduler.
    Op(Op),
    /// BPF's own timer.
    Timer,
    /// The kernel, on behalf of a tracing program.
    Trace,
    /// The scheduler's user-space half. Its time is not the scheduler's time in the kernel.
    Program,
}

/// What a callback in progress has been charged with, beside its instructions and the lines that they moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    /// What called it.
    pub origin: Origin,
    /// Its entry and its calls, in picoseconds.
    pub charged_ps: u64,
}

/// How far a callback came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It returned `value`.
    Done {
        /// R0 at the exit.
        value: u64,
        /// All that it used.
        usage: Usage,
    },
    /// The host suspended it; it is the CPU's innermost activation until resumed.
    Suspended,
    /// It was stopped, and its activation no longer exists.
    Failed {
        /// Why and where.
        fault: Box<Fault>,
        /// All that it used until then.
        usage: Usage,
    },
}

/// What is where an access goes that should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidPlace {
    /// So close to address 0 that it came from a null pointer.
    Null,
    /// An object that has ended.
    Freed,
    /// An element that its map does not hold, or the gap behind a value.
    Element,
    /// A page of an arena that is not allocated.
    Arena,
    /// An object that programs may not write.
    ReadOnly,
    /// The stack, below the frame of the function.
    Stack,
    /// Nothing that is known.
    Nowhere,
}

/// Why a program was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It executed more instructions than any callback may.
    NeverEnds,
    /// More than eight frames, or a frame too large.
    TooDeep,
    /// It reached a relocation that the kernel's types cannot satisfy; the text names it.
    Poisoned(String),
    /// An access outside every live object (checked mode). In an arena the address is the user's.
    OutOfBounds {
        /// The address.
        at: Ea,
        /// Bytes accessed.
        len: u64,
        /// A store, or a load.
        write: bool,
        /// What is there.
        place: InvalidPlace,
    },
    /// An instruction that is not part of the set, or a jump out of the program.
    BadInstruction,
    /// A call that its context forbids. The text contains what and why.
    BadCall(String),
}

/// A stopped program: why and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Why.
    pub kind: FaultKind,
    /// The program's or subprogram's name.
    pub program: String,
    /// The instruction's index within it.
    pub insn: u32,
    /// `file:line: text` where the object has line information.
    pub source: Option<String>,
}

/// What executes BPF.
pub trait Engine {
    /// The memory and maps it works on.
    type World: World;

    /// The world between callbacks.
    fn world(&mut self) -> &mut Self::World;

    /// The position of the call with this number ([`CallSite::number`]).
    fn place(&self, number: u32) -> Option<CallPlace>;

    /// Runs `entry` on `cpu` with a struct_ops context of `args` (64-bit words that R1 points
    /// to), until it ends or is suspended. May be called while an outer activation of the same
    /// CPU is suspended.
    fn start<H: Host<Self::World>>(
        &mut self,
        host: &mut H,
        cpu: CpuId,
        entry: Entry,
        args: &[u64],
    ) -> Progress;

    /// Runs a function that BPF handed over as a pointer (a timer's callback) on `cpu` with
    /// `args` in R1 to R5. Any value may be given; one that is no function fails as a bad call.
    fn start_function<H: Host<Self::World>>(
        &mut self,
        host: &mut H,
        cpu: CpuId,
        function: u64,
        args: [u64; 5],
    ) -> Progress;

    /// Goes on with the innermost suspended activation of `cpu`.
    fn resume<H: Host<Self::World>>(&mut self, host: &mut H, cpu: CpuId) -> Progress;
}
