//! Writes the workload as an rt-app file with keel's extensions, for people to read and change.
//!
//! If a task repeats itself, its iterations become one loop whose steps have a mean length and a jitter. This is
//! shorter than the recording, but no longer exact.

use crate::builder::Replay;
use crate::loops::{Part, Step, Token, parts};
use crate::own_steps;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, QUOTA_NONE, WEIGHT_DFL};
use keel_abi::tape::{Begin, Op, PAGE_BYTES, Recorded, RecordedPipe, Room, Tape, message_memory};
use keel_abi::task::{HintPolicy, Policy, TaskSpec};
use keel_abi::timeline::{Change, Happening};
use keel_abi::{Instant, Span};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The maximum number of steps in a workload file.
pub const MOST_STEPS: usize = 2_000_000;
/// The maximum number of steps of one task.
const MOST_OF_A_TASK: usize = 100_000;

/// Why no file can be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// It would have too many steps.
    #[error(
        "the recording is too long for a workload file: {0} has more than {MOST_OF_A_TASK} steps that do not repeat, or all \
         tasks have more than {MOST_STEPS}; cut it, or leave tasks out with --keep"
    )]
    TooLong(String),
}

/// The maximum number of bytes that a channel of a file holds.
const MOST_BYTES: u64 = 1 << 30;

mod kind {
    pub(super) const RUN: u8 = 0;
    pub(super) const AWAIT: u8 = 1;
    pub(super) const POST: u8 = 2;
    pub(super) const POST_SYNC: u8 = 3;
    pub(super) const SLEEP: u8 = 4;
    pub(super) const TIMER: u8 = 5;
    pub(super) const FORK: u8 = 6;
    pub(super) const SPAWN: u8 = 7;
    pub(super) const YIELD: u8 = 8;
    pub(super) const COUNT: u8 = 9;
    pub(super) const SEND: u8 = 10;
    pub(super) const RECEIVE: u8 = 11;
    pub(super) const STEP: u8 = 12;
}

/// How much later than requested a sleep ends. Recorded sleeps already include it; the steps of a file don't.
#[derive(Clone, Copy, Debug, Default)]
pub struct Late {
    /// The timer's slack, which real-time tasks don't have.
    pub slack: Span,
    /// The time until the interrupt arrives.
    pub timer: Span,
}

impl Late {
    fn of(self, task: &TaskSpec) -> Span {
        match task.policy {
            Policy::Fifo(_) | Policy::RoundRobin(_) => self.timer,
            _ => self.slack + self.timer,
        }
    }
}

/// Returns the text of the file.
///
/// # Errors
/// The file would be too long to be read again.
pub fn export(replay: &Replay, late: Late) -> Result<String, ExportError> {
    let workload = &replay.workload;
    let nothing = Recorded::default();
    let recorded = workload.recorded.as_deref().unwrap_or(&nothing);
    let known = Known { names: names(&workload.tasks), transfers: Transfers::of(recorded) };
    let (mut tasks, mut begins, mut left) = (Map::new(), recorded.begins.iter(), MOST_STEPS);
    // The simulated machine has its own kernel threads when the file is run.
    let has_others = workload.tasks.iter().any(|task| !task.kthread);
    let is_own = |task: &TaskSpec| task.kthread && replay.chance.is_some() && has_others;
    for ((task, tape), name) in workload.tasks.iter().zip(&recorded.tapes).zip(&known.names) {
        let begin = if task.instances > 0 { begins.next().copied() } else { None };
        if is_own(task) {
            continue;
        }
        let timing = Timing {
            begun: begin.map_or(Instant::ZERO, |begin| begin.at),
            late: late.of(task),
            duration: replay.duration,
        };
        let parts = parts(&tokens(tape, timing, &known.transfers));
        let steps: usize = parts.iter().map(|part| part.steps.len() + 1).sum();
        left = left
            .checked_sub(steps)
            .filter(|_| steps <= MOST_OF_A_TASK)
            .ok_or_else(|| ExportError::TooLong(name.clone()))?;
        let mut value = of_task(task, begin, &parts, &known, &workload.cgroups);
        if let Some(cgroup) = task.cgroup.and_then(CgroupId::place).and_then(|at| workload.cgroups.get(at)) {
            value["evenkeel"]["cgroup"] = json!(cgroup.path);
        }
        tasks.insert(name.clone(), value);
    }
    let mut extension = json!({ "unit": workload.unit });
    if !workload.cgroups.is_empty() {
        extension["cgroups"] = workload.cgroups.iter().map(settings).collect::<Map<_, _>>().into();
    }
    let channels = (0..).zip(&recorded.pipes);
    let channels = channels.map(|(number, pipe)| channel(number, *pipe, known.transfers.least(number)));
    if !recorded.pipes.is_empty() {
        extension["channels"] = channels.collect::<Map<_, _>>().into();
    }
    tasks.extend(fillers(recorded, &known.names));
    if !workload.timeline.is_empty() {
        // A file has no changes to real-time policies.
        let possible = |it: &&Happening| {
            !matches!(it.change, Change::Policy { policy: Policy::Fifo(_) | Policy::RoundRobin(_), .. })
        };
        extension["timeline"] =
            workload.timeline.iter().filter(possible).map(|it| happening(it, &known.names)).collect();
    }
    let seconds = replay.duration.as_ns().div_ceil(1_000_000_000).max(1);
    let file = json!({ "global": { "duration": seconds }, "evenkeel": extension, "tasks": tasks });
    Ok(serde_json::to_string_pretty(&file).unwrap_or_default() + "\n")
}

