//! Semaphores: a post lets one wait pass, whichever comes first. Neither costs anything beside the wakeup: in a workload
//! that was made of a recording, the task's own work holds that.

use super::Then;
use crate::frame::Frame;
use crate::sim::Sim;
use keel_abi::bpf::Engine;
use keel_abi::scx::wake;
use keel_abi::task::Workload;
use keel_abi::{CpuId, TaskId};
use std::collections::VecDeque;

/// All semaphores of a workload.
#[derive(Debug, Default)]
pub(crate) struct Semaphores(Vec<Semaphore>);

#[derive(Clone, Debug, Default)]
struct Semaphore {
    /// Posts that nobody has waited for yet.
    posted: u32,
    waiters: VecDeque<TaskId>,
}

impl Semaphores {
    pub(super) fn new(workload: &Workload) -> Self {
        let recorded = workload.recorded.as_ref().map_or(0, |recorded| recorded.semaphores);
        Self(vec![Semaphore::default(); workload.semaphores.max(recorded) as usize])
    }

    /// One more post: who is woken by it?
    fn post(&mut self, number: u32) -> Option<TaskId> {
        let semaphore = &mut self.0[number as usize];
        let first = semaphore.waiters.pop_front();
        semaphore.posted = semaphore.posted.saturating_add(u32::from(first.is_none()));
        first
    }

    /// Takes a post; `false` where there is none, and the task waits for one.
    pub(super) fn take(&mut self, number: u32, task: TaskId) -> bool {
        let semaphore = &mut self.0[number as usize];
        if semaphore.posted == 0 {
            semaphore.waiters.push_back(task);
            return false;
        }
        semaphore.posted -= 1;
        true
    }
}

impl<E: Engine> Sim<E> {
    /// A wakeup by `waker` that a post makes, if somebody waits.
    pub(super) fn wake_by_post(&mut self, waker: TaskId, semaphore: u32, sync: bool) -> Option<Frame> {
        let task = self.k.objects.semaphores.post(semaphore)?;
        let flags = wake::TTWU | if sync { wake::SYNC } else { 0 };
        Some(Frame::Wake { task, flags, waker })
    }

    pub(super) fn post(&mut self, task: TaskId, semaphore: u32, sync: bool) -> Then {
        let Some(wake) = self.wake_by_post(task, semaphore, sync) else { return Then::GoOn };
        self.k.this_cpu().stack.extend([Frame::Act, wake]);
        Then::Leave
    }

    pub(super) fn await_semaphore(&mut self, c: CpuId, task: TaskId, semaphore: u32) -> Then {
        match self.k.objects.semaphores.take(semaphore, task) {
            true => Then::GoOn,
            false => self.give_up_cpu(c, task),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_and_waits_pair_off_in_either_order() {
        let workload = Workload { semaphores: 1, ..Workload::default() };
        let mut all = Semaphores::new(&workload);
        assert_eq!(all.post(0), None);
        assert!(all.take(0, TaskId(1)));
        assert!(!all.take(0, TaskId(1)));
        assert!(!all.take(0, TaskId(2)));
        assert_eq!([all.post(0), all.post(0), all.post(0)], [Some(TaskId(1)), Some(TaskId(2)), None]);
        assert!(all.take(0, TaskId(1)));
    }
}
