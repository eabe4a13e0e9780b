//! What the command line will have one day, refused by name until then.

use crate::args::Command;
use crate::failure::Failure;

/// The commands that are there.
const THERE: &str = "use sim, compare, check, report, lab, list, run, watch, record, exec or vm";

/// A command that is not there yet.
pub(crate) fn command(command: &Command) -> Failure {
    let name = match command {
        Command::Sim(_)
        | Command::Compare(_)
        | Command::Lab(_)
        | Command::List(_)
        | Command::Check(_)
        | Command::Report(_)
        | Command::Record(_)
        | Command::Run(_)
        | Command::Exec(_)
        | Command::Vm(_)
        | Command::Watch(_) => unreachable!("{command:?} is there"),
        Command::Replay(_) => "replay",
    };
    Failure::input(format!("keel {name} is not implemented yet; {THERE}"))
}
