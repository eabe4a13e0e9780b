//! Reads waits that keep a CPU busy: the steps `spin_barrier`, `raise` and `lower`.

use crate::compile::Compiler;
use crate::error::WorkloadError;
use crate::event::Task;
use crate::json::fields;
use crate::place::Place;
use jsonc_parser::ast::Value;
use keel_abi::Span;
use keel_abi::task::{ObjectId, Step};

impl<'a> Compiler<'a> {
    /// Reads `{"spin_barrier": "b"}` or `{"spin_barrier": {"ref": "b", "patience": 3000}}`. It shares its names with
    /// ordinary barriers.
    pub(crate) fn spin_barrier(
        &mut self,
        at: &Place<'_>,
        value: &'a Value<'a>,
    ) -> Result<Step, WorkloadError> {
        if value.as_object().is_none() {
            let barrier = self.barriers.id(self.string(at, value)?);
            return Ok(Step::SpinBarrier { barrier, patience: None });
        }
        let (mut name, mut patience) = (None, None);
        for part in fields(self.object(at, value)?, |_| false).list {
            let at = at.child(part.key, part.start);
            match part.key {
                "ref" => name = Some(self.string(&at, part.value)?),
                "patience" => patience = Some(self.patience(&at, part.value)?),
                _ => {
                    return Err(
                        self.error(&at, "is not a spin_barrier setting; the settings are ref, patience")
                    );
                }
            }
        }
        let name = name.ok_or_else(|| self.error(at, "needs the barrier's name in \"ref\""))?;
        Ok(Step::SpinBarrier { barrier: self.barriers.id(name), patience })
    }

    fn patience(&self, at: &Place<'_>, value: &Value<'_>) -> Result<Span, WorkloadError> {
        match self.time(at, value)? {
            Span::ZERO => {
                Err(self.error(at, "must be at least 1 microsecond; use barrier to wait without spinning"))
            }
            patience => Ok(patience),
        }
    }

    /// Returns the flag of this name.
    pub(crate) fn flag(&mut self, at: &Place<'_>, value: &'a Value<'a>) -> Result<ObjectId, WorkloadError> {
        Ok(self.flags.id(self.string(at, value)?))
    }

    /// Counts a task among the users of the barriers at which it spins.
    pub(crate) fn use_barriers(&mut self, at: &Place<'_>, steps: &[Step], task: &Task<'_>) {
        for step in steps {
            if let Step::SpinBarrier { barrier, .. } = step {
                self.use_barrier(at, *barrier, task);
            }
        }
    }
}