/// The objects that tasks' steps refer to.
struct Known {
    names: Vec<String>,
    transfers: Transfers,
}

/// Numbers each pipe with each size of a transfer through it, so that equal steps have the same number.
#[derive(Default)]
struct Transfers {
    list: Vec<(u32, u32)>,
    numbers: BTreeMap<(u32, u32), u32>,
}

impl Transfers {
    fn of(recorded: &Recorded) -> Self {
        let mut all = Self::default();
        for op in recorded.tapes.iter().flat_map(Tape::iter) {
            if let Op::Put { pipe, bytes, .. } | Op::Take { pipe, bytes } = op {
                let next = all.list.len() as u32;
                if *all.numbers.entry((pipe, bytes)).or_insert(next) == next {
                    all.list.push((pipe, bytes));
                }
            }
        }
        all
    }

    fn number(&self, pipe: u32, bytes: u32) -> u32 {
        self.numbers.get(&(pipe, bytes)).copied().unwrap_or_default()
    }

    /// Returns the smallest transfer through a pipe.
    fn least(&self, pipe: u32) -> u32 {
        self.numbers.range((pipe, 1)..=(pipe, u32::MAX)).next().map_or(1, |((_, bytes), _)| *bytes)
    }

    fn step(&self, number: u32) -> Value {
        let (pipe, bytes) = self.list.get(number as usize).copied().unwrap_or_default();
        json!({ "channel": format!("pipe{pipe}"), "bytes": bytes })
    }
}

/// Returns a channel with the same capacity, given that transfers have at least `least` bytes.
fn channel(number: u32, pipe: RecordedPipe, least: u32) -> (String, Value) {
    let (kind, bytes) = match pipe.room {
        Room::Pages(pages) => ("pipe", u64::from(pages) * u64::from(PAGE_BYTES)),
        Room::Memory(memory) => ("unix", u64::from(memory) / message_memory(least) * u64::from(least)),
    };
    (format!("pipe{number}"), json!({ "kind": kind, "bytes": bytes.clamp(1, MOST_BYTES) }))
}

/// Returns tasks that fill the channels that should not be empty at first: a file's channels all are.
fn fillers(recorded: &Recorded, names: &[String]) -> Vec<(String, Value)> {
    let held = (0_u32..).zip(&recorded.pipes).filter(|(_, pipe)| pipe.held_bytes > 0);
    let free = |number: u32| {
        let mut name = format!("fills pipe{number}");
        while names.contains(&name) {
            name.push('+');
        }
        name
    };
    let filler = |(number, pipe): (u32, &RecordedPipe)| {
        let step = json!({ "send": { "channel": format!("pipe{number}"), "bytes": pipe.held_bytes } });
        let phases = json!({ "p0": { "loop": 1, "evenkeel": { "steps": [step] } } });
        let task = json!({ "instance": 1, "loop": 1, "evenkeel": { "count": false }, "phases": phases });
        (free(number), task)
    };
    held.map(filler).collect()
}

/// Returns a cgroup's settings that differ from the defaults.
fn settings(cgroup: &Cgroup) -> (String, Value) {
    let Bandwidth { period_us, quota_us, burst_us } = cgroup.bandwidth;
    let mut settings = Map::new();
    let mut set = |is: bool, key: &str, to: Value| drop(is.then(|| settings.insert(key.to_owned(), to)));
    set(cgroup.weight != WEIGHT_DFL, "weight", json!(cgroup.weight));
    set(cgroup.idle, "idle", json!(true));
    set(!cgroup.is_there, "later", json!(true));
    if cgroup.bandwidth != Bandwidth::default() {
        set(true, "quota_us", json!(if quota_us == QUOTA_NONE { 0 } else { quota_us }));
        set(true, "period_us", json!(period_us));
        set(burst_us > 0, "burst_us", json!(burst_us));
    }
    (cgroup.path.clone(), Value::Object(settings))
}

