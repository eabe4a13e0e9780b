//! Maps names of mutexes, conditions, barriers and so on to ids without gaps. Ids are assigned at the first use, as
//! rt-app creates its resources. Each kind has its own names.

use crate::keys::{Event, event};
use jsonc_parser::ast::{Object, Value};
use keel_abi::task::ObjectId;
use std::collections::{BTreeMap, BTreeSet};

/// The names of one kind of object.
#[derive(Default)]
pub(crate) struct Names<'a> {
    ids: BTreeMap<&'a str, u32>,
}

impl<'a> Names<'a> {
    /// Returns the id of `name`, and assigns one if the name is new.
    pub(crate) fn id(&mut self, name: &'a str) -> ObjectId {
        let next = self.len();
        ObjectId(*self.ids.entry(name).or_insert(next))
    }

    /// Returns the name with this id, which is empty if there is none.
    pub(crate) fn name(&self, id: u32) -> &'a str {
        self.ids.iter().find(|(_, known)| **known == id).map_or("", |(name, _)| name)
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.ids.len()).unwrap_or(u32::MAX)
    }
}

/// What must be known about all tasks before the first is compiled.
#[derive(Default)]
pub(crate) struct Used<'a> {
    /// The tasks that some task forks.
    pub(crate) forked: BTreeSet<&'a str>,
}

impl<'a> Used<'a> {
    /// Returns what these tasks use.
    pub(crate) fn by(tasks: impl Iterator<Item = &'a Value<'a>>) -> Self {
        let mut used = Self::default();
        for task in tasks.filter_map(Value::as_object) {
            used.collect(task);
            let phases = task.properties.iter().filter(|p| p.name.as_str() == "phases");
            let phases = phases.filter_map(|p| p.value.as_object()).flat_map(|p| &p.properties);
            phases.filter_map(|phase| phase.value.as_object()).for_each(|phase| used.collect(phase));
        }
        used
    }

    fn collect(&mut self, object: &'a Object<'a>) {
        for property in &object.properties {
            if let (Some(Event::Fork), Value::StringLit(name)) =
                (event(property.name.as_str()), &property.value)
            {
                self.forked.insert(&name.value);
            }
        }
    }
}
