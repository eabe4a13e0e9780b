//! Compiles a file's text to a [`Workload`]: the top level of the file, and what its parts share.

use crate::cgroups::Cgroups;
use crate::endless;
use crate::error::{Warning, WorkloadError, shown};
use crate::extension::{Extension, Level};
use crate::json::{Field, Fields, fields};
use crate::keys::{Key, meaning};
use crate::names::{Names, Used};
use crate::place::Place;
use crate::sched::Policy;
use crate::source::{Source, complete};
use crate::starter::start_by_threads;
use crate::task::Draft;
use crate::timers::Timers;
use jsonc_parser::ast::Value;
use keel_abi::task::{Channel, ObjectId, TaskSpec, Workload};
use keel_abi::timeline::Happening;
use keel_abi::{Span, Topology};
use std::collections::BTreeMap;

/// The maximum number of instances of all tasks of a workload together.
pub const MAX_INSTANCES: u32 = 1_000_000;
/// The maximum number of steps of one task.
pub const MAX_STEPS_PER_TASK: usize = 100_000;
/// The maximum number of steps of all tasks together.
pub const MAX_STEPS: usize = 2_000_000;
/// The maximum number of warnings. Further ones are left out.
const MAX_WARNINGS: usize = 100;

/// Parses rt-app JSON for a machine of this shape. Returns the workload, and warnings about what has no effect.
///
/// `file_name` is only for messages. Time and memory are proportional to the text's length.
pub fn parse(
    file_name: &str,
    text: &str,
    topology: &Topology,
) -> Result<(Workload, Vec<Warning>), WorkloadError> {
    let text = complete(text);
    let source = Source::new(file_name, &text);
    let json = source.read(&text)?;
    Compiler::new(source, topology).workload(&json)
}

/// The users of a barrier.
#[derive(Clone, Default)]
pub(crate) struct BarrierUsers {
    /// The number of instances, once for each use.
    pub(crate) count: u32,
    pub(crate) last_task: Option<u32>,
    /// The position in the text of its last use.
    pub(crate) start: usize,
}

/// What the parts of a file share while it is compiled.
pub(crate) struct Compiler<'a> {
    source: Source<'a>,
    pub(crate) topology: &'a Topology,
    warnings: Vec<Warning>,
    /// Whether the warning about repeated events, which is given once per file, has been given.
    noted_repetition: bool,
    pub(crate) top: Extension,
    pub(crate) unit: Option<String>,
    pub(crate) duration: Option<Span>,
    pub(crate) default_policy: Policy,
    pub(crate) used: Used<'a>,
    pub(crate) task_indices: BTreeMap<&'a str, u32>,
    pub(crate) mutexes: Names<'a>,
    /// Whether all mutexes have priority inheritance.
    pub(crate) mutexes_inherit: bool,
    pub(crate) conditions: Names<'a>,
    pub(crate) barriers: Names<'a>,
    pub(crate) barrier_users: Vec<BarrierUsers>,
    pub(crate) flags: Names<'a>,
    pub(crate) semaphores: Names<'a>,
    pub(crate) timers: Timers<'a>,
    pub(crate) instances_left: u32,
    pub(crate) channel_ids: BTreeMap<&'a str, ObjectId>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) cgroups: Cgroups,
}

impl<'a> Compiler<'a> {
    fn new(source: Source<'a>, topology: &'a Topology) -> Self {
        Self {
            source,
            topology,
            warnings: Vec::new(),
            noted_repetition: false,
            top: Extension::default(),
            unit: None,
            duration: None,
            default_policy: Policy::Other,
            used: Used::default(),
            task_indices: BTreeMap::new(),
            mutexes: Names::default(),
            mutexes_inherit: false,
            conditions: Names::default(),
            barriers: Names::default(),
            barrier_users: Vec::new(),
            flags: Names::default(),
            semaphores: Names::default(),
            timers: Timers::default(),
            instances_left: MAX_INSTANCES,
            channel_ids: BTreeMap::new(),
            channels: Vec::new(),
            cgroups: Cgroups::default(),
        }
    }

