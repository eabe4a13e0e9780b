//! Runs every object of the project on real kernels under QEMU. The verifier must accept it, and it must attach,
//! schedule under load and detach. Broken test objects must be rejected or ended with the messages in
//! `tests/objects/expected-7.2.tsv`. Also runs the cases of `tests/bpf` and checks each result.

mod args;
mod cases;
mod expected;
mod guest;
mod kernels;
mod objects;
mod outcome;
mod qemu;
mod root;
mod rounds;

use crate::{Failure, cargo};
use args::Args;
pub(crate) use expected::matches;
use keel_guest::Qemu;
pub(crate) use kernels::{KERNELS, version_of};
use objects::BpfObject;
use outcome::Outcome;
use std::time::Instant;

/// Why the check itself stopped, as opposed to an object that failed.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Something could not be fetched. The same check may pass another day.
    Unavailable(Failure),
    /// Anything else.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The exit code if something could not be fetched, so that it is not taken for a fault of the project (`EX_TEMPFAIL`).
pub(crate) const UNAVAILABLE: i32 = 75;

/// Runs the check that `args` ask for.
///
/// # Errors
/// If an object failed, or the check could not run. After a failed download, the process exits with code 75 instead.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let Some(args) = Args::parse(args)? else {
        print!("{}", args::HELP);
        return Ok(());
    };
    match check(&args) {
        Ok(()) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Unavailable(failure)) => {
            eprintln!("x: {failure}");
            std::process::exit(UNAVAILABLE);
        }
    }
}

fn check(args: &Args) -> Result<(), Stop> {
    let expected = expected::read()?;
    let mut objects = objects::compile()?;
    objects.retain(|object| object.name.starts_with(&args.only));
    if objects.is_empty() {
        return Err(format!("no object's name begins with {:?}", args.only).into());
    }
    let cases = cargo::example("bpf_cases")?;
    let qemu = Qemu::find()?;
    let store = kernels::store()?;
    let tool = kernels::tool(&store)?;
    let mut outcomes = Vec::new();
    for version in args.kernels() {
        let objects: Vec<BpfObject> =
            objects.iter().filter(|object| object.is_for(version)).cloned().collect();
        let kernel = kernels::kernel(&store, version)?;
        println!("Linux {}", kernel.release);
        std::fs::remove_file(qemu::kept(version)).ok();
        let begun = Instant::now();
        let boot = |objects: &[BpfObject]| {
            let root = root::build(&tool, &cases, objects, &expected, args.seconds())?;
            qemu::boot(&qemu, version, &kernel, &root, args.limit)
        };
        let found = rounds::find(&objects, boot)?;
        for object in &objects {
            let of = |found: Option<&guest::Found>| Outcome::of(version, object, found, &expected);
            let outcome = rounds::judge(object, found.get(&object.name), of, boot)?;
            println!("  {outcome}");
            outcomes.push(outcome);
        }
        println!("  in {} s", begun.elapsed().as_secs());
    }
    outcome::write_summary(&outcomes)?;
    let failed: Vec<_> = outcomes.iter().filter(|outcome| outcome.fault.is_some()).collect();
    match failed.as_slice() {
        [] => Ok(()),
        [one] => Err(format!("{} failed on Linux {}", one.object, one.kernel).into()),
        several => Err(format!("{} objects failed; the lines marked FAIL say why", several.len()).into()),
    }
}
