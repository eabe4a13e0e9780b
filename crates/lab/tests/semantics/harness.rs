//! Runs a scheduler on a workload built in code, and keeps its log and the run's events.

use keel_abi::scx::ExitKind;
use keel_abi::task::{Amount, ObjectId, Policy, Step, TaskSpec, TimerMode, Workload};
use keel_abi::{CpuId, CpuSet, Instant, Span, TaskId};
use keel_bpfc::Compiler;
use keel_lab::{Engine, LabError, LogLine, Machine, Outcome, RunSpec, SchedulerSource, machines};
use keel_trace::{Class, Event, Meta, Sink, TaskInfo, What};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// Queue ids as settings.
pub(crate) const LOCAL: &str = "0x8000000000000002";
pub(crate) const GLOBAL: &str = "0x8000000000000001";
pub(crate) const OWN_DSQ: u64 = 1;

/// The setting that names a CPU's local queue.
pub(crate) fn local_on(cpu: u64) -> String {
    format!("{:#x}", 0xc000_0000_0000_0000u64 | cpu)
}

/// Compiled sources, by path: tests run side by side and share them.
static OBJECTS: LazyLock<Mutex<BTreeMap<String, Compiled>>> = LazyLock::new(Mutex::default);

/// A source's object, compiled by the first test that needs it.
type Compiled = Arc<OnceLock<Arc<[u8]>>>;

/// The object of a source in the checkout, without `.bpf.c`.
fn object(path: &str) -> Arc<[u8]> {
    let compile = || {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let compiler = Compiler::new(root).include("schedulers/include").include("crates/kernel/btf");
        compiler.compile(format!("{path}.bpf.c")).unwrap_or_else(|e| panic!("{e}")).into()
    };
    let mut objects = OBJECTS.lock().unwrap_or_else(|e| e.into_inner());
    let compiled = objects.entry(path.to_owned()).or_default().clone();
    drop(objects);
    compiled.get_or_init(compile).clone()
}

/// One callback, as logged by the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) at: Instant,
    pub(crate) op: String,
    pub(crate) pid: u32,
    pub(crate) cpu: u32,
    pub(crate) value: u64,
}

impl Call {
    fn parse(line: &LogLine) -> Option<Self> {
        let mut words = line.text.split(' ');
        let op = words.next()?.to_owned();
        let (pid, cpu) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let value = u64::from_str_radix(words.next()?, 16).ok()?;
        Some(Self { at: line.at, op, pid, cpu, value })
    }
}

/// A scenario: a scheduler, a workload and a machine.
#[derive(Clone)]
pub(crate) struct Scenario {
    scheduler: String,
    settings: Vec<(String, String)>,
    workload: Workload,
    machine: Machine,
    duration: Span,
    engine: Engine,
    recipe: String,
}

/// A scheduler of `tests/sim/semantics` on one CPU for 100 ms.
pub(crate) fn with(scheduler: &str) -> Scenario {
    with_source(&format!("tests/sim/semantics/{scheduler}"))
}

/// A scheduler anywhere in the checkout.
pub(crate) fn with_source(path: &str) -> Scenario {
    Scenario {
        scheduler: path.to_owned(),
        settings: Vec::new(),
        workload: Workload::default(),
        machine: machines::of_cpus(1),
        duration: Span::from_ms(100),
        engine: Engine::Native,
        recipe: String::new(),
    }
}

impl Scenario {
    pub(crate) fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn cpus(self, cpus: u32) -> Self {
        self.on(machines::of_cpus(cpus))
    }

    pub(crate) fn on(mut self, machine: Machine) -> Self {
        self.machine = machine;
        self
    }

    pub(crate) fn millis(mut self, ms: u64) -> Self {
        self.duration = Span::from_ms(ms);
        self
    }

    pub(crate) fn task(mut self, task: Spec) -> Self {
        self.workload.tasks.push(task.0);
        self
    }

    pub(crate) fn workload(mut self, change: impl FnOnce(&mut Workload)) -> Self {
        change(&mut self.workload);
        self
    }