    /// Returns an error at a place.
    pub(crate) fn error(&self, at: &Place<'_>, problem: impl Into<String>) -> WorkloadError {
        WorkloadError {
            file: self.source.file().to_owned(),
            line: self.source.line(at.start),
            field: at.to_string(),
            problem: problem.into(),
            unsupported: false,
        }
    }

    /// Returns the error for something that rt-app supports and this crate does not.
    pub(crate) fn unsupported(&self, at: &Place<'_>, problem: impl Into<String>) -> WorkloadError {
        WorkloadError { unsupported: true, ..self.error(at, problem) }
    }

    /// Adds a warning about a place.
    pub(crate) fn warn(&mut self, at: &Place<'_>, note: impl Into<String>) {
        let note = match self.warnings.len() {
            0..MAX_WARNINGS => note.into(),
            MAX_WARNINGS => "there are more notes, left out".to_owned(),
            _ => return,
        };
        let file = self.source.file().to_owned();
        self.warnings.push(Warning { file, line: self.source.line(at.start), field: at.to_string(), note });
    }

    /// Adds warnings about keys that an object contains more than once.
    pub(crate) fn note_duplicates(&mut self, at: &Place<'_>, fields: &Fields<'_>) {
        if let Some(field) = fields.repeated.filter(|_| !self.noted_repetition) {
            self.noted_repetition = true;
            let note = "a repeated event is an event of its own here and below, as workgen has it (rt-app alone \
                        keeps only the last, in the first one's place)";
            self.warn(&at.child(field.key, field.start), note);
        }
        if let Some(field) = fields.displaced {
            let note =
                "the key comes more than once; as in rt-app only the last counts, in the first one's place";
            self.warn(&at.child(field.key, field.start), note);
        }
    }

    fn workload(mut self, json: &'a Value<'a>) -> Result<(Workload, Vec<Warning>), WorkloadError> {
        let root = Place::root();
        let top = fields(self.object(&root, json)?, |_| false);
        self.note_duplicates(&root, &top);
        let find = |key: &str| top.list.iter().find(|field| field.key == key);
        if let Some(field) = find("evenkeel") {
            self.top = self.extension(&root.child(field.key, field.start), field, Level::Top)?;
        }
        if let Some(field) = find("global") {
            self.global(&root.child(field.key, field.start), field)?;
        }
        if let Some(field) = find("resources") {
            self.resources(&root.child(field.key, field.start), field)?;
        }
        for field in &top.list {
            let known = matches!(field.key, "tasks" | "global" | "resources" | "evenkeel");
            if !known && meaning(field.key) != Key::Comment {
                self.warn(&root.child(field.key, field.start), "is not an rt-app section; it has no effect");
            }
        }
        let tasks = find("tasks");
        let tasks = tasks.ok_or_else(|| self.error(&root, "the file has no \"tasks\" object"))?;
        let at = root.child(tasks.key, tasks.start);
        let specs = self.tasks(&at, tasks)?;
        self.check_waits(&at, &specs)?;
        let timeline = match find("evenkeel") {
            Some(field) => self.timeline(&root.child(field.key, field.start), field)?,
            None => Vec::new(),
        };
        self.finish(specs, timeline)
    }

    fn tasks(&mut self, at: &Place<'_>, field: &Field<'a>) -> Result<Vec<TaskSpec>, WorkloadError> {
        let tasks = fields(self.object(at, field.value)?, |_| false);
        self.note_duplicates(at, &tasks);
        if tasks.list.is_empty() {
            return Err(self.error(at, "there is no task"));
        }
        self.used = Used::by(tasks.list.iter().map(|task| task.value));
        self.task_indices = tasks.list.iter().map(|task| task.key).zip(0..).collect();
        let mut drafts = Vec::new();
        for (task, index) in tasks.list.iter().zip(0..) {
            drafts.push(self.task(&at.child(task.key, task.start), index, task)?);
        }
        self.check_barriers(at)?;
        self.check_cgroups(at)?;
        self.lay_out(at, drafts)
    }

