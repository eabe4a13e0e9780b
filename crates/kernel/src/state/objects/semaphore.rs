//! Semaphores: their counts and waiting tasks.

use keel_abi::TaskId;
use keel_abi::task::Workload;
use std::collections::VecDeque;

/// All semaphores of a workload.
#[derive(Debug, Default)]
pub(crate) struct Semaphores(Vec<Semaphore>);

#[derive(Clone, Debug, Default)]
struct Semaphore {
    /// Posts that no wait has taken yet.
    posted: u32,
    waiters: VecDeque<TaskId>,
}

impl Semaphores {
    pub(super) fn new(workload: &Workload) -> Self {
        let recorded = workload.recorded.as_ref().map_or(0, |recorded| recorded.semaphores);
        Self(vec![Semaphore::default(); workload.semaphores.max(recorded) as usize])
    }

    /// Adds a post; returns the task that it wakes, if any.
    pub(crate) fn post(&mut self, number: u32) -> Option<TaskId> {
        let semaphore = &mut self.0[number as usize];
        let first = semaphore.waiters.pop_front();
        semaphore.posted = semaphore.posted.saturating_add(u32::from(first.is_none()));
        first
    }

    /// Takes a post; if there is none, returns `false` and the task waits.
    pub(crate) fn take(&mut self, number: u32, task: TaskId) -> bool {
        let semaphore = &mut self.0[number as usize];
        if semaphore.posted == 0 {
            semaphore.waiters.push_back(task);
            return false;
        }
        semaphore.posted -= 1;
        true
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
