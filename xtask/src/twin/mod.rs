//! `./x twin`: runs the same workloads on the simulated kernel and on a real one, and shows the figures of both side by
//! side.
//!
//! A real run is a recording of rt-app in a guest, a simulated one a trace of `keel sim`. `keel check` judges both.
//! Each scheduler's simulated run is compared with the first of two real ones, and the two real ones with each other
//! and with the other schedulers' real runs.

mod args;
mod distance;
pub(crate) mod figures;
mod kinds;
mod random;
pub(crate) mod real;
mod reasons;
mod simulated;
mod spread;
mod table;
mod versus;

use crate::tree::root;
use crate::{Failure, cargo};
use args::Args;
use distance::Distance;
use figures::Figures;
use reasons::Reasons;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folder for recordings and tables, from the root.
const OUT: &str = "out/twin";
/// The folder of the workloads, from the root.
const SCENARIOS: &str = "tests/twin";
/// The workload that stands for a guest's own activity.
const BACKGROUND: &str = "background";
/// The part of a workload's ten seconds that is judged: all tasks have started, and none has ended.
const JUDGED_MS: std::ops::Range<u64> = 1000..9500;
/// The schedulers that are compared.
const SCHEDULERS: &[&str] = &["fifo", "goodness", "o1"];

/// The kernel's own scheduler.
const KERNEL: &str = "eevdf";

/// Replaces a name in `reasons.tsv` if the figure is a kind of finding that only one kernel has.
const FOUND: &str = "found";

/// A workload and a scheduler, with their figures.
struct Pair {
    scenario: String,
    scheduler: String,
    simulated: Figures,
    /// One for each real run.
    real: Vec<Figures>,
}

/// Runs what `args` ask for.
///
/// # Errors
/// If a run could not be made, or the two kernels differ by more than is allowed.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let Some(args) = Args::parse(args)? else {
        print!("{}", args::HELP);
        return Ok(());
    };
    let keel = built(&args)?;
    let out = root().join(OUT);
    // Recordings of different kernels are kept apart.
    std::fs::create_dir_all(out.join(&args.kernel)).map_err(|e| format!("{OUT} cannot be created: {e}"))?;
    if let Some(workloads) = args.random {
        return random::run(&args, workloads);
    }
    if args.spread {
        return spread::run(&keel, &args);
    }
    if args.versus {
        return versus::run(&args);
    }
    if !args.keep {
        real::record(&keel, &args)?;
    }
    let mut pairs = Vec::new();
    for scenario in &args.scenarios {
        for scheduler in &args.schedulers {
            pairs.push(pair(&keel, &args, scenario, scheduler)?);
        }
    }
    let text = table::text(&pairs);
    print!("{text}");
    let path = out.join("table.txt");
    std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
    verdict(&pairs)
}

/// The keel that makes recordings, runs and figures. Tables use a release build. For a quick check, the build of the
/// tests is close enough.
fn built(args: &Args) -> Result<PathBuf, Failure> {
    if args.quick {
        return cargo::program("keel");
    }
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    cargo::built("keel")
}

fn pair(keel: &Path, args: &Args, scenario: &str, scheduler: &str) -> Result<Pair, Failure> {
    let names = names(scenario)?;
    let trace = simulated::trace(keel, &args.kernel, scenario, scheduler)?;
    let simulated = Figures::of(keel, &trace, &names, JUDGED_MS)?;
    let runs = 1..=args.runs;
    let real = runs.map(|run| {
        let trace = recording(&args.kernel, scenario, scheduler, run);
        Figures::of(keel, &trace, &names, JUDGED_MS)
    });
    let real = real.collect::<Result<_, _>>()?;
    Ok(Pair { scenario: scenario.into(), scheduler: scheduler.into(), simulated, real })
}

/// The names of a workload's tasks.
fn names(scenario: &str) -> Result<Vec<String>, Failure> {
    let file = scenario_file(scenario);
    let text = std::fs::read(root().join(&file)).map_err(|e| format!("{file}: {e}"))?;
    let workload: serde_json::Value = serde_json::from_slice(&text).map_err(|e| format!("{file}: {e}"))?;
    let tasks = workload["tasks"].as_object().ok_or_else(|| format!("{file}: it has no tasks"))?;
    Ok(tasks.keys().cloned().collect())
}

