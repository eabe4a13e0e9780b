//! `./x live` attaches each of the project's schedulers to real kernels, under load for a minute, and tests what `keel
//! run` prints and does when something goes wrong. It also tests real-time threads on a real kernel's own class, beside
//! simulated ones; scheduler bugs that are recorded and found on a real kernel; `keel watch`, which finds waste as it
//! happens; recording and watching on kernels under every kind of disturbance; and scenes with known truth, recorded by
//! keel and other tools.
//!
//! Scripts in `tests/live` run inside guests and write down what they see. The code here judges it.

mod args;
mod bugs;
mod failures;
pub(crate) mod guest;
mod harm;
pub(crate) mod kernel_log;
mod load;
mod ring;
mod rt_migrate;
mod scenes;
pub(crate) mod seen;
mod table;
mod watch;

use crate::tree::root;
use crate::{Failure, cargo};
use args::Args;
use keel_bpfc::Compiler;
use std::path::PathBuf;

/// The folder of the scripts and their expectations, from the root.
const TESTS: &str = "tests/live";
/// The folder that guests write to, from the root.
const OUT: &str = "out/live";
/// Objects that fail on a real kernel, or that keel must understand there.
const OBJECTS: &[&str] = &[
    "tests/live/beyond",
    "tests/objects/babbles",
    "tests/objects/exits",
    "tests/objects/forgets",
    "tests/objects/stall",
    "tests/objects/reports",
    "tests/objects/unknown_kfunc",
    "tests/objects/wrong_type",
];

/// Runs what `args` ask for.
///
/// # Errors
/// If a scheduler did not hold, or a failure was not handled as expected.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let Some(args) = Args::parse(args, &schedulers()?)? else {
        print!("{}", args::HELP);
        return Ok(());
    };
    if args.recorder.is_none() {
        cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    }
    if args.harm {
        return verdict(&harm::run(&args)?);
    }
    if args.rt_migrate {
        return verdict(&rt_migrate::run(&args)?);
    }
    if args.bugs {
        return verdict(&bugs::run(&args)?);
    }
    if args.scenes_only {
        return verdict(&scenes::run(&args)?);
    }
    if args.ring {
        return verdict(&ring::run(&args)?);
    }
    if args.watch {
        return verdict(&watch::run(&args)?);
    }
    compile()?;
    let mut faults = Vec::new();
    if args.load {
        let turns = load::run(&args)?;
        let text = table::text(&turns);
        print!("{text}");
        write(&folder("table.txt"), text.as_bytes())?;
        faults.extend(turns.into_iter().filter_map(|turn| {
            let fault = turn.fault?;
            Some(format!("{} on Linux {}: {fault}", turn.scheduler, turn.kernel))
        }));
    }
    if args.failures {
        faults.extend(failures::run(&args)?);
    }
    verdict(&faults)
}

fn verdict(faults: &[String]) -> Result<(), Failure> {
    match faults {
        [] => Ok(()),
        some => Err(some.join("\nx: ")),
    }
}

/// All schedulers.
fn schedulers() -> Result<Vec<String>, Failure> {
    Compiler::new(root()).names("schedulers").map_err(|e| e.to_string())
}

/// A path below [`OUT`].
fn folder(path: &str) -> PathBuf {
    root().join(OUT).join(path)
}

/// Copies the objects to where the guests look for them.
fn compile() -> Result<(), Failure> {
    let compiler = Compiler::new(root()).include("schedulers/include").include("crates/kernel/btf");
    let objects = folder("objects");
    std::fs::create_dir_all(&objects).map_err(|e| format!("{}: {e}", objects.display()))?;
    for object in OBJECTS {
        let bytes = compiler.compile(format!("{object}.bpf.c")).map_err(|e| e.to_string())?;
        let name = object.rsplit('/').next().unwrap_or(object);
        write(&objects.join(format!("{name}.bpf.o")), &bytes)?;
    }
    Ok(())
}

fn write(path: &std::path::Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}
