//! `keel workload`: makes workload files from recordings.

use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::output::{self, Output, note};
use crate::recording_args::{FromArgs, WorkloadArgs, WorkloadCommand};
use crate::text::shown;
use keel_abi::Span;
use keel_replay::Late;

pub(crate) fn run(args: &WorkloadArgs, lab: &Lab) -> Result<Code, Failure> {
    match &args.what {
        WorkloadCommand::From(args) => from(args, lab),
    }
}

fn from(args: &FromArgs, lab: &Lab) -> Result<Code, Failure> {
    let output = Output::reserve(&args.output)?;
    output.spare([&args.trace])?;
    let (replay, machine) = super::replay::recorded(&args.part, &args.trace, lab)?;
    let costs = &machine.costs;
    let [slack, timer] = [costs.timer_slack_ns, costs.timer_ns].map(Span::from_ns);
    let text = keel_replay::export(&replay, Late { slack, timer })
        .map_err(|why| Failure::input(format!("{}: {why}", shown(&args.trace.to_string_lossy()))))?;
    output::write_or_print(Some(output), &text)?;
    if let Some(workload) = &replay.simulated {
        note(format_args!(
            "the recording is a simulated run of {}; running that workload again is more exact than running this file",
            shown(workload)
        ));
    }
    output::print(&replay.confidence.to_string())?;
    Ok(Code::Done)
}
