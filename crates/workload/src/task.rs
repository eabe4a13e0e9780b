//! Compiles one task: reads it completely, then lays it out as one program of steps.

use crate::compile::{Compiler, MAX_INSTANCES};
use crate::error::WorkloadError;
use crate::event::Task;
use crate::json::{Field, fields};
use crate::phase::{Body, Phase, Times};
use crate::place::Place;
use crate::sched::{Current, Policy};
use keel_abi::cgroup::{CgroupId, CgroupStep};
use keel_abi::task::{Hint, Step, TaskSpec};
use keel_abi::{CpuSet, Span};

/// The counters of a task's own loop, and of the loops of its phases, which share one.
const TASK_SLOT: u8 = 0;
const PHASE_SLOT: u8 = 1;

/// A task that has been read. Once all tasks have been read, it is decided which of them count.
pub(crate) struct Draft {
    name: String,
    instances: u32,
    delay: Span,
    policy: Policy,
    priority: Option<i8>,
    cpus: CpuSet,
    phases: Vec<Phase>,
    times: Times,
    count: Option<bool>,
    hint: Option<Hint>,
    process: u32,
    session: u32,
    pages: u32,
    kthread: bool,
    slice: Option<Span>,
    /// The cgroup that it starts in, and the one to which it moves when it begins.
    cgroup: Option<CgroupId>,
    task_group: Option<CgroupId>,
    /// The offset of its key in the text.
    pub(crate) start: usize,
}

impl Draft {
    /// Returns whether the task, or one of its phases, requests to be counted.
    pub(crate) fn asks_to_count(&self) -> bool {
        self.count == Some(true) || self.phases.iter().any(|phase| phase.count == Some(true))
    }

    /// Returns the task's program. An iteration of the whole task is counted if `count`, or if the task requests it.
    pub(crate) fn into_spec(self, count: bool) -> TaskSpec {
        let (mut sched, policy, nice) = Current::start(self.policy, self.priority);
        let mut steps = Vec::new();
        let mut before = self.affinity_before();
        steps.extend(self.task_group.map(join));
        let again = steps.len();
        if self.times != Some(0) {
            for phase in &self.phases {
                enter(phase, &self.cpus, &mut before, &mut sched, &mut steps);
                repeat(phase, &mut steps);
            }
            if self.count.unwrap_or(count) {
                steps.push(Step::Count);
            }
            push_loop(&mut steps, again, self.times, TASK_SLOT);
        }
        // rt-app does the same before a thread ends.
        if self.task_group.is_some() || self.phases.iter().any(|phase| phase.task_group.is_some()) {
            steps.push(join(CgroupId::ROOT));
        }
        let Self {
            name, instances, delay, cpus, hint, process, session, pages, kthread, slice, cgroup, ..
        } = self;
        TaskSpec {
            name,
            instances,
            delay,
            nice,
            cpus,
            steps,
            process,
            session,
            pages,
            hint,
            policy,
            slice,
            kthread,
            cgroup,
        }
    }

    /// Returns the affinities that may apply when the first phase begins.
    fn affinity_before(&self) -> Vec<CpuSet> {
        let mut before = vec![self.cpus.clone()];
        if self.times != Some(1) {
            before.extend(self.phases.last().map(|last| last.cpus.as_ref().unwrap_or(&self.cpus).clone()));
        }
        before
    }
}

/// Returns the steps at the beginning of a phase: they set its CPUs, or else the task's, and its priority and cgroup,
/// if it has them.
fn enter(
    phase: &Phase,
    task_cpus: &CpuSet,
    before: &mut Vec<CpuSet>,
    sched: &mut Current,
    steps: &mut Vec<Step>,
) {
    let cpus = phase.cpus.as_ref().unwrap_or(task_cpus);
    if before.iter().any(|b| b != cpus) {
        steps.push(Step::Affinity(cpus.clone()));
    }
    *before = vec![cpus.clone()];
    steps.extend(sched.enter(phase.policy, phase.priority));
    steps.extend(phase.task_group.map(join));
}

fn join(cgroup: CgroupId) -> Step {
    Step::Cgroup(CgroupStep::Join(cgroup))
}

fn repeat(phase: &Phase, steps: &mut Vec<Step>) {
    let to = steps.len();
    steps.extend_from_slice(&phase.steps);
    if phase.count == Some(true) {
        steps.push(Step::Count);
    }
    push_loop(steps, to, phase.times, PHASE_SLOT);
}

