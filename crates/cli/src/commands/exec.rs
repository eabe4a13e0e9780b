//! `keel exec --rt`: executes a command as a real-time task of the loaded scheduler.

use crate::args::ExecArgs;
use crate::failure::{Code, Failure};
use crate::inputs::reason;
use crate::kernel;
use crate::text::shown;
use crate::trailing::begins_with_a_name;
use keel_live::{Hint, Host, Policy, give_hint};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Sets the scheduler's hint for this process, then executes the command, which inherits the hint.
pub(crate) fn run(args: &ExecArgs) -> Result<Code, Failure> {
    begins_with_a_name("keel exec", &args.command)?;
    let policy = if args.rr { Policy::RoundRobin } else { Policy::Fifo };
    let hint = Hint { priority: args.rt, policy };
    give_hint(&Host::this(), hint).map_err(|e| kernel::failure(None, &e))?;
    let (command, rest) = args.command.split_first().expect("clap asks for one");
    let error = Command::new(command).args(rest).exec();
    let name = shown(&command.to_string_lossy());
    Err(Failure::input(format!("{name} cannot be run: {}", reason(&error))))
}
