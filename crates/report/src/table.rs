//! Writes a run as text: the figures, the tasks with the most CPU time, the findings, and the verdict.

use crate::cells::{left, lines_of, plain_table, right};
use crate::findings;
use crate::gate;
use crate::run::{NameReport, RunReport, TaskReport};
use crate::style::{Paint, Style};
use crate::verdict::{first, painted};
use keel_abi::Span;
use keel_abi::numbers::{core_seconds, count, counted, figures, percent};
use keel_check::escape_all;

/// The maximum number of tasks that the text lists.
const TASKS: usize = 10;
/// The maximum number of task names that the text lists.
const NAMES: usize = 8;

/// Narrower terminals get fewer columns in the table of tasks.
const WIDE: u16 = 80;

/// Returns the whole text. It ends with the verdict and, if requested, with whether the run passed.
pub fn run(run: &RunReport, style: Style) -> String {
    let mut text = format!("{}{}\n\n{}\n", first(run, style), heading(run, style), figures_of(run, style));
    if run.names.len() > 1 {
        text += &format!("\n{}\n", names(run, style));
    }
    if !run.tasks.is_empty() {
        text += &format!("\n{}\n", tasks(run, style));
    }
    text += &findings::list(run, style);
    if run.bad_accesses > 0 && !run.failed() {
        let accesses = match run.bad_accesses {
            1 => "an invalid memory access".to_owned(),
            n => format!("{} invalid memory accesses", count(n)),
        };
        text += &format!(
            "\nThe scheduler made {accesses}; keel sim --checked stops at the first one and names it.\n"
        );
    }
    text += &format!("\n{}\n", painted(run, style));
    text += &run.strict.as_ref().map_or_else(String::new, |ruling| gate::budgets(ruling, style));
    text + &run.baseline.as_ref().map_or_else(String::new, |found| gate::regression(found, style))
}

fn heading(run: &RunReport, style: Style) -> String {
    let [scheduler, workload, machine] = [&run.scheduler, &run.workload, &run.machine].map(|s| escape_all(s));
    let noise = if run.noise == "none" { String::new() } else { format!(", {} noise", run.noise) };
    let cpus = counted(run.cpus.into(), "CPU");
    let first = format!("{scheduler}: {workload} on {machine} ({cpus}), seed {}{noise}", run.seed);
    format!(
        "{}\n{} simulated in {}, {} MiB",
        style.paint(Paint::Bold, &first),
        run.duration(),
        Span::from_ns(run.wall_ns),
        run.peak_rss_bytes >> 20
    )
}

fn figures_of(run: &RunReport, style: Style) -> String {
    let mut table = plain_table(style);
    let seconds = run.duration_ns as f64 / 1e9;
    let rate = |n: u64| match n {
        0 => String::new(),
        n => format!("{} a second", figures(n as f64 / seconds)),
    };
    let mut row = |name: &str, value: String, note: String| {
        table.add_row(vec![left(name), right(value), left(note)]);
    };
    let unit = escape_all(if run.throughput_unit.is_empty() { "units" } else { &run.throughput_unit });
    row(
        "throughput",
        format!("{} {unit}/s", figures(run.throughput)),
        format!("{} in all", count(run.throughput_total)),
    );
    row("switches", count(run.switches), rate(run.switches));
    row("wakeups", count(run.wakeups), rate(run.wakeups));
    row("migrations", count(run.migrations), rate(run.migrations));
    row("preemptions", count(run.preemptions), rate(run.preemptions));
    let delay = run.wakeup_delay_ns;
    let [p50, p99, max] = [delay.p50, delay.p99, delay.max].map(Span::from_ns);
    row("wakeup to running", p50.to_string(), format!("median; 99 % within {p99}, longest {max}"));
    row("CPUs busy", percent(run.busy_share), String::new());
    let transient = match run.wasted_transient_ns {
        0 => String::new(),
        ns => format!("; {} more in transients", core_seconds(ns)),
    };
    row(
        "wasted",
        core_seconds(run.wasted_core_ns),
        format!("{} of the machine{transient}", percent(run.wasted_share)),
    );
    let cost = run.overhead;
    let machine_ns = (run.duration_ns as f64 * f64::from(run.cpus)).max(1.0);
    row(
        "scheduler",
        core_seconds(cost.callback_ns),
        format!(
            "{} of the machine in callbacks, {} instructions; {} waiting for locks",
            percent(cost.callback_ns as f64 / machine_ns),
            count(cost.instructions),
            core_seconds(cost.lock_wait_ns)
        ),
    );
    if let Some((figure, note)) = worst_lock(run, machine_ns) {
        row("locks", figure, note);
    }
    row("exit", run.exit.kind.clone(), escape_all(&run.exit.reason));
    lines_of(&table)
}

