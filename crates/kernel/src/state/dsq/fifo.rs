//! FIFO order: a list through the tasks' links.

use crate::state::dsq::links::{Link, Links, NOWHERE, Stay};
use keel_abi::TaskId;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NOWHERE, tail: NOWHERE }
    }
}

#[inline]
fn task(raw: u32) -> Option<TaskId> {
    (raw != NOWHERE).then_some(TaskId(raw))
}

impl Fifo {
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.head == NOWHERE
    }

    #[inline]
    pub(super) fn first(&self) -> Option<TaskId> {
        task(self.head)
    }

    #[inline]
    pub(super) fn last(&self) -> Option<TaskId> {
        task(self.tail)
    }

    /// The task that comes after (or, in reverse, before) `from`.
    #[inline]
    pub(super) fn step(links: &Links, from: TaskId, reverse: bool) -> Option<TaskId> {
        let link = links.at(from);
        task(if reverse { link.prev } else { link.next })
    }

    #[inline(always)]
    pub(super) fn push_tail(&mut self, links: &mut Links, new: TaskId, stay: Stay) {
        let rank = match self.last() {
            Some(last) => {
                let last = links.at_mut(last);
                last.next = new.0;
                last.rank.wrapping_add(1)
            }
            None => {
                self.head = new.0;
                0
            }
        };
        let link = links.enter(new, stay);
        (link.prev, link.next, link.rank) = (self.tail, NOWHERE, rank);
        self.tail = new.0;
    }

    #[inline]
    pub(super) fn push_head(&mut self, links: &mut Links, new: TaskId, stay: Stay) {
        let rank = self.first().map_or(0, |first| links.at(first).rank.wrapping_sub(1));
        let link = links.enter(new, stay);
        (link.prev, link.next, link.rank) = (NOWHERE, self.head, rank);
        match self.first() {
            Some(first) => links.at_mut(first).prev = new.0,
            None => self.tail = new.0,
        }
        self.head = new.0;
    }

    /// Removes the task whose record this was.
    #[inline]
    pub(super) fn remove(&mut self, links: &mut Links, gone: Link) {
        let (prev, next) = (gone.prev, gone.next);
        match task(prev) {
            Some(before) => links.at_mut(before).next = next,
            None => self.head = next,
        }
        match task(next) {
            Some(behind) => links.at_mut(behind).prev = prev,
            None => self.tail = prev,
        }
    }

    /// Removes the head, whose record this was. Returns the task behind it.
    #[inline]
    pub(super) fn remove_first(&mut self, links: &mut Links, gone: Link) -> Option<TaskId> {
        self.head = gone.next;
        let behind = self.first();
        match behind {
            Some(behind) => links.at_mut(behind).prev = NOWHERE,
            None => self.tail = NOWHERE,
        }
        behind
    }

    /// The first task behind the head that is `eligible`.
    pub(super) fn first_after_head_where(
        &self,
        links: &Links,
        mut eligible: impl FnMut(TaskId) -> bool,
    ) -> Option<TaskId> {
        let mut at = Self::step(links, self.first()?, false);
        while let Some(task) = at {
            if eligible(task) {
                return Some(task);
            }
            at = Self::step(links, task, false);
        }
        None
    }
}
