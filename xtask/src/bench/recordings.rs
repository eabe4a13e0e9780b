//! `./x bench --recordings` measures how fast `keel check` reads and judges recordings of every kind, and how much
//! memory it takes.
//!
//! The readers' own tests write the same events as a file of each kind. They also check that such files are read
//! correctly.

use super::callgrind;
use super::profile::Counts;
use super::watched::{Took, took};
use crate::tree::root;
use crate::{Failure, cargo};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

/// The files' names in the readers' tests, and their descriptions.
const FILES: [(&str, &str); 4] =
    [("large.trc", "own"), ("large.perf", "perf.data"), ("large.dat", "trace.dat"), ("large.txt", "text")];
/// The goals: million events per second, and memory.
const GOAL_MEV_S: f64 = 5.0;
const GOAL_MIB: f64 = 256.0;
/// Numbers of events in the two files whose instructions are counted. Their difference gives the cost per event.
const COUNTED: [u64; 2] = [50_000, 250_000];
/// Disk space per event in bytes, for all four files together, rounded up.
const BYTES_AN_EVENT: u64 = 320;

/// The cost of reading one kind of file.
struct Row {
    kind: &'static str,
    events: f64,
    bytes: u64,
    /// Million events per second of user CPU time, over all threads: lowest, median, highest.
    mev_s: [f64; 3],
    /// The same for wall time.
    wall_mev_s: [f64; 3],
    peak_mib: f64,
    insns: Option<f64>,
}

/// Writes and reads the files, and prints the results.
pub(super) fn run(events: u64, runs: u32, count: bool, as_json: bool) -> Result<(), Failure> {
    let folder = tempfile::tempdir_in(out()?).map_err(|e| format!("out/: {e}"))?;
    let mib = (events * BYTES_AN_EVENT) >> 20;
    eprintln!("x: writing {events} events of each kind into out/: up to {mib} MiB, removed afterwards");
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    let keel = cargo::built("keel")?;
    let whole = write(folder.path(), "whole", events)?;
    let counted = match count {
        true => Some([write(folder.path(), "short", COUNTED[0])?, write(folder.path(), "long", COUNTED[1])?]),
        false => None,
    };
    let mut rows = Vec::new();
    for (file, kind) in FILES {
        let insns = match &counted {
            Some([short, long]) => Some(instructions(&keel, &short.join(file), &long.join(file))?),
            None => None,
        };
        rows.push(row(&keel, &whole.join(file), kind, runs, insns)?);
    }
    match as_json {
        true => println!("{}", json(&rows)),
        false => print!("{}", text(&rows)),
    }
    Ok(())
}

/// The folder for the files.
pub(crate) fn out() -> Result<std::path::PathBuf, Failure> {
    let out = root().join("out");
    std::fs::create_dir_all(&out).map_err(|e| format!("out/ cannot be created: {e}"))?;
    Ok(out)
}

/// Runs the readers' tests so that they write all files into a folder.
pub(crate) fn write(folder: &Path, name: &str, events: u64) -> Result<std::path::PathBuf, Failure> {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "-q", "-p", "keel-readers", "--lib", "--", "--ignored", "large_files_are_written"])
        .env("KEEL_LARGE", &folder)
        .env("KEEL_EVENTS", events.to_string())
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    match output.status.success() {
        true => Ok(folder),
        false => Err(format!("cannot write the recordings: {}", String::from_utf8_lossy(&output.stdout))),
    }
}

fn row(keel: &Path, file: &Path, kind: &'static str, runs: u32, insns: Option<f64>) -> Result<Row, Failure> {
    let bytes = std::fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?.len();
    let runs = (0..runs).map(|_| Check::of(keel, file)).collect::<Result<Vec<_>, _>>()?;
    let rates = |seconds: fn(&Check) -> f64| {
        let mut rates: Vec<f64> = runs.iter().map(|run| run.events / 1e6 / seconds(run).max(1e-3)).collect();
        rates.sort_by(f64::total_cmp);
        [rates[0], rates[rates.len() / 2], rates[rates.len() - 1]]
    };
    let peak_kib = runs.iter().map(|run| run.took.peak_kib).max().unwrap_or(0);
    Ok(Row {
        kind,
        events: runs.first().map_or(0.0, |run| run.events),
        bytes,
        mev_s: rates(|run| run.took.user_s),
        wall_mev_s: rates(|run| run.took.wall_s),
        peak_mib: peak_kib as f64 / 1024.0,
        insns,
    })
}

