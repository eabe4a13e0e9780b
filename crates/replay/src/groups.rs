//! Collects the groups in a recording: cgroups with their weights and limits, and sessions.
//!
//! A task of a replay stays in one group: the group in which the recorded task was longest. For example, a shell moves
//! itself to a cgroup before it executes the program that belongs there, and the kernel removes exiting tasks from
//! their session's group.

use crate::tree::Tree;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, QUOTA_NONE, WEIGHT_MAX, WEIGHT_MIN};
use keel_abi::task::{Step, TaskSpec};
use keel_abi::{Instant, Span};
use keel_trace::GroupInfo;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of cgroups of a replay.
pub(crate) const MOST: usize = 10_000;
/// The maximum number of levels of cgroups.
pub(crate) const MOST_LEVELS: usize = 32;
/// The shortest and longest period and the shortest quota that the kernel accepts, in microseconds.
const PERIOD_US: std::ops::RangeInclusive<u64> = 1000..=1_000_000;
const LEAST_QUOTA_US: u64 = 1000;

/// The groups recorded so far.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    told: BTreeMap<u32, GroupInfo>,
    /// Groups whose settings changed.
    changed: BTreeSet<u32>,
    tasks: BTreeMap<u32, Stay>,
    /// Cgroups as they first appear. Changes that tasks make are replayed.
    tree: Tree,
}

/// A task's stays in groups.
#[derive(Debug, Default)]
struct Stay {
    first: u32,
    group: u32,
    since: Instant,
    before: BTreeMap<u32, Span>,
}

/// What a replay keeps of the groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupsKept {
    /// Whether the recording contains the tasks' groups and policies.
    pub told: bool,
    /// The number of cgroups.
    pub cgroups: u64,
    /// The number of those with a limit.
    pub limits: u64,
    /// The number of cgroups whose settings changed.
    pub changed: u64,
    /// The number of tasks that were in more than one group for a long time.
    pub moved: u64,
}

impl GroupsKept {
    fn count(&mut self, list: &[Cgroup]) {
        self.cgroups = list.len() as u64;
        let is_limited = |cgroup: &&Cgroup| cgroup.bandwidth.quota_us != QUOTA_NONE;
        self.limits = list.iter().filter(is_limited).count() as u64;
    }
}

impl Stay {
    /// Returns the group of the longest stay until `end`, and whether any other stay was at least a tenth as long.
    fn longest(&self, end: Instant) -> (u32, bool) {
        let mut all = self.before.clone();
        *all.entry(self.group).or_default() += end.since(self.since.min(end));
        let longest = all.iter().max_by_key(|&(group, &span)| (span, std::cmp::Reverse(*group)));
        let (&group, &span) = longest.unwrap_or((&0, &Span::ZERO));
        let moved = all.iter().any(|(&other, &stay)| other != group && stay.as_ns() * 10 > span.as_ns());
        (group, moved)
    }
}

impl Groups {
    /// Records a group's current settings.
    pub(crate) fn group(&mut self, info: &GroupInfo) {
        self.tree.group(info);
        if self.told.insert(info.group, info.clone()).is_some_and(|before| before != *info) {
            self.changed.insert(info.group);
        }
    }

    /// Notes that a task requests a change that concerns the cgroup with this path. Returns the cgroup, or `None` if
    /// there can be no such cgroup.
    pub(crate) fn asked(&mut self, path: &str, makes: bool) -> Option<CgroupId> {
        self.tree.asked(path, makes)
    }

    /// Notes that a task is in this group from now on.
    pub(crate) fn joins(&mut self, at: Instant, task: u32, group: u32) {
        let stay = self.tasks.entry(task).or_insert(Stay {
            first: group,
            group,
            since: at,
            before: BTreeMap::new(),
        });
        if stay.group != group {
            *stay.before.entry(stay.group).or_default() += at.since(stay.since.min(at));
            (stay.group, stay.since) = (group, at);
        }
    }

