//! The interface between the code that executes BPF (an [`Engine`]) and the simulated kernel (a [`Host`]), over the
//! [`World`] of memory and maps that programs see.
//!
//! The host starts a callback on a CPU. When the program calls a helper or kfunc, the engine asks the host, which
//! answers with a value or with [`Reply::Suspend`]. In the latter case the callback is suspended and
//! [`Engine::start`] returns, so that the host can let other CPUs run first or run a nested callback.
//! [`Engine::resume`] repeats the call with [`CallSite::again`] set, and the callback continues from there. The stack
//! of a suspended callback never contains a frame of the host.

pub mod arguments;
mod frequent;

pub use frequent::Frequent;

use crate::clocks::Clocks;
use crate::scx::Op;
use crate::{CpuId, Instant};

/// An address in simulated memory, as BPF code sees it. Never an address of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ea(pub u64);

impl Ea {
    /// The null pointer.
    pub const NULL: Self = Self(0);

    /// Returns the address `bytes` further on.
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Returns whether this is the null pointer.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

/// A helper or kfunc, numbered by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(pub u32);

/// A map of the loaded object: its index among the object's maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapId(pub u32);

/// A program of the loaded object: its index among the object's programs.
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

/// An error number. Helpers return it negated.
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
    /// Already exists.
    pub const EEXIST: Self = Self(17);
    /// Invalid argument.
    pub const EINVAL: Self = Self(22);
    /// No space left (what user space gets for a full ring buffer).
    pub const ENOSPC: Self = Self(28);
    /// Out of range.
    pub const ERANGE: Self = Self(34);
    /// A deadlock: it would never end.
    pub const EDEADLK: Self = Self(35);
    /// Not supported.
    pub const EOPNOTSUPP: Self = Self(95);
    /// It took too long.
    pub const ETIMEDOUT: Self = Self(110);

    /// Returns the value that a helper puts into R0.
    pub const fn as_r0(self) -> u64 {
        -(self.0 as i64) as u64
    }
}

/// A map's declaration in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapInfo {
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// The size of a key, in bytes.
    pub key_size: u32,
    /// The size of a value, in bytes.
    pub value_size: u32,
    /// The maximum number of entries.
    pub max_entries: u32,
}

/// `struct bpf_dynptr_kern` for plain memory: an address, and how many bytes are left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dynptr {
    /// Where the memory begins.
    pub data: Ea,
    /// Its length in bytes.
    pub len: u32,
}

impl Dynptr {
    /// The size of the structure, in bytes.
    pub const BYTES: u64 = 16;
    /// `DYNPTR_MAX_SIZE`.
    pub const MAX_LEN: u32 = (1 << 24) - 1;
    /// `BPF_DYNPTR_TYPE_LOCAL`, at the bits where the kernel keeps the type.
    const LOCAL: u32 = 1 << 28;

    /// Creates a dynptr to this many bytes.
    pub const fn new(data: Ea, len: u32) -> Self {
        Self { data, len }
    }

    /// Converts it to its layout in memory.
    pub fn to_bytes(self) -> [u8; 16] {
        let size = u64::from(self.len | Self::LOCAL);
        (u128::from(self.data.0) | u128::from(size) << 64).to_le_bytes()
    }

    /// Converts it from its layout in memory. Returns `None` for a null dynptr (`bpf_dynptr_set_null()`).
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        let word = u128::from_le_bytes(bytes);
        let data = Ea(word as u64);
        (!data.is_null()).then_some(Self { data, len: (word >> 64) as u32 & Self::MAX_LEN })
    }

    /// Returns the address of `len` bytes at `offset`, if they are within its memory (`bpf_dynptr_check_off_len()`).
    pub fn part(self, offset: u64, len: u64) -> Option<Ea> {
        let size = u64::from(self.len);
        (offset <= size && len <= size - offset).then(|| self.data.offset(offset))
    }
}

