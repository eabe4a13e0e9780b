//! The commands of `./x` once its prerequisites are installed: demo, tests, checks, benchmarks, the real kernels of
//! `vm`, `twin` and `live`, other people's schedulers of `corpus`, `fuzz`, the report page's `viewer`, and the `python`
//! package.
//!
//! It is never part of what users run, and no crate may depend on it.
#![forbid(unsafe_code)]

mod baseline;
mod bench;
mod cargo;
mod checks;
mod ci;
mod corpus;
mod demo;
mod document;
mod fuzz;
mod keel;
mod layers;
mod live;
mod pages;
mod programs;
mod python;
mod release;
mod replay;
mod tables;
mod tally;
mod tree;
mod twin;
mod viewer;
mod vm;

use std::process::ExitCode;

/// Updates docs/reference/cli.md. Only a test of the binary sees its arguments as clap does.
fn reference() -> Result<(), Failure> {
    cargo::renew("KEEL_RENEW_REFERENCE", &["test", "-q", "-p", "keel-cli", "--bin", "keel", "reference::"])
}

/// An error as one sentence for people.
type Failure = String;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("", [].as_slice()),
    };
    let done = match command {
        "demo" => demo::run(),
        "test" => return ci::test(rest),
        "ci" => return ci::run(),
        "check" => return ci::check(),
        "fmt" => cargo::run(&["fmt", "--all"]),
        "baseline" => baseline::run(),
        "bench" => bench::run(rest),
        "vm" => vm::run(rest),
        "twin" => twin::run(rest),
        "live" => live::run(rest),
        "corpus" => corpus::run(rest),
        "programs" => programs::run(rest),
        "python" => python::run(rest),
        "release" => release::run(),
        "replay" => replay::run(rest),
        "layers" => layers::show(),
        "limits" => cargo::run(&["run", "-q", "-p", "keel-cli", "--example", "limitations"]),
        "reference" => reference(),
        "matrix" => tables::MATRIX.renew(rest),
        "sensitivity" => tables::SENSITIVITY.renew(rest),
        "pages" => pages::run(),
        "fuzz" => fuzz::run(rest),
        "viewer" => viewer::run(),
        other => Err(format!("there is no command '{other}'; ./x help lists them")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("x: {failure}");
            ExitCode::FAILURE
        }
    }
}