    /// Notes that the task exits.
    pub(crate) fn exits(&mut self, at: Instant, task: u32) {
        if let Some(stay) = self.tasks.get_mut(&task) {
            *stay.before.entry(stay.group).or_default() += at.since(stay.since.min(at));
            // Nothing after this counts as a stay.
            stay.since = Instant::from_ns(u64::MAX);
        }
    }

    /// Returns whether the recording contains any task's group.
    pub(crate) fn are_told(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the cgroups of tasks, parents first. Also sets the cgroups and sessions of the tasks' specs.
    pub(crate) fn cgroups(&self, end: Instant, specs: &mut [TaskSpec]) -> (Vec<Cgroup>, GroupsKept) {
        let mut made = Made::default();
        let mut kept = GroupsKept { told: self.are_told(), ..GroupsKept::default() };
        if self.tree.is_asked() {
            let list = self.asked_cgroups(specs);
            kept.count(&list);
            return (list, kept);
        }
        let mut sessions: BTreeMap<u32, u32> = BTreeMap::new();
        for (&task, stay) in &self.tasks {
            let Some(spec) = specs.get_mut(task as usize) else { continue };
            let (group, moved) = stay.longest(end);
            kept.moved += u64::from(moved);
            if self.told.get(&group).is_some_and(|info| info.session) {
                let next = sessions.len() as u32 + 1;
                spec.session = *sessions.entry(group).or_insert(next);
                spec.cgroup = Some(CgroupId::ROOT);
            } else {
                spec.cgroup = Some(made.cgroup(&self.told, group, MOST_LEVELS));
            }
        }
        if made.list.is_empty() {
            specs.iter_mut().for_each(|spec| spec.cgroup = None);
        }
        kept.count(&made.list);
        kept.changed = self.changed.iter().filter(|group| made.ids.contains_key(group)).count() as u64;
        (made.list, kept)
    }

    /// Returns the cgroups of a recording in which tasks change them. Tasks begin in their first one.
    fn asked_cgroups(&self, specs: &mut [TaskSpec]) -> Vec<Cgroup> {
        let (list, ids) = self.tree.cgroups();
        for (&task, stay) in &self.tasks {
            let Some(spec) = specs.get_mut(task as usize) else { continue };
            let id = self.tree.of_group(stay.first);
            spec.cgroup = Some(ids[id.0 as usize]);
        }
        for step in specs.iter_mut().flat_map(|spec| &mut spec.steps) {
            if let Step::Cgroup(step) = step {
                *step = step.about(ids[step.id().0 as usize]);
            }
        }
        list
    }
}

/// The created cgroups, by group number.
#[derive(Debug, Default)]
struct Made {
    list: Vec<Cgroup>,
    ids: BTreeMap<u32, CgroupId>,
    paths: BTreeSet<String>,
}

impl Made {
    /// Returns the cgroup for a group, and creates it if necessary. At most `levels` may be above it.
    fn cgroup(&mut self, told: &BTreeMap<u32, GroupInfo>, group: u32, levels: usize) -> CgroupId {
        if let Some(&id) = self.ids.get(&group) {
            return id;
        }
        let Some(info) = told.get(&group).filter(|info| !info.session) else { return CgroupId::ROOT };
        // Only a damaged recording has this many, or a cycle.
        let Some(left) = levels.checked_sub(1) else { return CgroupId::ROOT };
        let parent = self.cgroup(told, info.parent, left);
        if self.list.len() >= MOST {
            return CgroupId::ROOT;
        }
        let id = CgroupId::at(self.list.len());
        let path = self.path(info, parent);
        self.list.push(Cgroup {
            path,
            parent,
            is_there: true,
            weight: info.weight.clamp(WEIGHT_MIN, WEIGHT_MAX),
            bandwidth: possible(info.bandwidth),
            idle: info.idle,
        });
        self.ids.insert(group, id);
        id
    }

