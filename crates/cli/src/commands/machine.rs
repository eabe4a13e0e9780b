//! `keel machine`: this machine as a machine file.

use crate::args::{CaptureArgs, MachineArgs, MachineCommand};
use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::output::{self, Output};
use std::io::Write;
use std::path::Path;

/// Where /sys and /proc are.
const ROOT: &str = "/";

pub(crate) fn run(args: &MachineArgs, lab: &Lab) -> Result<Code, Failure> {
    match &args.what {
        MachineCommand::Capture(args) => capture(args, lab),
    }
}

fn capture(args: &CaptureArgs, lab: &Lab) -> Result<Code, Failure> {
    let root = Path::new(ROOT);
    let output = args.output.as_deref().map(Output::reserve).transpose()?;
    let measured = args.measure.then(|| keel_capture::measure::measure(root));
    let captured =
        keel_capture::capture(root, measured.as_ref()).map_err(|e| Failure::input(e.to_string()))?;
    // What cannot be loaded is of no use.
    (lab.read_machine)("the captured machine", &captured.text).map_err(Failure::from_lab)?;
    for line in &captured.unseen {
        // If stderr is closed there is nobody left to report to.
        let _ = writeln!(std::io::stderr(), "keel: note: {line}");
    }
    match output {
        Some(mut output) => {
            output.write(captured.text.as_bytes())?;
            output.keep()?;
        }
        None => output::print(&captured.text)?,
    }
    Ok(Code::Done)
}
