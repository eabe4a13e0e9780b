//! The kernel's own fair class (EEVDF): above sched_ext, for the tasks that no BPF scheduler has.
//!
//! Each CPU picks, of its tasks that have not got more than their share, the one whose slice would end first in virtual
//! time. A waking task looks for an idle CPU near where it was; one that runs out of tasks takes a waiting one from another.

mod entity;
mod place;
mod pull;
mod queue;
mod sched;

pub(crate) use queue::FairQueue;

use entity::Entity;
use keel_abi::{CpuSet, Span, TaskId};

/// What is kept of the fair class beside its queues.
#[derive(Debug)]
pub(crate) struct Fair {
    /// By task; grown when the first task of the class comes.
    entities: Vec<Entity>,
    /// Runnable tasks of the class on the whole machine: while there are none nothing here is asked.
    pub(crate) runnable: u32,
    /// CPUs on which one of them waits behind another.
    crowded: CpuSet,
    /// What a task may run for before others are looked at (`sysctl_sched_base_slice`).
    slice: Span,
}

impl Fair {
    /// For a machine of so many CPUs: a slice is 0.7 ms for one, and more for more (`SCHED_TUNABLESCALING_LOG`).
    pub(crate) fn new(cpus: u32) -> Self {
        let factor = 1 + cpus.clamp(1, 8).ilog2();
        let slice = Span::from_us(700 * u64::from(factor));
        Self { entities: Vec::new(), runnable: 0, crowded: CpuSet::new(), slice }
    }

    fn entity(&mut self, task: TaskId) -> &mut Entity {
        if task.index() >= self.entities.len() {
            self.entities.resize(task.index() + 1, Entity::default());
        }
        &mut self.entities[task.index()]
    }
}
