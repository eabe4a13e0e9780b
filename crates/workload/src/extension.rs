//! Reads the contents of `"evenkeel"`, a key that rt-app ignores: jitter, units, counting, nodes.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::place::Place;
use crate::starter::Starter;
use keel_abi::cgroup::CgroupId;
use keel_abi::task::{Hint, HintPolicy, Step};
use keel_abi::{CpuSet, Span};

/// An `"evenkeel"` object at the top level, in a task or in a phase.
#[derive(Default)]
pub(crate) struct Extension {
    /// How far run and sleep lengths vary, in percent of the length, 0 to 100.
    pub(crate) jitter_percent: Option<u8>,
    /// Whether an iteration of this task or phase counts as one unit.
    pub(crate) count: Option<bool>,
    /// The CPUs of the given nodes.
    pub(crate) cpus: Option<CpuSet>,
    /// Priority and policy of a real-time hint, as far as given.
    pub(crate) rt_priority: Option<u8>,
    pub(crate) rt_policy: Option<HintPolicy>,
    /// The process that a task belongs to, its session, and its pages.
    pub(crate) process: Option<u32>,
    pub(crate) session: Option<u32>,
    pub(crate) pages: Option<u32>,
    /// Whether the task is a kernel thread.
    pub(crate) kthread: bool,
    /// The slice that a task requests from the fair class.
    pub(crate) slice: Option<Span>,
    /// The cgroup that a task starts in.
    pub(crate) cgroup: Option<CgroupId>,
    /// The steps at the extension's position.
    pub(crate) steps: Vec<Step>,
    /// What a process's main thread and its other threads do at the start, if the former starts the latter.
    pub(crate) starter: Option<Starter>,
    /// Whether a repeated event replaces the earlier one, as in rt-app without workgen.
    pub(crate) last_duplicate_wins: bool,
}

impl Extension {
    /// Returns the real-time hint. The default policy is FIFO.
    pub(crate) fn hint(&self) -> Option<Hint> {
        let policy = self.rt_policy.unwrap_or(HintPolicy::Fifo);
        Some(Hint { rt_priority: self.rt_priority?, policy })
    }
}

/// An extension's position. Some keys are valid only at some positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Top,
    Task,
    Phase,
}

impl<'a> Compiler<'a> {
    /// Reads the extension in a field.
    pub(crate) fn extension(
        &mut self,
        at: &Place<'_>,
        field: &Field<'a>,
        level: Level,
    ) -> Result<Extension, WorkloadError> {
        let mut extension = Extension::default();
        for word in fields(self.object(at, field.value)?, |_| false).list {
            let at = at.child(word.key, word.start);
            match (word.key, level) {
                ("jitter_percent", _) => {
                    let percent = self.integer(&at, word.value, 0..=100, "jitter in percent")?;
                    extension.jitter_percent = u8::try_from(percent).ok();
                }
                ("count", _) => extension.count = Some(self.boolean(&at, word.value)?),
                ("unit", _) => self.unit(&at, &word)?,
                ("nodes", Level::Task | Level::Phase) => {
                    extension.cpus = Some(self.cpus_of_nodes(&at, &word)?)
                }
                ("duplicates", Level::Top) => extension.last_duplicate_wins = self.duplicates(&at, &word)?,
                ("starter", Level::Top) => extension.starter = Some(self.starter(&at, &word)?),
                ("channels", Level::Top) => self.channels(&at, &word)?,
                // Read once the tasks are known.
                ("timeline", Level::Top) => {}
                ("cgroups", Level::Top) => self.declare_cgroups(&at, &word)?,
                ("cgroup", Level::Task) => extension.cgroup = Some(self.known_cgroup(&at, word.value)?),
                ("rt_priority", Level::Task) => {
                    let priority = self.integer(&at, word.value, 1..=99, "real-time priority")?;
                    extension.rt_priority = u8::try_from(priority).ok();
                }
                ("rt_policy", Level::Task) => extension.rt_policy = Some(self.rt_policy(&at, &word)?),
                ("process", Level::Task) => {
                    let process = self.integer(&at, word.value, 0..=1_000_000, "process")?;
                    extension.process = u32::try_from(process).ok();
                }
                ("session", Level::Task) => {
                    let session = self.integer(&at, word.value, 0..=1_000_000, "session")?;
                    extension.session = u32::try_from(session).ok();
                }
                ("slice_us", Level::Task) => {
                    let slice_us = self.integer(&at, word.value, 100..=100_000, "slice in microseconds")?;
                    extension.slice = u64::try_from(slice_us).ok().map(Span::from_us);
                }
                ("kthread", Level::Task) => extension.kthread = self.boolean(&at, word.value)?,
                ("pages", Level::Task) => extension.pages = Some(self.pages(&at, word.value, 0)?),
                ("steps", Level::Task | Level::Phase) => extension.steps = self.extra_steps(&at, &word)?,
                _ => {
                    let words = match level {
                        Level::Top => {
                            "jitter_percent, count, unit, duplicates, starter, channels, cgroups, timeline"
                        }
                        Level::Task => {
                            "jitter_percent, count, unit, nodes, rt_priority, rt_policy, process, session, pages, \
                             kthread, slice_us, cgroup, steps"
                        }
                        Level::Phase => "jitter_percent, count, unit, nodes, steps",
                    };
                    return Err(
                        self.error(&at, format!("is not an extension here; the extensions are {words}"))
                    );
                }
            }
        }
        match (extension.rt_priority, extension.rt_policy) {
            (None, Some(_)) => Err(self.error(at, "has an rt_policy without an rt_priority; give both")),
            _ => Ok(extension),
        }
    }

