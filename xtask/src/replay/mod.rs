//! What a replay must keep to: a simulated run, replayed under the same scheduler, does the same again; large recordings
//! take little time and memory; damaged ones never break it.

mod damaged;
mod fixed;
mod large;

use crate::Failure;

const HELP: &str = "\
usage: ./x replay [--large [EVENTS] | --damaged [CASES]]

Records simulated runs of every built-in scheduler on ten workloads, replays each under the same scheduler, and renews the
table of docs/explanation/replay.md. It is an error if a figure is off by more than 2 %.

  --large [EVENTS]   instead, replay a recording of so many events, and measure time and memory [default: 10000000]
  --damaged [CASES]  instead, give so many damaged recordings to the replay [default: 10000]
";

/// Does what `args` ask for.
///
/// # Errors
/// Where a replay does not keep to it.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let number = |default: u64| match args.get(1).map(|arg| arg.parse::<u64>()) {
        None => Ok(default),
        Some(Ok(number @ 1..)) => Ok(number),
        Some(_) => Err(format!("replay: {} takes a number above 0", args[0])),
    };
    match args.first().map(String::as_str) {
        None => fixed::run(),
        Some("--large") => large::run(number(10_000_000)?),
        Some("--damaged") => damaged::run(number(10_000)?),
        Some("--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(format!("replay: unknown argument {other}; see ./x replay --help")),
    }
}
