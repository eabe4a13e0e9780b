//! `keel fuzz`: searches for runs that break a scheduler.

use crate::failure::{Code, Failure};
use crate::fuzz_args::FuzzArgs;
use crate::gate::Gate;
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::output;
use keel_front::fuzz::{Asked, Fuzzed, Judging, Rival, fuzz};
use keel_search::fuzz::Guide;
use std::time::Duration;

pub(crate) fn run(args: &FuzzArgs, lab: &Lab) -> Result<Code, Failure> {
    let asked = Asked {
        scheduler: &args.scheduler,
        recipe: args.host.as_deref(),
        settings: args.settings.clone(),
        ranges: args.ranges.clone(),
        seed: args.seed,
        runs: args.runs,
        time: args.runs.map_or(Duration::from_secs(args.seconds), |_| Duration::MAX),
        judging: judging(args)?,
        corpus: args.corpus.clone(),
        out: args.output.clone(),
        keep_going: args.keep_going,
        guide: if args.unguided { Guide::Nothing } else { Guide::Coverage },
        jobs: args.jobs,
    };
    let fuzzed = fuzz(lab, &asked, &Process)?;
    output::print(&printed(args, &fuzzed))?;
    let whole = if fuzzed.failures.is_empty() { Code::Done } else { Code::Found };
    Ok(interrupt::code(fuzzed.stopped, whole))
}

fn judging(args: &FuzzArgs) -> Result<Judging, Failure> {
    let budgets = Gate::strict(&args.strict)?.budgets();
    let asks_otherwise = args.against.is_some() || args.property.is_some();
    let rival =
        args.against.as_ref().map(|scheduler| Rival { scheduler: scheduler.clone(), factor: args.factor });
    Ok(Judging {
        budgets: Some(budgets).filter(|_| args.strict.is_asked() || !asks_otherwise),
        property: args.property.clone(),
        rival,
    })
}

fn printed(args: &FuzzArgs, fuzzed: &Fuzzed) -> String {
    match () {
        () if args.json => {
            serde_json::to_string_pretty(fuzzed).expect("the result has only string keys") + "\n"
        }
        () if args.as_test => fuzzed.tests(),
        () => fuzzed.text(),
    }
}
