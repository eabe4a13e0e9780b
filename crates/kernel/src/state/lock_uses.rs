//! The use of the kernel's locks and of BPF code's locks.

use crate::state::cost::lock::{LockName, LockUse};
use crate::state::dsq::Dsq;
use crate::state::kernel::Kernel;
use crate::state::scx::queues::QueueKind;
use keel_abi::CpuId;

impl Kernel {
    /// Each lock that was ever taken. Dispatch queues that use the same slot one after the other count as the last one.
    pub(crate) fn lock_uses(&self) -> Vec<(LockName, LockUse)> {
        let cpus = (0..self.cpus.len() as u32).map(CpuId);
        let runqueues = cpus.map(|cpu| (LockName::Runqueue(cpu), self.cpus[cpu].lock.uses));
        let idle = self.lines.idle_uses().map(|(node, uses)| match node {
            None => (LockName::IdleMasks, uses),
            Some(node) => (LockName::NodeIdleMasks(node), uses),
        });
        let all = runqueues
            .chain(self.queue_lock_uses())
            .chain(self.spins.uses())
            .chain(self.res_spins.uses())
            .chain(idle)
            .chain([(LockName::CgroupMutex, self.cgroups.mutex_uses())])
            .chain(self.objects.buckets.uses());
        all.filter(|(_, uses)| uses.taken > 0).collect()
    }

    fn queue_lock_uses(&self) -> impl Iterator<Item = (LockName, LockUse)> {
        let is_local = |dsq: &Dsq| matches!(self.queues.kind(dsq.handle()), QueueKind::Local(_));
        let own = self.queues.table.all().iter().filter(move |dsq| !is_local(dsq));
        own.map(|dsq| (LockName::Queue(dsq.id()), dsq.lock.uses()))
    }
}
