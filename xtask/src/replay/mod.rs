//! What must hold for replays. A simulated run, replayed under the same scheduler, repeats exactly. Large recordings
//! take little time and memory. Damaged ones never crash it.

mod damaged;
mod fixed;
mod large;
mod real;

use crate::Failure;

const HELP: &str = "\
usage: ./x replay [--large [EVENTS] | --damaged [CASES] | --real [--keep]]

Records simulated runs of every built-in scheduler on ten workloads, replays each under the same scheduler, and updates
the table of docs/explanation/replay.md. It is an error if a figure is off by more than 2 %.

  --large [EVENTS]   instead, replay a recording of this many events, and measure time and memory [default: 10000000]
  --damaged [CASES]  instead, replay this many damaged recordings [default: 10000]
  --real             instead, record seven loads on a real kernel, four times under each of six schedulers; replay those
                     under eevdf under all six, on the machine captured there; and update tests/replay/7.2.tsv and the
                     tables of the page. Recordings in out/replay are not made again
  --keep             with --real: boot no guest, and replay the existing recordings
";

/// Runs what `args` ask for.
///
/// # Errors
/// If a replay does not hold.
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
        Some("--real") => match args.get(1).map(String::as_str) {
            None => real::run(false),
            Some("--keep") => real::run(true),
            Some(other) => Err(format!("replay: --real takes --keep, not {other}")),
        },
        Some("--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(format!("replay: unknown argument {other}; see ./x replay --help")),
    }
}