pub(crate) fn named(policy: Policy) -> &'static str {
    match policy {
        Policy::Other => "SCHED_OTHER",
        Policy::Fifo(_) => "SCHED_FIFO",
        Policy::RoundRobin(_) => "SCHED_RR",
        Policy::Batch => "SCHED_BATCH",
        Policy::Idle => "SCHED_IDLE",
        Policy::Ext => "SCHED_EXT",
    }
}

/// Returns a unique name for each task.
fn names(tasks: &[TaskSpec]) -> Vec<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut named = |name: &str| {
        // This key would be a comment.
        let name = if name.is_empty() || name.starts_with(['_', '#', '/']) || name.starts_with("comment") {
            format!("task {name}")
        } else {
            name.to_owned()
        };
        loop {
            let nth = seen.entry(name.clone()).and_modify(|nth| *nth += 1).or_insert(1);
            let unique = if *nth == 1 { name.clone() } else { format!("{name}-{nth}") };
            if *nth == 1 || seen.insert(unique.clone(), 1).is_none() {
                return unique;
            }
        }
    };
    tasks.iter().map(|task| named(&task.name)).collect()
}

/// The times that a task's steps depend on, besides those on its tape.
#[derive(Clone, Copy)]
struct Timing {
    /// When the task began.
    begun: Instant,
    /// How late its sleeps end.
    late: Span,
    /// How long the recording is.
    duration: Span,
}

/// Converts a tape to steps. Posts on the way to a wait come before it.
fn tokens(tape: &Tape, timing: Timing, transfers: &Transfers) -> Vec<Token> {
    let Timing { begun, late, duration } = timing;
    let mut tokens: Vec<Token> = Vec::new();
    let (mut kernel_ps, mut last, mut counted) = (0, begun, 0_u32);
    let mut ops = tape.iter().peekable();
    while let Some(op) = ops.next() {
        let token = |kind, id, ns| Token { kind: (kind, id), ns };
        let post = |semaphore, sync| token(if sync { kind::POST_SYNC } else { kind::POST }, semaphore, 0);
        let next = match op {
            // It was still at work when the recording ended. A replay needs work that lasts until then; a file
            // is run for other times, too.
            Op::Run(work) if work == duration => {
                token(kind::RUN, 0, usual_work_ns(&tokens).unwrap_or(work.as_ns()))
            }
            Op::Run(work) => token(kind::RUN, 0, work.as_ns()),
            Op::Kernel(ps) => {
                kernel_ps += ps;
                let ns = kernel_ps / 1000;
                kernel_ps %= 1000;
                token(kind::RUN, 0, ns)
            }
            Op::Await(semaphore) => token(kind::AWAIT, semaphore, 0),
            Op::Post { semaphore, sync } | Op::PostMeanwhile { semaphore, sync } => post(semaphore, sync),
            Op::Put { pipe, bytes, .. } => token(kind::SEND, transfers.number(pipe, bytes), 0),
            Op::Take { pipe, bytes } => token(kind::RECEIVE, transfers.number(pipe, bytes), 0),
            Op::Sleep(span) | Op::SleepDeferrable(span) => {
                token(kind::SLEEP, 0, span.saturating_sub(late).as_ns())
            }
            Op::SleepUntil(at) => {
                let period = at.since(last.min(at));
                last = at.max(last);
                token(kind::TIMER, 0, period.as_ns())
            }
            Op::Fork { spec, process } => token(if process { kind::SPAWN } else { kind::FORK }, spec, 0),
            Op::Step(step) => token(kind::STEP, step, 0),
            Op::Yield => token(kind::YIELD, 0, 0),
            Op::Count(units) => {
                // It is at the beginning of a stay on a CPU: passes are equal if it always comes before a wait.
                counted = counted.saturating_add(units).min(1000);
                continue;
            }
            Op::Exit => continue,
        };
        if next.kind.0 == kind::RUN
            && let Some(before) = tokens.last_mut().filter(|before| before.kind.0 == kind::RUN)
        {
            before.ns = before.ns.saturating_add(next.ns);
            continue;
        }
        if next.kind.0 == kind::RUN && next.ns == 0 {
            continue;
        }
        while let Some(Op::PostMeanwhile { semaphore, sync }) = ops.peek().copied() {
            ops.next();
            tokens.push(post(semaphore, sync));
        }
        if is_wait(&next) {
            tokens
                .extend(std::iter::repeat_n(token(kind::COUNT, 0, 0), std::mem::take(&mut counted) as usize));
        }
        tokens.push(next);
    }
    tokens
}

/// Returns how long a task usually works between two waits, in nanoseconds, or `None` if it has not waited yet.
fn usual_work_ns(tokens: &[Token]) -> Option<u64> {
    if !tokens.iter().any(is_wait) {
        return None;
    }
    let works = || tokens.iter().filter(|token| token.kind.0 == kind::RUN).map(|token| token.ns);
    works().sum::<u64>().checked_div(works().count() as u64)
}

