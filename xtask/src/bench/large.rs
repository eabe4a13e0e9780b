//! How much more an event costs on a machine with 1,024 CPUs and 16 nodes than on one with 8, and how much memory
//! 100,000 tasks take. The scheduler's own cost does not grow.
//!
//! Starting so many tasks takes longer than much of what follows, so each figure is the difference between a longer and
//! a shorter run.

use super::args::Args;
use super::callgrind;
use super::driver::{self, Case, Facts};
use crate::Failure;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// The scheduler's source.
const STAYS: &str = "tests/sim/bench/stays.bpf.c";
/// The load of the machines, in percent.
const LOAD_PERCENT: u32 = 80;

/// A machine, its tasks, and the lengths of its two runs, for time and for instructions.
struct Size {
    cpus: u32,
    tasks: u32,
    ms: [u32; 2],
    counted_ms: [u32; 2],
}

/// As many tasks per CPU as on the large machine; as many tasks in total; and the large machine.
const SIZES: [Size; 3] = [
    Size { cpus: 8, tasks: 781, ms: [100, 4_100], counted_ms: [50, 200] },
    Size { cpus: 8, tasks: 100_000, ms: [1_000, 11_000], counted_ms: [1_000, 1_500] },
    Size { cpus: 1_024, tasks: 100_000, ms: [50, 250], counted_ms: [10, 25] },
];

/// The cost of an event.
struct Row {
    cpus: u32,
    tasks: u32,
    /// User CPU time, the median of the runs.
    event_ns: f64,
    /// Instructions of the host, if they were counted.
    event_insns: Option<f64>,
    peak_rss_bytes: f64,
}

/// Measures all three, in the order of [`SIZES`].
pub(super) fn measure(rate: &Path, args: &Args, count: bool) -> Result<Large, Failure> {
    SIZES.iter().map(|size| row(rate, size, args.runs, count)).collect::<Result<_, _>>().map(Large)
}

/// The three machines.
pub(super) struct Large(Vec<Row>);

impl Large {
    /// A table, and one sentence each for the growth.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "\nstays ({STAYS}), {LOAD_PERCENT} % load: what one more event costs\n\n\
             {:>5} {:>7} | {:>8} {:>12} | {:>6}\n",
            "CPUs", "tasks", "ns/event", "instr./event", "MiB"
        );
        for row in &self.0 {
            let insns = row.event_insns.map_or("-".to_owned(), |n| format!("{n:.0}"));
            let mib = row.peak_rss_bytes / f64::from(1 << 20);
            text += &format!(
                "{:>5} {:>7} | {:>8.0} {insns:>12} | {mib:>6.0}\n",
                row.cpus, row.tasks, row.event_ns
            );
        }
        let large = &self.0[self.0.len() - 1];
        for small in &self.0[..self.0.len() - 1] {
            text += &format!(
                "1,024 CPUs over 8 with {} tasks: {:.2} times the time{}\n",
                small.tasks,
                large.event_ns / small.event_ns,
                large.event_insns.zip(small.event_insns).map_or(String::new(), |(large, small)| format!(
                    ", {:.2} times the instructions",
                    large / small
                ))
            );
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "cpus": row.cpus,
                "tasks": row.tasks,
                "event_ns": row.event_ns,
                "event_insns": row.event_insns,
                "peak_rss_bytes": row.peak_rss_bytes as u64,
            })
        };
        self.0.iter().map(row).collect()
    }
}

fn row(rate: &Path, size: &Size, runs: u32, count: bool) -> Result<Row, Failure> {
    let facts = |ms| driver::facts(Command::new(rate).args(case(size, ms).args()));
    let mut costs = Vec::new();
    let mut peak_rss_bytes = 0f64;
    for _ in 0..runs {
        let (short, long) = (facts(size.ms[0])?, facts(size.ms[1])?);
        costs.push(cost(&short, &long)?);
        peak_rss_bytes = peak_rss_bytes.max(long.get("peak_rss_bytes")?);
    }
    costs.sort_by(f64::total_cmp);
    let event_insns = match count {
        true => Some(counted(rate, size)?),
        false => None,
    };
    Ok(Row {
        cpus: size.cpus,
        tasks: size.tasks,
        event_ns: costs[costs.len() / 2],
        event_insns,
        peak_rss_bytes,
    })
}

fn case(size: &Size, ms: u32) -> Case {
    Case {
        cpus: size.cpus,
        tasks: size.tasks,
        load_percent: LOAD_PERCENT,
        ms,
        sink: "none",
        source: Some(STAYS),
    }
}

/// User CPU time per event in ns: the difference between the longer and the shorter run.
fn cost(short: &Facts, long: &Facts) -> Result<f64, Failure> {
    let events = (long.events()? - short.events()?).max(1.0);
    Ok((long.get("user_ns")? - short.get("user_ns")?) / events)
}

fn counted(rate: &Path, size: &Size) -> Result<f64, Failure> {
    let [short, long] = size.counted_ms.map(|ms| callgrind::run(rate, &case(size, ms)));
    Ok(long?.per_event_beyond(&short?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starting_does_not_count() {
        let facts = |events: u32, user_ns: u32| {
            Facts::parse(format!("switches {events} wakeups 0 user_ns {user_ns}").as_bytes()).unwrap()
        };
        assert_eq!(cost(&facts(1_000, 900_000), &facts(3_000, 1_300_000)), Ok(200.0));
    }

    #[test]
    fn growth_is_reported_for_both_small_machines() {
        let row = |cpus, tasks, event_ns, event_insns| Row {
            cpus,
            tasks,
            event_ns,
            event_insns,
            peak_rss_bytes: 1e6,
        };
        let rows =
            vec![row(8, 781, 100.0, Some(50.0)), row(8, 9, 400.0, None), row(1_024, 9, 500.0, Some(75.0))];
        let text = Large(rows).text();
        assert!(
            text.contains("over 8 with 781 tasks: 5.00 times the time, 1.50 times the instructions\n"),
            "{text}"
        );
        assert!(text.contains("over 8 with 9 tasks: 1.25 times the time\n"), "{text}");
    }
}
