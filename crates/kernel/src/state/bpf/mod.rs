//! What the kernel keeps for BPF programs: the functions that they may call, their locks, timers and iterators.

pub(crate) mod functions;
pub(crate) mod iter;
pub(crate) mod res_spin;
pub(crate) mod spin;
pub(crate) mod timer;
