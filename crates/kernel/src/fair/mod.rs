//! Linux's own fair class (EEVDF), for the tasks that no sched_ext scheduler has: all ordinary ones where none is loaded.
//!
//! Each CPU picks, of its tasks that have not got more than their share, the one whose slice ends first in virtual
//! time. A waking task looks for an idle CPU near where it was; one that runs out of tasks takes a waiting one from another.
//! The rules are those of Linux 7.2 (`kernel/sched/fair.c`) with its default features on x86: RUN_TO_PARITY,
//! PREEMPT_SHORT, DELAY_DEQUEUE, DELAY_ZERO, HRTICK, lazy preemption, no NEXT_BUDDY.

mod entity;
mod hrtick;
mod load;
mod pelt;
mod pelt_clock;
mod place;
mod preempt;
mod pull;
mod queue;
mod sched;
mod slices;
mod weight;

pub(crate) use queue::FairQueue;

/// What a run is called in which no sched_ext scheduler is loaded.
pub const NAME: &str = "eevdf";

use entity::Entity;
use keel_abi::{CpuSet, Span, TaskId};
use load::QueueLoad;

/// What is kept of the fair class beside its queues.
#[derive(Debug)]
pub(crate) struct Fair {
    /// By task; grown when the first task of the class comes.
    entities: Vec<Entity>,
    /// By CPU.
    loads: Vec<QueueLoad>,
    /// Tasks in queues on the whole machine: while there are none nothing here is asked.
    pub(crate) queued: u32,
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
        Self {
            entities: Vec::new(),
            loads: vec![QueueLoad::default(); cpus as usize],
            queued: 0,
            crowded: CpuSet::new(),
            slice,
        }
    }

    fn entity(&mut self, task: TaskId) -> &mut Entity {
        if task.index() >= self.entities.len() {
            self.entities.resize(task.index() + 1, Entity::NEW);
        }
        &mut self.entities[task.index()]
    }
}
