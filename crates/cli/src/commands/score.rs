//! `keel score`: rates a scheduler with one number, for CI and for searches over settings.

use crate::args::ScoreArgs;
use crate::failure::{Code, Failure};
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::{host, output};
use keel_front::score::score;
use keel_front::suite::Suite;

pub(crate) fn run(args: &ScoreArgs, lab: &Lab) -> Result<Code, Failure> {
    let suite = Suite::find(&args.suite)?;
    let work = interrupt::work();
    let jobs = host::jobs(args.jobs);
    let scored = score(lab, &args.scheduler, &suite, args.held_out, jobs, &Process)?;
    drop(work);
    let json = || serde_json::to_string_pretty(&scored).expect("a score has only string keys") + "\n";
    output::print(&if args.json { json() } else { scored.text() })?;
    Ok(if scored.parts.iter().any(|part| part.failed > 0) { Code::Scheduler } else { Code::Done })
}
