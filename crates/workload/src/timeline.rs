//! What happens from outside while a run goes on: `"evenkeel": {"timeline": [...]}` at the top of a file.
//!
//! An entry says when (`at`, with `every` and `times`) and one thing that is done: `offline` or `online` with
//! CPUs, or for all instances of a `task` new `cpus` or a new `nice` value.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::place::Place;
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use keel_abi::timeline::{Change, Happening, MAX_HAPPENINGS};
use keel_abi::{CpuId, CpuSet, Span};

/// The words of an entry.
const WORDS: &str = "at, every, times, offline, online, task, cpus, nice";

/// An entry as far as it is read.
#[derive(Default)]
struct Entry {
    at: Option<Span>,
    every: Option<Span>,
    times: Option<u32>,
    spec: Option<u32>,
    offline: Option<CpuSet>,
    online: Option<CpuSet>,
    cpus: Option<CpuSet>,
    nice: Option<i8>,
}

impl<'a> Compiler<'a> {
    /// Reads the timeline that the top's extension holds, if it does. The tasks are known by now.
    pub(crate) fn timeline(
        &mut self,
        at: &Place<'_>,
        extension: &Field<'a>,
    ) -> Result<Vec<Happening>, WorkloadError> {
        let words = fields(self.object(at, extension.value)?, |_| false).list;
        let Some(field) = words.iter().find(|word| word.key == "timeline") else { return Ok(Vec::new()) };
        let at = at.child(field.key, field.start);
        let Some(list) = field.value.as_array() else {
            return Err(self.wrong_type(&at, field.value, "a list of what happens"));
        };
        if list.elements.len() > MAX_HAPPENINGS {
            return Err(self.error(&at, format!("a timeline has at most {MAX_HAPPENINGS} entries")));
        }
        list.elements.iter().map(|entry| self.happening(&at.at(entry.start()), entry)).collect()
    }

    fn happening(&self, at: &Place<'_>, value: &Value<'_>) -> Result<Happening, WorkloadError> {
        let mut entry = Entry::default();
        for word in fields(self.object(at, value)?, |_| false).list {
            self.entry_word(&at.child(word.key, word.start), &word, &mut entry)?;
        }
        let Some(begins) = entry.at else {
            return Err(self.error(at, "does not say when; give \"at\" in microseconds"));
        };
        if entry.times.is_some() && entry.every.is_none() {
            return Err(self.error(at, "has \"times\" without \"every\"; give both"));
        }
        let change = self.change(at, &entry)?;
        Ok(Happening { at: begins, every: entry.every, times: entry.times, change })
    }

    fn entry_word(&self, at: &Place<'_>, word: &Field<'_>, entry: &mut Entry) -> Result<(), WorkloadError> {
        match word.key {
            "at" => entry.at = Some(self.time(at, word.value)?),
            "every" => {
                let every = self.time(at, word.value)?;
                if every == Span::ZERO {
                    return Err(self.error(at, "must be at least 1 microsecond"));
                }
                entry.every = Some(every);
            }
            "times" => {
                let times = self.integer(at, word.value, 1..=i64::from(u32::MAX), "number of times")?;
                entry.times = u32::try_from(times).ok();
            }
            "offline" => entry.offline = Some(self.hotplugged(at, word)?),
            "online" => entry.online = Some(self.hotplugged(at, word)?),
            "task" => {
                let name = self.string(at, word.value)?;
                let spec = self.task_indices.get(name).copied();
                let unknown = || self.error(at, format!("there is no task \"{}\"", shown(name)));
                entry.spec = Some(spec.ok_or_else(unknown)?);
            }
            "cpus" => entry.cpus = Some(self.cpus(at, word)?),
            "nice" => {
                let nice = self.integer(at, word.value, -20..=19, "nice value")?;
                entry.nice = i8::try_from(nice).ok();
            }
            _ => return Err(self.error(at, format!("is nothing that an entry has; there are {WORDS}"))),
        }
        Ok(())
    }

    /// CPUs that come or go: never the first.
    fn hotplugged(&self, at: &Place<'_>, word: &Field<'_>) -> Result<CpuSet, WorkloadError> {
        let cpus = self.cpus(at, word)?;
        match cpus.contains(CpuId(0)) {
            true => Err(self.error(at, "CPU 0 stays online, as on x86; leave it out")),
            false => Ok(cpus),
        }
    }

    /// The one thing that an entry does.
    fn change(&self, at: &Place<'_>, entry: &Entry) -> Result<Change, WorkloadError> {
        match entry {
            Entry { offline: Some(cpus), online: None, cpus: None, nice: None, spec: None, .. } => {
                Ok(Change::Offline(cpus.clone()))
            }
            Entry { online: Some(cpus), offline: None, cpus: None, nice: None, spec: None, .. } => {
                Ok(Change::Online(cpus.clone()))
            }
            Entry { spec: Some(spec), cpus: Some(cpus), offline: None, online: None, nice: None, .. } => {
                Ok(Change::Affinity { spec: *spec, cpus: cpus.clone() })
            }
            Entry { spec: Some(spec), nice: Some(nice), offline: None, online: None, cpus: None, .. } => {
                Ok(Change::Nice { spec: *spec, nice: *nice })
            }
            _ => {
                let problem = "does not say what happens; give \"offline\" or \"online\" with CPUs, or a \"task\" \
                               with either \"cpus\" or \"nice\"";
                Err(self.error(at, problem))
            }
        }
    }
}
