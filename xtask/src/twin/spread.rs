//! `./x twin --spread`: how much runs of one workload differ, on the real kernel from run to run, and on the simulated
//! one from seed to seed.

use super::args::Args;
use super::figures::{Figures, Name};
use super::{OUT, names, real, scenario_file, simulated};
use crate::Failure;
use crate::tree::root;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Runs of each kernel.
const RUNS: u32 = 20;
/// How long rt-app runs each time.
const RUN_S: u64 = 4;
/// The part of a run that is judged.
const JUDGED_MS: Range<u64> = 500..3500;
/// The minimum idle time between two runs in a recording.
const BETWEEN_NS: u64 = 200_000_000;
/// The default workloads and schedulers.
pub(super) const SCENARIOS: &[&str] = &["churn", "interactive", "rates"];
pub(super) const SCHEDULERS: &[&str] = &["fifo", "o1"];

/// The figures that are compared.
const FIGURES: [&str; 5] = ["share", "switches", "migrations", "p50 ms", "p99 ms"];

/// One figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    mean: f64,
    least: f64,
    most: f64,
    /// The sample standard deviation.
    deviation: f64,
}

/// Runs what `args` ask for, and prints the table.
pub(super) fn run(keel: &Path, args: &Args) -> Result<(), Failure> {
    if !args.keep {
        record(keel, args)?;
    }
    let mut text = String::from(HEAD);
    for scenario in &args.scenarios {
        for scheduler in &args.schedulers {
            text += &rows(keel, &args.kernel, scenario, scheduler)?;
        }
    }
    print!("{text}");
    let path = root().join(OUT).join("spread.txt");
    std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))
}

const HEAD: &str = "\
| workload, scheduler | tasks | figure | real | simulated | `--noise none` |
| --- | --- | --- | --- | --- | --- |
";

fn recording(kernel: &str, scenario: &str, scheduler: &str) -> PathBuf {
    root().join(format!("{OUT}/{kernel}/{scenario}.{scheduler}.spread.trc"))
}

/// Makes one recording for each workload and scheduler, which contains all runs.
fn record(keel: &Path, args: &Args) -> Result<(), Failure> {
    let kernel = &args.kernel;
    let mut script = real::prelude(&keel.display().to_string());
    for scheduler in &args.schedulers {
        script += &format!("load {scheduler}\n");
        for scenario in &args.scenarios {
            let file = scenario_file(scenario);
            script += &format!(
                "echo {scenario} {scheduler}\n\
                 sed 's/\"duration\": 10/\"duration\": {RUN_S}/' $home/{file} > /tmp/{scenario}.json\n\
                 $keel record -o $out/{kernel}/{scenario}.{scheduler}.spread.trc -- sh -c \
                 'for run in $(seq {RUNS}); do rt-app /tmp/{scenario}.json; sleep 0.3; done' \
                 > $out/{kernel}/{scenario}.{scheduler}.spread.log 2>&1\n"
            );
        }
        script += &format!("unload || {{ tail -n 1 $out/{scheduler}.run.log; exit 1; }}\n");
    }
    let path = format!("{OUT}/spread.sh");
    std::fs::write(root().join(&path), script).map_err(|e| format!("{path}: {e}"))?;
    real::boot(keel, args, &path)
}

/// The rows of a workload under a scheduler.
fn rows(keel: &Path, kernel: &str, scenario: &str, scheduler: &str) -> Result<String, Failure> {
    let names = names(scenario)?;
    let real = real_runs(keel, &recording(kernel, scenario, scheduler), &names)?;
    let simulate = |seed, noise| {
        let trace = simulated::spread(keel, scenario, scheduler, RUN_S, seed, noise)?;
        Figures::of(keel, &trace, &names, JUDGED_MS)
    };
    let seeds = (1..=u64::from(RUNS)).map(|seed| simulate(seed, "quiet"));
    let seeds = seeds.collect::<Result<Vec<_>, _>>()?;
    let still = simulate(1, "none")?;
    let mut text = String::new();
    for name in &names {
        for (at, figure) in FIGURES.iter().enumerate() {
            let of = |runs: &[Figures]| {
                Spread::of(&runs.iter().map(|run| value(&run.names[name], at)).collect::<Vec<_>>())
            };
            let (real, simulated, alone) = (of(&real), of(&seeds), value(&still.names[name], at));
            let outside = if simulated.holds(alone) { "" } else { " (outside)" };
            text += &format!(
                "| {scenario}, {scheduler} | {name} x {} | {figure} | {} | {} | {}{outside} |\n",
                still.names[name].tasks,
                real.text(),
                simulated.text(),
                number(alone),
            );
        }
    }
    Ok(text)
}

/// The runs in a recording, each judged separately.
fn real_runs(keel: &Path, trace: &Path, names: &[String]) -> Result<Vec<Figures>, Failure> {
    let begins = begins(&Figures::first_runs_of_all(keel, trace, names)?);
    if begins.len() != RUNS as usize {
        return Err(format!("{}: it has {} runs instead of {RUNS}", trace.display(), begins.len()));
    }
    let judged = |&begin_ns: &u64| {
        let begin_ms = begin_ns / 1_000_000;
        Figures::between(keel, trace, names, begin_ms + JUDGED_MS.start..begin_ms + JUDGED_MS.end)
    };
    begins.iter().map(judged).collect()
}

/// When each run's first task first ran, from the first runs of all tasks. A run's tasks begin together, long before
/// those of the next.
fn begins(first_runs_ns: &[u64]) -> Vec<u64> {
    let mut sorted = first_runs_ns.to_vec();
    sorted.sort_unstable();
    let mut begins: Vec<u64> = Vec::new();
    let mut last = None;
    for at in sorted {
        if last.is_none_or(|last| at > last + RUN_S * 1_000_000_000 / 2 + BETWEEN_NS) {
            begins.push(at);
        }
        last = Some(at);
    }
    begins
}

fn value(name: &Name, figure: usize) -> f64 {
    match figure {
        0 => name.share,
        1 => name.counts[0],
        2 => name.counts[2],
        nth => name.delay_ms[nth - 3],
    }
}

impl Spread {
    /// Needs at least two values.
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { mean, least, most, deviation: (squares / (count - 1.0)).sqrt() }
    }

    fn holds(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value)
    }

    fn text(&self) -> String {
        let [mean, least, most, deviation] = [self.mean, self.least, self.most, self.deviation].map(number);
        format!("{mean} ({least} to {most}), {deviation}")
    }
}

/// Three significant digits. Whole numbers from 100 on.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_a_recording_are_told_apart_by_their_first_tasks() {
        let s = 1_000_000_000;
        assert_eq!(begins(&[9 * s, s, s + 300, 5 * s, 9 * s + 7, 5 * s + 1]), [s, 5 * s, 9 * s]);
        assert_eq!(begins(&[]), Vec::<u64>::new());
    }

    #[test]
    fn a_spread_is_mean_range_and_deviation() {
        let spread = Spread::of(&[2.0, 4.0, 6.0]);
        assert_eq!(spread, Spread { mean: 4.0, least: 2.0, most: 6.0, deviation: 2.0 });
        assert_eq!(spread.text(), "4.00 (2.00 to 6.00), 2.00");
        assert!(spread.holds(6.0) && !spread.holds(6.1));
    }
}
