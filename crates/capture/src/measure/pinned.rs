//! Runs threads on chosen CPUs.

use keel_abi::cpuset::MAX_CPUS;
use keel_abi::{CpuId, CpuSet};
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};

/// Returns the CPUs that this thread may use. Empty if the kernel does not report them.
pub(super) fn allowed() -> CpuSet {
    let Ok(mask) = sched_getaffinity(None) else { return CpuSet::new() };
    let most = MAX_CPUS.min(Mask::MAX_CPU as u32);
    (0..most).filter(|&cpu| mask.is_set(cpu as usize)).map(CpuId).collect()
}

/// Runs something in a thread that stays on `cpu`. Returns `None` if the thread may not use it.
pub(super) fn on<T: Send>(cpu: CpuId, act: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let pinned = scope.spawn(|| {
            pin(cpu)?;
            Some(act())
        });
        pinned.join().ok().flatten()
    })
}

/// Pins this thread.
pub(super) fn pin(cpu: CpuId) -> Option<()> {
    let mut mask = Mask::new();
    if cpu.index() >= Mask::MAX_CPU {
        return None;
    }
    mask.set(cpu.index());
    sched_setaffinity(None, &mask).ok()
}
