//! Identifies tasks: pids, names, nice values.

use crate::lives::TASKS;
use keel_check::finding::NAME_MAX;
use keel_trace::TaskInfo;
use serde::Serialize;
use std::collections::BTreeMap;

/// One task in the page: id, pid, name, nice value, the CPUs that it may use (`null` for all).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Named(u32, u32, String, i8, String);

/// The first tasks, by id.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tasks: BTreeMap<u32, Named>,
    pub(crate) left_out: u64,
}

impl Names {
    pub(crate) fn about(&mut self, info: &TaskInfo, cpus: u32) {
        if self.tasks.len() >= TASKS && !self.tasks.contains_key(&info.task.0) {
            self.left_out += 1;
            return;
        }
        let name = info.name.chars().take(NAME_MAX).collect();
        let all = info.cpus.is_empty() || info.cpus.len() >= cpus as usize;
        let allowed = if all { String::new() } else { info.cpus.to_string() };
        self.tasks.insert(info.task.0, Named(info.task.0, info.pid.0, name, info.nice, allowed));
    }

    pub(crate) fn finish(self) -> Vec<Named> {
        self.tasks.into_values().collect()
    }
}