fn is_wait(token: &Token) -> bool {
    matches!(token.kind.0, kind::AWAIT | kind::RECEIVE | kind::SLEEP | kind::TIMER)
}

fn of_task(
    task: &TaskSpec,
    begin: Option<Begin>,
    parts: &[Part],
    known: &Known,
    cgroups: &[Cgroup],
) -> Value {
    let mut value = json!({ "instance": task.instances, "loop": 1 });
    let mut set = |is: bool, key: &str, to: Value| {
        if is {
            value[key] = to;
        }
    };
    let begun_us = begin.map_or(0, |begin| begin.at.as_ns() / 1000);
    set(begun_us > 0, "delay", json!(begun_us));
    set(!task.cpus.is_empty(), "cpus", task.cpus.iter().map(|cpu| cpu.0).collect());
    match task.policy {
        Policy::Fifo(priority) | Policy::RoundRobin(priority) => {
            set(true, "policy", json!(named(task.policy)));
            set(true, "priority", json!(priority));
        }
        policy => {
            set(policy != Policy::Other, "policy", json!(named(policy)));
            set(task.nice != 0, "priority", json!(task.nice));
        }
    }
    let mut extension = json!({ "process": task.process });
    if task.session != 0 {
        extension["session"] = json!(task.session);
    }
    if task.kthread {
        extension["kthread"] = json!(true);
    }
    if let Some(slice) = task.slice {
        extension["slice_us"] = json!(slice.as_ns() / 1000);
    }
    if let Some(hint) = task.hint {
        extension["rt_priority"] = json!(hint.rt_priority);
        extension["rt_policy"] = json!(if hint.policy == HintPolicy::Rr { "rr" } else { "fifo" });
    }
    extension["count"] = json!(false);
    set(true, "evenkeel", extension);
    let own =
        |step: u32| task.steps.get(step as usize).map_or(Value::Null, |step| own_steps::of(step, cgroups));
    let of_part = |(nth, part): (usize, &Part)| (format!("p{nth:06}"), of_part(part, known, &own));
    let phases: Map<String, Value> = parts.iter().enumerate().map(of_part).collect();
    match phases.is_empty() {
        // Nothing is known about what it does.
        true => set(true, "phases", json!({ "p0": { "loop": 1, "evenkeel": { "steps": ["syscall"] } } })),
        false => set(true, "phases", Value::Object(phases)),
    }
    value
}

fn of_part(part: &Part, known: &Known, own: &dyn Fn(u32) -> Value) -> Value {
    let of_step = |step: &Step| match step.kind {
        (kind::STEP, id) => own(id),
        _ => of_step(step, known),
    };
    let steps: Vec<Value> = part.steps.iter().map(of_step).collect();
    json!({ "loop": part.times, "evenkeel": { "steps": steps } })
}

fn of_step(step: &Step, known: &Known) -> Value {
    let (kind, id) = step.kind;
    let us = step.ns as f64 / 1000.0;
    let length = || match step.spread_per_mille / 10 {
        0 => json!(us),
        percent => json!({ "us": us, "jitter_percent": percent }),
    };
    let name = || known.names.get(id as usize).cloned().unwrap_or_default();
    match kind {
        kind::RUN => json!({ "run": length() }),
        kind::SLEEP => json!({ "sleep": length() }),
        kind::TIMER => json!({ "timer": us }),
        kind::AWAIT => json!({ "await": format!("s{id}") }),
        kind::POST => json!({ "post": format!("s{id}") }),
        kind::POST_SYNC => json!({ "post": { "ref": format!("s{id}"), "sync": true } }),
        kind::FORK => json!({ "fork": name() }),
        kind::SPAWN => json!({ "spawn": name() }),
        kind::SEND => json!({ "send": known.transfers.step(id) }),
        kind::RECEIVE => json!({ "receive": known.transfers.step(id) }),
        kind::YIELD => json!("yield"),
        _ => json!("count"),
    }
}

fn happening(it: &Happening, names: &[String]) -> Value {
    let list = |cpus: &keel_abi::CpuSet| cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>();
    let name = |spec: u32| names.get(spec as usize).cloned().unwrap_or_default();
    let at = it.at.as_ns() / 1000;
    match &it.change {
        Change::Offline(cpus) => json!({ "at": at, "offline": list(cpus) }),
        Change::Online(cpus) => json!({ "at": at, "online": list(cpus) }),
        Change::Affinity { spec, cpus } => json!({ "at": at, "task": name(*spec), "cpus": list(cpus) }),
        Change::Nice { spec, nice } => json!({ "at": at, "task": name(*spec), "nice": nice }),
        Change::Policy { spec, policy } => {
            json!({ "at": at, "task": name(*spec), "policy": named(*policy) })
        }
    }
}
