//! `./x twin`: the same workloads on the simulated kernel and on a real one, the same figures of
//! both side by side.
//!
//! A real run is a recording of rt-app in a guest, a simulated one a trace of `keel sim`; `keel check`
//! judges both. Each scheduler's simulated run is held against the first of two real ones, the two real ones
//! against each other, and against the other schedulers' real runs.

mod args;
mod distance;
mod figures;
mod real;
mod reasons;
mod simulated;
mod table;
mod versus;

use crate::tree::root;
use crate::{Failure, cargo};
use args::Args;
use distance::Distance;
use figures::Figures;
use reasons::Reasons;
use std::path::PathBuf;

/// Where recordings and tables are left, from the root.
const OUT: &str = "out/twin";
/// Where the workloads are, from the root.
const SCENARIOS: &str = "tests/twin";
/// The schedulers that are compared.
const SCHEDULERS: &[&str] = &["fifo", "goodness", "o1"];

/// A workload and a scheduler, with what was found.
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
/// Where a run could not be made, or the two kernels differ by more than is held.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let Some(args) = Args::parse(args)? else {
        print!("{}", args::HELP);
        return Ok(());
    };
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    let out = root().join(OUT);
    std::fs::create_dir_all(&out).map_err(|e| format!("{OUT} cannot be made: {e}"))?;
    if args.versus {
        return versus::run(&args);
    }
    if !args.keep {
        real::record(&args)?;
    }
    let mut pairs = Vec::new();
    for scenario in &args.scenarios {
        for scheduler in &args.schedulers {
            pairs.push(pair(&args, scenario, scheduler)?);
        }
    }
    let text = table::text(&pairs);
    print!("{text}");
    let path = out.join("table.txt");
    std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
    verdict(&pairs)
}

fn pair(args: &Args, scenario: &str, scheduler: &str) -> Result<Pair, Failure> {
    let simulated = Figures::of(&simulated::trace(scenario, scheduler)?, scenario)?;
    let runs = 1..=args.runs;
    let real = runs.map(|run| Figures::of(&recording(scenario, scheduler, run), scenario));
    let real = real.collect::<Result<_, _>>()?;
    Ok(Pair { scenario: scenario.into(), scheduler: scheduler.into(), simulated, real })
}

/// A file of a workload, from the root.
fn scenario_file(scenario: &str) -> String {
    format!("{SCENARIOS}/{scenario}.json")
}

/// Where the recording of a real run is.
fn recording(scenario: &str, scheduler: &str, run: u32) -> PathBuf {
    root().join(format!("{OUT}/{scenario}.{scheduler}.{run}.trc"))
}

/// A failure where anything is out of its bounds, and nobody has written down why.
fn verdict(pairs: &[Pair]) -> Result<(), Failure> {
    let reasons = Reasons::read()?;
    let mut unexplained = Vec::new();
    let (mut beyond, mut strangers) = (0, 0);
    for pair in pairs {
        let Pair { scenario, scheduler, simulated, real } = pair;
        let distance = Distance::between(simulated, &real[0]);
        beyond += usize::from(!distance.holds());
        strangers += usize::from(table::nearest(pair, pairs) != scheduler);
        for (name, figure) in distance.beyond {
            if !reasons.cover(scenario, scheduler, &name, figure) {
                unexplained.push(format!("{scenario}, {scheduler}: {figure} of {name}"));
            }
        }
    }
    let all = pairs.len();
    println!(
        "\n{} of {all} within the bounds; {} of {all} nearest to their own scheduler",
        all - beyond,
        all - strangers
    );
    match unexplained.as_slice() {
        [] => Ok(()),
        some => Err(format!(
            "beyond the bounds that tests/twin/README.md tells, for no reason in reasons.tsv: {}",
            some.join("; ")
        )),
    }
}