/// Waits for locks below this share of the machine's time are not worth a line.
const LITTLE: f64 = 0.005;

/// Returns the cost of all locks, and the most expensive one, if they cost more than [`LITTLE`] of this much core time.
fn worst_lock(run: &RunReport, machine_ns: f64) -> Option<(String, String)> {
    let worst = run.locks.first()?;
    let wait_ns = run.overhead.lock_wait_ns;
    if (wait_ns as f64) < LITTLE * machine_ns {
        return None;
    }
    let (held, share) =
        (Span::from_ns(worst.held_ns / worst.taken.max(1)), percent(wait_ns as f64 / machine_ns));
    let note = format!(
        "{share} of the machine waits for locks; {} for {}: taken {} times, {} of them after a wait, held for {held} each",
        core_seconds(worst.wait_ns),
        escape_all(&worst.name),
        count(worst.taken),
        count(worst.contended),
    );
    Some((core_seconds(wait_ns), note))
}

/// Returns the delays after wakeups by task name, longest first.
fn names(run: &RunReport, style: Style) -> String {
    let mut worst: Vec<&NameReport> = run.names.iter().collect();
    worst.sort_by_key(|name| std::cmp::Reverse(name.wakeup_delay_ns.p99));
    worst.truncate(NAMES);
    let mut table = plain_table(style);
    let heads = ["tasks", "woken", "median", "99 %", "longest"].map(right);
    table.set_header([left("wakeup to running")].into_iter().chain(heads));
    for name in worst {
        let delay = name.wakeup_delay_ns;
        let spans = [delay.p50, delay.p99, delay.max].map(|ns| delayed(name.woken, ns));
        let cells = [count(name.tasks), count(name.woken)].into_iter().chain(spans).map(right);
        table.add_row([left(keel_check::escape(&name.name))].into_iter().chain(cells));
    }
    lines_of(&table)
}

/// Shown for the delay of tasks that were never woken, because 0 ns would look like a good one.
pub(crate) const NO_DELAY: &str = "–";

fn delayed(woken: u64, ns: u64) -> String {
    if woken == 0 { NO_DELAY.to_owned() } else { Span::from_ns(ns).to_string() }
}

fn tasks(run: &RunReport, style: Style) -> String {
    let mut most: Vec<&TaskReport> = run.tasks.iter().collect();
    most.sort_by_key(|task| std::cmp::Reverse(task.cpu_ns));
    most.truncate(TASKS);
    let all = run.tasks.len() as u64 + run.tasks_left_out;
    let mut table = plain_table(style);
    let title = match all as usize > most.len() {
        true => format!("task ({} of {})", most.len(), count(all)),
        false => "task".to_owned(),
    };
    let heads = ["pid", "on CPU", "waited", "switches", "migrations", "preemptions", "CPUs"];
    let shown = if style.width < WIDE { 4 } else { heads.len() };
    let heads = heads.map(right).into_iter().take(shown);
    table.set_header([left(title)].into_iter().chain(heads));
    for task in most {
        let cells = [
            task.pid.to_string(),
            Span::from_ns(task.cpu_ns).to_string(),
            Span::from_ns(task.wait_ns).to_string(),
            count(task.switches),
            count(task.migrations),
            count(task.preemptions),
            task.cpus.len().to_string(),
        ];
        let cells = cells.map(right).into_iter().take(shown);
        table.add_row([left(keel_check::escape(&task.name))].into_iter().chain(cells));
    }
    lines_of(&table)
}

#[cfg(test)]
mod tests;
