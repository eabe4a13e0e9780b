//! Converts one event of a task or phase to steps.

use crate::compile::{Compiler, MAX_STEPS_PER_TASK};
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::keys::Event;
use crate::place::Place;
use jsonc_parser::ast::Value;
use keel_abi::Span;
use keel_abi::task::{Amount, ObjectId, Step, TimerMode};

/// The task whose events are compiled.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) index: u32,
    pub(crate) name: &'a str,
    pub(crate) instances: u32,
    /// Whether it never has more than one instance.
    pub(crate) alone: bool,
    /// How far run and sleep lengths vary, in percent.
    pub(crate) jitter_percent: u8,
}

impl<'a> Compiler<'a> {
    /// Appends the steps of one event.
    pub(crate) fn event(
        &mut self,
        at: &Place<'_>,
        event: Event,
        field: &Field<'a>,
        task: &Task<'a>,
        steps: &mut Vec<Step>,
    ) -> Result<(), WorkloadError> {
        match event {
            Event::Run => push_work(steps, Step::Run(self.amount(at, field, task)?)),
            Event::Runtime => push_work(steps, Step::RunFor(self.time(at, field.value)?)),
            Event::Sleep => steps.push(Step::Sleep(self.amount(at, field, task)?)),
            Event::Timer => steps.push(self.timer(at, field, task)?),
            Event::Lock => steps.push(Step::Lock(self.mutexes.id(self.string(at, field.value)?))),
            Event::Unlock => steps.push(Step::Unlock(self.mutexes.id(self.string(at, field.value)?))),
            Event::Signal => steps.push(Step::Signal(self.conditions.id(self.string(at, field.value)?))),
            Event::Broadcast => {
                steps.push(Step::Broadcast(self.conditions.id(self.string(at, field.value)?)))
            }
            Event::Wait | Event::Sync => steps.push(self.wait(at, event, field)?),
            Event::Barrier => steps.push(self.barrier(at, field, task)?),
            Event::Suspend => self.suspend(at, field, task, steps)?,
            Event::Resume => self.resume(self.string(at, field.value)?, steps),
            Event::Steps => {}
            Event::Yield => steps.push(Step::Yield),
            Event::Fork => steps.push(self.fork(at, field)?),
            Event::Mem => {
                return Err(self.unsupported(at, "mem is not modelled; use run for the time that it takes"));
            }
            Event::IoRun => {
                return Err(self
                    .unsupported(at, "iorun is not modelled; use run and sleep for the time that it takes"));
            }
        }
        match steps.len() > MAX_STEPS_PER_TASK {
            true => Err(self.error(at, format!("a task has at most {MAX_STEPS_PER_TASK} events"))),
            false => Ok(()),
        }
    }

    fn amount(&self, at: &Place<'_>, field: &Field<'_>, task: &Task<'_>) -> Result<Amount, WorkloadError> {
        let base = self.time(at, field.value)?;
        let spread_ns = base.as_ns() * u64::from(task.jitter_percent) / 100;
        Ok(Amount { base, spread: Span::from_ns(spread_ns) })
    }

    fn timer(&mut self, at: &Place<'_>, field: &Field<'a>, task: &Task<'a>) -> Result<Step, WorkloadError> {
        let (mut name, mut period, mut mode) = (None, None, TimerMode::Relative);
        for part in fields(self.object(at, field.value)?, |_| false).list {
            let at = at.child(part.key, part.start);
            match part.key {
                "ref" => name = Some(self.string(&at, part.value)?),
                "period" => period = Some(self.time(&at, part.value)?),
                "mode" => mode = self.timer_mode(&at, &part)?,
                _ => {}
            }
        }
        let name = self.or_unknown(at, name, "ref");
        let period = period.ok_or_else(|| self.error(at, "a timer needs a \"period\" in microseconds"))?;
        let timer = self.timers.used(task.index, task.alone, name, mode);
        Ok(Step::Timer { timer, period, mode })
    }

    fn timer_mode(&self, at: &Place<'_>, field: &Field<'_>) -> Result<TimerMode, WorkloadError> {
        match self.string(at, field.value)? {
            "absolute" => Ok(TimerMode::Absolute),
            "relative" => Ok(TimerMode::Relative),
            other => {
                let problem = format!("must be \"relative\" or \"absolute\", not \"{}\"", shown(other));
                Err(self.error(at, problem))
            }
        }
    }

