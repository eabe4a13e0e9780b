//! The dispatch queues of a run: one local queue per CPU, one global queue per node, and the scheduler's own.

use crate::state::dsq::{DsqHandle, DsqTable};
use crate::state::scx::cids::Cids;
use keel_abi::scx::dsq;
use keel_abi::{CpuId, DsqId, NodeId, TaskId, Topology};

/// A queue's index in the table.
pub(crate) type QueueId = DsqHandle;

/// All queues.
#[derive(Debug)]
pub(crate) struct Queues {
    pub(crate) table: DsqTable,
    cpus: u32,
    nodes: u32,
    /// The CPUs by the numbers in `LOCAL_ON` ids; empty if these are CPU numbers.
    by_cid: Vec<CpuId>,
}

/// The kind of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    Local(CpuId),
    Global,
    User,
}

impl Queues {
    pub(crate) fn new(topology: &Topology) -> Self {
        let locals = topology.iter().map(|c| DsqId(dsq::LOCAL_ON | u64::from(c.0)));
        let globals = (0..topology.nodes()).map(|_| dsq::GLOBAL);
        Self {
            table: DsqTable::new(locals.chain(globals)),
            cpus: topology.cpus(),
            nodes: topology.nodes(),
            by_cid: Vec::new(),
        }
    }

    /// Destroys the scheduler's own queues when it exits; its tasks have left them.
    pub(crate) fn destroy_users(&mut self) {
        let own: Vec<DsqId> = self.table.user_queues().map(|queue| queue.id()).collect();
        for id in own {
            let gone = self.table.destroy(id);
            debug_assert!(gone.is_ok(), "nobody is left in {id:?}");
        }
    }

    pub(crate) fn add_task(&mut self, task: TaskId) {
        self.table.links.ensure(task);
    }

    #[inline]
    pub(crate) fn local(&self, c: CpuId) -> QueueId {
        DsqHandle(c.0)
    }

    #[inline]
    pub(crate) fn global(&self, node: NodeId) -> QueueId {
        DsqHandle(self.cpus + node.0)
    }

    #[inline]
    pub(crate) fn kind(&self, queue: QueueId) -> QueueKind {
        if queue.0 < self.cpus {
            QueueKind::Local(CpuId(queue.0))
        } else if queue.0 < self.cpus + self.nodes {
            QueueKind::Global
        } else {
            QueueKind::User
        }
    }

    /// Returns whether it is one of the scheduler's own.
    #[inline]
    pub(crate) fn is_user(&self, queue: QueueId) -> bool {
        queue.0 >= self.cpus + self.nodes
    }

    /// The CPU of a `LOCAL_ON` id, if the machine has it.
    #[inline]
    pub(crate) fn local_on(&self, id: DsqId) -> Option<CpuId> {
        let cpu = (id.0 & dsq::LOCAL_CPU_MASK) as u32;
        let named = id.0 & dsq::LOCAL_ON == dsq::LOCAL_ON && cpu < self.cpus;
        named.then(|| self.by_cid.get(cpu as usize).copied().unwrap_or(CpuId(cpu)))
    }

    /// Sets whether `LOCAL_ON` ids contain cids or CPU numbers.
    pub(crate) fn show_cids(&mut self, cids: Option<&Cids>) {
        self.by_cid =
            cids.map_or_else(Vec::new, |cids| (0..self.cpus).filter_map(|n| cids.cpu(n as i32)).collect());
    }
}