    /// The workload's cgroups.
    pub(crate) fn cgroups(self) -> Vec<keel_abi::cgroup::Cgroup> {
        self.workload.cgroups
    }

    /// What executes the scheduler's programs.
    #[allow(dead_code, reason = "not all tests compare")]
    pub(crate) fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// What its user-space half does.
    pub(crate) fn recipe(mut self, recipe: &str) -> Self {
        self.recipe.push_str(recipe);
        self
    }

    pub(crate) fn try_run(self) -> Result<Run, LabError> {
        let name = self.scheduler.rsplit('/').next().expect("a path has a name").to_owned();
        let spec = RunSpec {
            scheduler: SchedulerSource {
                name,
                bytes: object(&self.scheduler).into(),
                recipe: keel_recipe::Recipe::read("recipe", &self.recipe).unwrap_or_else(|e| panic!("{e}")),
            },
            settings: self.settings,
            workload: self.workload,
            machine: self.machine,
            duration: self.duration,
            seed: 1,
            noise: keel_abi::Noise::None,
            engine: self.engine,
            order: None,
            checked: false,
        };
        let mut sink = Recorder::default();
        let outcome = keel_lab::run(&spec, &mut sink, &mut |_| {})?;
        let calls = outcome.printed.lines.iter().filter_map(Call::parse).collect();
        let masks = sink.before.into_iter().zip(sink.tasks.iter().cloned()).collect();
        Ok(Run { outcome, events: sink.events, tasks: sink.tasks, masks, calls })
    }

    /// Runs it. Whatever the scheduler does, the input is valid.
    pub(crate) fn run(self) -> Run {
        self.try_run().unwrap_or_else(|e| panic!("{e}"))
    }

    /// Runs it. The scheduler must stay attached to the end.
    pub(crate) fn survives(self) -> Run {
        let run = self.run();
        assert_eq!((run.outcome.exit, run.outcome.message.as_str()), (ExitKind::None, ""));
        run
    }

    /// Runs it. The scheduler must end like this, with these words.
    pub(crate) fn ends(self, kind: ExitKind, words: &str) -> Run {
        let run = self.run();
        assert_eq!((run.outcome.exit, run.outcome.message.as_str()), (kind, words));
        run
    }

    /// As [`Scenario::ends`] with a runtime error.
    pub(crate) fn fails(self, words: &str) -> Run {
        self.ends(ExitKind::Error, words)
    }
}

/// The results of a run.
pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    pub(crate) events: Vec<Event>,
    tasks: Vec<TaskInfo>,
    /// Each with the number of events before it.
    masks: Vec<(usize, TaskInfo)>,
    pub(crate) calls: Vec<Call>,
}

