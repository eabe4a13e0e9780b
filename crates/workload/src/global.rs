//! Reads rt-app's `global` object: the run's duration, the default policy, and priority inheritance of mutexes. The
//! rest is about logs.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::place::Place;
use jsonc_parser::ast::Value;
use keel_abi::Span;

impl<'a> Compiler<'a> {
    /// Reads the settings of `global`.
    pub(crate) fn global(&mut self, at: &Place<'_>, field: &Field<'a>) -> Result<(), WorkloadError> {
        let fields = fields(self.object(at, field.value)?, |_| false);
        self.note_duplicates(at, &fields);
        let mut idle = Vec::new();
        for setting in fields.list {
            let here = at.child(setting.key, setting.start);
            match setting.key {
                "duration" => self.duration(&here, &setting)?,
                "default_policy" => self.default_policy = self.policy(&here, &setting)?,
                "pi_enabled" => self.priority_inheritance(&here, &setting)?,
                _ if self.is_idle(&here, &setting)? => idle.push(setting.key),
                _ => self.warn(&here, "is not an rt-app setting; it has no effect"),
            }
        }
        if !idle.is_empty() {
            self.warn(at, format!("these settings have no effect here: {}", idle.join(", ")));
        }
        Ok(())
    }

    fn duration(&mut self, at: &Place<'_>, field: &Field<'_>) -> Result<(), WorkloadError> {
        let what = "duration in seconds (-1 is forever)";
        let duration_s = self.integer(at, field.value, -1..=i64::from(i32::MAX), what)?;
        // rt-app treats 0 like -1.
        self.duration = u64::try_from(duration_s).ok().filter(|&s| s > 0).map(Span::from_s);
        Ok(())
    }

    fn priority_inheritance(&mut self, at: &Place<'_>, field: &Field<'_>) -> Result<(), WorkloadError> {
        self.mutexes_inherit = self.boolean(at, field.value)?;
        Ok(())
    }

    /// Returns whether this is a setting of rt-app that has no effect here. Checks its type.
    fn is_idle(&self, at: &Place<'_>, field: &Field<'_>) -> Result<bool, WorkloadError> {
        let value = field.value;
        match field.key {
            "lock_pages" | "gnuplot" | "cumulative_slack" => {
                self.boolean(at, value)?;
            }
            "ftrace" => match value {
                // Formerly a flag, later a list of categories.
                Value::BooleanLit(_) | Value::StringLit(_) => {}
                _ => return Err(self.wrong_type(at, value, "true, false or a string")),
            },
            "logdir" | "log_basename" | "io_device" => {
                self.string(at, value)?;
            }
            "calibration" | "log_size" => match value {
                Value::NumberLit(_) => {
                    self.integer(at, value, 0..=i64::from(i32::MAX), field.key)?;
                }
                Value::StringLit(_) => {}
                _ => return Err(self.wrong_type(at, value, "a whole number or a string")),
            },
            "mem_buffer_size" => {
                self.integer(at, value, 0..=i64::from(i32::MAX), "size in bytes")?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Checks `resources`, which rt-app supports only for old files, because it now creates resources by itself.
    pub(crate) fn resources(&mut self, at: &Place<'_>, field: &Field<'a>) -> Result<(), WorkloadError> {
        const KINDS: [&str; 8] = ["mutex", "signal", "wait", "broadcast", "sync", "sleep", "run", "timer"];
        let Some(object) = field.value.as_object() else {
            self.warn(at, "has no effect: it is not an object");
            return Ok(());
        };
        for resource in fields(object, |_| false).list {
            let at = at.child(resource.key, resource.start);
            for part in fields(self.object(&at, resource.value)?, |_| false).list {
                let at = at.child(part.key, part.start);
                if part.key == "type" && !KINDS.contains(&self.string(&at, part.value)?) {
                    let kind = shown(self.string(&at, part.value)?);
                    return Err(self.error(&at, format!("there is no resource type \"{kind}\"")));
                }
            }
        }
        Ok(())
    }
}
