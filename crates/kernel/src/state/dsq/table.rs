//! All dispatch queues of a run: the kernel's own by handle, the scheduler's by 64-bit id.

use crate::state::dsq::links::NOWHERE;
use crate::state::dsq::{Dsq, DsqHandle, Links, MixedModes};
use keel_abi::bpf::Errno;
use keel_abi::scx::dsq::FLAG_BUILTIN;
use keel_abi::{DsqId, TaskId};

/// Ids below this are looked up by index, others by hash.
const DIRECT_IDS: u64 = 4096;

/// The most queues that may exist at once; a real kernel runs out of memory instead.
const MAX_QUEUES: usize = 1 << 20;

/// Why a queue was not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// The id has the built-in bit.
    Builtin,
    /// There is already a queue with this id.
    Exists,
    /// There are too many queues.
    NoMemory,
}

impl CreateError {
    /// The error number that `scx_bpf_create_dsq()` returns.
    pub const fn errno(self) -> Errno {
        match self {
            Self::Builtin => Errno::EINVAL,
            Self::Exists => Errno::EEXIST,
            Self::NoMemory => Errno::ENOMEM,
        }
    }
}

/// Why a queue was not destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestroyError {
    /// There is no queue with this id.
    Missing,
    /// It holds tasks.
    Busy,
}

/// All dispatch queues and every task's links.
#[derive(Clone, Debug)]
pub struct DsqTable {
    queues: Vec<Dsq>,
    /// Every task's links.
    pub links: Links,
    /// Handles of destroyed queues, most recent first, to be reused.
    free: Vec<u32>,
    direct: Vec<u32>,
    hashed: IdMap,
}

impl DsqTable {
    /// The kernel's own queues, whose handles are 0, 1 ... in the order of `builtin`.
    pub fn new(builtin: impl IntoIterator<Item = DsqId>) -> Self {
        let queues = builtin.into_iter().enumerate();
        let queues = queues.map(|(i, id)| Dsq::new(id, DsqHandle(i as u32))).collect();
        Self { queues, links: Links::new(), free: Vec::new(), direct: Vec::new(), hashed: IdMap::default() }
    }

    /// Creates an empty queue (`scx_bpf_create_dsq()`).
    pub fn create(&mut self, id: DsqId) -> Result<DsqHandle, CreateError> {
        if id.0 & FLAG_BUILTIN != 0 {
            return Err(CreateError::Builtin);
        }
        if self.find(id).is_some() {
            return Err(CreateError::Exists);
        }
        if self.queues.len() - self.free.len() >= MAX_QUEUES {
            return Err(CreateError::NoMemory);
        }
        let handle = match self.free.pop() {
            // Insert numbers continue, so an iteration over the old queue sees nothing of the new one.
            Some(old) => {
                self.queues[old as usize].id = id;
                old
            }
            None => {
                let new = self.queues.len() as u32;
                self.queues.push(Dsq::new(id, DsqHandle(new)));
                new
            }
        };
        self.set(id, handle);
        Ok(DsqHandle(handle))
    }

    /// Destroys an empty queue (`scx_bpf_destroy_dsq()`).
    pub fn destroy(&mut self, id: DsqId) -> Result<(), DestroyError> {
        let handle = self.find(id).ok_or(DestroyError::Missing)?;
        if !self.queue(handle).is_empty() {
            return Err(DestroyError::Busy);
        }
        self.set(id, NOWHERE);
        self.free.push(handle.0);
        Ok(())
    }

    /// The scheduler's queue with this id; never a built-in one.
    #[inline]
    pub fn find(&self, id: DsqId) -> Option<DsqHandle> {
        let small = self.small(id);
        let handle = if small != NOWHERE { small } else { self.large(id) };
        (handle != NOWHERE).then_some(DsqHandle(handle))
    }

    /// The handle of the queue with an id that is not looked up by index.
    #[inline(never)]
    fn large(&self, id: DsqId) -> u32 {
        if id.0 < DIRECT_IDS { NOWHERE } else { self.hashed.get(id.0) }
    }

    /// The handle of the queue with an id that is looked up by index.
    #[inline(always)]
    fn small(&self, id: DsqId) -> u32 {
        debug_assert!(self.direct.len() as u64 <= DIRECT_IDS);
        self.direct.get(id.0 as usize).copied().unwrap_or(NOWHERE)
    }

    /// Like `find` for an id that is looked up by index; nothing for any other.
    #[inline(always)]
    pub(crate) fn find_small(&self, id: DsqId) -> Option<DsqHandle> {
        let handle = self.small(id);
        (handle != NOWHERE).then_some(DsqHandle(handle))
    }

