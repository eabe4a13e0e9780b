//! `keel list`: lists what is built in.

use crate::args::{ListArgs, Listed};
use crate::failure::{Code, Failure};
use crate::lab::{Lab, Names};
use crate::output;
use keel_abi::feature::{Feature, Level};
use keel_check::Kind;
use keel_front::suite::Suite;
use serde_json::{Map, Value, json};

/// All lists, in the order in which they are shown.
const ALL: [(Listed, &str); 6] = [
    (Listed::Schedulers, "schedulers"),
    (Listed::Machines, "machines"),
    (Listed::Workloads, "workloads"),
    (Listed::Experiments, "experiments"),
    (Listed::Suites, "suites"),
    (Listed::Checks, "checks"),
];

pub(crate) fn run(args: &ListArgs, lab: &Lab) -> Result<Code, Failure> {
    let wanted: Vec<(Listed, &str)> = match args.what {
        None => ALL.into(),
        Some(what) => ALL.into_iter().filter(|(each, _)| *each == what).collect(),
    };
    let mut lists: Vec<(&str, Names)> = wanted
        .into_iter()
        .map(|(what, title)| Ok((title, names(what, lab)?)))
        .collect::<Result<_, Failure>>()?;
    // Only on request: these lists are long, or must be downloaded.
    match args.what {
        Some(Listed::Kernels) => lists.push(("kernels", super::kernels::names()?)),
        Some(Listed::Features) => lists.push(("features", features(lab))),
        _ => {}
    }
    output::print(&if args.json { as_json(&lists) } else { as_text(&lists) })?;
    Ok(Code::Done)
}

fn names(what: Listed, lab: &Lab) -> Result<Names, Failure> {
    Ok(match what {
        Listed::Schedulers => (lab.schedulers)(),
        Listed::Machines => (lab.machines)(),
        Listed::Workloads => (lab.workloads)(),
        Listed::Checks => {
            Kind::ALL.iter().map(|kind| (kind.name().to_owned(), about(*kind).to_owned())).collect()
        }
        Listed::Experiments => {
            (lab.experiments)().into_iter().map(|experiment| (experiment.id, experiment.title)).collect()
        }
        Listed::Suites => Suite::list()?,
        Listed::Kernels | Listed::Features => Vec::new(),
    })
}

fn features(lab: &Lab) -> Names {
    let about = |Feature { kind, level, .. }: &Feature| match level {
        Level::Exact => format!("{}, exact", kind.name()),
        Level::Approximate(how) => format!("{}, approximate: {how}", kind.name()),
        Level::Absent("") => format!("{}, absent", kind.name()),
        Level::Absent(why) => format!("{}, absent: {why}", kind.name()),
    };
    (lab.features)().iter().map(|feature| (feature.name.to_owned(), about(feature))).collect()
}

fn about(kind: Kind) -> &'static str {
    match kind {
        Kind::WastedCore => "a CPU idled for more than 10 µs while a task that could run there waited",
        Kind::Starvation => {
            "a runnable task did not run for more than 1 s plus 20 ms for each task that shares its CPU"
        }
        Kind::LongDelay => {
            "a task waited after its wakeup for more than 100 ms plus 20 ms for each task that shares its CPU"
        }
        Kind::Bouncing => {
            "a task migrated back and forth at least 64 times, and ran for less than 500 µs each time"
        }
        Kind::Stall => "a CPU ran one task for more than 500 ms while others waited in its queue",
        Kind::PriorityInversion => "a less urgent task kept a real-time task waiting for more than 1 ms",
        Kind::MisplacedRealtime => {
            "a real-time task waited for more than 1 ms while another CPU that it could use idled or ran a less urgent task"
        }
        Kind::UnfairShare => {
            "a task got less than half of the CPU time that its weight entitles it to, over 1 s"
        }
        Kind::LockWait => {
            "a task waited for a mutex for more than 20 ms, or a CPU waited for a kernel or scheduler lock for more than 1 ms"
        }
    }
}

/// Returns the lists as text, with a title above each if there are several.
fn as_text(lists: &[(&str, Names)]) -> String {
    let mut text = String::new();
    for (title, names) in lists {
        let indent = if lists.len() > 1 { "  " } else { "" };
        if lists.len() > 1 {
            text += &format!("{title}:\n");
        }
        let width = names.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, about) in names {
            text += format!("{indent}{name:width$}  {about}").trim_end();
            text.push('\n');
        }
    }
    text
}

fn as_json(lists: &[(&str, Names)]) -> String {
    let one = |(name, about): &(String, String)| json!({ "name": name, "about": about });
    let all: Map<String, Value> =
        lists.iter().map(|(title, names)| ((*title).to_owned(), names.iter().map(one).collect())).collect();
    format!("{:#}\n", Value::Object(all))
}