fn push_loop(steps: &mut Vec<Step>, to: usize, times: Times, slot: u8) {
    if times != Some(1) {
        let to = u32::try_from(to).expect("a program's length is bounded");
        steps.push(Step::Loop { to, times, slot });
    }
}

impl<'a> Compiler<'a> {
    /// Returns how many instances of a task start on their own.
    pub(crate) fn instances(&self, at: &Place<'_>, field: &Field<'_>) -> Result<u32, WorkloadError> {
        let count = self.integer(at, field.value, 0..=i64::from(MAX_INSTANCES), "number of instances")?;
        Ok(u32::try_from(count).unwrap_or(MAX_INSTANCES))
    }

    /// Reads a task.
    pub(crate) fn task(
        &mut self,
        at: &Place<'_>,
        index: u32,
        field: &Field<'a>,
    ) -> Result<Draft, WorkloadError> {
        let mut body = self.body(at, self.object(at, field.value)?, true)?;
        let instances = body.instances.unwrap_or(1);
        self.count_instances(at, instances)?;
        let task = Task {
            index,
            name: field.key,
            instances,
            alone: instances <= 1 && !self.used.forked.contains(field.key),
            jitter_percent: body.extension.jitter_percent.or(self.top.jitter_percent).unwrap_or(0),
        };
        let cpus = self.affinity(at, &mut body)?.unwrap_or_default();
        let policy = body.policy.unwrap_or(self.default_policy);
        let priority = self.priority(at, body.priority.as_ref(), policy)?;
        let (phases, times) = match body.phases {
            Some(phases) => self.phases(at, &body, &phases, &task)?,
            None => self.single_phase(at, &body, &task)?,
        };
        Ok(Draft {
            name: field.key.to_owned(),
            instances,
            delay: body.delay,
            policy,
            priority,
            cpus,
            phases,
            times,
            count: body.extension.count,
            hint: body.extension.hint(),
            process: body.extension.process.unwrap_or(0),
            session: body.extension.session.unwrap_or(0),
            pages: body.extension.pages.unwrap_or(0),
            kthread: body.extension.kthread,
            slice: body.extension.slice,
            cgroup: body.extension.cgroup,
            task_group: body.task_group,
            start: field.start,
        })
    }

    fn count_instances(&mut self, at: &Place<'_>, instances: u32) -> Result<(), WorkloadError> {
        self.instances_left = self.instances_left.checked_sub(instances).ok_or_else(|| {
            self.error(at, format!("with this task there are more than {MAX_INSTANCES} instances in all"))
        })?;
        Ok(())
    }

    /// Reads a task with `phases`. Its `loop` (forever by default) encloses all of them.
    fn phases(
        &mut self,
        at: &Place<'_>,
        body: &Body<'a>,
        field: &Field<'a>,
        task: &Task<'a>,
    ) -> Result<(Vec<Phase>, Times), WorkloadError> {
        if let Some((_, event)) = body.events.first() {
            self.warn(&at.child(event.key, event.start), "has no effect: the task has phases");
        }
        let times = match body.looped {
            None | Some((-1, _)) => None,
            Some((times, _)) => u32::try_from(times).ok(),
        };
        let at = at.child(field.key, field.start);
        let fields = fields(self.object(&at, field.value)?, |_| false);
        self.note_duplicates(&at, &fields);
        let mut phases = Vec::new();
        let mut policy = body.policy.unwrap_or(self.default_policy);
        let mut length = 0;
        for phase in fields.list {
            let at = at.child(phase.key, phase.start);
            let compiled = self.phase(&at, self.object(&at, phase.value)?, task, policy)?;
            policy = compiled.policy.unwrap_or(policy);
            length += compiled.steps.len();
            self.bound_length(&at, length)?;
            phases.push(compiled);
        }
        match phases.is_empty() {
            true => Err(self.error(&at, "has no phase; give it one, or leave it out and list events")),
            false => Ok((phases, times)),
        }
    }

    /// Reads a task that lists its events itself. Its `loop` (forever by default) encloses them.
    fn single_phase(
        &mut self,
        at: &Place<'_>,
        body: &Body<'a>,
        task: &Task<'a>,
    ) -> Result<(Vec<Phase>, Times), WorkloadError> {
        let times = match body.looped {
            None => None,
            looped => self.phase_times(at, looped)?,
        };
        let steps = self.steps(at, body, task)?;
        self.bound_length(at, steps.len())?;
        let phase = Phase {
            steps,
            times: Some(1),
            cpus: None,
            policy: None,
            priority: None,
            count: None,
            task_group: None,
        };
        Ok((vec![phase], times))
    }
}
