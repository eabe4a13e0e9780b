//! A CPU's runnable real-time tasks, including the running one (`struct rt_prio_array`).

use crate::state::rt::throttle::Budget;
use keel_abi::{CpuId, TaskId};
use std::collections::VecDeque;

/// Priorities are 1 to 99.
const PRIORITIES: usize = 100;

/// A queue per priority, and a bitmap of those that are not empty.
#[derive(Debug, Default)]
pub(crate) struct RtQueue {
    bitmap: u128,
    /// Empty until the first real-time task comes: most machines never have one.
    pub(crate) queues: Vec<VecDeque<TaskId>>,
    len: u32,
    /// Waiting tasks that may run elsewhere, the most urgent first, then in order of arrival (`pushable_tasks`).
    pushable: Vec<(u8, TaskId)>,
    /// The CPU last chosen from here among several equally good ones (`distribute_cpu_mask_prev`).
    pub(crate) chosen: Option<CpuId>,
    /// How much of this period's time the tasks have had.
    pub(crate) budget: Budget,
}

impl RtQueue {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether there is a task that may run (`sched_rt_runnable()`).
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.len > 0 && !self.budget.is_throttled()
    }

    /// The number of tasks that may not run any more in this period.
    #[inline]
    pub(crate) fn nr_throttled(&self) -> u32 {
        if self.budget.is_throttled() { self.len } else { 0 }
    }

    /// The highest priority of any task, or 0.
    #[inline]
    pub(crate) fn highest(&self) -> u8 {
        (u128::BITS - 1).saturating_sub(self.bitmap.leading_zeros()) as u8
    }

    /// The number of tasks.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether there are several tasks of this priority.
    pub(crate) fn has_equals(&self, priority: u8) -> bool {
        self.queues.get(usize::from(priority)).is_some_and(|queue| queue.len() > 1)
    }

    /// Adds a task behind or before those of its priority.
    pub(crate) fn push(&mut self, task: TaskId, priority: u8, head: bool) {
        debug_assert!((1..PRIORITIES).contains(&usize::from(priority)), "priorities are 1 to 99");
        if self.queues.is_empty() {
            self.queues.resize_with(PRIORITIES, VecDeque::new);
        }
        let queue = &mut self.queues[usize::from(priority)];
        match head {
            true => queue.push_front(task),
            false => queue.push_back(task),
        }
        self.bitmap |= 1 << priority;
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, task: TaskId, priority: u8) {
        let queue = &mut self.queues[usize::from(priority)];
        let at = queue.iter().position(|&queued| queued == task).expect("a runnable task is in its queue");
        queue.remove(at);
        self.len -= 1;
        if queue.is_empty() {
            self.bitmap &= !(1 << priority);
        }
    }

    /// Moves a task to the end or the head of its queue (`requeue_task_rt()`).
    pub(crate) fn requeue(&mut self, task: TaskId, priority: u8, head: bool) {
        self.remove(task, priority);
        self.push(task, priority, head);
    }

    /// Returns whether the task is in the queue of this priority.
    pub(crate) fn holds(&self, task: TaskId, priority: u8) -> bool {
        self.queues.get(usize::from(priority)).is_some_and(|queue| queue.contains(&task))
    }

    /// The task to push first.
    #[inline]
    pub(crate) fn first_pushable(&self) -> Option<TaskId> {
        self.pushable.first().map(|&(_, task)| task)
    }

    /// The highest priority of the pushable tasks, or 0 (`highest_prio.next`).
    pub(crate) fn highest_pushable(&self) -> u8 {
        self.pushable.first().map_or(0, |&(priority, _)| priority)
    }

    /// The pushable tasks, in that order.
    pub(crate) fn pushable(&self) -> impl Iterator<Item = TaskId> {
        self.pushable.iter().map(|&(_, task)| task)
    }

    pub(crate) fn add_pushable(&mut self, task: TaskId, priority: u8) {
        debug_assert!(self.pushable().all(|other| other != task), "a task waits once");
        let behind = self.pushable.partition_point(|&(other, _)| other >= priority);
        self.pushable.insert(behind, (priority, task));
    }

    pub(crate) fn remove_pushable(&mut self, task: TaskId) {
        self.pushable.retain(|&(_, other)| other != task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_highest_priority_is_next() {
        let mut queue = RtQueue::default();
        let task = TaskId;
        assert_eq!((queue.first(), queue.highest()), (None, 0));
        for (number, priority) in [(1, 5), (2, 99), (3, 5), (4, 1), (5, 99)] {
            queue.push(task(number), priority, false);
        }
        queue.push(task(6), 5, true);
        queue.requeue(task(2), 99, false);
        let mut order = Vec::new();
        while let Some(first) = queue.first() {
            let priority = queue.highest();
            assert_eq!(queue.has_equals(priority), [5, 6, 1].contains(&first.0), "{first:?}");
            queue.remove(first, priority);
            order.push((first.0, priority));
        }
        assert_eq!(order, [(5, 99), (2, 99), (6, 5), (1, 5), (3, 5), (4, 1)]);
        assert_eq!((queue.highest(), queue.len()), (0, 0));
    }

    #[test]
    fn the_most_urgent_is_pushed_first_then_the_earliest() {
        let mut queue = RtQueue::default();
        for (number, priority) in [(1, 5), (2, 99), (3, 5), (4, 1), (5, 99)] {
            queue.add_pushable(TaskId(number), priority);
        }
        queue.remove_pushable(TaskId(2));
        queue.remove_pushable(TaskId(9));
        assert_eq!(queue.pushable().map(|t| t.0).collect::<Vec<_>>(), [5, 1, 3, 4]);
        assert_eq!((queue.highest_pushable(), RtQueue::default().highest_pushable()), (99, 0));
    }
}
