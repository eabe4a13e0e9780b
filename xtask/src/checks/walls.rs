//! Which crate may depend on which, from `cargo metadata`: directly and indirectly, in builds and in tests.

use super::{all_or, metadata};
use crate::Failure;
use cargo_metadata::Metadata;
use std::collections::{BTreeMap, BTreeSet};

/// A crate and its direct dependencies.
type Crates = BTreeMap<String, BTreeSet<String>>;

/// What a crate may depend on.
enum Wall {
    /// Only these.
    Only(&'static [&'static str]),
    /// Never these.
    Never(&'static [&'static str]),
}

/// The walls and their reasons.
const WALLS: &[(&str, Wall, &str)] = &[
    ("abi", Wall::Only(&[]), "the shared types depend on no other crate"),
    ("trace", Wall::Only(&["abi"]), "an event stream does not depend on where it comes from"),
    // Its tests judge the recordings that were read.
    (
        "readers",
        Wall::Only(&["abi", "trace", "check"]),
        "readers of recordings know nothing of simulated runs",
    ),
    ("replay", Wall::Only(&["abi", "trace"]), "a replay is made from events, whoever runs it"),
    ("capture", Wall::Only(&["abi"]), "what a machine is depends on no simulator"),
    ("search", Wall::Only(&["abi", "trace"]), "a search does not know what is searched"),
    ("bpfc", Wall::Only(&[]), "compiling BPF C is for build scripts, and needs no other crate"),
    (
        "vm",
        Wall::Never(&["kernel", "lab", "live"]),
        "the code that executes BPF knows nothing of the simulated kernel",
    ),
    (
        "kernel",
        Wall::Never(&["vm", "lab", "live"]),
        "the simulated kernel knows nothing of how BPF is executed",
    ),
    ("lab", Wall::Never(&["live"]), "simulated and live runs meet in the command line only"),
    ("front", Wall::Never(&["live"]), "what is shared with the Python package links no libbpf"),
    ("arrow", JUDGE, "tables are made the same way for every source of events"),
    ("mcp", Wall::Only(&[]), "a call is a keel of its own"),
    ("live", Wall::Never(&["vm", "kernel", "lab"]), "simulated and live runs meet in the command line only"),
    ("program", Wall::Only(&["abi", "object"]), "who supervises a program knows no simulator"),
    ("tables", Wall::Only(&[]), "an error of a file does not depend on what the file describes"),
    ("recipe", Wall::Only(&["abi", "tables"]), "real and simulated kernels read the same recipe"),
    ("guest", Wall::Only(&["abi"]), "the code that boots a kernel knows nothing of what runs on it"),
    ("check", JUDGE, "checks read events and know nothing of their source"),
    (
        "gate",
        Wall::Only(&["abi", "check", "tables", "trace"]),
        "whether a run passes depends only on its judgement",
    ),
    ("report", JUDGE, "reports use only events and findings"),
    ("profile", Wall::Only(&["abi"]), "a profile is what a run has counted, whoever made it"),
    ("perfetto", JUDGE, "a trace is written the same way for every source of events"),
    ("experiment", JUDGE, "what counts as reproduced depends only on measurements"),
    ("lab", Wall::Never(&["experiment"]), "the code that makes runs knows nothing of published results"),
    ("page", JUDGE, "pages use only events, findings and profiles"),
];

const JUDGE: Wall = Wall::Never(&["object", "vm", "kernel", "lab", "live"]);

/// No crate depends on these.
const TOPS: &[&str] = &["cli", "python", "xtask", "hostile"];

pub(super) fn run() -> Result<(), Failure> {
    all_or(crossed(&crates(&metadata()?)))
}

/// The crates of the workspace, without the `keel-` of their packages.
fn crates(metadata: &Metadata) -> Crates {
    let members: BTreeSet<&str> = metadata.workspace_packages().iter().map(|p| p.name.as_str()).collect();
    let name = |name: &str| name.strip_prefix("keel-").unwrap_or(name).to_owned();
    let edges = |package: &cargo_metadata::Package| {
        package
            .dependencies
            .iter()
            .filter(|d| members.contains(d.name.as_str()))
            .map(|d| name(&d.name))
            .collect()
    };
    metadata.workspace_packages().iter().map(|p| (name(&p.name), edges(p))).collect()
}

/// All crates that `from` depends on. `from` itself is included only if there is a cycle.
fn reach(crates: &Crates, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut left = vec![from.to_owned()];
    while let Some(name) = left.pop() {
        for next in crates.get(&name).into_iter().flatten() {
            if reached.insert(next.clone()) {
                left.push(next.clone());
            }
        }
    }
    reached
}

/// A sentence for each dependency that is not allowed.
fn crossed(crates: &Crates) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, wall, reason) in WALLS {
        for reached in reach(crates, name) {
            let may = match wall {
                Wall::Only(allowed) => allowed.contains(&reached.as_str()),
                Wall::Never(never) => !never.contains(&reached.as_str()),
            };
            if !may {
                faults.push(format!("{name} depends on {reached}: {reason}"));
            }
        }
    }
    for (name, needs) in crates {
        for top in TOPS.iter().filter(|top| needs.contains(**top)) {
            faults.push(format!("{name} depends on {top}, which no crate may depend on"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(&str, &[&str])], expected: &[&str]) {
        let crates = edges
            .iter()
            .map(|(name, to)| ((*name).into(), to.iter().map(|t| (*t).into()).collect()))
            .collect();
        let faults = crossed(&crates);
        let crates_named: Vec<&str> = faults.iter().filter_map(|f| f.split(':').next()).collect();
        assert_eq!(crates_named, expected);
    }

    #[test]
    fn each_wall_holds() {
        check(&[("trace", &["abi"]), ("check", &["abi", "trace"]), ("lab", &["vm", "kernel"])], &[]);
        check(&[("abi", &["trace"])], &["abi depends on trace"]);
        check(&[("trace", &["abi", "check"])], &["trace depends on check"]);
        check(&[("vm", &["kernel"])], &["vm depends on kernel"]);
        check(&[("kernel", &["vm"])], &["kernel depends on vm"]);
        check(&[("live", &["lab"])], &["live depends on lab"]);
        check(&[("lab", &["live"])], &["lab depends on live"]);
        check(&[("report", &["kernel"])], &["report depends on kernel"]);
        check(&[("workload", &["cli"])], &["workload depends on cli, which no crate may depend on"]);
    }

    #[test]
    fn a_wall_is_not_walked_around() {
        check(&[("check", &["helper"]), ("helper", &["vm"])], &["check depends on vm"]);
    }
}
