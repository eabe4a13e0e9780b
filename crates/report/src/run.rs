//! A run as `--json` prints it. Field names are stable; docs/reference/json.md describes each.

use crate::caveat;
use crate::headline::WastedWhere;
use crate::looked_at::LookedAtReport;
use crate::partial::Partial;
use crate::queues::QueueNames;
use keel_abi::scx::ExitKind;
use keel_abi::{Noise, Span, TaskId};
use keel_check::{
    Costs, Decision, Finding, Judgement, Kind, LookedAt, NameFigures, Spread, Summary, Sums, TaskFigures,
};
use keel_gate::{Facts, Regression, Ruling};
use keel_trace::{Chooser, Unknown};
use serde::Serialize;
use std::collections::BTreeMap;

/// Facts about a run that are not in the event stream.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// The scheduler's name.
    pub scheduler: String,
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// The seed.
    pub seed: u64,
    /// The background noise.
    pub noise: Noise,
    /// How long the simulation took, in nanoseconds of the host.
    pub wall_ns: u64,
    /// The peak memory of the process, in bytes.
    pub peak_rss_bytes: u64,
    /// How the scheduler ended.
    pub exit: ExitKind,
    /// The kernel's message about the reason; may be empty.
    pub message: String,
    /// The callback and the call that ended it, with the call's place in the object; untrusted text.
    pub place: Option<String>,
    /// The names of its DSQs.
    pub queues: QueueNames,
    /// The scheduler's costs; if absent, those in the stream are used.
    pub costs: Option<Costs>,
}

/// Three numbers that summarise a distribution; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpreadReport {
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The maximum.
    pub max: u64,
}

impl From<Spread<u64>> for SpreadReport {
    fn from(Spread { p50, p99, max }: Spread<u64>) -> Self {
        Self { p50, p99, max }
    }
}

impl From<Spread<Span>> for SpreadReport {
    fn from(Spread { p50, p99, max }: Spread<Span>) -> Self {
        Self { p50: p50.as_ns(), p99: p99.as_ns(), max: max.as_ns() }
    }
}

/// The scheduler's own costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Overhead {
    /// Time in callbacks, including the time that they waited for locks.
    pub callback_ns: u64,
    /// Time spent waiting for locks.
    pub lock_wait_ns: u64,
    /// The number of BPF instructions.
    pub instructions: u64,
}

/// How long CPUs waited for cache lines, by the lines' contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinesReport {
    /// A variable of the scheduler, or `kernel: ` and a description.
    pub name: String,
    /// The number of its lines that moved; 0 for the kernel's lines, which are not counted individually.
    pub lines: u64,
    /// How often they moved, in total.
    pub moves: u64,
    /// Core time that CPUs spent waiting for these moves.
    pub stall_ns: u64,
    /// The offset in the variable of the line that cost most, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_offset: Option<u64>,
    /// The cost of that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_ns: Option<u64>,
}

/// The use of a lock, or of all locks with one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LockReport {
    /// A variable or map of the scheduler, or `kernel: ` and a description: untrusted text.
    pub name: String,
    /// How often it was taken.
    pub taken: u64,
    /// How often a CPU had to wait for it.
    pub contended: u64,
    /// Core time that CPUs spent waiting for it.
    pub wait_ns: u64,
    /// How long it was held.
    pub held_ns: u64,
    /// The maximum number of CPUs waiting at once.
    pub most_waiters: u64,
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskReport {
    /// Its name: untrusted text.
    pub name: String,
    /// Its pid.
    pub pid: u32,
    /// When it first ran; null if it never did.
    pub first_run_ns: Option<u64>,
    /// Time on CPUs.
    pub cpu_ns: u64,
    /// Time runnable but not running.
    pub wait_ns: u64,
    /// How often it left a CPU.
    pub switches: u64,
    /// How often it started on a different CPU than the one it last ran on.
    pub migrations: u64,
    /// How often it lost its CPU while it was runnable.
    pub preemptions: u64,
    /// Its time on each CPU that it ran on, in nanoseconds.
    pub cpus: BTreeMap<u32, u64>,
}

/// The tasks with one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NameReport {
    /// The name: untrusted text.
    pub name: String,
    /// The number of tasks that had it.
    pub tasks: u64,
    /// The number of wakeups and forks whose delay is known.
    pub woken: u64,
    /// The time from wakeup or fork to running.
    pub wakeup_delay_ns: SpreadReport,
}