    fn check_barriers(&self, at: &Place<'_>) -> Result<(), WorkloadError> {
        match self.barrier_users.iter().find(|users| users.count == 0) {
            None => Ok(()),
            Some(users) => {
                let problem = "the barrier at this line has no user: its tasks have 0 instances";
                Err(self.error(&at.at(users.start), problem))
            }
        }
    }

    /// Returns the tasks' programs. Iterations are counted for tasks and phases that request it. If none does, they are
    /// counted for every task, unless the file specifies otherwise.
    fn lay_out(&self, at: &Place<'_>, drafts: Vec<Draft>) -> Result<Vec<TaskSpec>, WorkloadError> {
        let some_ask = drafts.iter().any(Draft::asks_to_count);
        let count = !some_ask && self.top.count.unwrap_or(true);
        let barriers = self.barrier_counts();
        let mut sessions = BTreeMap::new();
        let mut specs = Vec::new();
        let mut steps = 0;
        for draft in drafts {
            let start = draft.start;
            let spec = draft.into_spec(count);
            let at = at.child(&spec.name, start);
            steps += spec.steps.len();
            if steps > MAX_STEPS {
                return Err(
                    self.error(&at, format!("with this task there are more than {MAX_STEPS} steps in all"))
                );
            }
            if endless::spins(&spec, &barriers) {
                let problem = "loops without letting time pass; add a run, sleep or timer to the loop";
                return Err(self.error(&at, problem));
            }
            let starts = spec.instances > 0 && !spec.kthread;
            let session = starts.then(|| *sessions.entry(spec.process).or_insert(spec.session));
            if let Some(session) = session.filter(|&session| session != spec.session) {
                let problem = format!(
                    "is in session {}, but its process {} is in session {session}; give it a \"process\" of its own",
                    spec.session, spec.process
                );
                return Err(self.error(&at, problem));
            }
            specs.push(spec);
        }
        Ok(specs)
    }

    /// Fails if one task has too many events.
    pub(crate) fn bound_length(&self, at: &Place<'_>, length: usize) -> Result<(), WorkloadError> {
        match length > MAX_STEPS_PER_TASK {
            true => Err(self.error(at, format!("a task has at most {MAX_STEPS_PER_TASK} events"))),
            false => Ok(()),
        }
    }

    fn barrier_counts(&self) -> Vec<u32> {
        self.barrier_users.iter().map(|users| users.count).collect()
    }

    fn finish(
        self,
        mut tasks: Vec<TaskSpec>,
        timeline: Vec<Happening>,
    ) -> Result<(Workload, Vec<Warning>), WorkloadError> {
        let timers = self.timers.settle(&mut tasks);
        let mut workload = Workload {
            name: stem(self.source.file()),
            tasks,
            barriers: self.barrier_counts(),
            flags: self.flags.len(),
            mutexes: self.mutexes.len(),
            inheriting: (0..self.mutexes.len()).filter(|_| self.mutexes_inherit).map(ObjectId).collect(),
            conditions: self.conditions.len(),
            timers,
            channels: self.channels,
            cgroups: self.cgroups.list,
            duration: self.duration,
            unit: self.unit.unwrap_or_else(|| "loops".to_owned()),
            timeline,
            semaphores: self.semaphores.len(),
            recorded: None,
        };
        if let Some(starter) = self.top.starter {
            start_by_threads(&mut workload, starter);
        }
        Ok((workload, self.warnings))
    }
}

/// Returns a file's name without its folders and suffix.
fn stem(file: &str) -> String {
    let base = file.rsplit('/').next().unwrap_or(file);
    shown(base.strip_suffix(".json").unwrap_or(base))
}
