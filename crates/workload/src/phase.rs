//! Reads the contents of a task or a phase, both in the same way: settings first, then events.

use crate::compile::Compiler;
use crate::error::WorkloadError;
use crate::event::Task;
use crate::extension::{Extension, Level};
use crate::json::{Field, fields};
use crate::keys::{Event, Key, Setting, meaning};
use crate::place::Place;
use crate::sched::Policy;
use jsonc_parser::ast::Object;
use keel_abi::cgroup::CgroupId;
use keel_abi::task::{Step, TimerMode};
use keel_abi::{CpuSet, Span};

/// How often something is executed; `None` means forever.
pub(crate) type Times = Option<u32>;

/// The settings and events of a task or phase.
#[derive(Default)]
pub(crate) struct Body<'a> {
    /// The value of `loop` and its position, if given.
    pub(crate) looped: Option<(i64, usize)>,
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) policy: Option<Policy>,
    pub(crate) priority: Option<Field<'a>>,
    pub(crate) instances: Option<u32>,
    pub(crate) task_group: Option<CgroupId>,
    pub(crate) delay: Span,
    pub(crate) extension: Extension,
    pub(crate) phases: Option<Field<'a>>,
    pub(crate) events: Vec<(Event, Field<'a>)>,
}

/// A phase that is compiled except for its place in the task.
pub(crate) struct Phase {
    pub(crate) steps: Vec<Step>,
    pub(crate) times: Times,
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) policy: Option<Policy>,
    pub(crate) priority: Option<i8>,
    pub(crate) count: Option<bool>,
    /// The cgroup that it moves to.
    pub(crate) task_group: Option<CgroupId>,
}

