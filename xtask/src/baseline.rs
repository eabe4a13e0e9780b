//! `./x baseline` runs every built-in workload under `eevdf` and other schedulers (`keel compare`) and updates the
//! tables of docs/explanation/baseline.md.

use crate::{Failure, cargo, corpus, document, keel};
use serde_json::Value;
use std::fmt::Write;
use std::process::Stdio;

const PAGE: &str = "docs/explanation/baseline.md";
/// The project's schedulers that are compared. The kernel's example `scx_simple` comes last.
const OURS: [&str; 5] = ["eevdf", "cfs", "o1", "ule", "fifo"];
const SIMPLE: &str = "scx_simple";
const DURATION: &str = "500ms";
const RUNS: &str = "3";

/// Workloads and their machines: each built-in workload and generator once, at sizes that keep eight CPUs busy.
const ROWS: [(&str, &str); 21] = [
    ("mix", "8"),
    ("mix-64", "64"),
    ("hogs:20", "8"),
    ("typist+hogs:20", "8"),
    ("interactive", "8"),
    ("crowd:100", "8"),
    ("pingpong", "8"),
    ("pipe", "8"),
    ("ring:16:16", "8"),
    ("context1:8", "8"),
    ("chat:4:10:4000", "8"),
    ("yields:16", "8"),
    ("null", "8"),
    ("lat-fork", "8"),
    ("lat-exec", "8"),
    ("lat-shell", "8"),
    ("make:8", "8"),
    ("buildworld:8", "8"),
    ("lu:8:10", "8"),
    ("r+hogs:8", "8"),
    ("tpch:18", "8"),
];

/// The means of one scheduler's runs of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
struct Means {
    throughput: f64,
    unit: String,
    p99_ns: f64,
    wasted_share: f64,
    failed: usize,
}

/// Runs everything and updates the tables.
pub(crate) fn run() -> Result<(), Failure> {
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    let simple = corpus::object(SIMPLE)?;
    let schedulers = format!("{},{}", OURS.join(","), simple.display());
    let mut rows = Vec::new();
    for (workload, machine) in ROWS {
        println!("{workload} on {machine} CPUs");
        rows.push((workload, machine, means(&compare(&schedulers, workload, machine)?)));
    }
    document::renew(PAGE, "baseline", &tables(&rows))
}

fn compare(schedulers: &str, workload: &str, machine: &str) -> Result<Value, Failure> {
    let args = ["compare", schedulers, "--workload", workload, "--machine", machine];
    keel::json(&[&args[..], &["--duration", DURATION, "--runs", RUNS]].concat(), Stdio::null())
}

/// One entry per scheduler, in the order given.
fn means(reported: &Value) -> Vec<Means> {
    let none = Vec::new();
    let runs = reported["runs"].as_array().unwrap_or(&none);
    let mut names: Vec<&Value> = Vec::new();
    for run in runs {
        if !names.contains(&&run["scheduler"]) {
            names.push(&run["scheduler"]);
        }
    }
    names.into_iter().map(|name| mean(runs.iter().filter(|run| run["scheduler"] == *name))).collect()
}

fn mean<'a>(runs: impl Iterator<Item = &'a Value> + Clone) -> Means {
    let count = runs.clone().count() as f64;
    let sum = |field: &dyn Fn(&Value) -> f64| runs.clone().map(field).sum::<f64>() / count;
    let unit = runs.clone().next().and_then(|run| run["throughput_unit"].as_str()).unwrap_or_default();
    Means {
        throughput: sum(&|run| run["throughput"].as_f64().unwrap_or(0.0)),
        unit: unit.to_owned(),
        p99_ns: sum(&|run| run["wakeup_delay_ns"]["p99"].as_f64().unwrap_or(0.0)),
        wasted_share: sum(&|run| run["wasted_share"].as_f64().unwrap_or(0.0)),
        failed: runs
            .filter(|run| run["exit"]["kind"].as_str().is_some_and(|kind| kind.starts_with("error")))
            .count(),
    }
}

type Row<'a> = (&'a str, &'a str, Vec<Means>);
type Cell = fn(&Means, &Means) -> String;

/// Three tables: throughput, delays, waste.
fn tables(rows: &[Row<'_>]) -> String {
    let parts: [(&str, Cell); 3] = [
        ("Throughput, of `eevdf`'s", throughput),
        ("Wakeup to running, 99 %", |of, _| delay(of.p99_ns)),
        ("Wasted, of the machine", |of, _| format!("{:.1} %", of.wasted_share * 100.0)),
    ];
    let mut text = String::new();
    for (title, cell) in parts {
        let names = OURS.iter().chain([&SIMPLE]).map(|name| format!("`{name}`")).collect::<Vec<_>>();
        writeln!(text, "### {title}\n\n| workload | {} |", names.join(" | ")).expect("a string takes all");
        writeln!(text, "| --- |{}", " --- |".repeat(names.len())).expect("a string takes all");
        for (workload, machine, means) in rows {
            let cells: Vec<String> = means.iter().map(|of| cell(of, &means[0])).collect();
            writeln!(text, "| `{workload}`, {machine} CPUs | {} |", cells.join(" | "))
                .expect("a string takes all");
        }
        text += "\n";
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// The baseline's value in its unit, the others as ratios.
fn throughput(of: &Means, base: &Means) -> String {
    match () {
        () if of.failed > 0 => "fails".to_owned(),
        () if base.throughput == 0.0 => "–".to_owned(),
        () if std::ptr::eq(of, base) => format!("{:.0} {}/s", of.throughput, of.unit),
        () => format!("{:.2}", of.throughput / base.throughput),
    }
}

fn delay(ns: f64) -> String {
    match ns {
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.1} µs", ns / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn runs_become_rows() {
        let run = |scheduler: &str, throughput: f64, p99: u64, exit: &str| {
            json!({"scheduler": scheduler, "throughput": throughput, "throughput_unit": "runs",
                   "wakeup_delay_ns": {"p99": p99}, "wasted_share": 0.125, "exit": {"kind": exit}})
        };
        let runs = [
            run("eevdf", 90.0, 2_000, "none"),
            run("eevdf", 110.0, 4_000, "none"),
            run("x", 150.0, 2_500_000, "done"),
            run("y", 150.0, 2_000, "error_stall"),
        ];
        let means = means(&json!({ "runs": runs }));
        let text = tables(&[("mix", "8", means)]);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| `mix`")).collect();
        let expected =
            ["| 100 runs/s | 1.50 | fails |", "| 3.0 µs | 2.5 ms | 2.0 µs |", "| 12.5 % | 12.5 % | 12.5 % |"];
        let expected = expected.map(|cells| format!("| `mix`, 8 CPUs {cells}"));
        assert_eq!(lines, expected);
    }

    #[test]
    fn without_throughput_or_with_failures_there_is_no_ratio() {
        let check = |of: Means, base: Means, expected| assert_eq!(throughput(&of, &base), expected);
        let means = |throughput, failed| Means { throughput, failed, ..Means::default() };
        check(means(1.0, 0), means(0.0, 0), "–");
        check(means(1.0, 1), means(2.0, 0), "fails");
        check(means(1.0, 0), means(2.0, 0), "0.50");
    }
}