/// Where a map element's key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKey {
    /// An array's index; it is not in memory.
    Index(u32),
    /// The address of the key.
    At(Ea),
}

/// The values that `bpf_ringbuf_query()` can return for a ring buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingCount {
    /// `BPF_RB_AVAIL_DATA`: what is not yet consumed.
    Available,
    /// `BPF_RB_RING_SIZE`: the size of the buffer.
    Size,
    /// `BPF_RB_CONS_POS`: what has been consumed since the beginning.
    Consumer,
    /// `BPF_RB_PROD_POS`: what has been reserved since the beginning.
    Producer,
}

/// The owner of local storage in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A task, by its dense id.
    Task(u32),
    /// A cgroup, by a dense id.
    Cgroup(u32),
}

/// The memory and maps that BPF code can access. The host accesses them through this trait too.
pub trait World: 'static {
    /// Returns `len` readable bytes, or `None` if any of them is outside the world.
    fn slice(&self, at: Ea, len: u64) -> Option<&[u8]>;
    /// Returns `len` writable bytes, or `None` if any of them is outside the world or read-only.
    fn slice_mut(&mut self, at: Ea, len: u64) -> Option<&mut [u8]>;
    /// Reserves memory that is zeroed, lazily committed, aligned to a page and never freed. Returns `None` if the world
    /// is full. All of it counts as one live object.
    fn reserve(&mut self, len: u64) -> Option<Ea>;
    /// Allocates an object: zeroed, and aligned to 8 bytes, or to 64 if it is at least that long.
    fn alloc(&mut self, len: u64) -> Option<Ea>;
    /// Frees an object that [`World::alloc`] returned.
    fn free(&mut self, at: Ea);
    /// Moves the cache lines of these bytes to `cpu`. Returns how long `cpu` waits for them, in picoseconds.
    fn touch_ps(&mut self, at: Ea, len: u64, cpu: CpuId, write: bool) -> u64;
    /// Like `touch_ps` for bytes that are read, and returns these, as `slice` does.
    #[inline]
    fn read_ps(&mut self, at: Ea, len: u64, cpu: CpuId) -> (u64, Option<&[u8]>) {
        (self.touch_ps(at, len, cpu, false), self.slice(at, len))
    }
    /// Requests the host's memory for an object's bytes at these offsets, in ascending order, and for the state of the
    /// cache lines of the first and the last of them: most of those between have theirs beside these
    /// ([`crate::fetch`](mod@crate::fetch)).
    fn fetch(&self, _at: Ea, _offsets: &[u64]) {}
    /// Like `touch_ps` for the four bytes of a lock, which `cpu` writes.
    #[inline]
    fn touch_lock_ps(&mut self, at: Ea, cpu: CpuId) -> u64 {
        self.touch_ps(at, 4, cpu, true)
    }

    /// Like `touch_lock_ps` where that is usual. Otherwise does nothing and returns `None`. Must not panic.
    #[inline(always)]
    fn touch_lock_at_once(&mut self, _at: Ea, _cpu: CpuId) -> Option<u64> {
        None
    }

    /// Returns the map that a map pointer in a register refers to.
    fn map_at(&self, handle: Ea) -> Option<MapId>;
    /// Returns how the map was declared.
    fn map_info(&self, map: MapId) -> MapInfo;
    /// Returns the value's address. In a per-CPU map this is the value of `cpu`.
    fn map_lookup(&mut self, map: MapId, key: Ea, cpu: CpuId) -> Option<Ea>;
    /// Like `map_lookup` for the map that a map pointer refers to, where that takes no search; the address is null if
    /// there is no value. Otherwise returns `None`. Must not panic.
    #[inline(always)]
    fn map_lookup_at_once(&self, _handle: Ea, _key: Ea, _cpu: CpuId) -> Option<Ea> {
        None
    }
    /// `bpf_map_update_elem` with its flags `BPF_ANY`, `BPF_NOEXIST` and `BPF_EXIST`.
    fn map_update(&mut self, map: MapId, key: Ea, value: Ea, flags: u64, cpu: CpuId) -> Result<(), Errno>;
    /// `bpf_map_delete_elem`.
    fn map_delete(&mut self, map: MapId, key: Ea) -> Result<(), Errno>;
    /// Finds the element of an array or hash whose value, which all CPUs share, contains the address. Returns its key,
    /// and where its value begins.
    fn map_element(&self, map: MapId, at: Ea) -> Option<(MapKey, Ea)>;
    /// `bpf_map_push_elem` on queues and stacks.
    fn map_push(&mut self, map: MapId, value: Ea, flags: u64) -> Result<(), Errno>;
    /// `bpf_map_pop_elem`, or `bpf_map_peek_elem` if `keep` is set. Zeroes `value` if it fails.
    fn map_pop(&mut self, map: MapId, value: Ea, keep: bool) -> Result<(), Errno>;
    /// `bpf_ringbuf_reserve` on a ring buffer. Returns where a record of `len` bytes begins, or `None` if it does not
    /// fit.
    fn ring_reserve(&mut self, map: MapId, len: u64) -> Option<Ea>;
    /// `bpf_ringbuf_submit`, or `bpf_ringbuf_discard` if `discard` is set. Returns the ring buffer and the record's
    /// size in bytes, or `None` if `record` was not reserved.
    fn ring_commit(&mut self, record: Ea, discard: bool) -> Option<(MapId, u64)>;
    /// Consumes, as user space does, everything that was submitted to a ring buffer.
    fn ring_consume(&mut self, map: MapId);
    /// `bpf_ringbuf_query`. Returns `None` if the map is not a ring buffer.
    fn ring_count(&self, map: MapId, what: RingCount) -> Option<u64>;
    /// `bpf_arena_alloc_pages`. Returns the user-space address of this many consecutive zeroed pages, at `at` unless
    /// that is null, or `None` if the map is not an arena or has too few pages left.
    fn arena_alloc(&mut self, map: MapId, at: Ea, pages: u32) -> Option<Ea>;
    /// `bpf_arena_free_pages`. Returns how many pages were freed: 0 if the map is not an arena.
    fn arena_free(&mut self, map: MapId, at: Ea, pages: u32) -> u64;
    /// `bpf_arena_reserve_pages`. Fails with `EINVAL` if the map is not an arena.
    fn arena_reserve(&mut self, map: MapId, at: Ea, pages: u32) -> Result<(), Errno>;
    /// Converts the user-space address of a byte in the arena to the address for loads and stores.
    fn arena_at(&self, user: Ea) -> Ea;
    /// Returns an owner's value in a task or cgroup storage map. If `create` is set, a missing value is created, from
    /// the bytes at `init` unless that is null.
    fn storage_get(&mut self, map: MapId, owner: Owner, create: bool, init: Ea) -> Option<Ea>;
    /// Removes the owner's value from one map.
    fn storage_delete(&mut self, map: MapId, owner: Owner) -> Result<(), Errno>;
    /// Removes the owner's values from every map, because the owner no longer exists.
    fn storage_forget(&mut self, owner: Owner);

    /// Returns a copy of `N` bytes.
    #[inline]
    fn bytes<const N: usize>(&self, at: Ea) -> Option<[u8; N]>
    where
        Self: Sized,
    {
        self.slice(at, N as u64).and_then(|s| s.try_into().ok())
    }

    /// Returns `N` 64-bit words that lie side by side if a quick look shows that all are in the world.
    #[inline]
    fn words_at_once<const N: usize>(&self, _at: Ea) -> Option<[u64; N]>
    where
        Self: Sized,
    {
        None
    }

    /// Returns `N` 64-bit words that lie side by side, with 0 for each that is outside the world.
    #[inline(always)]
    fn words<const N: usize>(&self, at: Ea) -> [u64; N]
    where
        Self: Sized,
    {
        match self.words_at_once(at) {
            Some(words) => words,
            None => one_by_one(self, at),
        }
    }

    /// Returns the 64-bit word at an address of the host's own. Panics if that is outside the world.
    #[inline]
    fn u64_at(&self, at: Ea) -> u64
    where
        Self: Sized,
    {
        u64::from_le_bytes(self.bytes(at).expect("the host's own objects are in the world"))
    }

    /// Returns the 32-bit word at an address of the host's own. Panics if that is outside the world.
    #[inline]
    fn u32_at(&self, at: Ea) -> u32
    where
        Self: Sized,
    {
        u32::from_le_bytes(self.bytes(at).expect("the host's own objects are in the world"))
    }

    /// Writes 64-bit words side by side if a quick look shows that all are in the world; returns whether it does.
    #[inline]
    fn put_words_at_once<const N: usize>(&mut self, _at: Ea, _words: [u64; N]) -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Writes 64-bit words side by side at an address of the host's own. Panics if that is outside the world.
    #[inline(always)]
    fn put_words<const N: usize>(&mut self, at: Ea, words: [u64; N])
    where
        Self: Sized,
    {
        if !self.put_words_at_once(at, words) {
            put_one_by_one(self, at, words);
        }
    }

    /// An object of the host's own, to read and write. Panics if that is not in the world.
    #[inline]
    fn object<const N: usize>(&mut self, at: Ea) -> &mut [u8; N]
    where
        Self: Sized,
    {
        let bytes = self.slice_mut(at, N as u64).and_then(|bytes| bytes.try_into().ok());
        bytes.expect("the host's own objects are in the world")
    }

    /// Writes bytes at an address of the host's own. Panics if that is outside the world.
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

