//! Shows the judgement of a trace, as text and as `keel check --json` prints it. docs/reference/recording.md describes
//! the fields.

use crate::cells::{left, lines_of, plain_table, right};
use crate::findings;
use crate::gate;
use crate::headline::WastedWhere;
use crate::partial::Partial;
use crate::run::{FindingReport, RunReport, SpreadReport, SumsReport, TaskReport};
use crate::style::{Paint, Style};
use crate::table::NO_DELAY;
use crate::verdict::{first, painted};
use keel_abi::Span;
use keel_abi::numbers::{core_seconds, count, counted, percent};
use keel_check::escape_all;
use keel_gate::{Facts, Ruling};
use serde::Serialize;
use std::collections::BTreeMap;

/// The maximum number of names that the text lists.
const NAMES: usize = 15;
/// The columns, and how wide a terminal must be to show each: a narrow one gets only the most important.
const COLUMNS: [(&str, u16); 7] = [
    ("tasks", 48),
    ("on CPU", 0),
    ("share", 78),
    ("waited", 0),
    ("switches", 60),
    ("delay p50", 78),
    ("p99", 68),
];

/// The tasks with one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NameSums {
    /// The name: untrusted text.
    pub name: String,
    /// The number of tasks that have it.
    pub tasks: u64,
    /// Time on CPUs.
    pub cpu_ns: u64,
    /// Time runnable but not running.
    pub wait_ns: u64,
    /// How often they left a CPU.
    pub switches: u64,
    /// How often they lost their CPU while they were runnable.
    pub preemptions: u64,
    /// How often they started on a different CPU than the one they last ran on.
    pub migrations: u64,
    /// The time from wakeup or fork to running; absent if none was woken, and for names beyond the first 64.
    pub wakeup_delay_ns: Option<SpreadReport>,
}

/// The judgement of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The part that was not read; `None` if all of the trace was judged, and then the JSON has none of these fields.
    #[serde(flatten)]
    pub partial: Option<Partial>,
    /// The format of the recording: `keel`, `perf.data`, `trace.dat`, `text`.
    pub format: String,
    /// One sentence for each problem of the recording and for each thing that it lacks.
    pub notes: Vec<String>,
    /// Whether it records which CPUs tasks may use. If it doesn't, a pinned task's wait may look like waste.
    pub affinity_known: bool,
    /// Whether it records when tasks are throttled. If it doesn't, a throttled task looks as if it were waiting.
    pub throttling_known: bool,
    /// The longest findings of each kind.
    pub findings: Vec<FindingReport>,
    /// The number of findings of each kind, listed or not.
    pub findings_total: BTreeMap<String, u64>,
    /// How many of these the workload's programs cause themselves.
    pub findings_of_programs: u64,
    /// How many depend on data that the recording lacks; `--strict` doesn't count them.
    pub findings_unsure: u64,
    /// The number of events in the trace.
    pub events: u64,
    /// The number of events that were lost because the recorder's buffers were full.
    pub lost_events: u64,
    /// How long the trace is.
    pub duration_ns: u64,
    /// How many CPUs the machine has.
    pub cpus: u32,
    /// Core time in which a core idled while a task that could have run there waited.
    pub wasted_core_ns: u64,
    /// `wasted_core_ns` as a share of the time that CPUs were online.
    pub wasted_share: f64,
    /// Core time wasted in transients, which are not findings.
    pub wasted_transient_ns: u64,
    /// Which cores were wasted, which tasks waited where, and how they had got there.
    pub wasted_where: WastedWhere,
    /// The scheduler.
    pub scheduler: String,
    /// The workload.
    pub workload: String,
    /// The number of context switches.
    pub switches: u64,
    /// The number of wakeups.
    pub wakeups: u64,
    /// How often a task started on a different CPU than the one it last ran on.
    pub migrations: u64,
    /// How often a task lost its CPU while it was runnable.
    pub preemptions: u64,
    /// The time from wakeup or fork to running.
    pub wakeup_delay_ns: SpreadReport,
    /// The share of online CPU time in which tasks ran.
    pub busy_share: f64,
    /// Tasks by name, those with the most CPU time first.
    pub names: Vec<NameSums>,
    /// The tasks, in order of appearance.
    pub tasks: Vec<TaskReport>,
    /// The findings of each kind, summed, without those that programs cause themselves.
    pub findings_sums: BTreeMap<String, SumsReport>,
    /// Time that CPUs were online, summed over them.
    pub online_ns: u64,
    /// Which budgets held; absent unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<Ruling>,
    /// The recorder's own clock at time 0, from which all times count; null in simulated runs.
    pub clock_start_ns: Option<u64>,
    #[serde(skip)]
    run: RunReport,
}

