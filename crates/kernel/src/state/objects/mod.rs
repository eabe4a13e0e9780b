//! Objects that tasks share and wait on: conditions, whose waiters are woken in order of arrival, [mutexes](mutex),
//! [barriers](barrier), [flags](flag), [channels](channel) and [processes](process).

pub(crate) mod barrier;
pub(crate) mod cache;
pub(crate) mod channel;
pub(crate) mod flag;
pub(crate) mod futex;
pub(crate) mod mutex;
pub(crate) mod pages;
pub(crate) mod pipe;
pub(crate) mod process;
pub(crate) mod semaphore;
pub(crate) mod stock;

use crate::state::machine::Machine;
use crate::state::objects::barrier::Barrier;
use crate::state::objects::cache::Caches;
use crate::state::objects::channel::Channels;
use crate::state::objects::flag::Flag;
use crate::state::objects::futex::Buckets;
use crate::state::objects::mutex::Mutexes;
use crate::state::objects::pages::Memory;
use crate::state::objects::pipe::Pipes;
use crate::state::objects::process::Processes;
use crate::state::objects::semaphore::Semaphores;
use keel_abi::task::{ObjectId, Workload};
use keel_abi::{Instant, TaskId};
use std::collections::VecDeque;

/// All objects of a workload.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) mutexes: Mutexes,
    pub(crate) conditions: Vec<VecDeque<Waiter>>,
    pub(crate) buckets: Buckets,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) flags: Vec<Flag>,
    /// Last expiry of each timer that tasks share; grown on use.
    pub(crate) shared_timers: Vec<(ObjectId, Instant)>,
    pub(crate) channels: Channels,
    pub(crate) semaphores: Semaphores,
    pub(crate) pipes: Pipes,
    pub(crate) memory: Memory,
    pub(crate) processes: Processes,
    pub(crate) caches: Caches,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) task: TaskId,
    pub(crate) mutex: ObjectId,
}

impl Objects {
    pub(crate) fn new(workload: &Workload, machine: &Machine) -> Self {
        Self {
            mutexes: Mutexes::new(workload.mutexes, &workload.inheriting),
            conditions: vec![VecDeque::new(); workload.conditions as usize],
            buckets: Buckets::new(workload.mutexes, workload.conditions),
            barriers: workload.barriers.iter().map(|&wanted| Barrier::of(wanted)).collect(),
            flags: vec![Flag::default(); workload.flags as usize],
            shared_timers: Vec::new(),
            channels: Channels::new(&workload.channels),
            semaphores: Semaphores::new(workload),
            pipes: Pipes::new(workload.recorded.as_ref().map_or(&[], |recorded| &recorded.pipes)),
            memory: Memory::default(),
            processes: Processes::default(),
            caches: Caches::new(&machine.topology, &machine.costs),
        }
    }
}
