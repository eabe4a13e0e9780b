//! What stands under `"evenkeel"`, a key that rt-app ignores: jitter, units, counting, nodes.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::place::Place;
use keel_abi::CpuSet;

/// An `"evenkeel"` object at the top, in a task or in a phase.
#[derive(Default)]
pub(crate) struct Extension {
    /// How far run and sleep lengths vary, in percent of the length, 0 to 100.
    pub(crate) jitter_percent: Option<u8>,
    /// Whether a pass of this task or phase counts as one unit.
    pub(crate) count: Option<bool>,
    /// The CPUs of the nodes that are named.
    pub(crate) cpus: Option<CpuSet>,
    /// Whether a repeated event displaces the earlier one, as rt-app without workgen has it.
    pub(crate) last_duplicate_wins: bool,
}

/// Where an extension stands; not every word belongs everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Top,
    TaskOrPhase,
}

impl Compiler<'_> {
    /// Reads the extension that a field holds.
    pub(crate) fn extension(
        &mut self,
        at: &Place<'_>,
        field: &Field<'_>,
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
                ("nodes", Level::TaskOrPhase) => extension.cpus = Some(self.cpus_of_nodes(&at, &word)?),
                ("duplicates", Level::Top) => extension.last_duplicate_wins = self.duplicates(&at, &word)?,
                _ => {
                    let words = match level {
                        Level::Top => "jitter_percent, count, unit, duplicates",
                        Level::TaskOrPhase => "jitter_percent, count, unit, nodes",
                    };
                    return Err(self.error(&at, format!("is no extension here; there are {words}")));
                }
            }
        }
        Ok(extension)
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

    fn duplicates(&self, at: &Place<'_>, field: &Field<'_>) -> Result<bool, WorkloadError> {
        match self.string(at, field.value)? {
            "each" => Ok(false),
            "last" => Ok(true),
            other => Err(self.error(at, format!("must be \"each\" or \"last\", not \"{}\"", shown(other)))),
        }
    }
}
