//! Every `bpf_res_spin_lock` taken so far, and which CPUs wait for it.

pub(crate) mod held;

use crate::state::bpf::res_spin::held::Tables;
use crate::state::cost::lock::{LockName, LockUse, VirtualLock};
use keel_abi::CpuId;
use keel_abi::bpf::Ea;
use std::collections::{BTreeMap, VecDeque};

/// All resilient locks, and which CPUs hold or want them.
#[derive(Debug, Default)]
pub(crate) struct ResLocks {
    /// Each lock that was ever taken, by its address.
    pub(crate) locks: BTreeMap<u64, ResLock>,
    pub(crate) tables: Tables,
}

#[derive(Debug, Default)]
pub(crate) struct ResLock {
    pub(crate) lock: VirtualLock,
    /// In the order in which they get the lock.
    pub(crate) waiters: VecDeque<CpuId>,
}

impl ResLocks {
    /// The use of each lock.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (LockName, LockUse)> {
        self.locks.iter().map(|(&at, of)| (LockName::Bpf(Ea(at)), of.lock.uses()))
    }
}