#[cold]
#[inline(never)]
fn one_by_one<W: World, const N: usize>(world: &W, at: Ea) -> [u64; N] {
    std::array::from_fn(|i| world.bytes(at.offset(8 * i as u64)).map_or(0, u64::from_le_bytes))
}

#[cold]
#[inline(never)]
fn put_one_by_one<W: World, const N: usize>(world: &mut W, at: Ea, words: [u64; N]) {
    for (i, word) in words.into_iter().enumerate() {
        world.put(at.offset(8 * i as u64), &word.to_le_bytes());
    }
}

/// A program's position when it calls a helper or kfunc.
pub struct CallSite<'a, W> {
    /// The memory and maps.
    pub world: &'a mut W,
    /// The CPU that the callback runs on.
    pub cpu: CpuId,
    /// What this callback has used up to and including the call instruction.
    pub usage: Usage,
    /// Whether the call was suspended before and is being repeated.
    pub again: bool,
    /// Which call of the object this is. [`Engine::place`] returns its place in the object.
    pub number: u32,
}

/// The position of a call in an object's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPlace {
    /// The program's or subprogram's name.
    pub program: String,
    /// The instruction's index within it.
    pub insn: u32,
    /// `file:line: text`, if the object has line information.
    pub source: Option<String>,
}

/// The host's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The value of R0. The engine then zeroes R1 to R5.
    Value(u64),
    /// Suspend the callback and return to the host. The call is repeated later.
    Suspend,
    /// Stop the program. The fault is boxed, so that the answer fits in two registers.
    Stop(Box<FaultKind>),
}