impl Run {
    fn info(&self, name: &str) -> &TaskInfo {
        self.tasks.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("there is no task {name}"))
    }

    /// Every task's name.
    #[allow(dead_code, reason = "most tests know their tasks")]
    pub(crate) fn names(&self) -> BTreeMap<TaskId, String> {
        self.tasks.iter().map(|t| (t.task, t.name.clone())).collect()
    }

    /// The CPUs that a task may use, as first reported.
    #[allow(dead_code, reason = "not every test asks where a task may run")]
    pub(crate) fn mask(&self, name: &str) -> &CpuSet {
        &self.info(name).cpus
    }

    pub(crate) fn id(&self, name: &str) -> TaskId {
        self.info(name).task
    }

    pub(crate) fn pid(&self, name: &str) -> u32 {
        self.info(name).pid.0
    }

    /// Calls about one task.
    pub(crate) fn of<'r>(&'r self, name: &str) -> impl Iterator<Item = &'r Call> {
        let pid = self.pid(name);
        self.calls.iter().filter(move |c| c.pid == pid)
    }

    /// The first call of a kind about a task.
    pub(crate) fn first(&self, name: &str, op: &str) -> &Call {
        self.of(name).find(|c| c.op == op).unwrap_or_else(|| panic!("no {op} of {name}: {}", self.log()))
    }

    /// Every call of a kind about a task: its value.
    pub(crate) fn values(&self, name: &str, op: &str) -> Vec<u64> {
        self.of(name).filter(|c| c.op == op).map(|c| c.value).collect()
    }

    pub(crate) fn count(&self, name: &str, op: &str) -> usize {
        self.values(name, op).len()
    }

    /// Every call of a kind that is about no task.
    pub(crate) fn global(&self, op: &str) -> Vec<&Call> {
        self.calls.iter().filter(|c| c.pid == 0 && c.op == op).collect()
    }

    /// The log's values for a node, from every call of a kind.
    pub(crate) fn of_node(&self, node: u32, op: &str) -> Vec<u64> {
        self.calls.iter().filter(|c| c.pid == node && c.op == op).map(|c| c.value).collect()
    }

    /// The callbacks of one task among `ops`, as `op` or `op=value` where the value isn't 0.
    pub(crate) fn trace(&self, name: &str, ops: &[&str]) -> Vec<String> {
        let shown = |c: &Call| if c.value == 0 { c.op.clone() } else { format!("{}={:x}", c.op, c.value) };
        self.of(name).filter(|c| ops.contains(&c.op.as_str())).map(shown).collect()
    }

    /// The whole log, to print when a test fails.
    pub(crate) fn log(&self) -> String {
        let lines = self.outcome.printed.lines.iter().take(400);
        lines.map(|line| format!("\n{:>12} {}", line.at.as_ns(), line.text)).collect()
    }

    /// Maps the events that `pick` accepts.
    pub(crate) fn events_of<T>(&self, pick: impl FnMut(&Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(pick).collect()
    }

    /// Every instance of a name.
    pub(crate) fn ids(&self, name: &str) -> Vec<TaskId> {
        self.tasks.iter().filter(|t| t.name == name).map(|t| t.task).collect()
    }

    /// The pids of every instance of a name.
    pub(crate) fn pids(&self, name: &str) -> BTreeSet<u32> {
        self.tasks.iter().filter(|t| t.name == name).map(|t| t.pid.0).collect()
    }

    /// Tasks that got a CPU that they were not allowed to use at that time.
    pub(crate) fn misplaced(&self) -> Vec<(Instant, TaskId, CpuId, CpuSet)> {
        let mut masks: BTreeMap<TaskId, &CpuSet> = BTreeMap::new();
        let mut reported = self.masks.iter().peekable();
        let mut found = Vec::new();
        for (number, event) in self.events.iter().enumerate() {
            while let Some((_, info)) = reported.next_if(|(before, _)| *before <= number) {
                masks.insert(info.task, &info.cpus);
            }
            if let What::Switch { next, .. } = event.what
                && !next.is_idle()
                && !masks[&next].contains(event.cpu)
            {
                found.push((event.at, next, event.cpu, masks[&next].clone()));
            }
        }
        found
    }

    /// When a task got a CPU, and which.
    pub(crate) fn starts(&self, name: &str) -> Vec<(Instant, CpuId)> {
        self.starts_of(self.id(name))
    }

    pub(crate) fn starts_of(&self, task: TaskId) -> Vec<(Instant, CpuId)> {
        self.events_of(|e| match e.what {
            What::Switch { next, .. } if next == task => Some((e.at, e.cpu)),
            _ => None,
        })
    }

    /// When a task lost its CPU.
    pub(crate) fn stops(&self, name: &str) -> Vec<Instant> {
        let task = self.id(name);
        self.events_of(|e| match e.what {
            What::Switch { prev, .. } if prev == task => Some(e.at),
            _ => None,
        })
    }

    /// The queues that a task entered.
    pub(crate) fn queues(&self, name: &str) -> Vec<u64> {
        let task = self.id(name);
        self.events_of(|e| match e.what {
            What::Queued { task: t, dsq, .. } if t == task => Some(dsq.0),
            _ => None,
        })
    }

    /// How long a task had a CPU.
    pub(crate) fn cpu_ms(&self, name: &str) -> u64 {
        self.busy_ms(self.id(name))
    }

    /// Like `cpu_ms` for any task.
    pub(crate) fn busy_ms(&self, task: TaskId) -> u64 {
        let end = self.outcome.end;
        let mut stops = self
            .events_of(|e| match e.what {
                What::Switch { prev, .. } if prev == task => Some(e.at),
                _ => None,
            })
            .into_iter();
        let starts = self.starts_of(task).into_iter();
        let total: u64 = starts.map(|(at, _)| stops.next().unwrap_or(end).since(at).as_ns()).sum();
        total / 1_000_000
    }
}

