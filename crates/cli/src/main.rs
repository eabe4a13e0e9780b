//! The `keel` program: parses arguments, makes runs, prints results, and exits with a code.
//!
//! Only this crate prints, listens for signals and ends the process. It never simulates, judges or lays out results
//! itself.
#![forbid(unsafe_code)]

mod args;
mod bell;
mod bug;
mod commands;
mod fuzz_args;
mod gate;
mod gate_args;
mod interrupt;
mod kernel;
mod log;
mod moments;
mod numbers;
mod output;
mod outputs;
mod page;
mod profile;
mod profile_args;
mod progress;
mod recording_args;
mod run_args;
mod show;
mod stats_socket;
mod terminal;
mod trailing;
mod vm_args;
mod watch_args;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use args::{Cli, Command};
use clap::Parser;
use failure::{Code, Failure};
use keel_front::{
    asked, execute, experiments, failure, host, inputs, lab, moment, parse, program, recording, replay, text,
};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    bug::install_hook();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return told(&numbers::in_words(error)),
    };
    log_as_asked();
    if cli.command.has_a_verdict() {
        interrupt::listen();
    }
    let code = match std::panic::catch_unwind(|| run(&cli, &lab::REAL)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            // If stderr is closed there is nobody left to report to.
            let _ = write!(std::io::stderr(), "{failure}");
            if failure.code == Code::Bug && failure.advice().is_none() {
                let _ = writeln!(std::io::stderr(), "help: {}", bug::reproduce());
            }
            failure.code
        }
        Err(_) => Code::Bug,
    };
    ExitCode::from(code as u8)
}

/// Prints clap's message. The help and the version are results, so they go to stdout.
fn told(message: &clap::Error) -> ExitCode {
    let result = message.print().and_then(|()| std::io::stdout().flush());
    match output::printed(result) {
        Err(failure) if !message.use_stderr() => {
            let _ = write!(std::io::stderr(), "{failure}");
            ExitCode::from(failure.code as u8)
        }
        _ => ExitCode::from(message.exit_code() as u8),
    }
}

fn run(cli: &Cli, lab: &lab::Lab) -> Result<Code, Failure> {
    match &cli.command {
        Command::Sim(args) => commands::sim::run(args, lab),
        Command::Compare(args) => commands::compare::run(args, lab),
        Command::Profile(args) => commands::profile::run(args, lab),
        Command::Score(args) => commands::score::run(args, lab),
        Command::Fuzz(args) => commands::fuzz::run(args, lab),
        Command::Explore(args) => commands::explore::run(args, lab),
        Command::Bisect(args) => commands::bisect::run(args, lab),
        Command::Sweep(args) => commands::sweep::run(args),
        Command::Mcp(args) => commands::mcp::run(args),
        Command::Lab(args) => commands::lab::run(args, lab),
        Command::List(args) => commands::list::run(args, lab),
        Command::Check(args) => commands::check::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Record(args) => commands::record::run(args),
        Command::Run(args) => commands::run::run(args, lab),
        Command::Exec(args) => commands::exec::run(args),
        Command::Vm(args) => commands::vm::run(args),
        Command::Watch(args) => commands::watch::run(args),
        Command::Replay(args) => commands::replay::run(args, lab),
        Command::Workload(args) => commands::workload::run(args, lab),
        Command::RecordRecipe(args) => commands::record_recipe::run(args, lab),
        Command::Machine(args) => commands::machine::run(args, lab),
    }
}

/// Logs to stderr what `RUST_LOG` selects: nothing by default.
fn log_as_asked() {
    let filter = tracing_subscriber::EnvFilter::builder()
        .with_default_directive(tracing::level_filters::LevelFilter::OFF.into())
        .from_env_lossy();
    let colours = terminal::Terminal::of(&std::io::stderr()).is_some_and(|terminal| terminal.colour);
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
}
