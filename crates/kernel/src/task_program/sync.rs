//! What tasks wait for each other with: conditions, whose waiters are woken first come, first served, and [mutexes](super::mutex),
//! [barriers](super::barrier), [flags](super::flag) and [channels](super::channel).

use super::Then;
use super::barrier::Barrier;
use super::cache::Caches;
use super::channel::Channels;
use super::flag::Flag;
use super::futex::Buckets;
use super::mutex::Mutexes;
use super::pages::Memory;
use super::process::Processes;
use super::semaphore::Semaphores;
use crate::frame::Frame;
use crate::machine::Machine;
use crate::sim::Sim;
use crate::task::{Doing, State};
use keel_abi::bpf::Engine;
use keel_abi::scx::wake;
use keel_abi::task::{ObjectId, Workload};
use keel_abi::{CpuId, Instant, TaskId};
use std::collections::VecDeque;

/// All objects of a workload.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) mutexes: Mutexes,
    conditions: Vec<VecDeque<Waiter>>,
    pub(crate) buckets: Buckets,
    pub(super) barriers: Vec<Barrier>,
    pub(super) flags: Vec<Flag>,
    /// Last expiry, by timer that tasks share; grown as used.
    pub(super) shared_timers: Vec<(ObjectId, Instant)>,
    pub(super) channels: Channels,
    pub(super) semaphores: Semaphores,
    pub(super) memory: Memory,
    pub(crate) processes: Processes,
    pub(super) caches: Caches,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    task: TaskId,
    mutex: ObjectId,
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
            memory: Memory::default(),
            processes: Processes::default(),
            caches: Caches::new(&machine.topology, &machine.costs),
        }
    }
}

impl<E: Engine> Sim<E> {
    pub(super) fn wait_condition(
        &mut self,
        c: CpuId,
        task: TaskId,
        condition: ObjectId,
        mutex: ObjectId,
    ) -> Then {
        let futex = self.k.objects.condition_futex(condition);
        self.k.charge_word(c, futex);
        self.k.charge_waiting(c, futex, None);
        self.k.objects.conditions[condition.0 as usize].push_back(Waiter { task, mutex });
        self.block(c, task);
        self.release(task, mutex);
        Then::Leave
    }

    pub(super) fn signal(&mut self, c: CpuId, task: TaskId, condition: ObjectId, most: u32) -> Then {
        self.syscall(c);
        let waiters = &mut self.k.objects.conditions[condition.0 as usize];
        let mut woken = Vec::new();
        for _ in 0..most {
            let first = waiters.iter().position(|w| w.task != task);
            let Some(waiter) = first.and_then(|at| waiters.remove(at)) else { break };
            woken.push(waiter);
        }
        let futex = self.k.objects.condition_futex(condition);
        self.k.charge_word(c, futex);
        if !woken.is_empty() {
            self.k.charge_waking(c, futex, woken.iter().map(|waiter| waiter.task));
        }
        let blocks = self.k.tasks[task].state == State::Blocking;
        if !blocks {
            self.k.this_cpu().stack.push(Frame::Act);
        }
        for waiter in woken.into_iter().rev() {
            self.k.task(waiter.task).doing = Doing::Relock(waiter.mutex);
            self.k.this_cpu().stack.push(wake_of(waiter.task, task));
        }
        Then::Leave
    }
}

pub(super) fn wake_of(task: TaskId, waker: TaskId) -> Frame {
    Frame::Wake { task, flags: wake::TTWU, waker }
}
