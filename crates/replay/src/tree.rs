//! Collects the cgroups of a simulated run in which tasks change cgroups, by their paths.

use crate::groups::{MOST, MOST_LEVELS, possible};
use keel_abi::cgroup::{Cgroup, CgroupId, WEIGHT_MAX, WEIGHT_MIN};
use keel_trace::GroupInfo;
use std::collections::BTreeMap;

/// The maximum length of a path, in bytes.
const MOST_BYTES: usize = 4096;

/// Cgroups in the order in which they were seen, parents first. A [`CgroupId`] is a position in that order until
/// [`Tree::cgroups`] sorts them.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    seen: Vec<Seen>,
    by_path: BTreeMap<String, CgroupId>,
    /// By the stream's number.
    by_group: BTreeMap<u32, CgroupId>,
    is_asked: bool,
}

#[derive(Debug)]
struct Seen {
    path: String,
    parent: CgroupId,
    /// As it was when it first appeared.
    info: Option<GroupInfo>,
    /// Whether a task creates it.
    is_made: bool,
    /// The number of cgroups that existed before it. All cgroups that tasks create come last.
    order: u32,
}

impl Tree {
    /// Notes that a cgroup appears or changes.
    pub(crate) fn group(&mut self, info: &GroupInfo) {
        if info.session || self.by_group.contains_key(&info.group) {
            return;
        }
        let parent = self.of_group(info.parent);
        let above = parent.place().map_or("", |place| &self.seen[place].path);
        let Some(id) = self.id(&format!("{above}/{}", info.name)) else { return };
        self.by_group.insert(info.group, id);
        let Some(seen) = id.place().map(|place| &mut self.seen[place]) else { return };
        if seen.info.is_none() {
            seen.info = Some(info.clone());
            if !seen.is_made {
                seen.order = info.group;
            }
        }
    }

    /// Notes that a task requests a change to the cgroup with this path, perhaps its creation. Returns the cgroup.
    pub(crate) fn asked(&mut self, path: &str, makes: bool) -> Option<CgroupId> {
        self.is_asked = true;
        let id = if path == "/" { CgroupId::ROOT } else { self.id(path)? };
        if let Some(seen) = id.place().map(|place| &mut self.seen[place])
            && makes
            && seen.info.is_none()
        {
            (seen.is_made, seen.order) = (true, u32::MAX);
        }
        Some(id)
    }

    /// Returns whether any task requests changes.
    pub(crate) const fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Returns the cgroup of a number in the stream.
    pub(crate) fn of_group(&self, group: u32) -> CgroupId {
        self.by_group.get(&group).copied().unwrap_or(CgroupId::ROOT)
    }

    /// Returns the cgroup of a path, with those above it, or `None` if the path is not valid, or there are too many.
    fn id(&mut self, path: &str) -> Option<CgroupId> {
        if let Some(&id) = self.by_path.get(path) {
            return Some(id);
        }
        let names = path.strip_prefix('/')?;
        let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
        let is_valid = path.len() <= MOST_BYTES && names.split('/').all(is_name);
        if !is_valid || names.split('/').count() > MOST_LEVELS || self.seen.len() + MOST_LEVELS > MOST {
            return None;
        }
        let parent = match path.rsplit_once('/') {
            Some(("", _)) | None => CgroupId::ROOT,
            Some((above, _)) => self.id(above)?,
        };
        let id = CgroupId::at(self.seen.len());
        self.seen.push(Seen { path: path.to_owned(), parent, info: None, is_made: false, order: u32::MAX });
        self.by_path.insert(path.to_owned(), id);
        Some(id)
    }

    /// Returns the cgroups in the order in which they were created, parents first, and the final id of each by its id
    /// so far.
    pub(crate) fn cgroups(&self) -> (Vec<Cgroup>, Vec<CgroupId>) {
        // Ancestors come first even in a damaged recording.
        let mut orders: Vec<u32> = Vec::with_capacity(self.seen.len());
        for seen in &self.seen {
            let above = seen.parent.place().map_or(0, |place| orders[place]);
            orders.push(seen.order.max(above));
        }
        let mut places: Vec<usize> = (0..self.seen.len()).collect();
        places.sort_by_key(|&place| orders[place]);
        let mut ids = vec![CgroupId::ROOT; self.seen.len() + 1];
        let mut list: Vec<Cgroup> = Vec::with_capacity(self.seen.len());
        for place in places {
            let seen = &self.seen[place];
            let parent = ids[seen.parent.0 as usize];
            let above_is_there = parent.place().is_none_or(|place| list[place].is_there);
            ids[place + 1] = CgroupId::at(list.len());
            list.push(seen.cgroup(parent, above_is_there));
        }
        (list, ids)
    }
}

impl Seen {
    fn cgroup(&self, parent: CgroupId, above_is_there: bool) -> Cgroup {
        let info = self.info.clone().unwrap_or_default();
        let weight = if self.info.is_some() { info.weight } else { keel_abi::cgroup::WEIGHT_DFL };
        Cgroup {
            path: self.path.clone(),
            parent,
            is_there: above_is_there && !self.is_made && self.info.is_some(),
            weight: weight.clamp(WEIGHT_MIN, WEIGHT_MAX),
            bandwidth: possible(info.bandwidth),
            idle: info.idle,
        }
    }
}
