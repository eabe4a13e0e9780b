//! Rows by task id, kept only while a task lives.
//!
//! Ids are dense and never reused, so one small number per task that ever existed finds its row; the rows of tasks that
//! have exited are reused.

use keel_abi::TaskId;

const UNSEEN: u32 = u32::MAX;
const GONE: u32 = u32::MAX - 1;

/// Rows of the live tasks.
#[derive(Clone, Debug)]
pub(crate) struct Tasks<T> {
    slots: Vec<u32>,
    rows: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), rows: Vec::new(), free: Vec::new() }
    }
}

impl<T: From<TaskId>> Tasks<T> {
    /// The slot of `task`'s row, created if the task is new; `None` for an idle task and for one that has exited.
    #[inline]
    pub(crate) fn slot(&mut self, task: TaskId) -> Option<u32> {
        match self.slots.get(task.index()) {
            Some(&slot) if slot < GONE => Some(slot),
            Some(&GONE) => None,
            _ if task.is_idle() => None,
            _ => self.add(task),
        }
    }

    /// `task`'s row, created if the task is new; `None` for an idle task and for one that has exited.
    #[inline]
    pub(crate) fn get(&mut self, task: TaskId) -> Option<&mut T> {
        let slot = self.slot(task)?;
        self.rows[slot as usize].as_mut()
    }

    /// The row in `slot`.
    #[inline]
    pub(crate) fn at(&mut self, slot: u32) -> Option<&mut T> {
        self.rows[slot as usize].as_mut()
    }

    /// `task`'s row, if it has one.
    pub(crate) fn peek(&self, task: TaskId) -> Option<&T> {
        let &slot = self.slots.get(task.index()).filter(|&&slot| slot < GONE)?;
        self.rows[slot as usize].as_ref()
    }

    /// One more than the highest slot.
    pub(crate) fn slots(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Ends `task`; returns its row, if it had one.
    pub(crate) fn end(&mut self, task: TaskId) -> Option<T> {
        let slot = self.slots.get_mut(task.index())?;
        if *slot >= GONE {
            return None;
        }
        let row = self.rows[*slot as usize].take();
        self.free.push(*slot);
        *slot = GONE;
        row
    }

    /// The rows of the tasks alive, by slot.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = T> {
        self.rows.into_iter().flatten()
    }

    #[cold]
    fn add(&mut self, task: TaskId) -> Option<u32> {
        if task.is_idle() {
            return None;
        }
        if task.index() >= self.slots.len() {
            self.slots.resize(task.index() + 1, UNSEEN);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            self.rows.len() as u32 - 1
        });
        self.slots[task.index()] = slot;
        self.rows[slot as usize] = Some(T::from(task));
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