/// Returns the origin of all times, as a clause: `times count from 7654.190123 in the recording`.
pub fn counted_from(clock_ns: u64) -> String {
    let (seconds, us) = (clock_ns / 1_000_000_000, clock_ns % 1_000_000_000 / 1_000);
    format!("times count from {seconds}.{us:06} of the recorder's clock")
}

/// Like [`counted_from`], but returns a line of its own.
pub(crate) fn counted_from_line(clock_ns: u64) -> String {
    format!("T{}.\n", &counted_from(clock_ns)[1..])
}

impl CheckReport {
    /// Returns the report on a judged stream with this many events, and this many lost ones.
    pub fn new(run: RunReport, events: u64, lost_events: u64) -> Self {
        Self {
            partial: run.partial,
            format: "keel".to_owned(),
            notes: Vec::new(),
            affinity_known: !run.unknown.affinity,
            throttling_known: !run.unknown.throttling,
            findings: run.findings.clone(),
            findings_total: run.findings_total.clone(),
            findings_of_programs: run.findings_of_programs,
            findings_unsure: run.findings_unsure,
            events,
            lost_events,
            duration_ns: run.duration_ns,
            cpus: run.cpus,
            wasted_core_ns: run.wasted_core_ns,
            wasted_share: run.wasted_share,
            wasted_transient_ns: run.wasted_transient_ns,
            wasted_where: run.wasted_where.clone(),
            scheduler: run.scheduler.clone(),
            workload: run.workload.clone(),
            switches: run.switches,
            wakeups: run.wakeups,
            migrations: run.migrations,
            preemptions: run.preemptions,
            wakeup_delay_ns: run.wakeup_delay_ns,
            busy_share: run.busy_share,
            names: by_name(&run),
            tasks: run.tasks.clone(),
            findings_sums: run.findings_sums.clone(),
            online_ns: run.online_ns,
            strict: None,
            clock_start_ns: None,
            run,
        }
    }

    /// Sets the recorder's clock at time 0.
    #[must_use]
    pub fn counted_from(self, clock_start_ns: Option<u64>) -> Self {
        Self { clock_start_ns, ..self }
    }

    /// Sets the recording's format and the notes about it. `doubts` are the notes that report a missing part.
    #[must_use]
    pub fn of(mut self, format: &str, notes: Vec<String>, doubts: &[String]) -> Self {
        self.run.doubt = doubt(doubts, self.lost_events);
        Self { format: format.to_owned(), notes, ..self }
    }

    /// Returns the facts that budgets are compared with.
    pub fn facts(&self) -> Facts {
        self.run.facts()
    }

    /// Returns whether the scheduler failed within the trace.
    pub fn failed(&self) -> bool {
        self.run.failed()
    }

    /// Returns the whole text, with the verdict at the end.
    pub fn text(&self, style: Style) -> String {
        let named = format!("{}: {}", escape_all(&self.scheduler), escape_all(&self.workload));
        let mut text = format!("{}{}\n", first(&self.run, style), style.paint(Paint::Bold, &named));
        text += &format!(
            "{} on {}, {}; CPUs busy {}\n",
            Span::from_ns(self.duration_ns),
            counted(self.cpus.into(), "CPU"),
            counted(self.events, "event"),
            percent(self.busy_share),
        );
        if let Some(clock_ns) = self.clock_start_ns {
            text += &counted_from_line(clock_ns);
        }
        text += &format!("\n{}\n", names(self, style));
        text += &findings::list(&self.run, style);
        if self.wasted_transient_ns > 0 {
            text += &format!("\nTransients wasted another {}.\n", core_seconds(self.wasted_transient_ns));
        }
        // Only if the reader hasn't reported it.
        if self.lost_events > 0 && self.notes.is_empty() {
            let lost = count(self.lost_events);
            text += &format!("\n{lost} events were lost, so all figures are estimates.\n");
        }
        if !self.notes.is_empty() {
            text += &format!("\n{}\n", style.paint(Paint::Bold, "About the recording"));
        }
        for note in &self.notes {
            text += &format!("- {}.\n", escape_all(note));
        }
        text += &format!("\n{}\n", painted(&self.run, style));
        text + &self.strict.as_ref().map_or_else(String::new, |ruling| gate::budgets(ruling, style))
    }
}

