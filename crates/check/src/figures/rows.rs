//! Where the rows of tasks are: in a table of their own, or beside what the other checks know about the same tasks.

use super::task::Row;
use crate::conduct::Scene;
use crate::table::Tasks;
use keel_abi::{Instant, TaskId};

/// The rows of tasks. A row begins when it is first asked for.
pub(crate) trait Rows {
    /// `task`'s row; `None` for an idle task and for one that has ended.
    fn get(&mut self, task: TaskId) -> Option<&mut Row>;

    /// A switch from `task` is about to be looked at.
    fn meets(&mut self, task: TaskId);

    /// Ends `task`; returns its row, if it had one.
    fn end(&mut self, task: TaskId) -> Option<Row>;
}

impl Rows for Tasks<Row> {
    #[inline(always)]
    fn get(&mut self, task: TaskId) -> Option<&mut Row> {
        Tasks::get(self, task)
    }

    fn meets(&mut self, _: TaskId) {}

    fn end(&mut self, task: TaskId) -> Option<Row> {
        Tasks::end(self, task)
    }
}

/// The other checks may miss a task, or take it for ended, where a recording has a gap. Its row is apart then.
impl Rows for Scene {
    #[inline(never)]
    fn get(&mut self, task: TaskId) -> Option<&mut Row> {
        if self.apart.knows(task) {
            return self.apart.get(task);
        }
        match self.tasks.get_known(task) {
            Some(row) => {
                row.figures.task = task;
                Some(&mut row.figures)
            }
            None => self.apart.get(task),
        }
    }

    /// Its row is here then, unless it is apart already.
    fn meets(&mut self, task: TaskId) {
        Scene::meets(self, task);
    }

    fn end(&mut self, task: TaskId) -> Option<Row> {
        if self.apart.knows(task) {
            return self.apart.end(task);
        }
        let ended = self.tasks.get_known(task)?.figures.take()?;
        self.apart.forget(task);
        Some(ended)
    }
}

impl Scene {
    /// `task`, whose row may be apart, becomes runnable.
    #[cold]
    #[inline(never)]
    pub(crate) fn wakes_apart(&mut self, at: Instant, task: TaskId) {
        if let Some(row) = self.get(task) {
            row.wakes(at);
        }
    }

    /// The row of `task` ends here, if it has one.
    pub(crate) fn end(&mut self, task: TaskId) {
        if let Some(figures) = self.tasks.end(task).and_then(|mut row| row.figures.take())
            && let Some(row) = self.apart.get(task)
        {
            *row = figures;
        }
    }

    /// The figures of all tasks that have not ended.
    pub(crate) fn take_figures(&mut self) -> Vec<Row> {
        let here = (0..self.tasks.slots()).filter_map(|slot| self.tasks.at(slot).figures.take());
        let mut rows: Vec<Row> = here.collect();
        rows.extend(std::mem::take(&mut self.apart).into_rows());
        rows
    }
}
