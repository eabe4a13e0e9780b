//! The layout of the kernel's types in the world's memory, and their BTF. Both are generated from the header in `btf/`,
//! so that BPF code reads what Rust wrote.

/// The simulated kernel's BTF, which objects are relocated against.
pub const KERNEL_BTF: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernel.btf"));

include!(concat!(env!("OUT_DIR"), "/layout.rs"));

const LINE: u64 = keel_abi::lines::LINE_BYTES;

/// The distance from one `task_struct` to the next: an odd number of cache lines, so that the hot lines of many tasks
/// spread over all sets of the host's caches.
pub const TASK_STRIDE: u64 = (task::SIZE.div_ceil(LINE) | 1) * LINE;
