//! Flags of the core scheduler that are passed to callbacks: `DEQUEUE_*`, and `ENQUEUE_*` with the same values.

/// `DEQUEUE_SAVE`, `ENQUEUE_RESTORE`.
pub(crate) const SAVE_RESTORE: u64 = 2;
/// `DEQUEUE_MOVE`, `ENQUEUE_MOVE`.
pub(crate) const MOVE: u64 = 4;
/// `DEQUEUE_NOCLOCK`, `ENQUEUE_NOCLOCK`.
pub(crate) const NOCLOCK: u64 = 8;
