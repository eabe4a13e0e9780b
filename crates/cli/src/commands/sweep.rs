//! `keel sweep`: runs the Python package on a file, if the package is installed.

use crate::args::SweepArgs;
use crate::failure::{Code, Failure};
use crate::inputs::reason;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

pub(crate) fn run(args: &SweepArgs) -> Result<Code, Failure> {
    let python = args.python.as_os_str();
    let shown = crate::text::shown_path(&args.python);
    // Imports nothing slow.
    let found = Command::new(python)
        .args(["-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('evenkeel') is None)"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match found {
        Err(e) => return Err(Failure::input(format!("{shown} cannot be run: {}", reason(&e)))),
        Ok(status) if !status.success() => {
            let message = format!("{shown} does not have the package evenkeel, which keel sweep needs");
            let help = "install it (docs/how-to/python.md), or name another Python with --python";
            return Err(Failure::unsupported(message).help(help));
        }
        Ok(_) => {}
    }
    let mut command = Command::new(python);
    command.args(["-m", "evenkeel", "sweep"]).arg(&args.file);
    if let Some(out) = &args.out {
        command.arg("--out").arg(out);
    }
    if let Some(jobs) = args.jobs {
        command.args(["--jobs", &jobs.to_string()]);
    }
    if let Some(ray) = &args.ray {
        command.args(["--ray", ray]);
    }
    if args.json {
        command.arg("--json");
    }
    let error = command.exec();
    Err(Failure::input(format!("{shown} cannot be run: {}", reason(&error))))
}