/// Keeps all events.
#[derive(Default)]
struct Recorder {
    events: Vec<Event>,
    tasks: Vec<TaskInfo>,
    /// For each of the tasks, how many events came before.
    before: Vec<usize>,
}

impl Sink for Recorder {
    fn wants(&self) -> Class {
        Class::ALL
    }

    fn events(&mut self, events: &[Event]) {
        self.events.extend_from_slice(events);
    }

    fn meta(&mut self, _: Instant, meta: &Meta) {
        if let Meta::Task(info) = meta {
            self.tasks.push(info.clone());
            self.before.push(self.events.len());
        }
    }
}

/// A task of the workload.
#[derive(Clone)]
pub(crate) struct Spec(pub(crate) TaskSpec);

/// A task that does these steps once.
pub(crate) fn task(name: &str, steps: impl IntoIterator<Item = Step>) -> Spec {
    Spec(TaskSpec {
        name: name.to_owned(),
        instances: 1,
        delay: Span::ZERO,
        nice: 0,
        cpus: CpuSet::new(),
        steps: steps.into_iter().collect(),
        ..TaskSpec::default()
    })
}

/// A task that never stops working.
pub(crate) fn hog(name: &str) -> Spec {
    task(name, [run(1_000_000)])
}

/// A task that repeats these steps forever.
pub(crate) fn repeat(name: &str, steps: impl IntoIterator<Item = Step>) -> Spec {
    let mut spec = task(name, steps);
    spec.0.steps.push(Step::Loop { to: 0, times: None, slot: 0 });
    spec
}

impl Spec {
    pub(crate) fn after_ms(mut self, ms: u64) -> Self {
        self.0.delay = Span::from_ms(ms);
        self
    }

    pub(crate) fn on(mut self, cpus: impl IntoIterator<Item = u32>) -> Self {
        self.0.cpus = set(cpus);
        self
    }

    pub(crate) fn nice(mut self, nice: i8) -> Self {
        self.0.nice = nice;
        self
    }

    pub(crate) fn policy(mut self, policy: Policy) -> Self {
        self.0.policy = policy;
        self
    }

    pub(crate) fn kthread(mut self) -> Self {
        self.0.kthread = true;
        self
    }

    pub(crate) fn instances(mut self, instances: u32) -> Self {
        self.0.instances = instances;
        self
    }
}

pub(crate) fn set(cpus: impl IntoIterator<Item = u32>) -> CpuSet {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.insert(CpuId(cpu));
    }
    set
}

pub(crate) fn run(us: u64) -> Step {
    Step::Run(Amount::fixed(Span::from_us(us)))
}

/// Work of up to this length, never the same twice.
pub(crate) fn run_up_to(us: u64) -> Step {
    let half = Span::from_us(us.div_ceil(2));
    Step::Run(Amount { base: half, spread: half })
}

pub(crate) fn sleep(us: u64) -> Step {
    Step::Sleep(Amount::fixed(Span::from_us(us)))
}

pub(crate) fn timer(id: u32, period_us: u64) -> Step {
    Step::Timer { timer: ObjectId(id), period: Span::from_us(period_us), mode: TimerMode::Relative }
}

pub(crate) fn affinity(cpus: impl IntoIterator<Item = u32>) -> Step {
    Step::Affinity(set(cpus))
}

/// Whether `a` is within `slack_us` of `b`.
pub(crate) fn near(a: Instant, b_us: u64, slack_us: u64) -> bool {
    (a.as_ns() / 1000).abs_diff(b_us) <= slack_us
}
