//! What the command line will have one day, refused by name until then.

use crate::args::{Command, OutputArgs};
use crate::failure::Failure;
use std::ffi::OsStr;

/// The commands that are there.
const THERE: &str = "sim, compare, check, lab, list, run, watch, record, exec and vm are";

/// A command that is not there yet.
pub(crate) fn command(command: &Command) -> Failure {
    let name = match command {
        Command::Sim(_)
        | Command::Compare(_)
        | Command::Lab(_)
        | Command::List(_)
        | Command::Check(_)
        | Command::Record(_)
        | Command::Run(_)
        | Command::Exec(_)
        | Command::Vm(_)
        | Command::Watch(_) => unreachable!("{command:?} is there"),
        Command::Replay(_) => "replay",
        Command::Report(_) => "report",
    };
    Failure::input(format!("keel {name} is not there yet; {THERE}"))
}

/// Refuses outputs that cannot be written yet.
pub(crate) fn refuse_outputs(outputs: &OutputArgs) -> Result<(), Failure> {
    if outputs.perfetto.is_some() {
        return Err(Failure::input("--perfetto is not there yet; --trace and --report OUT.svg are"));
    }
    match &outputs.report {
        Some(path) if path.extension() != Some(OsStr::new("svg")) => {
            let shown = crate::text::shown_path(path);
            Err(Failure::input(format!("--report {shown}: only pictures (.svg) are there yet"))
                .help("name a file that ends in .svg"))
        }
        _ => Ok(()),
    }
}
