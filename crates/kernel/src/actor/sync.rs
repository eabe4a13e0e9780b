//! What tasks wait for each other with: mutexes, conditions and barriers. Waiters are woken first come, first served; a
//! mutex is handed to its first waiter.

use super::Then;
use super::cache::Caches;
use super::channel::Channels;
use super::pages::Memory;
use super::process::Processes;
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
    mutexes: Vec<Mutex>,
    conditions: Vec<VecDeque<Waiter>>,
    barriers: Vec<Barrier>,
    /// Last expiry, by timer that tasks share; grown as used.
    pub(super) shared_timers: Vec<(ObjectId, Instant)>,
    pub(super) channels: Channels,
    pub(super) memory: Memory,
    pub(crate) processes: Processes,
    pub(super) caches: Caches,
}

#[derive(Clone, Debug, Default)]
struct Mutex {
    owner: Option<TaskId>,
    waiters: VecDeque<TaskId>,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    task: TaskId,
    mutex: ObjectId,
}

#[derive(Clone, Debug, Default)]
struct Barrier {
    wanted: u32,
    come: Vec<TaskId>,
}

impl Objects {
    pub(crate) fn new(workload: &Workload, machine: &Machine) -> Self {
        Self {
            mutexes: vec![Mutex::default(); workload.mutexes as usize],
            conditions: vec![VecDeque::new(); workload.conditions as usize],
            barriers: workload.barriers.iter().map(|&wanted| Barrier { wanted, come: Vec::new() }).collect(),
            shared_timers: Vec::new(),
            channels: Channels::new(&workload.channels),
            memory: Memory::default(),
            processes: Processes::default(),
            caches: Caches::new(&machine.topology, &machine.costs),
        }
    }
}

impl<E: Engine> Sim<E> {
    pub(super) fn lock_mutex(&mut self, c: CpuId, task: TaskId, mutex: ObjectId) -> Then {
        let m = &mut self.k.objects.mutexes[mutex.0 as usize];
        if m.owner.is_none() || m.owner == Some(task) {
            m.owner = Some(task);
            return Then::GoOn;
        }
        m.waiters.push_back(task);
        self.block(c, task)
    }

    /// [`Frame::Relock`]: a waiter of a condition has been woken and takes its mutex again.
    pub(crate) fn relock(&mut self, c: CpuId, mutex: ObjectId) {
        let task = self.k.me().curr;
        if let Then::GoOn = self.lock_mutex(c, task, mutex) {
            self.k.me().stack.push(Frame::Act);
        }
    }

    pub(super) fn unlock_mutex(&mut self, c: CpuId, task: TaskId, mutex: ObjectId) -> Then {
        match self.release(task, mutex) {
            None => Then::GoOn,
            Some(next) => {
                self.syscall(c);
                self.k.me().stack.extend([Frame::Act, wake_of(next, task)]);
                Then::Leave
            }
        }
    }

    /// Gives the mutex to its first waiter, who is to be woken. Others' mutexes are left alone.
    fn release(&mut self, task: TaskId, mutex: ObjectId) -> Option<TaskId> {
        let m = &mut self.k.objects.mutexes[mutex.0 as usize];
        if m.owner != Some(task) {
            return None;
        }
        m.owner = m.waiters.pop_front();
        m.owner
    }

    pub(super) fn wait_condition(
        &mut self,
        c: CpuId,
        task: TaskId,
        condition: ObjectId,
        mutex: ObjectId,
    ) -> Then {
        self.k.objects.conditions[condition.0 as usize].push_back(Waiter { task, mutex });
        self.block(c, task);
        if let Some(next) = self.release(task, mutex) {
            self.k.me().stack.push(wake_of(next, task));
        }
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
        let blocks = self.k.tasks[task].state == State::Blocking;
        if !blocks {
            self.k.me().stack.push(Frame::Act);
        }
        for waiter in woken.into_iter().rev() {
            self.k.task(waiter.task).doing = Doing::Relock(waiter.mutex);
            self.k.me().stack.push(wake_of(waiter.task, task));
        }
        Then::Leave
    }

    pub(super) fn come_to_barrier(&mut self, c: CpuId, task: TaskId, barrier: ObjectId) -> Then {
        let b = &mut self.k.objects.barriers[barrier.0 as usize];
        if (b.come.len() as u32 + 1) < b.wanted {
            b.come.push(task);
            return self.block(c, task);
        }
        let come = std::mem::take(&mut b.come);
        self.syscall(c);
        self.k.me().stack.push(Frame::Act);
        for waiter in come.into_iter().rev() {
            self.k.me().stack.push(wake_of(waiter, task));
        }
        Then::Leave
    }
}

fn wake_of(task: TaskId, waker: TaskId) -> Frame {
    Frame::Wake { task, flags: wake::TTWU, waker }
}
