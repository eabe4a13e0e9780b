//! `./x twin --random`: random workloads on both kernels, and how much the figures differ.
//!
//! - `draw`: a workload and its machine from a seed. `workload` and `shape` define these, `rng` makes the random
//!   numbers
//! - `files`: a workload as rt-app's and keel's files
//! - `plan`: which workloads and schedulers are compared, and what is missing
//! - `record`: real runs, in guests. `store` keeps their figures in the tree
//! - `simulate`: simulated runs
//! - `judge`: how much they differ; `ranking`: whether the same scheduler wins; `part`: where two runs diverge;
//!   `outside`: every pair with figures outside their bounds; `table` prints the tables

mod draw;
mod figures;
mod files;
mod judge;
mod outside;
mod part;
mod plan;
mod ranking;
mod record;
mod rng;
mod shape;
mod simulate;
mod store;
mod table;
mod workload;

use super::OUT;
use super::args::Args;
use crate::tree::root;
use crate::{Failure, cargo};
use judge::{Distance, Pair};
use plan::{Drawn, WAVES};
use simulate::Scheduler;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The parsed arguments.
pub(super) struct Options {
    pub(super) kernel: String,
    pub(super) schedulers: Vec<String>,
}

impl Options {
    fn of(args: &Args) -> Result<Self, Failure> {
        let known: Vec<String> = WAVES.concat().iter().map(|&name| name.to_owned()).collect();
        if let Some(other) = args.schedulers.iter().find(|name| !known.contains(name)) {
            return Err(format!("--random compares {}, not '{other}'", known.join(", ")));
        }
        let schedulers = if args.chose_schedulers { args.schedulers.clone() } else { known };
        Ok(Self { kernel: args.kernel.clone(), schedulers })
    }

    fn waves(&self) -> Vec<Vec<String>> {
        record::waves(&self.schedulers)
    }
}

/// Runs what `args` ask for: records what is missing unless only stored figures are used, and judges everything.
///
/// # Errors
/// If a guest fails, stored figures are stale, or a run cannot be simulated.
pub(super) fn run(args: &Args, workloads: u32) -> Result<(), Failure> {
    let options = Options::of(args)?;
    let seeds = args.seed..args.seed + u64::from(workloads);
    // Recorders of other seeds may run at the same time.
    let mut drawn = if args.seed == 1 { vec![Drawn::independent()?] } else { Vec::new() };
    for seed in seeds {
        drawn.push(Drawn::of_seed(seed)?);
    }
    if !args.keep {
        record::build_player()?;
        // Guests run this copy, because the next build may happen in the meantime.
        let keel = root().join(format!("{OUT}/keel-{}", std::process::id()));
        std::fs::copy(cargo::built("keel")?, &keel).map_err(|e| format!("{}: {e}", keel.display()))?;
        let recorded = record::all(&options, &keel, &drawn);
        std::fs::remove_file(&keel).ok();
        recorded?;
    }
    let pairs = pairs(&options, &drawn)?;
    let mut text = table::text(&pairs);
    text += "\nThe worst\n\n";
    for distance in table::worst(&pairs).iter().take(table::WORST) {
        text += &format!("- {}\n", table::line(distance));
        text += &format!("  - {}\n", parting(&options, distance)?);
    }
    text += &format!("\n{}\n", outside::counts(&pairs).sentence());
    print!("{text}");
    let lines = outside::lines(&options, &pairs)?;
    let files = [("random.txt", text), ("random.tsv", table::every(&pairs)), ("random-outside.tsv", lines)];
    for (name, text) in files {
        let path = root().join(OUT).join(name);
        std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Where the first simulated run and the first real one diverge, if the recording still exists.
fn parting(options: &Options, distance: &Distance) -> Result<String, Failure> {
    let Pair { drawn, scheduler, .. } = distance.pair;
    let real = record::recording(options, drawn, scheduler, 1);
    if !real.exists() {
        return Ok("its recording is not on this machine".to_owned());
    }
    let simulated = simulate::trace(drawn, &Scheduler::new(scheduler)?, 1)?;
    let said = part::sentence(&simulated, &real, distance.name, &drawn.workload.names());
    std::fs::remove_file(&simulated).ok();
    said
}

/// Simulates all workloads and schedulers that were recorded.
fn pairs<'a>(options: &Options, drawn: &'a [Drawn]) -> Result<Vec<Pair<'a>>, Failure> {
    let mut recorded = Vec::new();
    for drawn in drawn {
        let kept = store::read(&options.kernel, drawn)?;
        for name in &options.schedulers {
            let run = |run| kept.get(&(name.clone(), run)).cloned();
            let real: Vec<_> = (1..=plan::RUNS).filter_map(run).collect();
            if real.len() == plan::RUNS as usize {
                recorded.push((drawn, name, real));
            }
        }
    }
    let mut schedulers = BTreeMap::new();
    for (drawn, name, _) in &recorded {
        simulate::prepare(drawn)?;
        // Objects of the kernel's own schedulers take a while to compile.
        if !schedulers.contains_key(*name) {
            schedulers.insert((*name).clone(), Scheduler::new(name)?);
        }
    }
    let jobs: Vec<_> =
        recorded.into_iter().map(|(drawn, name, real)| (drawn, &schedulers[name], real)).collect();
    if jobs.is_empty() {
        return Err(format!("no recording of Linux {} is kept; run it without --keep", options.kernel));
    }
    let simulated = parallel(&jobs, |(drawn, scheduler, _)| simulate::runs(drawn, scheduler))?;
    let made = jobs.into_iter().zip(simulated);
    Ok(made
        .map(|((drawn, scheduler, real), simulated)| Pair {
            drawn,
            scheduler: scheduler.name.clone(),
            real,
            simulated,
        })
        .collect())
}

/// The results of all jobs, in order, made on all of the host's CPUs.
fn parallel<J: Sync, T: Send>(
    jobs: &[J],
    run: impl Fn(&J) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, Result<T, Failure>)> = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { return own };
                own.push((at, run(job)));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
