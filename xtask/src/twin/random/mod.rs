//! `./x twin --random`: workloads that nobody chose, on both kernels, and how far the figures lie apart.
//!
//! - `draw`: a workload and its machine from a seed, as `workload` and `shape` have them, and `rng` draws them
//! - `files`: a workload as rt-app's and keel's files
//! - `plan`: which workloads, which schedulers, and what is missing
//! - `record`: real runs, in guests; `store` keeps their figures in the tree
//! - `simulate`: simulated runs
//! - `judge`: how far they lie apart; `ranking`: whether the same scheduler wins; `table` prints it

mod draw;
mod figures;
mod files;
mod plan;
mod record;
mod rng;
mod shape;
mod simulate;
mod store;
mod workload;

use super::OUT;
use super::args::Args;
use crate::tree::root;
use crate::{Failure, cargo};
use plan::{Drawn, WAVES};

/// What is asked for.
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

/// Runs what `args` ask for: records what is missing unless figures are kept, and judges all of it.
///
/// # Errors
/// Where a guest fails, kept figures are stale, or a run cannot be simulated.
pub(super) fn run(args: &Args, workloads: u32) -> Result<(), Failure> {
    let options = Options::of(args)?;
    let seeds = args.seed..args.seed + u64::from(workloads);
    // Recorders of other seeds may run beside this one.
    let mut drawn = if args.seed == 1 { vec![Drawn::independent()?] } else { Vec::new() };
    for seed in seeds {
        drawn.push(Drawn::of_seed(seed)?);
    }
    if !args.keep {
        record::build_player()?;
        // Guests run this copy: the next build may come while they do.
        let keel = root().join(format!("{OUT}/keel-{}", std::process::id()));
        std::fs::copy(cargo::built("keel")?, &keel).map_err(|e| format!("{}: {e}", keel.display()))?;
        let recorded = record::all(&options, &keel, &drawn);
        std::fs::remove_file(&keel).ok();
        recorded?;
    }
    simulate::judge(&options, &drawn)
}
