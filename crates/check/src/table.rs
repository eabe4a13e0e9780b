//! Rows by task id, kept only while a task lives.
//!
//! Ids are dense and never reused, so one small number per task that ever existed finds its row; the rows of tasks that
//! have exited are reused. Until then they hold a blank row, so that finding a row needs no check whether there is one.

use keel_abi::TaskId;
use keel_abi::fetch::MANY_TASKS;

const UNSEEN: u32 = u32::MAX;
const GONE: u32 = u32::MAX - 1;

/// Returns whether it is a slot. [`Tasks::any_slot`] also gives a number for tasks that have none.
#[inline(always)]
pub(crate) fn is_slot(slot: u32) -> bool {
    slot < GONE
}

/// Rows of the live tasks.
#[derive(Clone, Debug)]
pub(crate) struct Tasks<T> {
    slots: Vec<u32>,
    rows: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), rows: Vec::new(), free: Vec::new() }
    }
}

impl<T: From<TaskId>> Tasks<T> {
    /// The slot of `task`'s row, created if the task is new; `None` for an idle task and for one that has exited.
    #[inline(always)]
    pub(crate) fn slot(&mut self, task: TaskId) -> Option<u32> {
        match self.slots.get(task.index()) {
            Some(&slot) if slot < GONE => Some(slot),
            Some(&GONE) => None,
            _ if task.is_idle() => None,
            _ => self.add(task),
        }
    }

    /// Like [`Tasks::slot`], as one number: see [`is_slot`].
    #[inline(always)]
    pub(crate) fn any_slot(&mut self, task: TaskId) -> u32 {
        match self.slots.get(task.index()) {
            Some(&slot) if slot != UNSEEN => slot,
            _ if task.is_idle() => GONE,
            _ => self.add(task).unwrap_or(GONE),
        }
    }

    /// `task`'s row, created if the task is new; `None` for an idle task and for one that has exited.
    #[inline(always)]
    pub(crate) fn get(&mut self, task: TaskId) -> Option<&mut T> {
        let slot = self.slot(task)?;
        Some(self.at(slot))
    }

    /// The row in `slot`; blank, as of [`TaskId::IDLE`], if its task has exited.
    #[inline(always)]
    pub(crate) fn at(&mut self, slot: u32) -> &mut T {
        &mut self.rows[slot as usize]
    }

    /// Like `at`; `None` if the number is no slot.
    #[inline(always)]
    pub(crate) fn row(&mut self, slot: u32) -> Option<&mut T> {
        self.rows.get_mut(slot as usize)
    }

    /// The slot of `task`'s row; if it has none, a number that is no slot ([`is_slot`]).
    #[inline(always)]
    pub(crate) fn find(&self, task: TaskId) -> u32 {
        self.slots.get(task.index()).copied().unwrap_or(GONE)
    }

    /// `task`'s row, if it has one.
    #[inline(always)]
    pub(crate) fn peek(&self, task: TaskId) -> Option<&T> {
        self.peek_in_slot(task).map(|(_, row)| row)
    }

    /// As [`Tasks::peek`], with the row's slot.
    #[inline(always)]
    pub(crate) fn peek_in_slot(&self, task: TaskId) -> Option<(u32, &T)> {
        let &slot = self.slots.get(task.index())?;
        // Numbers that are no slots are beyond all rows.
        Some((slot, self.rows.get(slot as usize)?))
    }

    /// Returns whether it pays off to request rows before they are used ([`keel_abi::fetch`](mod@keel_abi::fetch)).
    #[inline]
    pub(crate) fn are_many(&self) -> bool {
        self.rows.len() >= MANY_TASKS
    }

    /// One more than the highest slot.
    pub(crate) fn slots(&self) -> u32 {
        self.rows.len() as u32
    }

    /// `task`'s row, if it has one.
    #[inline]
    pub(crate) fn get_known(&mut self, task: TaskId) -> Option<&mut T> {
        let &slot = self.slots.get(task.index())?;
        self.rows.get_mut(slot as usize)
    }

    /// Returns whether `task` has or had a row.
    #[inline]
    pub(crate) fn knows(&self, task: TaskId) -> bool {
        self.slots.get(task.index()).is_some_and(|&slot| slot != UNSEEN)
    }

    /// `task`, which has no row, is never to have one.
    pub(crate) fn forget(&mut self, task: TaskId) {
        if task.index() >= self.slots.len() {
            self.slots.resize(task.index() + 1, UNSEEN);
        }
        self.slots[task.index()] = GONE;
    }

    /// Ends `task`; returns its row, if it had one.
    pub(crate) fn end(&mut self, task: TaskId) -> Option<T> {
        let slot = self.slots.get_mut(task.index())?;
        if *slot >= GONE {
            return None;
        }
        let row = std::mem::replace(&mut self.rows[*slot as usize], T::from(TaskId::IDLE));
        self.free.push(*slot);
        *slot = GONE;
        Some(row)
    }

    /// The rows of the tasks alive, by slot.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = T> {
        let mut alive = vec![true; self.rows.len()];
        self.free.iter().for_each(|&slot| alive[slot as usize] = false);
        self.rows.into_iter().zip(alive).filter_map(|(row, alive)| alive.then_some(row))
    }

    #[cold]
    fn add(&mut self, task: TaskId) -> Option<u32> {
        if task.is_idle() {
            return None;
        }
        if task.index() >= self.slots.len() {
            self.slots.resize(task.index() + 1, UNSEEN);
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.rows[slot as usize] = T::from(task);
                slot
            }
            None => {
                self.rows.push(T::from(task));
                self.rows.len() as u32 - 1
            }
        };
        self.slots[task.index()] = slot;
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Row(TaskId);

    impl From<TaskId> for Row {
        fn from(task: TaskId) -> Self {
            Self(task)
        }
    }

    #[test]
    fn rows_of_the_dead_are_used_again() {
        let mut tasks = Tasks::<Row>::default();
        for id in 0..1000 {
            assert_eq!(tasks.get(TaskId(id)).map(|row| row.0), Some(TaskId(id)));
            assert_eq!(tasks.end(TaskId(id)).map(|row| row.0), Some(TaskId(id)));
            assert!(tasks.end(TaskId(id)).is_none());
            assert!(tasks.get(TaskId(id)).is_none());
        }
        assert_eq!(tasks.rows.len(), 1);
        assert!(tasks.get(TaskId::IDLE).is_none());
    }
}
