//! `keel check`: judges a recording made by any supported tool.

use crate::failure::{Code, Failure};
use crate::gate::Gate;
use crate::interrupt::{self, Process};
use crate::recording_args::CheckArgs;
use crate::show;
use keel_check::Limits;
use keel_front::check::{Part, judge, waits};

pub(crate) fn run(args: &CheckArgs) -> Result<Code, Failure> {
    let part = Part { trace: args.trace.clone(), from: args.from, until: args.until };
    if let Some(task) = &args.task {
        show::waits(&waits(&part, task, args.top as usize, &Process)?, args.json)?;
        return Ok(Code::Done);
    }
    let gate = Gate::strict(&args.strict)?;
    let limits = Limits { delay: args.delay, assume_unrestricted: args.assume_unrestricted };
    let mut report = judge(&part, limits, &Process)?;
    if !report.failed() {
        report.strict = gate.rule(&report.facts());
    }
    show::check(&report, args.json)?;
    let passed = report.strict.as_ref().is_none_or(|ruling| ruling.passed);
    Ok(interrupt::code(report.partial.is_some(), show::code_of(report.failed(), passed)))
}
