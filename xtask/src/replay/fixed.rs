//! The fixed point: a run that is recorded and replayed under the same scheduler must give the same figures.

use crate::keel::printed;
use crate::{Failure, cargo, document};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = "docs/explanation/replay.md";
const SCHEDULERS: [&str; 9] = ["eevdf", "bsd", "cfs", "fifo", "goodness", "mq", "o1", "percpu", "ule"];
/// Ten kinds of load, at sizes that keep four CPUs busy.
const WORKLOADS: [&str; 10] = [
    "mix",
    "hogs:9",
    "typist+hogs:6",
    "interactive",
    "crowd:20",
    "pingpong",
    "ring:8:16",
    "chat:2:4:200",
    "lat-fork",
    "tpch:18",
];
const CPUS: &str = "4";
const DURATION: &str = "500ms";
/// The maximum error of a figure, in percent.
const MOST: f64 = 2.0;

/// The figure with the largest error, and the error in percent.
#[derive(Clone, Debug, PartialEq)]
struct Worst {
    off: f64,
    figure: String,
}

/// Runs everything and updates the table.
pub(super) fn run() -> Result<(), Failure> {
    let keel = cargo::program("keel")?;
    let folder = tempfile::tempdir().map_err(|e| format!("no scratch folder: {e}"))?;
    let trace = folder.path().join("run.keel");
    let mut rows = Vec::new();
    for workload in WORKLOADS {
        let mut cells = Vec::new();
        for scheduler in SCHEDULERS {
            let cell = once(&keel, scheduler, workload, &trace)?;
            println!("{workload} under {scheduler}: {:.3} % ({})", cell.off, cell.figure);
            cells.push(cell);
        }
        rows.push((workload, cells));
    }
    document::renew(PAGE, "replay", &table(&rows))?;
    match rows.iter().flat_map(|(_, cells)| cells).filter(|cell| cell.off > MOST).count() {
        0 => Ok(()),
        bad => Err(format!("{bad} replays are off by more than {MOST} %; {PAGE} shows which")),
    }
}

fn once(keel: &Path, scheduler: &str, workload: &str, trace: &Path) -> Result<Worst, Failure> {
    let file = trace.to_string_lossy();
    let recorded = ["sim", scheduler, "--workload", workload, "--machine", CPUS, "--duration", DURATION];
    let was = json(keel, &[&recorded[..], &["--trace", &file]].concat())?;
    let is = json(keel, &["replay", &file, scheduler, "--machine", CPUS])?;
    Ok(worst(&was, &is))
}

/// Runs keel with these arguments and `--json`, and returns its output.
fn json(keel: &Path, args: &[&str]) -> Result<Value, Failure> {
    printed(Command::new(keel).args(args).stdin(Stdio::null()), args)
}

fn worst(was: &Value, is: &Value) -> Worst {
    let (mut before, mut after) = (tasks(was), tasks(is));
    if before.len() != after.len() {
        return Worst { off: 100.0, figure: "number of tasks".to_owned() };
    }
    let sum = |tasks: &[Task]| tasks.iter().map(|task| task.wait_ns).sum::<f64>();
    let delay = |run: &Value, quantile: &str| run["wakeup_delay_ns"][quantile].as_f64().unwrap_or(0.0);
    let count = |run: &Value, name: &str| run[name].as_f64().unwrap_or(0.0);
    let mut pairs = vec![
        ("switches".to_owned(), count(was, "switches"), count(is, "switches")),
        ("waits".to_owned(), sum(&before), sum(&after)),
        ("p50".to_owned(), delay(was, "p50"), delay(is, "p50")),
        ("p99".to_owned(), delay(was, "p99"), delay(is, "p99")),
    ];
    // Pids follow the order in which tasks were created.
    before.sort_by_key(|task| task.pid);
    after.sort_by_key(|task| task.pid);
    let share = |(was, is): (&Task, &Task)| (format!("share of {}", was.name), was.cpu_ns, is.cpu_ns);
    pairs.extend(before.iter().zip(&after).map(share));
    let off = |(figure, was, is): (String, f64, f64)| Worst { off: off_percent(was, is), figure };
    let none = Worst { off: 0.0, figure: "nothing".to_owned() };
    pairs.into_iter().map(off).fold(none, |worst, next| if next.off > worst.off { next } else { worst })
}

struct Task {
    name: String,
    pid: u64,
    cpu_ns: f64,
    wait_ns: f64,
}

fn tasks(run: &Value) -> Vec<Task> {
    let none = Vec::new();
    let task = |task: &Value| Task {
        name: task["name"].as_str().unwrap_or_default().to_owned(),
        pid: task["pid"].as_u64().unwrap_or(0),
        cpu_ns: task["cpu_ns"].as_f64().unwrap_or(0.0),
        wait_ns: task["wait_ns"].as_f64().unwrap_or(0.0),
    };
    run["tasks"].as_array().unwrap_or(&none).iter().map(task).collect()
}

fn off_percent(was: f64, is: f64) -> f64 {
    if was == is { 0.0 } else { (is - was).abs() * 100.0 / was.abs().max(1.0) }
}

fn table(rows: &[(&str, Vec<Worst>)]) -> String {
    let names: Vec<String> = SCHEDULERS.iter().map(|name| format!("`{name}`")).collect();
    let mut text = format!("| workload | {} |\n| --- |{}\n", names.join(" | "), " --- |".repeat(names.len()));
    for (workload, cells) in rows {
        let cells: Vec<String> = cells.iter().map(cell).collect();
        writeln!(text, "| `{workload}` | {} |", cells.join(" | ")).expect("a string takes all");
    }
    text
}

fn cell(worst: &Worst) -> String {
    match worst.off {
        0.0 => "0".to_owned(),
        off if off < 0.01 => "< 0.01".to_owned(),
        off => format!("{off:.2} ({})", worst.figure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(switches: u64, p99: u64, cpu: u64) -> Value {
        let task = |pid, cpu| json!({"name": format!("t{pid}"), "pid": pid, "cpu_ns": cpu, "wait_ns": 10});
        json!({"switches": switches, "wakeup_delay_ns": {"p50": 100, "p99": p99}, "tasks": [task(2, cpu), task(1, 50)]})
    }

    #[test]
    fn the_figure_that_is_furthest_off_counts() {
        let check = |is: Value, off: f64, figure: &str| {
            let expected = Worst { off, figure: figure.to_owned() };
            assert_eq!(worst(&run(1000, 200, 100), &is), expected);
        };
        check(run(1000, 200, 100), 0.0, "nothing");
        check(run(1010, 200, 100), 1.0, "switches");
        check(run(1010, 206, 100), 3.0, "p99");
        check(run(1010, 206, 90), 10.0, "share of t2");
        check(json!({"tasks": []}), 100.0, "number of tasks");
    }

    #[test]
    fn cells_say_what_is_off() {
        let check = |off, expected| assert_eq!(cell(&Worst { off, figure: "p50".to_owned() }), expected);
        check(0.0, "0");
        check(0.001, "< 0.01");
        check(4.021, "4.02 (p50)");
    }
}