/// Why [`Host::call_at_once`] gives no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// Nothing was done: [`Host::call`] must make the call.
    Rare,
    /// As [`Reply::Suspend`].
    Suspend,
    /// As [`Reply::Stop`].
    Stop(Box<FaultKind>),
}

/// How far a callback got that [`Engine::start_at_once`] was asked to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// As [`Progress::Done`].
    Done {
        /// R0 at its exit.
        value: u64,
        /// Everything that it used.
        usage: Usage,
    },
    /// As [`Progress::Suspended`], once [`Engine::put_aside`] has been called.
    Suspended,
    /// It was stopped; [`Engine::failed`] says why.
    Failed,
    /// It was not started: [`Engine::start`] must do it.
    Refused,
}

/// The kernel's side of a program's calls.
pub trait Host<W: World> {
    /// Executes helper or kfunc `func`. The arguments behind those that a [`Frequent`] function takes may be anything.
    fn call(&mut self, site: CallSite<'_, W>, func: FuncId, args: &[u64; 5]) -> Reply;

    /// Like [`Host::call`], but only if nothing about the call is rare, and it was not suspended before. Otherwise does
    /// nothing that another [`Host::call`] would not do, and returns [`NoValue::Rare`]: then the engine calls that.
    #[inline(always)]
    fn call_at_once(
        &mut self,
        _site: CallSite<'_, W>,
        _func: FuncId,
        _args: &[u64; 5],
    ) -> Result<u64, NoValue> {
        Err(NoValue::Rare)
    }

    /// Like [`Host::call_at_once`], for a call that was suspended before.
    #[inline(always)]
    fn call_again(
        &mut self,
        _site: CallSite<'_, W>,
        _func: FuncId,
        _args: &[u64; 5],
    ) -> Result<u64, NoValue> {
        Err(NoValue::Rare)
    }

    /// Like [`Host::call_at_once`], for a call of `which`, which [is simple](Frequent::is_simple). Only as many of the
    /// arguments count as the function takes. Must neither panic nor stop the program. `is_settled` says that
    /// [`Host::take_spent_ps`] has returned costs, which were charged, and that nothing has been spent since.
    #[inline(always)]
    fn call_frequent(
        &mut self,
        _site: CallSite<'_, W>,
        _which: Frequent,
        _args: &[u64; 5],
        _is_settled: bool,
    ) -> Result<u64, NoValue> {
        Err(NoValue::Rare)
    }

    /// Like [`Host::call_at_once`], for a call of `which`, which [is served in turn](Frequent::is_served_in_turn). Only
    /// as many of the arguments count as the function takes.
    #[inline(always)]
    fn call_in_turn(
        &mut self,
        _site: CallSite<'_, W>,
        _which: Frequent,
        _args: &[u64; 5],
    ) -> Result<u64, NoValue> {
        Err(NoValue::Rare)
    }

    /// Returns the instant that the callback of `cpu` has reached with this usage, if no other CPU has anything to do
    /// earlier. Otherwise returns `None`: the engine then suspends the callback, and asks again with `again` set after
    /// [`Engine::resume`]. Called before each atomic instruction, and sometimes in a loop of `may_goto`.
    fn turn(&mut self, cpu: CpuId, usage: Usage, again: bool) -> Option<Instant>;

    /// Takes the costs, in picoseconds, that the first call must be charged with, for an engine that can execute it by
    /// itself. The host forgets them. Returns `None` if the host must execute the call.
    fn take_spent_ps(&mut self) -> Option<u64> {
        None
    }

    /// Gives back what [`Host::take_spent_ps`] returned, if no call was charged with it.
    fn give_spent_ps(&mut self, _ps: u64) {}

    /// Returns what a clock shows to a callback with this usage. Called only after [`Host::take_spent_ps`] has returned
    /// costs.
    fn clock(&mut self, _usage: Usage) -> Instant {
        Instant::ZERO
    }

    /// Returns what the current callback has been charged with so far. Called only by an engine that keeps a profile.
    fn meter(&self) -> Meter {
        Meter { origin: Origin::Program, charged_ps: 0 }
    }

    /// Returns what has happened before what, if that is tracked. Called only by an engine that detects data races.
    fn clocks(&mut self) -> Option<&mut Clocks> {
        None
    }
}

/// The caller of a program of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The kernel, on behalf of a callback of the scheduler.
    Op(Op),
    /// BPF's own timer.
    Timer,
    /// The kernel, on behalf of a tracing program.
    Trace,
    /// The scheduler's user-space half. Its time doesn't count as the scheduler's time in the kernel.
    Program,
}