/// Runs `keel check` once.
struct Check {
    events: f64,
    took: Took,
}

impl Check {
    fn of(keel: &Path, file: &Path) -> Result<Self, Failure> {
        // Its output goes to a file, because a pipe would not be read until it exits.
        let reported = file.with_extension("json");
        let to = std::fs::File::create(&reported).map_err(|e| format!("{}: {e}", reported.display()))?;
        let mut command = Command::new(keel);
        let took = took(command.args(["check", "--json"]).arg(file).stdout(to).stderr(Stdio::null()))?;
        let reported = std::fs::read(&reported).map_err(|e| format!("{}: {e}", reported.display()))?;
        let reported: Value =
            serde_json::from_slice(&reported).map_err(|e| format!("keel check --json: {e}"))?;
        let events = reported["events"].as_f64().ok_or("keel check --json reports no events")?;
        Ok(Self { events, took })
    }
}

/// Instructions of the host per event.
fn instructions(keel: &Path, short: &Path, long: &Path) -> Result<f64, Failure> {
    let count = |file: &Path, events: u64| {
        let file = file.to_string_lossy();
        let (_, written) = callgrind::written(keel, &["check", "--json", &file])?;
        Ok::<_, Failure>(Counts::parse(&written, events as f64))
    };
    let (short, long) = (count(short, COUNTED[0])?, count(long, COUNTED[1])?);
    Ok(long.per_event_beyond(&short))
}

fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "keel check --json; Mev/s: million events a second; goal: {GOAL_MEV_S} Mev/s in {GOAL_MIB} MiB\n\n\
         {:<10} {:>10} {:>8} | {:>6} {:>13} | {:>8} {:>13} | {:>6} | {:>12}\n",
        "kind", "events", "file MiB", "Mev/s", "low-high", "user CPU", "low-high", "MiB", "instr./event"
    );
    for row in rows {
        let [low, median, high] = row.wall_mev_s;
        let [user_low, user, user_high] = row.mev_s;
        let insns = row.insns.map_or("-".to_owned(), |n| format!("{n:.0}"));
        text += &format!(
            "{:<10} {:>10.0} {:>8} | {median:>6.2} {:>13} | {user:>8.2} {:>13} | {:>6.0} | {insns:>12}\n",
            row.kind,
            row.events,
            row.bytes >> 20,
            format!("{low:.2}-{high:.2}"),
            format!("{user_low:.2}-{user_high:.2}"),
            row.peak_mib,
        );
    }
    text
}

fn json(rows: &[Row]) -> Value {
    let spread = |[low, median, high]: [f64; 3]| json!({ "low": low, "median": median, "high": high });
    let row = |row: &Row| {
        json!({
            "kind": row.kind,
            "events": row.events as u64,
            "file_bytes": row.bytes,
            "mev_s": spread(row.mev_s),
            "wall_mev_s": spread(row.wall_mev_s),
            "peak_rss_bytes": (row.peak_mib * f64::from(1 << 20)) as u64,
            "instructions_per_event": row.insns,
        })
    };
    let goal = json!({ "mev_s": GOAL_MEV_S, "peak_rss_bytes": (GOAL_MIB as u64) << 20 });
    json!({ "goal": goal, "recordings": rows.iter().map(row).collect::<Value>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_kind() {
        let row = Row {
            kind: "perf.data",
            events: 1e7,
            bytes: 1 << 30,
            mev_s: [4.0, 5.5, 6.25],
            wall_mev_s: [5.0, 7.5, 8.25],
            peak_mib: 40.4,
            insns: Some(2100.4),
        };
        let text = text(&[row]);
        let line = "perf.data    10000000     1024 |   7.50     5.00-8.25 |     5.50     4.00-6.25 |     40 |         2100\n";
        assert!(text.ends_with(line), "{text}");
    }
}
