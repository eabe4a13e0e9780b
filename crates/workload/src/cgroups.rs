//! Reads cgroups: rt-app's `taskgroup`, and the extension's `cgroups`, `cgroup` and steps.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::place::Place;
use jsonc_parser::ast::Value;
use keel_abi::cgroup::{
    Bandwidth, Cgroup, CgroupId, CgroupStep, QUOTA_NONE, WEIGHT_DFL, WEIGHT_MAX, WEIGHT_MIN,
};
use keel_abi::task::{Step, TaskSpec};
use std::collections::BTreeMap;

/// The maximum number of cgroups of a workload.
pub(crate) const MAX_CGROUPS: usize = 10_000;
/// The maximum number of parts of a path.
const MAX_DEPTH: usize = 32;
/// The maximum length of a part of a path, in bytes (`NAME_MAX`).
const MAX_NAME: usize = 255;

/// The cgroups that a file names, in the order of creation.
#[derive(Default)]
pub(crate) struct Cgroups {
    pub(crate) list: Vec<Cgroup>,
    ids: BTreeMap<String, CgroupId>,
}

impl Cgroups {
    /// Returns the cgroup with this path, and any missing ancestors, or `None` if there are too many.
    pub(crate) fn get_or_add(&mut self, path: &str) -> Option<CgroupId> {
        if path == "/" {
            return Some(CgroupId::ROOT);
        }
        if let Some(&id) = self.ids.get(path) {
            return Some(id);
        }
        let above = path.rfind('/').filter(|&end| end > 0).map_or("/", |end| &path[..end]);
        let parent = self.get_or_add(above)?;
        if self.list.len() >= MAX_CGROUPS {
            return None;
        }
        let id = CgroupId::at(self.list.len());
        let bandwidth = Bandwidth::default();
        let path = path.to_owned();
        self.ids.insert(path.clone(), id);
        self.list.push(Cgroup { path, parent, is_there: true, weight: WEIGHT_DFL, bandwidth, idle: false });
        Some(id)
    }

    fn find(&self, path: &str) -> Option<CgroupId> {
        if path == "/" { Some(CgroupId::ROOT) } else { self.ids.get(path).copied() }
    }
}

/// Maps the cgroup ids of a part to those of the joined workload.
pub(crate) struct Renumbering(Vec<CgroupId>);

impl Cgroups {
    /// Adds a part's cgroups. Those whose paths already exist are the same cgroups. Returns `None` if there are too
    /// many.
    pub(crate) fn merge(&mut self, part: Vec<Cgroup>) -> Option<Renumbering> {
        let mut ids = vec![CgroupId::ROOT];
        for cgroup in part {
            let before = self.list.len();
            let id = self.get_or_add(&cgroup.path)?;
            let own = id.place().filter(|&place| place >= before);
            if let Some(place) = own {
                let parent = self.list[place].parent;
                self.list[place] = Cgroup { parent, ..cgroup };
            }
            ids.push(id);
        }
        Some(Renumbering(ids))
    }
}

impl Renumbering {
    fn renumber(&self, id: &mut CgroupId) {
        *id = self.0[id.0 as usize];
    }

    /// Renumbers a task of the part so that it refers to the part's cgroups.
    pub(crate) fn renumber_task(&self, task: &mut TaskSpec) {
        if let Some(id) = &mut task.cgroup {
            self.renumber(id);
        }
        for step in &mut task.steps {
            let Step::Cgroup(step) = step else { continue };
            match step {
                CgroupStep::Join(id) | CgroupStep::JoinProcess(id) => self.renumber(id),
                CgroupStep::Make(id) | CgroupStep::Remove(id) => self.renumber(id),
                CgroupStep::Weight(id, _) | CgroupStep::Idle(id, _) => self.renumber(id),
                CgroupStep::Bandwidth(id, _) => self.renumber(id),
            }
        }
    }
}

/// The settings of a cgroup that are given.
#[derive(Default)]
struct Settings {
    path: Option<CgroupId>,
    weight: Option<u32>,
    idle: Option<bool>,
    later: bool,
    period_us: Option<u64>,
    quota_us: Option<u64>,
    burst_us: Option<u64>,
}

impl Settings {
    fn bandwidth(&self) -> Option<Bandwidth> {
        let Bandwidth { period_us, quota_us, burst_us } = Bandwidth::default();
        let given = self.period_us.or(self.quota_us).or(self.burst_us);
        given.map(|_| Bandwidth {
            period_us: self.period_us.unwrap_or(period_us),
            quota_us: self.quota_us.unwrap_or(quota_us),
            burst_us: self.burst_us.unwrap_or(burst_us),
        })
    }
}

impl<'a> Compiler<'a> {
    /// Reads the top-level `cgroups`: settings by path.
    pub(crate) fn declare_cgroups(&mut self, at: &Place<'_>, field: &Field<'a>) -> Result<(), WorkloadError> {
        for cgroup in fields(self.object(at, field.value)?, |_| false).list {
            let at = at.child(cgroup.key, cgroup.start);
            let id = self.add_cgroup(&at, cgroup.key)?;
            let settings = self.settings(&at, cgroup.value, true)?;
            let Some(place) = id.place() else {
                return Err(self.error(&at, "the root has no settings; leave it out"));
            };
            let made = &mut self.cgroups.list[place];
            made.weight = settings.weight.unwrap_or(made.weight);
            made.idle = settings.idle.unwrap_or(made.idle);
            made.bandwidth = settings.bandwidth().unwrap_or(made.bandwidth);
            made.is_there = !settings.later;
        }
        Ok(())
    }