/// What a callback in progress has been charged with, apart from its instructions and the cache lines that they moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    /// What called it.
    pub origin: Origin,
    /// Its entry and its calls, in picoseconds.
    pub charged_ps: u64,
}

/// How far a callback got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It returned `value`.
    Done {
        /// R0 at its exit.
        value: u64,
        /// Everything that it used.
        usage: Usage,
    },
    /// The host suspended it. It is the CPU's innermost activation until resumed.
    Suspended,
    /// It was stopped, and its activation no longer exists.
    Failed {
        /// Why and where.
        fault: Box<Fault>,
        /// Everything that it used until then.
        usage: Usage,
    },
}

/// What is at the address of an invalid access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidPlace {
    /// Nothing: the address is so close to 0 that it came from a null pointer.
    Null,
    /// An object that has been freed.
    Freed,
    /// An element that is not in its map, or the gap after a value.
    Element,
    /// A page of an arena that is not allocated.
    Arena,
    /// An object that programs must not write.
    ReadOnly,
    /// The stack, below the function's frame.
    Stack,
    /// Nothing known.
    Nowhere,
}

/// Why a program was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It exceeded the maximum number of instructions of a callback.
    NeverEnds,
    /// It has more than eight frames, or a frame is too large.
    TooDeep,
    /// It reached a relocation that the kernel's types cannot satisfy. The text names it.
    Poisoned(String),
    /// It accessed memory outside every live object (in checked mode). For an arena, the address is the user-space one.
    OutOfBounds {
        /// The address.
        at: Ea,
        /// The number of bytes accessed.
        len: u64,
        /// Whether it is a store; otherwise it is a load.
        write: bool,
        /// What is there.
        place: InvalidPlace,
    },
    /// It reached an instruction that is not part of the instruction set, or jumped out of the program.
    BadInstruction,
    /// It made a call that its context forbids. The text says which and why.
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
    /// `file:line: text`, if the object has line information.
    pub source: Option<String>,
}

