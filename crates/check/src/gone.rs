//! When the last task of each name exited.

use crate::table::Tasks;
use crate::window::MOST_NAMES;
use keel_abi::{Instant, TaskId};
use keel_trace::{Event, Meta, What};

/// A live task: its name, once that is known, and whether it has begun.
#[derive(Clone, Debug, Default)]
struct Row {
    name: Option<usize>,
    begun: bool,
}

impl From<TaskId> for Row {
    fn from(_: TaskId) -> Self {
        Self::default()
    }
}

/// A name, the number of live tasks that have it, and when one of them last exited.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    alive: u64,
    last: Option<Instant>,
}

/// Keeps the last exit of each of the first [`MOST_NAMES`] names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gone {
    names: Vec<Named>,
    tasks: Tasks<Row>,
}

impl Gone {
    /// When the last task of this name exited; `None` if one is still alive, or if there was none.
    pub(crate) fn at(&self, name: &str) -> Option<Instant> {
        let named = self.names.iter().find(|named| named.name == name)?;
        named.last.filter(|_| named.alive == 0)
    }

    pub(crate) fn events(&mut self, events: &[Event]) {
        for event in events {
            match event.what {
                What::Fork { child, .. } => self.begins(child),
                What::Exit { task } => self.ends(task, event.at),
                _ => {}
            }
        }
    }

    pub(crate) fn meta(&mut self, meta: &Meta) {
        let Meta::Task(info) = meta else { return };
        let name = self.index(&info.name);
        let Some(row) = self.tasks.get(info.task) else { return };
        let before = std::mem::replace(&mut row.name, name);
        if row.begun {
            self.count(before, |alive| alive.saturating_sub(1));
            self.count(name, |alive| alive + 1);
        }
    }

    fn index(&mut self, name: &str) -> Option<usize> {
        let known = self.names.iter().position(|named| named.name == name);
        if known.is_none() && self.names.len() < MOST_NAMES {
            self.names.push(Named { name: name.to_owned(), alive: 0, last: None });
            return Some(self.names.len() - 1);
        }
        known
    }

    fn begins(&mut self, task: TaskId) {
        let Some(row) = self.tasks.get(task) else { return };
        if !std::mem::replace(&mut row.begun, true) {
            let name = row.name;
            self.count(name, |alive| alive + 1);
        }
    }

    fn ends(&mut self, task: TaskId, at: Instant) {
        let Some(Row { name: Some(name), begun: true }) = self.tasks.end(task) else { return };
        self.names[name].last = Some(at);
        self.count(Some(name), |alive| alive.saturating_sub(1));
    }

    fn count(&mut self, name: Option<usize>, change: impl Fn(u64) -> u64) {
        if let Some(name) = name {
            self.names[name].alive = change(self.names[name].alive);
        }
    }
}