/// A workload's file, from the root.
fn scenario_file(scenario: &str) -> String {
    format!("{SCENARIOS}/{scenario}.json")
}

/// The path of a real run's recording on a kernel.
fn recording(kernel: &str, scenario: &str, scheduler: &str, run: u32) -> PathBuf {
    root().join(format!("{OUT}/{kernel}/{scenario}.{scheduler}.{run}.trc"))
}

impl Pair {
    /// From the simulated run to the first real one.
    fn distance(&self) -> Distance {
        Distance::between(&self.simulated, &self.real[0])
    }

    /// From one real run to the other, if there are two.
    fn chance(&self) -> Option<Distance> {
        self.real.get(1).map(|again| Distance::between(&self.real[0], again))
    }

    /// The kinds of findings that only one of the simulated run and the first real one has.
    fn kinds_apart(&self) -> BTreeSet<&str> {
        kinds::apart(&self.simulated.kinds, &self.real[0].kinds)
    }

    /// Whether only one of the real runs has findings of this kind.
    fn is_kind_by_chance(&self, kind: &str) -> bool {
        self.real.get(1).is_some_and(|again| kinds::apart(&self.real[0].kinds, &again.kinds).contains(kind))
    }

    /// Whether the two real runs differ in this figure by at least as much as the simulated run differs from one of
    /// them.
    fn is_chance(&self, name: &str, figure: &str) -> bool {
        let Some(again) = self.real.get(1) else { return false };
        let by = |other| Distance::between(&self.simulated, other).beyond(name, figure).unwrap_or(0.0);
        let nearer = by(&self.real[0]).min(by(again));
        self.chance().and_then(|chance| chance.beyond(name, figure)).is_some_and(|chance| nearer <= chance)
    }
}

/// The counts of a verdict.
#[derive(Default)]
struct Beyond {
    pairs: usize,
    misidentified: usize,
    by_chance: usize,
    explained: usize,
    unexplained: Vec<String>,
}

/// Fails if a figure is out of bounds, the two real runs agree on it, and no reason is written down.
fn verdict(pairs: &[Pair]) -> Result<(), Failure> {
    let reasons = Reasons::read()?;
    let mut beyond = Beyond::default();
    for pair in pairs {
        let distance = pair.distance();
        beyond.pairs += usize::from(!distance.holds());
        beyond.misidentified += usize::from(table::nearest(pair, pairs) != pair.scheduler);
        add(&mut beyond, pair, distance, &reasons);
    }
    let all = pairs.len();
    println!(
        "\n{} of {all} are within the bounds; {} of {all} are closest to their own scheduler",
        all - beyond.pairs,
        all - beyond.misidentified
    );
    let Beyond { by_chance, explained, unexplained, .. } = beyond;
    println!(
        "Figures beyond the bounds: {by_chance} also differ as much between real runs; {explained} have a reason in reasons.tsv; {} have none",
        unexplained.len()
    );
    match unexplained.as_slice() {
        [] => Ok(()),
        some => Err(format!(
            "beyond the bounds of tests/twin/README.md, without a reason in reasons.tsv: {}",
            some.join("; ")
        )),
    }
}

fn add(beyond: &mut Beyond, pair: &Pair, distance: Distance, reasons: &Reasons) {
    let Pair { scenario, scheduler, .. } = pair;
    for distance::Beyond { name, figure, .. } in distance.beyond {
        if pair.is_chance(&name, figure) {
            beyond.by_chance += 1;
        } else if reasons.cover(scenario, scheduler, &name, figure) {
            beyond.explained += 1;
        } else {
            beyond.unexplained.push(format!("{scenario}, {scheduler}: {figure} of {name}"));
        }
    }
    for kind in pair.kinds_apart() {
        if pair.is_kind_by_chance(kind) {
            beyond.by_chance += 1;
        } else if reasons.cover(scenario, scheduler, FOUND, kind) {
            beyond.explained += 1;
        } else {
            beyond
                .unexplained
                .push(format!("{scenario}, {scheduler}: only one of the kernels has findings of {kind}"));
        }
    }
}