    fn rt_policy(&self, at: &Place<'_>, field: &Field<'_>) -> Result<HintPolicy, WorkloadError> {
        match self.string(at, field.value)? {
            "fifo" => Ok(HintPolicy::Fifo),
            "rr" => Ok(HintPolicy::Rr),
            other => Err(self.error(at, format!("must be \"fifo\" or \"rr\", not \"{}\"", shown(other)))),
        }
    }

    fn unit(&mut self, at: &Place<'_>, field: &Field<'_>) -> Result<(), WorkloadError> {
        let unit = self.string(at, field.value)?;
        if unit.is_empty() || unit.len() > 32 || unit.chars().any(char::is_control) {
            return Err(self.error(at, "a unit is a short word such as requests"));
        }
        match &self.unit {
            Some(other) if other != unit => {
                let problem =
                    format!("a workload has one unit, and this one counts {} already", shown(other));
                Err(self.error(at, problem))
            }
            _ => {
                self.unit = Some(unit.to_owned());
                Ok(())
            }
        }
    }

    fn starter(&self, at: &Place<'_>, field: &Field<'a>) -> Result<Starter, WorkloadError> {
        let mut starter = Starter::default();
        for word in fields(self.object(at, field.value)?, |_| false).list {
            let at = at.child(word.key, word.start);
            let span = match word.key {
                "main_us" => &mut starter.main,
                "main_waits_us" => &mut starter.main_waits,
                "apart_us" => &mut starter.apart,
                "before_us" => &mut starter.before,
                "after_us" => &mut starter.after,
                _ => return Err(self.error(
                    &at,
                    "is not known; a starter has main_us, main_waits_us, apart_us, before_us and after_us",
                )),
            };
            let us = self.integer(&at, word.value, 0..=1_000_000, "time in microseconds")?;
            *span = Span::from_us(u64::try_from(us).unwrap_or(0));
        }
        Ok(starter)
    }

    fn duplicates(&self, at: &Place<'_>, field: &Field<'_>) -> Result<bool, WorkloadError> {
        match self.string(at, field.value)? {
            "each" => Ok(false),
            "last" => Ok(true),
            other => Err(self.error(at, format!("must be \"each\" or \"last\", not \"{}\"", shown(other)))),
        }
    }
}