    /// One queue.
    #[inline]
    pub fn queue(&self, handle: DsqHandle) -> &Dsq {
        &self.queues[handle.index()]
    }

    /// One queue for changes, and the links that its methods need.
    #[inline]
    pub fn queue_mut(&mut self, handle: DsqHandle) -> (&mut Dsq, &mut Links) {
        (&mut self.queues[handle.index()], &mut self.links)
    }

    /// All queues by handle, including destroyed ones.
    pub(crate) fn all(&self) -> &[Dsq] {
        &self.queues
    }

    /// The number of handles, including those of destroyed queues.
    pub fn handles(&self) -> u32 {
        self.queues.len() as u32
    }

    /// The scheduler's queues, ascending by handle.
    pub fn user_queues(&self) -> impl Iterator<Item = &Dsq> {
        self.queues.iter().filter(|q| q.id.0 & FLAG_BUILTIN == 0 && self.find(q.id) == Some(q.handle()))
    }

    /// [`Dsq::push_tail`] by handle.
    #[inline]
    pub fn push_tail(&mut self, queue: DsqHandle, task: TaskId) -> Result<(), MixedModes> {
        self.queues[queue.index()].push_tail(&mut self.links, task)
    }

    /// [`Dsq::push_head`] by handle.
    #[inline]
    pub fn push_head(&mut self, queue: DsqHandle, task: TaskId) -> Result<(), MixedModes> {
        self.queues[queue.index()].push_head(&mut self.links, task)
    }

    /// [`Dsq::push_vtime`] by handle.
    #[inline]
    pub fn push_vtime(&mut self, queue: DsqHandle, task: TaskId, vtime: u64) -> Result<(), MixedModes> {
        self.queues[queue.index()].push_vtime(&mut self.links, task, vtime)
    }

    /// Removes `task` from its queue, and returns that queue.
    #[inline]
    pub fn remove(&mut self, task: TaskId) -> Option<DsqHandle> {
        let queue = self.links.queue_of(task)?;
        self.queues[queue.index()].take_out(&mut self.links, task);
        Some(queue)
    }

    /// [`Dsq::first_where`] by handle.
    #[inline]
    pub fn first_where(&self, queue: DsqHandle, eligible: impl FnMut(TaskId) -> bool) -> Option<TaskId> {
        self.queue(queue).first_where(&self.links, eligible)
    }

    /// [`Dsq::iter_next`] of the cursor's queue.
    pub fn iter_next(&mut self, cursor: &mut crate::state::dsq::Cursor) -> Option<TaskId> {
        self.queues[cursor.queue().index()].iter_next(&self.links, cursor)
    }

    /// [`Dsq::sees`] of the cursor's queue.
    pub fn sees(&self, cursor: &crate::state::dsq::Cursor, task: TaskId) -> bool {
        self.queue(cursor.queue()).sees(&self.links, cursor, task)
    }

    fn set(&mut self, id: DsqId, handle: u32) {
        if id.0 >= DIRECT_IDS {
            return self.hashed.set(id.0, handle);
        }
        let at = id.0 as usize;
        if at >= self.direct.len() {
            self.direct.resize(at + 1, NOWHERE);
        }
        self.direct[at] = handle;
    }
}

/// Ids to handles: open addressing, a power of two of slots, a fixed multiplicative hash. A removed
/// id keeps its slot with no handle until the table grows.
#[derive(Clone, Debug, Default)]
struct IdMap {
    slots: Vec<Option<(u64, u32)>>,
    used: usize,
}

impl IdMap {
    #[inline]
    fn get(&self, id: u64) -> u32 {
        if self.slots.is_empty() {
            return NOWHERE;
        }
        self.slots[self.slot(id)].map_or(NOWHERE, |(_, handle)| handle)
    }

    fn set(&mut self, id: u64, handle: u32) {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(id);
        self.used += usize::from(self.slots[slot].is_none());
        self.slots[slot] = Some((id, handle));
    }

    /// The slot of `id`, or the free one where it belongs.
    #[inline]
    fn slot(&self, id: u64) -> usize {
        let mask = self.slots.len() - 1;
        // Multiplying by 2^64 divided by the golden ratio spreads neighbouring ids; the high bits are the good ones.
        let mut slot = (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[slot].is_some_and(|(other, _)| other != id) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        let live: Vec<_> = old.into_iter().flatten().filter(|&(_, handle)| handle != NOWHERE).collect();
        self.slots = vec![None; (live.len() * 4).next_power_of_two().max(16)];
        self.used = live.len();
        for entry in live {
            let slot = self.slot(entry.0);
            self.slots[slot] = Some(entry);
        }
    }
}
