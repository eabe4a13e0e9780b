//! `keel explore`: repeats one run in many orders.

use crate::failure::{Code, Failure};
use crate::fuzz_args::{ExploreArgs, MethodArg};
use crate::gate::Gate;
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::output;
use keel_front::explore::{Asked, explore};
use keel_front::fuzz::Judging;
use keel_search::explore::Method;
use std::time::Duration;

pub(crate) fn run(args: &ExploreArgs, lab: &Lab) -> Result<Code, Failure> {
    let budgets = Gate::strict(&args.strict)?.budgets();
    let is_strict = args.strict.is_asked() || args.property.is_none();
    let asked = Asked {
        scheduler: &args.scheduler,
        recipe: args.host.as_deref(),
        scene: args.scene.scene(),
        method: match args.method {
            MethodArg::Pct => Method::Pct(args.depth),
            MethodArg::Walk => Method::Walk,
            MethodArg::Exhaustive => Method::Exhaustive(args.depth),
        },
        window: args.window,
        seed: args.search_seed,
        runs: args.orders,
        time: Duration::from_secs(args.seconds),
        judging: Judging {
            budgets: Some(budgets).filter(|_| is_strict),
            property: args.property.clone(),
            rival: None,
        },
        out: args.output.clone(),
        races: args.races,
        jobs: args.jobs,
    };
    let explored = explore(lab, &asked, &Process)?;
    let json = || serde_json::to_string_pretty(&explored).expect("it has only string keys") + "\n";
    output::print(&if args.json { json() } else { explored.text() })?;
    let has_raced = explored.races.as_ref().is_some_and(|races| !races.is_empty());
    let is_clean = explored.failing.is_none() && explored.plain.is_empty() && !has_raced;
    let whole = if is_clean { Code::Done } else { Code::Found };
    Ok(interrupt::code(explored.stopped, whole))
}