/// Code that executes BPF.
pub trait Engine {
    /// The memory and maps that it works on.
    type World: World;

    /// Returns the world, for access between callbacks.
    fn world(&mut self) -> &mut Self::World;

    /// Returns the position of the call with this number ([`CallSite::number`]).
    fn place(&self, number: u32) -> Option<CallPlace>;

    /// Runs `entry` on `cpu` with a struct_ops context of `args` (64-bit words that R1 points to), until it ends or is
    /// suspended. May be called while an outer activation of the same CPU is suspended.
    fn start<H: Host<Self::World>>(
        &mut self,
        host: &mut H,
        cpu: CpuId,
        entry: Entry,
        args: &[u64],
    ) -> Progress;

    /// Like [`Engine::start`] for a callback of at most three arguments, but only if it can begin at once; `begins`
    /// tells the host that it does. The words behind its arguments are not used.
    fn start_at_once<H: Host<Self::World>>(
        &mut self,
        host: &mut H,
        cpu: CpuId,
        entry: Entry,
        args: [u64; 3],
        begins: impl FnOnce(&mut H),
    ) -> AtOnce;

    /// Puts the callback aside for which [`Engine::start_at_once`] has just returned [`AtOnce::Suspended`]. Must be
    /// called before anything else.
    fn put_aside(&mut self);

    /// Why the callback was stopped for which [`Engine::start_at_once`] has just returned [`AtOnce::Failed`], and
    /// everything that it used until then.
    fn failed(&mut self) -> (Box<Fault>, Usage);

    /// Runs a function to which BPF passed a pointer (a timer's callback) on `cpu` with `args` in R1 to R5. `function`
    /// may be any value; one that is not a function fails as a bad call.
    fn start_function<H: Host<Self::World>>(
        &mut self,
        host: &mut H,
        cpu: CpuId,
        function: u64,
        args: [u64; 5],
    ) -> Progress;

    /// Resumes the innermost suspended activation of `cpu`.
    fn resume<H: Host<Self::World>>(&mut self, host: &mut H, cpu: CpuId) -> Progress;
}
