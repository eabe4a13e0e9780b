//! Reads what happens from outside during a run: `"evenkeel": {"timeline": [...]}` at the top level of a file.
//!
//! An entry has a time (`at`, with `every` and `times`) and one change: `offline` or `online` with CPUs, or for all
//! instances of a `task`, new `cpus`, a new `nice` value or a new `policy`.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::place::Place;
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use keel_abi::task::Policy;
use keel_abi::timeline::{Change, Happening, MAX_HAPPENINGS};
use keel_abi::{CpuId, CpuSet, Span};

/// The keys of an entry.
const WORDS: &str = "at, every, times, offline, online, task, cpus, nice, policy";

/// An entry that is being read.
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
    policy: Option<Policy>,
}

impl<'a> Compiler<'a> {
    /// Reads the timeline in the top-level extension, if there is one. The tasks must already be known.
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
        Ok(Happening { at: begins, every: entry.every, times: entry.times, follows: false, change })
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
            "cpus" => entry.cpus = Some(self.cpu_list(at, word)?),
            "nice" => {
                let nice = self.integer(at, word.value, -20..=19, "nice value")?;
                entry.nice = i8::try_from(nice).ok();
            }
            "policy" => entry.policy = Some(self.ordinary_policy(at, word)?),
            _ => {
                return Err(self.error(at, format!("is not a setting of an entry; the settings are {WORDS}")));
            }
        }
        Ok(())
    }

    /// Reads CPUs that go offline or come online, which can't include the first.
    fn hotplugged(&self, at: &Place<'_>, word: &Field<'_>) -> Result<CpuSet, WorkloadError> {
        let cpus = self.cpu_list(at, word)?;
        match cpus.contains(CpuId(0)) {
            true => Err(self.error(at, "CPU 0 stays online, as on x86; leave it out")),
            false => Ok(cpus),
        }
    }

    /// Returns the change that an entry makes.
    fn change(&self, at: &Place<'_>, entry: &Entry) -> Result<Change, WorkloadError> {
        let said = [
            entry.offline.clone().map(Change::Offline),
            entry.online.clone().map(Change::Online),
            entry.spec.zip(entry.cpus.clone()).map(|(spec, cpus)| Change::Affinity { spec, cpus }),
            entry.spec.zip(entry.nice).map(|(spec, nice)| Change::Nice { spec, nice }),
            entry.spec.zip(entry.policy).map(|(spec, policy)| Change::Policy { spec, policy }),
        ];
        let words = [
            entry.offline.is_some(),
            entry.online.is_some(),
            entry.cpus.is_some(),
            entry.nice.is_some(),
            entry.policy.is_some(),
        ];
        let is_one = words.iter().filter(|&&is_there| is_there).count() == 1;
        let mut said = said.into_iter().flatten();
        match said.next() {
            Some(change) if is_one && change.spec() == entry.spec => Ok(change),
            _ => {
                let problem = "does not say what happens; give \"offline\" or \"online\" with CPUs, or a \"task\" \
                               with one of \"cpus\", \"nice\" and \"policy\"";
                Err(self.error(at, problem))
            }
        }
    }

    /// Reads a policy that needs no priority.
    fn ordinary_policy(&self, at: &Place<'_>, word: &Field<'_>) -> Result<Policy, WorkloadError> {
        Ok(match self.string(at, word.value)? {
            "SCHED_OTHER" => Policy::Other,
            "SCHED_BATCH" => Policy::Batch,
            "SCHED_IDLE" => Policy::Idle,
            "SCHED_EXT" => Policy::Ext,
            name => {
                let problem = format!(
                    "{} is not a policy that an entry can set; use SCHED_OTHER, SCHED_BATCH, SCHED_IDLE and SCHED_EXT",
                    shown(name)
                );
                return Err(match name {
                    "SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE" => self.unsupported(at, problem),
                    _ => self.error(at, problem),
                });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use keel_abi::Topology;

    #[test]
    fn cpus_are_a_list_of_numbers_or_text() {
        let timeline = |cpus: &str| {
            let entries = format!(
                r#"{{ "at": 1, "offline": {cpus} }}, {{ "at": 2, "online": {cpus} }},
                   {{ "at": 3, "task": "a", "cpus": {cpus} }}"#
            );
            let tasks = r#""tasks": { "a": { "run": 1 } }"#;
            let text = format!(r#"{{ {tasks}, "evenkeel": {{ "timeline": [{entries}] }} }}"#);
            crate::parse("w.json", &text, &Topology::flat(8)).expect("the file is right").0.timeline
        };
        let listed = timeline("[1, 2, 3, 7]");
        assert_eq!(listed.len(), 3);
        assert_eq!(timeline("\"1-3,7\""), listed);
    }
}