    /// Checks that no cgroup that exists from the start is below one that is created later.
    pub(crate) fn check_cgroups(&self, at: &Place<'_>) -> Result<(), WorkloadError> {
        let is_there = |id: CgroupId| id.place().is_none_or(|place| self.cgroups.list[place].is_there);
        match self.cgroups.list.iter().find(|cgroup| cgroup.is_there && !is_there(cgroup.parent)) {
            None => Ok(()),
            Some(early) => {
                let path = shown(&early.path);
                Err(self
                    .error(at, format!("{path} is there before the cgroup above it, which is made later")))
            }
        }
    }

    /// Adds the cgroup with this path, which must begin at the root and consist of valid file names.
    fn add_cgroup(&mut self, at: &Place<'_>, path: &str) -> Result<CgroupId, WorkloadError> {
        let is_name = |name: &str| {
            !matches!(name, "" | "." | "..") && name.len() <= MAX_NAME && !name.chars().any(char::is_control)
        };
        let names = path.strip_prefix('/').map(|rest| rest.split('/').collect::<Vec<_>>());
        let names = names.filter(|names| path == "/" || names.iter().all(|name| is_name(name)));
        let problem = match names {
            None => "a cgroup is named by its path from the root, such as \"/a/b\"".to_owned(),
            Some(names) if names.len() > MAX_DEPTH => format!("a path has at most {MAX_DEPTH} parts"),
            Some(_) => match self.cgroups.get_or_add(path) {
                Some(id) => return Ok(id),
                None => format!("a workload has at most {MAX_CGROUPS} cgroups"),
            },
        };
        Err(self.error(at, problem))
    }

    /// Reads rt-app's `taskgroup`: a path, which rt-app creates before its threads start.
    pub(crate) fn task_group(
        &mut self,
        at: &Place<'_>,
        field: &Field<'_>,
    ) -> Result<Option<CgroupId>, WorkloadError> {
        match self.string(at, field.value)?.to_owned().as_str() {
            "" => Ok(None),
            path => self.add_cgroup(at, path).map(Some),
        }
    }

    /// Returns a cgroup that is declared at the top level.
    pub(crate) fn known_cgroup(&self, at: &Place<'_>, value: &Value<'_>) -> Result<CgroupId, WorkloadError> {
        let path = self.string(at, value)?;
        let problem = || format!("there is no cgroup \"{}\" under evenkeel.cgroups at the top", shown(path));
        self.cgroups.find(path).ok_or_else(|| self.error(at, problem()))
    }

    /// Returns the step that changes one setting of a cgroup.
    pub(crate) fn set_cgroup(&self, at: &Place<'_>, value: &Value<'_>) -> Result<Step, WorkloadError> {
        let settings = self.settings(at, value, false)?;
        let Some(id) = settings.path else {
            return Err(self.error(at, "needs the cgroup's \"path\""));
        };
        let step = match (settings.weight, settings.idle, settings.bandwidth()) {
            (Some(weight), None, None) => CgroupStep::Weight(id, weight),
            (None, Some(idle), None) => CgroupStep::Idle(id, idle),
            (None, None, Some(bandwidth)) => CgroupStep::Bandwidth(id, bandwidth),
            _ => {
                return Err(
                    self.error(at, "sets one thing: weight, idle, or quota_us with period_us and burst_us")
                );
            }
        };
        Ok(Step::Cgroup(step))
    }

    /// Reads the settings in an object. `is_new` means that the cgroup is being declared, so that its path is the key.
    fn settings(&self, at: &Place<'_>, value: &Value<'_>, is_new: bool) -> Result<Settings, WorkloadError> {
        let mut settings = Settings::default();
        for word in fields(self.object(at, value)?, |_| false).list {
            let at = at.child(word.key, word.start);
            let number = |least: i64, most: i64, what: &str| {
                self.integer(&at, word.value, least..=most, what).map(i64::unsigned_abs)
            };
            match word.key {
                "path" if !is_new => settings.path = Some(self.known_cgroup(&at, word.value)?),
                "later" if is_new => settings.later = self.boolean(&at, word.value)?,
                "weight" => {
                    let weight = number(WEIGHT_MIN.into(), WEIGHT_MAX.into(), "weight")?;
                    settings.weight = u32::try_from(weight).ok();
                }
                "idle" => settings.idle = Some(self.boolean(&at, word.value)?),
                "period_us" => settings.period_us = Some(number(1_000, 1_000_000, "period")?),
                "quota_us" => {
                    // 0 stands for "max" in cpu.max.
                    let quota = number(0, i64::MAX, "quota")?;
                    settings.quota_us = Some(if quota == 0 { QUOTA_NONE } else { quota });
                }
                "burst_us" => settings.burst_us = Some(number(0, i64::MAX, "burst")?),
                _ => {
                    let own = if is_new { "later" } else { "path" };
                    let words = format!("{own}, weight, idle, quota_us, period_us, burst_us");
                    return Err(self.error(&at, format!("is not a cgroup setting; the settings are {words}")));
                }
            }
        }
        Ok(settings)
    }
}