    /// Returns a unique path.
    fn path(&mut self, info: &GroupInfo, parent: CgroupId) -> String {
        let above = parent.place().map_or("", |place| self.list[place].path.as_str());
        let name: String =
            info.name.chars().filter(|&letter| letter != '/' && !letter.is_control()).take(64).collect();
        let name = if matches!(name.as_str(), "" | "." | "..") { "group".to_owned() } else { name };
        let mut path = format!("{above}/{name}");
        if self.paths.contains(&path) {
            path = format!("{path}-{}", info.group);
        }
        while !self.paths.insert(path.clone()) {
            path.push('_');
        }
        path
    }
}

/// Returns the limit, if it is valid in the kernel.
pub(crate) fn possible(limit: Bandwidth) -> Bandwidth {
    let is_one = PERIOD_US.contains(&limit.period_us) && limit.quota_us >= LEAST_QUOTA_US;
    let burst_us = limit.burst_us.min(limit.quota_us);
    if is_one { Bandwidth { burst_us, ..limit } } else { Bandwidth::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the paths of tasks' groups. `groups` are `NUMBER PARENT NAME`; `stays` are (task, milliseconds, group),
    /// with group 99 for the task's exit.
    fn check(groups: &[&str], stays: &[(u32, u64, u32)], expected: &str, moved: u64) {
        let mut told = Groups::default();
        for line in groups {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words[at].parse().expect("a number");
            let (name, session) = (words[2].to_owned(), words[2] == "session");
            told.group(&GroupInfo {
                group: number(0),
                parent: number(1),
                name,
                session,
                ..GroupInfo::default()
            });
        }
        for &(task, ms, group) in stays {
            let at = Instant::ZERO + Span::from_us(ms * 1000);
            if group == 99 { told.exits(at, task) } else { told.joins(at, task, group) }
        }
        let mut specs = vec![TaskSpec::default(); 4];
        let end = Instant::ZERO + Span::from_us(100_000);
        let (cgroups, kept) = told.cgroups(end, &mut specs);
        let path = |spec: &TaskSpec| match (spec.cgroup, spec.session) {
            (Some(id), 0) => id.place().map_or("/", |place| cgroups[place].path.as_str()).to_owned(),
            (_, 0) => "-".to_owned(),
            (_, session) => format!("session{session}"),
        };
        let paths: Vec<String> = specs.iter().map(path).collect();
        assert_eq!((paths.join(" "), kept.moved), (expected.to_owned(), moved));
        let above = |id: CgroupId| id.place().is_none_or(|place| place < cgroups.len());
        assert!(cgroups.iter().all(|cgroup| above(cgroup.parent)));
    }

    #[test]
    fn tasks_are_in_the_group_in_which_they_stayed() {
        let groups = ["1 2 web", "2 0 system", "3 0 session", "4 0 session"];
        check(&[], &[], "- - - -", 0);
        check(&groups, &[(0, 0, 1), (1, 0, 2), (2, 0, 0)], "/system/web /system / -", 0);
        check(
            &groups,
            &[(0, 0, 3), (1, 0, 4), (2, 0, 3), (3, 0, 2)],
            "session1 session2 session1 /system",
            0,
        );
        // A shell moves for a moment; an exiting task leaves its group.
        check(
            &groups,
            &[(0, 0, 2), (0, 5, 1), (1, 0, 1), (1, 50, 0), (1, 51, 99)],
            "/system/web /system/web - -",
            0,
        );
        check(&groups, &[(0, 0, 2), (0, 40, 1)], "/system/web - - -", 1);
    }

    #[test]
    fn hostile_groups_do_no_harm() {
        check(&["1 2 a", "2 1 b"], &[(0, 0, 1)], &format!("{} - - -", "/b/a".repeat(16)), 0);
        check(&["1 0 a", "2 0 a", "3 0 .."], &[(0, 0, 1), (1, 0, 2), (2, 0, 3)], "/a /a-2 /group -", 0);
        check(&[], &[(0, 0, 7)], "- - - -", 0);
    }
}
