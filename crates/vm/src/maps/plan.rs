//! Computes the memory that a map's definition needs.

use super::{MapError, kinds};
use crate::memory::{PAGE_BYTES, Region};
use keel_abi::bpf::Ea;
use keel_object::model::MapDef;

/// The most bytes that the values of one map may take.
const MAX_BYTES: u64 = 8 << 30;
/// `KMALLOC_MAX_SIZE` on x86-64: the kernel allocates no more at once.
const KMALLOC_MAX: u64 = 4 << 20;
/// `PCPU_MIN_UNIT_SIZE`: a per-CPU value may be no larger.
const PER_CPU_MAX: u64 = 32 << 10;

/// A map to be created.
pub(super) struct Plan<'a> {
    pub(super) def: &'a MapDef,
    /// CPUs of the machine.
    pub(super) cpus: u32,
    /// Whether each CPU has its own value.
    pub(super) per_cpu: bool,
}

impl<'a> Plan<'a> {
    pub(super) fn new(def: &'a MapDef, cpus: u32) -> Self {
        let per_cpu = matches!(def.kind, kinds::PERCPU_ARRAY | kinds::PERCPU_HASH | kinds::LRU_PERCPU_HASH);
        Self { def, cpus, per_cpu }
    }

    /// Refuses the definition unless `ok`.
    pub(super) fn require(&self, ok: bool, why: &'static str) -> Result<(), MapError> {
        if ok { Ok(()) } else { Err(MapError::Invalid { map: self.def.name.clone(), why }) }
    }

    /// Refuses values that the kernel could not allocate.
    pub(super) fn check_value_size(&self) -> Result<(), MapError> {
        let size = u64::from(self.def.value_size);
        self.require(!self.per_cpu || size <= PER_CPU_MAX, "a per-CPU value has at most 32 KiB")?;
        self.require(size < 1 << 31, "its value has more than 2 GiB")
    }

    /// Refuses elements that the kernel could not allocate in one piece.
    pub(super) fn check_element_size(&self) -> Result<(), MapError> {
        let size = u64::from(self.def.key_size) + u64::from(self.def.value_size);
        self.require(size < KMALLOC_MAX, "its key and value exceed 4 MiB")
    }

    /// `count` times `stride` bytes, if a map may be that large.
    pub(super) fn total(&self, stride: u64, count: u64) -> Result<u64, MapError> {
        let bytes = stride.saturating_mul(count);
        if bytes <= MAX_BYTES { Ok(bytes) } else { Err(self.too_large(bytes)) }
    }

    /// The map does not fit.
    pub(super) fn too_large(&self, bytes: u64) -> MapError {
        MapError::TooLarge { map: self.def.name.clone(), bytes }
    }

    /// Zeroed memory for the map. Small maps are placed close together, so that their first lines don't compete for the
    /// same sets of the host's caches.
    pub(super) fn zeroed(&self, len: u64, region: &mut Region) -> Result<Ea, MapError> {
        let align = if len < PAGE_BYTES && !self.def.is_shared { 64 } else { PAGE_BYTES };
        let len = if self.def.is_shared { len.next_multiple_of(PAGE_BYTES) } else { len };
        region.place(len, align).ok_or_else(|| self.too_large(len))
    }
}
