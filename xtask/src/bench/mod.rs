//! `./x bench` measures how fast `fifo` is simulated on three machines with run-and-sleep mixes, how much memory that
//! takes, and which code executes the instructions; then what a machine with 1,024 CPUs and 100,000 tasks costs.
//! docs/how-to/bench.md explains how to read the output. `--recordings` measures how fast recordings are read, and
//! `--page` the cost of a report page of ten million events.
//!
//! The figures are for people. No test depends on them.

mod args;
mod callgrind;
mod driver;
mod lab;
mod large;
mod page;
mod profile;
mod recordings;
mod table;
mod watched;

pub(crate) use recordings::{out, write as large_recordings};
pub(crate) use watched::{Took, took};

use crate::{Failure, cargo};
use args::Args;
use driver::{Case, Measured};
use profile::Profile;
use serde_json::{Value, json};
use std::path::Path;

/// A machine and its number of tasks.
#[derive(Clone, Copy, Debug)]
struct Size {
    cpus: u32,
    tasks: u32,
    /// The goal, in million events per second.
    goal: f64,
    /// The virtual time of a run under valgrind, which is about fifty times slower.
    counted_ms: u32,
}

const SIZES: &[Size] = &[
    Size { cpus: 4, tasks: 16, goal: 10.0, counted_ms: 1000 },
    Size { cpus: 8, tasks: 1_000, goal: 8.0, counted_ms: 500 },
    Size { cpus: 64, tasks: 10_000, goal: 5.0, counted_ms: 100 },
];
/// Load as a share of the machine, in percent.
const LOADS_PERCENT: &[u32] = &[80, 125];

/// All results of one case.
struct Row {
    size: Size,
    load_percent: u32,
    /// Without observers.
    plain: Measured,
    /// With all checks.
    judged: Measured,
    /// With a trace written to /dev/null.
    traced: Measured,
    profile: Option<Profile>,
}

/// Builds the driver in release mode, measures, and prints a table or JSON.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let args = Args::parse(args)?;
    if args.lab {
        let lab = lab::measure()?;
        println!("{}", if args.json { lab.json().to_string() } else { lab.text() });
        return Ok(());
    }
    if args.page {
        let page = page::measure(args.runs, counts(&args))?;
        println!("{}", if args.json { page.json().to_string() } else { page.text() });
        return Ok(());
    }
    if let Some(events) = args.recordings {
        return recordings::run(events.into(), args.runs, counts(&args), args.json);
    }
    cargo::run(&["build", "-q", "--release", "-p", "keel-lab", "--example", "rate"])?;
    let rate = cargo::built("examples/rate")?;
    let count = counts(&args);
    if !args.json {
        println!("{}", table::head(&args));
    }
    let mut rows = Vec::new();
    for size in SIZES.iter().filter(|size| args.only.is_none_or(|cpus| cpus == size.cpus)) {
        for &load_percent in LOADS_PERCENT {
            let row = measure(&rate, *size, load_percent, &args, count)?;
            if !args.json {
                println!("{}", table::row(&row));
            }
            rows.push(row);
        }
    }
    let large = match args.only {
        Some(_) => None,
        None => Some(large::measure(&rate, &args, count)?),
    };
    if args.json {
        let large = large.map(|large| large.json());
        let (seconds, runs, cases) = (args.seconds, args.runs, cases(&rows));
        println!("{}", json!({ "seconds": seconds, "runs": runs, "cases": cases, "large": large }));
    } else {
        large.iter().for_each(|large| println!("{}", large.text()));
        rows.iter().filter_map(table::functions).for_each(|text| println!("\n{text}"));
    }
    match args.queue {
        true => cargo::run(&["run", "-q", "--release", "-p", "keel-kernel", "--example", "event_queue"]),
        false => Ok(()),
    }
}

/// Whether instructions are counted.
fn counts(args: &Args) -> bool {
    let count = args.instructions && callgrind::is_there();
    if args.instructions && !count {
        eprintln!("x: valgrind is missing, so instructions are not counted; apt-get install valgrind");
    }
    count
}

fn measure(rate: &Path, size: Size, load_percent: u32, args: &Args, count: bool) -> Result<Row, Failure> {
    let case = |ms, sink| Case { cpus: size.cpus, tasks: size.tasks, load_percent, ms, sink, source: None };
    let long_ms = args.seconds * 1000;
    let profile = match count {
        true => {
            let whole = callgrind::run(rate, &case(size.counted_ms, "none"))?;
            let nothing = callgrind::run(rate, &case(0, "none"))?;
            Some(Profile::new(&whole, &nothing))
        }
        false => None,
    };
    Ok(Row {
        size,
        load_percent,
        plain: driver::median(rate, &case(long_ms, "none"), args.runs)?,
        judged: driver::median(rate, &case(long_ms, "judge"), args.runs)?,
        traced: driver::median(rate, &case(long_ms, "trace"), args.runs)?,
        profile,
    })
}

fn cases(rows: &[Row]) -> Vec<Value> {
    rows.iter()
        .map(|row| {
            json!({
                "cpus": row.size.cpus,
                "tasks": row.size.tasks,
                "load_percent": row.load_percent,
                "goal_mev_s": row.size.goal,
                "plain": row.plain.json(),
                "judged": row.judged.json(),
                "traced": row.traced.json(),
                "instructions": row.profile.as_ref().map(Profile::json),
            })
        })
        .collect()
}