/// Returns why a recording is incomplete, if it is: the first of its reader's doubts, or the number of lost events.
pub fn doubt(doubts: &[String], lost_events: u64) -> Option<String> {
    let lost = || (lost_events > 0).then(|| format!("{} events were lost", count(lost_events)));
    doubts.first().cloned().or_else(lost)
}

/// Returns tasks by name, those with the most CPU time first.
fn by_name(run: &RunReport) -> Vec<NameSums> {
    let mut names: BTreeMap<&str, NameSums> = BTreeMap::new();
    for task in &run.tasks {
        let sums = names.entry(&task.name).or_default();
        sums.tasks += 1;
        // An untrusted trace may claim any times.
        sums.cpu_ns = sums.cpu_ns.saturating_add(task.cpu_ns);
        sums.wait_ns = sums.wait_ns.saturating_add(task.wait_ns);
        sums.switches = sums.switches.saturating_add(task.switches);
        sums.preemptions = sums.preemptions.saturating_add(task.preemptions);
        sums.migrations = sums.migrations.saturating_add(task.migrations);
    }
    for reported in &run.names {
        if let Some(sums) = names.get_mut(reported.name.as_str()) {
            sums.wakeup_delay_ns = (reported.woken > 0).then_some(reported.wakeup_delay_ns);
        }
    }
    let named = |(name, sums): (&str, NameSums)| NameSums { name: name.to_owned(), ..sums };
    let mut names: Vec<NameSums> = names.into_iter().map(named).collect();
    names.sort_by_key(|sums| std::cmp::Reverse(sums.cpu_ns));
    names
}

fn names(report: &CheckReport, style: Style) -> String {
    let mut table = plain_table(style);
    let title = match report.names.len() > NAMES {
        true => format!("name ({NAMES} of {})", report.names.len()),
        false => "name".to_owned(),
    };
    let fits = |nth: usize| COLUMNS[nth].1 <= style.width;
    let chosen = |cells: [String; 7]| {
        cells.into_iter().enumerate().filter(move |&(nth, _)| fits(nth)).map(|(_, cell)| cell)
    };
    let heads = COLUMNS.map(|(head, _)| head.to_owned());
    table.set_header([left(title)].into_iter().chain(chosen(heads).map(right)));
    // As for `busy_share`: a recording may lack some CPUs.
    let machine_ns = (report.online_ns as f64).max(1.0);
    for name in report.names.iter().take(NAMES) {
        let delay = |of: fn(SpreadReport) -> u64| match name.wakeup_delay_ns {
            Some(spread) => Span::from_ns(of(spread)).to_string(),
            None => NO_DELAY.to_owned(),
        };
        let cells = [
            count(name.tasks),
            Span::from_ns(name.cpu_ns).to_string(),
            percent(name.cpu_ns as f64 / machine_ns),
            Span::from_ns(name.wait_ns).to_string(),
            count(name.switches),
            delay(|spread| spread.p50),
            delay(|spread| spread.p99),
        ];
        table.add_row([left(escape_all(&name.name))].into_iter().chain(chosen(cells).map(right)));
    }
    lines_of(&table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunFacts;
    use keel_abi::Pid;
    use keel_check::{Judgement, Summary, TaskFigures};

    #[test]
    fn a_narrow_terminal_gets_what_matters_most() {
        let task = TaskFigures { pid: Pid(7), name: "sixteen letters!".into(), ..TaskFigures::default() };
        let summary =
            Summary { duration: Span::from_s(10), cpus: 4, tasks: vec![task; 400], ..Summary::default() };
        let judgement = Judgement { summary, ..Judgement::default() };
        let report = CheckReport::new(RunReport::new(&RunFacts::default(), &judgement), 1, 0);
        let heads = |width| {
            let table = names(&report, Style { width, colour: false });
            let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= usize::from(width), "{width}:\n{table}");
            let (_, heads) =
                table.lines().next().and_then(|line| line.split_once("tasks")).unwrap_or_default();
            heads.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(heads(100), "on CPU share waited switches delay p50 p99");
        assert_eq!(heads(72), "on CPU waited switches p99");
        assert_eq!(heads(60), "on CPU waited switches");
        assert_eq!(heads(50), "on CPU waited");
        assert_eq!(heads(40), "");
    }
}
