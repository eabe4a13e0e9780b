//! Linux's own fair class, EEVDF, for the tasks that no sched_ext scheduler has. If none is loaded, these are all
//! normal tasks.
//!
//! Each CPU picks, among the tasks and groups that have not had more than their share, the one with the earliest
//! virtual deadline; within a group it repeats this. A waking task looks for an idle CPU near its previous one, and a
//! CPU that runs out of tasks pulls a waiting one from another. The rules are those of Linux 7.2
//! (`kernel/sched/fair.c`) with its default features on x86: RUN_TO_PARITY, PREEMPT_SHORT, DELAY_DEQUEUE, DELAY_ZERO,
//! HRTICK, lazy preemption, no NEXT_BUDDY.

pub(crate) mod balancing;
pub(crate) mod bandwidth;
pub(crate) mod budget_timer;
pub(crate) mod considered;
pub(crate) mod entity;
pub(crate) mod groups;
pub(crate) mod idle_time;
pub(crate) mod ids;
pub(crate) mod load;
pub(crate) mod pelt;
pub(crate) mod pelt_clock;
pub(crate) mod queue;
pub(crate) mod round;
pub(crate) mod settings;
pub(crate) mod shared_cache;
pub(crate) mod slices;
pub(crate) mod timeline;
pub(crate) mod waker;
pub(crate) mod weight;

use crate::state::domains::groups::Hierarchy;
use crate::state::fair::balancing::{Nohz, Search, Walk};
use crate::state::fair::considered::Considered;
use crate::state::fair::entity::{Entities, Entity};
use crate::state::fair::groups::Groups;
use crate::state::fair::idle_time::IdleTime;
use crate::state::fair::load::CpuLoad;
use crate::state::fair::round::{Memory, Round};
use crate::state::fair::settings::FairSettings;
use crate::state::fair::shared_cache::SharedCache;
use crate::state::fair::waker::Waker;
use crate::state::rng::Rng;
use keel_abi::{CpuId, Span, TaskId, Topology};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The scheduler's name in a run without a sched_ext scheduler.
pub const NAME: &str = "eevdf";

/// The class's own random stream, separate from those of tasks and of the scheduler.
const RNG_STREAM: u64 = u64::MAX - 1;

/// The state of the fair class other than its queues. Lists are indexed by CPU unless stated otherwise.
#[derive(Debug)]
pub(crate) struct Fair {
    /// All entities. Tasks are added when the first task of the class arrives.
    pub(crate) entities: Entities,
    /// Cgroups and autogroups.
    pub(crate) groups: Groups,
    /// The number of queued tasks on the whole machine. While it is 0, nothing else here is used.
    pub(crate) queued: u32,
    /// How long a task may run before others are considered (`sysctl_sched_base_slice`).
    pub(crate) slice: Span,
    pub(crate) settings: FairSettings,
    /// What the decision in progress has looked at, if that is reported.
    pub(crate) considered: Option<Box<Considered>>,
    pub(crate) loads: Vec<CpuLoad>,
    /// The idle tasks' histories as wakers.
    pub(crate) idle_wakers: Vec<Waker>,
    /// By LLC.
    pub(crate) caches: Vec<SharedCache>,
    pub(crate) has_smt: bool,
    pub(crate) idle_times: Vec<IdleTime>,
    /// The sched domains, once they are needed.
    pub(crate) hierarchy: Option<Arc<Hierarchy>>,
    /// By CPU and level.
    pub(crate) memories: Vec<Vec<Memory>>,
    /// The groups below which balancing failed, by level number and the CPU that identifies the group.
    pub(crate) imbalanced: BTreeSet<(u32, CpuId)>,
    /// Whether tasks are believed to be waiting somewhere (`rd->overloaded`).
    pub(crate) is_overloaded: bool,
    /// Whether a CPU is too busy for energy-aware placement (`rd->overutilized`).
    pub(crate) is_overused: bool,
    /// The balancing attempts in progress.
    pub(crate) rounds: Vec<Option<Box<Round>>>,
    pub(crate) searches: Vec<Search>,
    pub(crate) walks: Vec<Walk>,
    /// Whether the walk continues to higher levels.
    pub(crate) goes_on: Vec<bool>,
    /// When periodic balancing is due, in ticks.
    pub(crate) next_balance: Vec<u64>,
    /// The CPU that is balancing a level that only one CPU at a time may balance.
    pub(crate) serialized: Option<CpuId>,
    pub(crate) nohz: Nohz,
    /// Where the stopper should push the CPU's running task.
    pub(crate) pushes: Vec<Option<CpuId>>,
    /// How many times a task has been put at the end of its CPU's list.
    pub(crate) listed: u64,
    pub(crate) rng: Rng,
}

impl Fair {
    /// Creates the class for a machine. Unless it is set, the slice is 0.7 ms on one CPU and grows with the number of
    /// CPUs (`SCHED_TUNABLESCALING_LOG`).
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
            idle_times: vec![IdleTime::NEW; cpus_len],
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

    /// Drops the domains after the active CPUs have changed. They are rebuilt when needed.
    pub(crate) fn forget_domains(&mut self) {
        self.hierarchy = None;
        self.imbalanced.clear();
    }

    pub(crate) fn entity(&mut self, task: TaskId) -> &mut Entity {
        self.entities.task(task)
    }
}
