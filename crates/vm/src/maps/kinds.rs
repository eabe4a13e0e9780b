//! `enum bpf_map_type` and the flags of maps, as `linux/bpf.h` numbers them.

pub(super) const HASH: u32 = 1;
pub(super) const ARRAY: u32 = 2;
pub(super) const PERF_EVENT_ARRAY: u32 = 4;
pub(super) const PERCPU_HASH: u32 = 5;
pub(super) const PERCPU_ARRAY: u32 = 6;
pub(super) const LRU_HASH: u32 = 9;
pub(super) const LRU_PERCPU_HASH: u32 = 10;
pub(super) const ARRAY_OF_MAPS: u32 = 12;
pub(super) const QUEUE: u32 = 22;
pub(super) const STACK: u32 = 23;
pub(super) const RINGBUF: u32 = 27;
pub(super) const TASK_STORAGE: u32 = 29;
pub(super) const USER_RINGBUF: u32 = 31;
pub(super) const CGRP_STORAGE: u32 = 32;
pub(super) const ARENA: u32 = 33;

/// `BPF_F_NO_PREALLOC`.
pub(super) const NO_PREALLOC: u32 = 1;
/// `BPF_F_NUMA_NODE`: where memory comes from, which does not matter here.
pub(super) const NUMA_NODE: u32 = 4;
/// `BPF_F_RB_OVERWRITE`.
pub(super) const RB_OVERWRITE: u32 = 1 << 19;
/// `BPF_F_MMAPABLE`.
pub(super) const MMAPABLE: u32 = 1 << 10;
/// `BPF_F_SEGV_ON_FAULT`: what user space may not do.
pub(super) const SEGV_ON_FAULT: u32 = 1 << 17;
/// `BPF_F_NO_USER_CONV`: casts to the user's address leave the low half alone.
pub(super) const NO_USER_CONV: u32 = 1 << 18;
/// `BPF_F_INNER_MAP`: inner arrays may be of any length.
pub(super) const INNER_MAP: u32 = 1 << 12;

/// Only create new elements.
pub(super) const NOEXIST: u64 = 1;
/// Only update existing elements.
pub(super) const EXIST: u64 = 2;
/// Update under the value's `bpf_spin_lock`.
pub(super) const LOCK: u64 = 4;

pub(super) const NAMES: [&str; 35] = [
    "UNSPEC",
    "HASH",
    "ARRAY",
    "PROG_ARRAY",
    "PERF_EVENT_ARRAY",
    "PERCPU_HASH",
    "PERCPU_ARRAY",
    "STACK_TRACE",
    "CGROUP_ARRAY",
    "LRU_HASH",
    "LRU_PERCPU_HASH",
    "LPM_TRIE",
    "ARRAY_OF_MAPS",
    "HASH_OF_MAPS",
    "DEVMAP",
    "SOCKMAP",
    "CPUMAP",
    "XSKMAP",
    "SOCKHASH",
    "CGROUP_STORAGE",
    "REUSEPORT_SOCKARRAY",
    "PERCPU_CGROUP_STORAGE",
    "QUEUE",
    "STACK",
    "SK_STORAGE",
    "DEVMAP_HASH",
    "STRUCT_OPS",
    "RINGBUF",
    "INODE_STORAGE",
    "TASK_STORAGE",
    "BLOOM_FILTER",
    "USER_RINGBUF",
    "CGRP_STORAGE",
    "ARENA",
    "INSN_ARRAY",
];

/// The type's name in `linux/bpf.h`, or its number.
pub(super) fn name(kind: u32) -> String {
    match NAMES.get(kind as usize) {
        Some(name) => format!("BPF_MAP_TYPE_{name}"),
        None => format!("{kind}"),
    }
}