/// The last placement or balancing decision about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecisionReport {
    /// The pid of the task; null if unknown.
    pub task: Option<u32>,
    /// `woken`, `forked`, `pulled`, `pushed`, `moved`, `dispatched`, `queued`.
    pub act: String,
    /// When it was made.
    pub at_ns: u64,
    /// The CPU that decided: the waker's, the parent's, the balancer's.
    pub by_cpu: u32,
    /// The CPU on which the task was or last ran; null if unknown.
    pub from_cpu: Option<u32>,
    /// The CPU on which it was put.
    pub to_cpu: u32,
    /// Who chose the CPU for a wakeup or fork: `select_cpu`, `default`, `fallback`, `only_one`; null if unknown.
    pub chooser: Option<String>,
    /// The pid of the waker or parent; null for an interrupt.
    pub waker: Option<u32>,
    /// The decision as a clause, safe to print.
    pub text: String,
}

impl DecisionReport {
    /// Returns a decision, with the pids of tasks as far as they are known.
    pub(crate) fn new(decision: &Decision, pid: &impl Fn(TaskId) -> Option<u32>) -> Self {
        let chooser = decision.chooser.map(|chooser| match chooser {
            Chooser::SelectCpu => "select_cpu",
            Chooser::Default => "default",
            Chooser::Fallback => "fallback",
            Chooser::OnlyOne => "only_one",
            Chooser::Dispatch => "dispatch",
        });
        Self {
            task: pid(decision.task),
            act: decision.act.name().to_owned(),
            at_ns: decision.at.as_ns(),
            by_cpu: decision.by.0,
            from_cpu: decision.from.map(|cpu| cpu.0),
            to_cpu: decision.to.0,
            chooser: chooser.map(str::to_owned),
            waker: (!decision.waker.is_idle()).then(|| pid(decision.waker)).flatten(),
            text: decision.words(),
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingReport {
    /// Its kind, as listed in docs/reference/findings.md.
    pub kind: String,
    /// Who caused it: `scheduler`, or `program` if no scheduler is to blame.
    pub blame: String,
    /// When it began.
    pub start_ns: u64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// The threshold that it exceeded.
    pub threshold_ns: u64,
    /// The CPUs involved.
    pub cpus: Vec<u32>,
    /// The pids of the tasks involved, the affected task first.
    pub tasks: Vec<u32>,
    /// The times of the events that show it.
    pub events_ns: Vec<u64>,
    /// The decision that put the first task where it was for most of the time; null if the stream has none.
    pub decision: Option<DecisionReport>,
    /// The CPUs that decisions in its first 20 ms looked at: balancings for its CPUs, and the last placement of each of
    /// its tasks. Only for streams with policy events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub looked_at: Vec<LookedAtReport>,
    /// One sentence, safe to print.
    pub text: String,
}

/// The sums over all findings of one kind, without those that programs cause themselves. These are compared with
/// budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SumsReport {
    /// Their number.
    pub count: u64,
    /// The total duration; for wasted cores, the wasted core time.
    pub total_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

impl From<Sums> for SumsReport {
    fn from(Sums { count, total, longest }: Sums) -> Self {
        Self { count, total_ns: total.as_ns(), longest_ns: longest.as_ns() }
    }
}

/// How the scheduler ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exit {
    /// `none`, `done`, `unreg`, `unreg_bpf`, `unreg_kern`, `error`, `error_bpf`, `error_stall`.
    pub kind: String,
    /// The kernel's reason, with the names of DSQs added.
    pub reason: String,
    /// The callback and the call that ended it, with the call's place in the object; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    #[serde(skip)]
    failed: bool,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// How the run was cut short; `None` for a complete run, whose JSON has none of these fields.
    #[serde(flatten)]
    pub partial: Option<Partial>,
    /// The scheduler's name.
    pub scheduler: String,
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// The number of its CPUs.
    pub cpus: u32,
    /// The seed.
    pub seed: u64,
    /// The background noise: `none`, `quiet` or `busy`.
    pub noise: &'static str,
    /// The length of the run in virtual time.
    pub duration_ns: u64,
    /// How long the simulation took on the host.
    pub wall_ns: u64,
    /// The peak memory of the process.
    pub peak_rss_bytes: u64,
    /// The scheduler's loads and stores at invalid addresses; loads returned 0 and stores had no effect.
    pub bad_accesses: u64,
    /// Time in bypass mode: the kernel scheduled the tasks itself while a scheduler was being loaded or unloaded.
    pub bypass_ns: u64,
    /// How often the scheduler was reloaded.
    pub restarts: u32,
    /// The number of context switches.
    pub switches: u64,
    /// The number of wakeups.
    pub wakeups: u64,
    /// The number of new tasks.
    pub forks: u64,
    /// How often a task started on a different CPU than the one it last ran on.
    pub migrations: u64,
    /// How often a task lost its CPU while it was runnable.
    pub preemptions: u64,
    /// Units of the workload per second of virtual time.
    pub throughput: f64,
    /// Total units of the workload.
    pub throughput_total: u64,
    /// The unit: `loops`, `messages`.
    pub throughput_unit: String,
    /// The time from wakeup or fork to running.
    pub wakeup_delay_ns: SpreadReport,
    /// The time from wakeup or fork to running by task name, for the first 64 names.
    pub names: Vec<NameReport>,
    /// The share of online CPU time in which tasks ran.
    pub busy_share: f64,
    /// Core time in which a core idled while a task that could have run there waited.
    pub wasted_core_ns: u64,
    /// `wasted_core_ns` as a share of the time that CPUs were online.
    pub wasted_share: f64,
    /// Core time wasted in transients, which are not findings.
    pub wasted_transient_ns: u64,
    /// Whether `wasted_core_ns` is only a lower bound, because there were too many different affinities.
    pub wasted_lower_bound: bool,
    /// Which cores were wasted, which tasks waited where, and how they had got there.
    pub wasted_where: WastedWhere,
    /// Data that the stream does not record, because of which some findings may be false.
    #[serde(skip)]
    pub unknown: Unknown,
    /// How many findings depend on that data, and are not counted.
    #[serde(skip)]
    pub findings_unsure: u64,
    /// What is missing or inconsistent in the recording, as a sentence without a full stop: there may be undetected
    /// problems.
    #[serde(skip)]
    pub doubt: Option<String>,
    /// The scheduler's costs.
    pub overhead: Overhead,
    /// The cache lines that CPUs waited for longest; absent for recordings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LinesReport>,
    /// The locks that CPUs waited for longest; absent for recordings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockReport>,
    /// The tasks, in order of appearance.
    pub tasks: Vec<TaskReport>,
    /// The number of ended tasks that are not in `tasks`.
    pub tasks_left_out: u64,
    /// The longest findings of each kind.
    pub findings: Vec<FindingReport>,
    /// The number of findings of each kind, listed or not.
    pub findings_total: BTreeMap<String, u64>,
    /// How many of these the workload's programs cause themselves.
    pub findings_of_programs: u64,
    /// The sums over the other findings of each kind.
    pub findings_sums: BTreeMap<String, SumsReport>,
    /// Time that CPUs were online, summed over them.
    pub online_ns: u64,
    /// How the scheduler ended.
    pub exit: Exit,
    /// Which budgets held; absent unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<Ruling>,
    /// The figures compared with a baseline's; absent unless requested, and for runs of `keel compare`, which has them
    /// once per scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Regression>,
    /// `findings_sums`, by kind.
    #[serde(skip)]
    pub found: BTreeMap<Kind, Sums>,
    /// The kinds that depend on data that the stream lacks, and are not counted.
    #[serde(skip)]
    pub unsure: Vec<Kind>,
}

impl RunReport {
    /// Combines the judgement of the stream with the facts that are not in it.
    pub fn new(facts: &RunFacts, judgement: &Judgement) -> Self {
        let (sums, waste) = (&judgement.summary, &judgement.waste);
        let costs = facts.costs.unwrap_or(sums.costs);
        Self {
            partial: None,
            scheduler: facts.scheduler.clone(),
            workload: facts.workload.clone(),
            machine: facts.machine.clone(),
            cpus: sums.cpus,
            seed: facts.seed,
            noise: facts.noise.name(),
            duration_ns: sums.duration.as_ns(),
            wall_ns: facts.wall_ns,
            peak_rss_bytes: facts.peak_rss_bytes,
            bad_accesses: 0,
            bypass_ns: 0,
            restarts: 0,
            switches: sums.switches,
            wakeups: sums.wakeups,
            forks: sums.forks,
            migrations: sums.migrations,
            preemptions: sums.preemptions,
            throughput: sums.throughput(),
            throughput_total: sums.units,
            throughput_unit: sums.unit.clone(),
            wakeup_delay_ns: sums.wakeup_delay.into(),
            names: sums.names.iter().map(name).collect(),
            busy_share: sums.busy_share,
            wasted_core_ns: waste.wasted.as_ns(),
            wasted_share: waste.share,
            wasted_transient_ns: waste.transient.as_ns(),
            wasted_lower_bound: waste.lower_bound,
            wasted_where: wasted_where(judgement),
            unknown: judgement.unknown,
            doubt: None,
            findings_unsure: unsure(judgement),
            overhead: Overhead {
                callback_ns: costs.callback.as_ns(),
                lock_wait_ns: costs.lock_wait.as_ns(),
                instructions: costs.instructions,
            },
            lines: Vec::new(),
            locks: Vec::new(),
            tasks: sums.tasks.iter().map(task).collect(),
            tasks_left_out: sums.others.1,
            findings: findings(judgement, &facts.queues),
            findings_total: judgement.found.iter().map(|&(kind, n)| (kind.name().to_owned(), n)).collect(),
            findings_of_programs: judgement.of_programs,
            findings_sums: judgement
                .sums
                .iter()
                .map(|&(kind, sums)| (kind.name().to_owned(), sums.into()))
                .collect(),
            online_ns: sums.machine_time.as_ns(),
            found: judgement.sums.iter().copied().collect(),
            unsure: judgement.unsure.clone(),
            strict: None,
            baseline: None,
            exit: exit(facts.exit, &facts.queues.put_into(&facts.message), facts.place.clone()),
        }
    }

    /// Returns whether the scheduler failed.
    pub fn failed(&self) -> bool {
        self.exit.failed
    }

    /// Returns whether there is a finding that no program causes itself and that does not depend on missing data.
    pub fn found_something(&self) -> bool {
        self.findings_total.values().sum::<u64>() > self.findings_of_programs + self.findings_unsure
    }

    /// Returns whether there is a finding that may be false.
    pub(crate) fn is_unsure(&self) -> bool {
        self.findings_unsure > 0
    }

    /// Returns the facts that budgets are compared with.
    pub fn facts(&self) -> Facts {
        Facts {
            found: self.found.clone(),
            unsure: self.unsure.iter().copied().collect(),
            bad_accesses: self.bad_accesses,
            machine_time: Span::from_ns(self.online_ns),
            wakeups: self.wakeups.saturating_add(self.forks),
            tasks: (self.tasks.len() as u64).saturating_add(self.tasks_left_out),
        }
    }

    pub(crate) fn duration(&self) -> Span {
        Span::from_ns(self.duration_ns)
    }
}

fn wasted_where(judgement: &Judgement) -> WastedWhere {
    let reported = WastedWhere::new(&judgement.waste.groups);
    WastedWhere { sentence: caveat::before(judgement.unknown, reported.sentence), ..reported }
}

fn unsure(judgement: &Judgement) -> u64 {
    let found = judgement.found.iter().filter(|(kind, _)| judgement.unsure.contains(kind));
    found.map(|&(_, count)| count).sum()
}

fn name(of: &NameFigures) -> NameReport {
    let wakeup_delay_ns = of.wakeup_delay.into();
    NameReport { name: of.name.clone(), tasks: of.tasks, woken: of.woken, wakeup_delay_ns }
}

fn task(of: &TaskFigures) -> TaskReport {
    TaskReport {
        name: of.name.clone(),
        pid: of.pid.0,
        first_run_ns: of.first_run.map(|at| at.as_ns()),
        cpu_ns: of.cpu.as_ns(),
        wait_ns: of.wait.as_ns(),
        switches: of.switches,
        migrations: of.migrations,
        preemptions: of.preemptions,
        cpus: of.cpus.iter().map(|&(cpu, span)| (cpu.0, span.as_ns())).collect(),
    }
}

fn findings(judgement: &Judgement, queues: &QueueNames) -> Vec<FindingReport> {
    let looked_at = judgement.looked_at.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
    let findings = judgement.findings.iter().zip(looked_at);
    let report = |(found, looked_at): (&Finding, &[LookedAt])| FindingReport {
        looked_at: looked_at.iter().map(LookedAtReport::new).collect(),
        ..finding(found, &judgement.summary, queues)
    };
    findings.map(report).collect()
}

fn finding(found: &Finding, sums: &Summary, queues: &QueueNames) -> FindingReport {
    let pid =
        |task: TaskId| sums.tasks.binary_search_by_key(&task, |t| t.task).map(|at| sums.tasks[at].pid.0).ok();
    FindingReport {
        kind: found.kind.name().to_owned(),
        blame: found.blame.name().to_owned(),
        start_ns: found.start.as_ns(),
        duration_ns: found.duration.as_ns(),
        threshold_ns: found.threshold.as_ns(),
        events_ns: found.events.iter().map(|at| at.as_ns()).collect(),
        decision: found.decision.as_ref().map(|decision| DecisionReport::new(decision, &pid)),
        cpus: found.cpus.iter().map(|cpu| cpu.0).collect(),
        tasks: found.tasks.iter().filter_map(|&task| pid(task)).collect(),
        looked_at: Vec::new(),
        text: queues.put_into(&found.text),
    }
}

fn exit(kind: ExitKind, message: &str, place: Option<String>) -> Exit {
    let name = match kind {
        ExitKind::None => "none",
        ExitKind::Done => "done",
        ExitKind::Unreg => "unreg",
        ExitKind::UnregBpf => "unreg_bpf",
        ExitKind::UnregKern => "unreg_kern",
        ExitKind::Error => "error",
        ExitKind::ErrorBpf => "error_bpf",
        ExitKind::ErrorStall => "error_stall",
    };
    let reason = match (kind.reason(), message) {
        (reason, "") => reason.to_owned(),
        ("", message) => message.to_owned(),
        (reason, message) => format!("{reason} ({message})"),
    };
    Exit { kind: name.to_owned(), reason, place, failed: kind.is_failure() }
}