impl<'a> Compiler<'a> {
    /// Reads the settings of a task (`is_task`) or phase, and collects its events.
    pub(crate) fn body(
        &mut self,
        at: &Place<'_>,
        object: &'a Object<'a>,
        is_task: bool,
    ) -> Result<Body<'a>, WorkloadError> {
        let each = !self.top.last_duplicate_wins;
        let fields = fields(object, |key| each && matches!(meaning(key), Key::Event(_)));
        self.note_duplicates(at, &fields);
        let mut body = Body::default();
        for field in fields.list {
            let at = at.child(field.key, field.start);
            match meaning(field.key) {
                Key::Event(event) => body.events.push((event, field)),
                Key::Setting(setting) => self.setting(&at, setting, field, is_task, &mut body)?,
                Key::Comment => {}
                Key::Unknown => {
                    let problem = "is neither an event nor a setting; docs/reference/workloads.md lists both \
                                   (a key that begins with _ is a comment)";
                    return Err(self.error(&at, problem));
                }
            }
        }
        Ok(body)
    }

    fn setting(
        &mut self,
        at: &Place<'_>,
        setting: Setting,
        field: Field<'a>,
        is_task: bool,
        body: &mut Body<'a>,
    ) -> Result<(), WorkloadError> {
        match setting {
            Setting::Loop => {
                let what = "number of passes (-1 is forever)";
                body.looped =
                    Some((self.integer(at, field.value, -1..=i64::from(i32::MAX), what)?, at.start));
            }
            Setting::Cpus => body.cpus = Some(self.cpus(at, &field)?),
            Setting::Policy => body.policy = Some(self.policy(at, &field)?),
            Setting::Priority => body.priority = Some(field),
            Setting::NodesMembind => {
                self.node_numbers(at, &field)?;
                let note = "has no effect: it binds memory, which is not modelled (\"evenkeel\": {\"nodes\": \
                            [...]} confines a task to the CPUs of nodes)";
                self.warn(at, note);
            }
            Setting::TaskGroup => body.task_group = self.task_group(at, &field)?,
            Setting::Evenkeel => {
                let level = if is_task { Level::Task } else { Level::Phase };
                body.extension = self.extension(at, &field, level)?;
                if !body.extension.steps.is_empty() {
                    body.events.push((Event::Steps, field));
                }
            }
            Setting::Legacy => {
                let problem = "belongs to the grammar of old rt-app versions; describe the task with events";
                return Err(self.unsupported(at, problem));
            }
            Setting::Idle(note) => self.warn(at, note),
            Setting::Instance | Setting::Delay | Setting::Phases if !is_task => {
                self.warn(at, "has no effect in a phase; it belongs to a task");
            }
            Setting::Instance => body.instances = Some(self.instances(at, &field)?),
            Setting::Delay => body.delay = self.time(at, field.value)?,
            Setting::Phases => body.phases = Some(field),
        }
        Ok(())
    }

    /// Returns the affinity from `cpus` or the extension's `nodes`, only one of which may be given.
    pub(crate) fn affinity(
        &self,
        at: &Place<'_>,
        body: &mut Body<'_>,
    ) -> Result<Option<CpuSet>, WorkloadError> {
        match (body.cpus.take(), body.extension.cpus.take()) {
            (Some(_), Some(_)) => Err(self.error(at, "has both \"cpus\" and \"nodes\"; keep one of them")),
            (cpus, nodes) => Ok(cpus.or(nodes)),
        }
    }

    /// Returns how often a phase is executed. rt-app never leaves a phase whose `loop` is 0.
    pub(crate) fn phase_times(
        &self,
        at: &Place<'_>,
        looped: Option<(i64, usize)>,
    ) -> Result<Times, WorkloadError> {
        match looped {
            None => Ok(Some(1)),
            Some((-1, _)) => Ok(None),
            Some((0, start)) => {
                let at = at.child("loop", start);
                Err(self.error(&at, "0 passes do nothing; rt-app would repeat forever, which is -1"))
            }
            Some((times, _)) => Ok(u32::try_from(times).ok()),
        }
    }

    /// Returns the steps of a body's events.
    pub(crate) fn steps(
        &mut self,
        at: &Place<'_>,
        body: &Body<'a>,
        task: &Task<'a>,
    ) -> Result<Vec<Step>, WorkloadError> {
        if body.events.is_empty() {
            return Err(self.error(at, "has no event; give it something to do, such as \"run\": 1000"));
        }
        let percent = body.extension.jitter_percent.unwrap_or(task.jitter_percent);
        let task = Task { jitter_percent: percent, ..*task };
        let mut steps = Vec::new();
        for (event, field) in &body.events {
            let at = at.child(field.key, field.start);
            if *event == Event::Steps {
                self.use_barriers(&at, &body.extension.steps, &task);
                let own = |step: &Step| matches!(step, Step::Timer { .. });
                let timer = body
                    .extension
                    .steps
                    .iter()
                    .any(own)
                    .then(|| self.timers.used(task.index, task.alone, "unique", TimerMode::Absolute));
                steps.extend(body.extension.steps.iter().cloned().map(|step| match (step, timer) {
                    (Step::Timer { period, mode, .. }, Some(timer)) => Step::Timer { timer, period, mode },
                    (other, _) => other,
                }));
            }
            self.event(&at, *event, field, &task, &mut steps)?;
        }
        Ok(steps)
    }

    /// Reads a phase of a task, which has this policy before the phase.
    pub(crate) fn phase(
        &mut self,
        at: &Place<'_>,
        object: &'a Object<'a>,
        task: &Task<'a>,
        before: Policy,
    ) -> Result<Phase, WorkloadError> {
        let mut body = self.body(at, object, false)?;
        let policy = body.policy.unwrap_or(before);
        Ok(Phase {
            steps: self.steps(at, &body, task)?,
            times: self.phase_times(at, body.looped)?,
            cpus: self.affinity(at, &mut body)?,
            policy: body.policy,
            priority: self.priority(at, body.priority.as_ref(), policy)?,
            count: body.extension.count,
            task_group: body.task_group,
        })
    }
}
