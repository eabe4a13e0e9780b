//! Finds the tasks of a recording that have a given name or pid. A task that executes a program changes its name, so
//! this is only known after the whole recording.

use keel_abi::{Instant, TaskId};
use keel_trace::{Class, Event, Meta, Sink};
use std::collections::BTreeSet;

/// A sink that finds tasks that ever have one of these names or pids.
#[derive(Clone, Debug, Default)]
pub struct Named {
    wanted: BTreeSet<String>,
    found: BTreeSet<TaskId>,
}

impl Named {
    /// Creates a sink that looks for these names and pids.
    pub fn new(wanted: impl IntoIterator<Item = String>) -> Self {
        Self { wanted: wanted.into_iter().collect(), found: BTreeSet::new() }
    }

    /// Returns the tasks that have them.
    pub fn found(self) -> BTreeSet<TaskId> {
        self.found
    }
}

impl Sink for Named {
    fn wants(&self) -> Class {
        Class::NONE
    }

    fn events(&mut self, _events: &[Event]) {}

    fn meta(&mut self, _at: Instant, meta: &Meta) {
        if let Meta::Task(info) = meta
            && (self.wanted.contains(&info.name) || self.wanted.contains(&info.pid.0.to_string()))
        {
            self.found.insert(info.task);
        }
    }
}
