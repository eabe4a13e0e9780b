//! Linux's own fair class (EEVDF), for the tasks that no sched_ext scheduler has: all ordinary ones where none is loaded.
//!
//! Each CPU picks, of its tasks and groups that have not got more than their share, the one whose slice ends first in
//! virtual time; of a group it picks one in turn. A waking task looks for an idle CPU near where it was; one that runs out of tasks takes a waiting one from another.
//! The rules are those of Linux 7.2 (`kernel/sched/fair.c`) with its default features on x86: RUN_TO_PARITY,
//! PREEMPT_SHORT, DELAY_DEQUEUE, DELAY_ZERO, HRTICK, lazy preemption, no NEXT_BUDDY.

mod balance;
mod bandwidth;
mod busiest;
mod capacity;
mod cost;
mod decisions;
mod detach;
mod energy;
mod entity;
mod frame;
mod groups;
mod hierarchy;
mod hrtick;
mod idlest;
mod ids;
mod load;
mod newidle;
mod nohz;
mod pelt;
mod pelt_clock;
mod period;
mod periodic;
mod place;
mod preempt;
mod propagate;
mod push;
mod queue;
mod regroup;
mod rest;
mod round;
mod sched;
mod settings;
mod shares;
mod sibling;
mod slices;
mod stats;
mod throttle;
mod timeline;
mod uneven;
mod waker;
mod weight;

pub(crate) use frame::FairFrame;
pub(crate) use ids::Slot;
pub(crate) use period::BudgetTimer;
pub(crate) use queue::FairQueue;
pub use settings::FairSettings;

/// What a run is called in which no sched_ext scheduler is loaded.
pub const NAME: &str = "eevdf";

/// What the class draws random numbers by: no task's, and not the scheduler's.
const RNG_STREAM: u64 = u64::MAX - 1;

use crate::domains::groups::Hierarchy;
use crate::rng::Rng;
use decisions::Considered;
use entity::{Entities, Entity};
use groups::Groups;
use keel_abi::{CpuId, Span, TaskId, Topology};
use load::CpuLoad;
use newidle::Search;
use nohz::Nohz;
use periodic::Walk;
use rest::Rest;
use round::{Memory, Round};
use sibling::SharedCache;
use std::collections::BTreeSet;
use std::sync::Arc;
use waker::Waker;

/// What is kept of the fair class beside its queues. Lists without another index are by CPU.
#[derive(Debug)]
pub(crate) struct Fair {
    /// By task; grown when the first task of the class comes.
    entities: Entities,
    /// Cgroups and autogroups.
    groups: Groups,
    /// Tasks in queues on the whole machine: while there are none nothing here is asked.
    pub(crate) queued: u32,
    /// What a task may run for before others are looked at (`sysctl_sched_base_slice`).
    slice: Span,
    settings: FairSettings,
    /// What the placement or comparison under way looks at, where that is reported.
    considered: Option<Box<Considered>>,
    loads: Vec<CpuLoad>,
    /// Idle tasks as wakers.
    idle_wakers: Vec<Waker>,
    /// By last-level cache.
    caches: Vec<SharedCache>,
    has_smt: bool,
    rest: Vec<Rest>,
    /// The domains, once they were needed.
    hierarchy: Option<Arc<Hierarchy>>,
    /// By CPU and level.
    memories: Vec<Vec<Memory>>,
    /// Groups below which balancing failed, by the level's number and the CPU that stands for them.
    imbalanced: BTreeSet<(u32, CpuId)>,
    /// Tasks wait somewhere, as far as is known (`rd->overloaded`).
    is_overloaded: bool,
    /// A CPU is too busy for energy to decide where tasks go (`rd->overutilized`).
    is_overused: bool,
    /// Attempts to balance under way, and what they are part of.
    rounds: Vec<Option<Box<Round>>>,
    searches: Vec<Search>,
    walks: Vec<Walk>,
    /// Does the walk go on to higher levels?
    goes_on: Vec<bool>,
    /// When periodic balancing is due, in ticks.
    next_balance: Vec<u64>,
    /// Who balances a level that one CPU at a time balances.
    serialized: Option<CpuId>,
    nohz: Nohz,
    /// Where the stopper is to push the CPU's task.
    pushes: Vec<Option<CpuId>>,
    /// Times that a task has been put at the end of its CPU's list.
    listed: u64,
    rng: Rng,
}

impl Fair {
    /// For a machine: unless it is set, a slice is 0.7 ms for one CPU, and more for more (`SCHED_TUNABLESCALING_LOG`).
    pub(crate) fn new(topology: &Topology, settings: FairSettings, seed: u64) -> Self {
        let cpus = topology.cpus();
        let factor = 1 + cpus.clamp(1, 8).ilog2();
        let slice = settings.base_slice.unwrap_or(Span::from_us(700 * u64::from(factor)));
        let caches = topology.iter().map(|cpu| topology.place(cpu).llc.index() + 1).max();
        let cpus_len = cpus as usize;
        Self {
            entities: Entities::default(),
            groups: Groups::new(cpus_len),
            queued: 0,
            slice,
            settings,
            considered: None,
            loads: vec![CpuLoad::default(); cpus_len],
            idle_wakers: vec![Waker::NEW; cpus_len],
            caches: vec![SharedCache::IDLE; caches.unwrap_or(0)],
            has_smt: topology.has_smt(),
            rest: vec![Rest::NEW; cpus_len],
            hierarchy: None,
            memories: Vec::new(),
            imbalanced: BTreeSet::new(),
            is_overloaded: false,
            is_overused: false,
            rounds: vec![None; cpus_len],
            searches: vec![Search::NONE; cpus_len],
            walks: vec![Walk::default(); cpus_len],
            goes_on: vec![true; cpus_len],
            next_balance: vec![0; cpus_len],
            serialized: None,
            nohz: Nohz::new(cpus),
            pushes: vec![None; cpus_len],
            listed: 0,
            rng: Rng::new(seed, RNG_STREAM),
        }
    }

    /// The CPUs in use have changed: domains are built again.
    pub(crate) fn forget_domains(&mut self) {
        self.hierarchy = None;
        self.imbalanced.clear();
    }

    fn entity(&mut self, task: TaskId) -> &mut Entity {
        self.entities.task(task)
    }
}