    fn wait(&mut self, at: &Place<'_>, event: Event, field: &Field<'a>) -> Result<Step, WorkloadError> {
        let (mut condition, mut mutex) = (None, None);
        for part in fields(self.object(at, field.value)?, |_| false).list {
            let at = at.child(part.key, part.start);
            match part.key {
                "ref" => condition = Some(self.string(&at, part.value)?),
                "mutex" => mutex = Some(self.string(&at, part.value)?),
                _ => {}
            }
        }
        let condition = self.or_unknown(at, condition, "ref");
        let mutex = self.or_unknown(at, mutex, "mutex");
        let (condition, mutex) = (self.conditions.id(condition), self.mutexes.id(mutex));
        Ok(match event {
            Event::Wait => Step::Wait { condition, mutex },
            _ => Step::Sync { condition, mutex },
        })
    }

    /// Returns the name, or as in rt-app "unknown" for an item without one, with a warning.
    fn or_unknown(&mut self, at: &Place<'_>, name: Option<&'a str>, what: &str) -> &'a str {
        name.unwrap_or_else(|| {
            self.warn(at, format!("has no \"{what}\"; as in rt-app it is then called \"unknown\""));
            "unknown"
        })
    }

    fn barrier(&mut self, at: &Place<'_>, field: &Field<'a>, task: &Task<'a>) -> Result<Step, WorkloadError> {
        let name = self.string(at, field.value)?;
        let barrier = self.barriers.id(name);
        self.use_barrier(at, barrier, task);
        Ok(Step::Barrier(barrier))
    }

    /// Counts a task among a barrier's users.
    pub(crate) fn use_barrier(&mut self, at: &Place<'_>, barrier: ObjectId, task: &Task<'_>) {
        let count = self.barriers.len() as usize;
        self.barrier_users.resize(count, Default::default());
        let users = &mut self.barrier_users[barrier.0 as usize];
        users.count = users.count.saturating_add(task.instances);
        let again = users.last_task == Some(task.index);
        users.last_task = Some(task.index);
        users.start = at.start;
        if again {
            let note = "one task uses this barrier more than once; as in rt-app it waits for as many tasks as \
                        there are uses, and may never open";
            self.warn(at, note);
        }
    }

    /// Suspends as rt-app does: waits on the condition with this name, using the mutex with this name.
    fn suspend(
        &mut self,
        at: &Place<'_>,
        field: &Field<'a>,
        task: &Task<'a>,
        steps: &mut Vec<Step>,
    ) -> Result<(), WorkloadError> {
        let name = match field.value {
            Value::NullKeyword(_) => task.name,
            value => match self.string(at, value)? {
                "" => task.name,
                name => name,
            },
        };
        let (condition, mutex) = (self.conditions.id(name), self.mutexes.id(name));
        steps.extend([Step::Lock(mutex), Step::Wait { condition, mutex }, Step::Unlock(mutex)]);
        Ok(())
    }

    /// Resumes as rt-app does: the first task to be resumed waits for the mutex.
    fn resume(&mut self, name: &'a str, steps: &mut Vec<Step>) {
        let (condition, mutex) = (self.conditions.id(name), self.mutexes.id(name));
        steps.extend([Step::Lock(mutex), Step::Broadcast(condition), Step::Unlock(mutex)]);
    }

    fn fork(&self, at: &Place<'_>, field: &Field<'_>) -> Result<Step, WorkloadError> {
        let name = self.string(at, field.value)?;
        let task = self.task_indices.get(name).copied();
        let task =
            task.ok_or_else(|| self.error(at, format!("there is no task \"{}\" to fork", shown(name))))?;
        Ok(Step::Fork(task))
    }
}

/// Appends work. Work of no length needs no step: rt-app's loop then runs zero times.
fn push_work(steps: &mut Vec<Step>, step: Step) {
    let none = match &step {
        Step::Run(amount) => amount.base == Span::ZERO,
        Step::RunFor(span) => *span == Span::ZERO,
        _ => false,
    };
    if !none {
        steps.push(step);
    }
}
