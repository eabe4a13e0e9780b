//! Runs the kernel's own schedulers and selftests on simulated machines of several sizes. Reports which cannot run, how
//! the others do, and whether each selftest ends as its user-space half expects.
//!
//! `--real` compares the same objects with a real kernel.
//!
//! The sources come from Debian and are fetched and built in `.cache/corpus`. None of them is part of the project.

mod args;
mod build;
mod driver;
mod real;
mod source;
mod table;
mod verdict;

use crate::{Failure, cargo};
use args::Args;
use std::path::PathBuf;
use verdict::Test;

/// The folder of sources and objects, from the root. Git ignores it.
const FOLDER: &str = ".cache/corpus";
/// The data about them: verdicts, recipes, workloads.
const KNOWN: &str = "tests/corpus";
/// The sizes of the machines, in CPUs.
const CPUS: [u32; 4] = [1, 2, 8, 64];

/// How an object is run, and what is expected of it.
fn tests_of(tests: &[Test], object: &build::Built) -> Vec<Test> {
    let mut own: Vec<Test> = tests.iter().filter(|test| test.object == object.name).cloned().collect();
    if own.is_empty() {
        own.push(Test::plain(&object.name));
    }
    own
}

/// The compiled object with that name.
///
/// # Errors
/// If the sources are not available, or the object does not compile.
pub(crate) fn object(name: &str) -> Result<PathBuf, Failure> {
    let built = build::all(&source::fetch()?)?.into_iter().find(|object| object.name == name);
    built.map_or_else(|| Err(format!("the kernel has no scheduler '{name}'")), |built| built.path)
}

/// Runs what `args` ask for.
///
/// # Errors
/// If the sources are not available, or a selftest's verdict differs from the kernel's.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let Some(args) = Args::parse(args)? else {
        print!("{}", args::HELP);
        return Ok(());
    };
    let tests = verdict::read()?;
    let tree = source::fetch()?;
    let mut objects = build::all(&tree)?;
    objects.retain(|object| object.name.starts_with(&args.only));
    if args.real {
        return real::compare(&tests, &objects, &args);
    }
    let driver = cargo::example("corpus")?;
    let mut table = table::Table::default();
    for object in &objects {
        for test in tests_of(&tests, object) {
            for cpus in CPUS.into_iter().filter(|cpus| args.cpus.is_none_or(|only| only == *cpus)) {
                if cpus < test.min_cpus {
                    continue;
                }
                let row = match &object.path {
                    Ok(path) => table::Row::ran(&test, cpus, driver::run(&driver, path, &test, cpus)?),
                    Err(why) => table::Row::missing(&test, why),
                };
                let whole = row.is_missing();
                table.add(row);
                if whole {
                    break;
                }
            }
        }
    }
    table.finish()
}
