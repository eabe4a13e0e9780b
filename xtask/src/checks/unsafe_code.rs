//! Unsafe code is allowed only in some crates. Every other crate forbids it in its root, and no test or build script
//! lifts the workspace's ban.

use super::{all_or, metadata};
use crate::Failure;
use crate::tree::files;
use cargo_metadata::{Target, TargetKind};

/// The crates that may contain unsafe code, in small modules that justify it.
const MAY: &[&str] = &["vm", "live", "program"];

/// The line that forbids it for a whole crate.
const FORBID: &str = "#![forbid(unsafe_code)]";

pub(super) fn run() -> Result<(), Failure> {
    let mut faults = unforbidden()?;
    let may = |path: &str| MAY.iter().any(|name| path.starts_with(&format!("crates/{name}/")));
    for file in files()?.iter().filter(|file| file.path.ends_with(".rs") && !may(&file.path)) {
        if lifts(&file.text) {
            faults.push(format!("{} lifts the ban on unsafe code", file.path));
        }
    }
    all_or(faults)
}

/// Libraries and programs whose root lacks [`FORBID`].
fn unforbidden() -> Result<Vec<String>, Failure> {
    let mut faults = Vec::new();
    for package in metadata()?.workspace_packages() {
        if MAY.iter().any(|name| package.name == format!("keel-{name}")) {
            continue;
        }
        for target in package.targets.iter().filter(|target| is_product(target)) {
            let text = std::fs::read_to_string(&target.src_path)
                .map_err(|e| format!("{} cannot be read: {e}", target.src_path))?;
            if !forbids(&text) {
                faults.push(format!("{} ({}) lacks {FORBID}", package.name, target.name));
            }
        }
    }
    Ok(faults)
}

/// Whether it is no test, benchmark, example or build script. For those, the workspace's `deny` is enough.
fn is_product(target: &Target) -> bool {
    use TargetKind::{Bench, CustomBuild, Example, Test};
    !target.kind.iter().any(|kind| matches!(kind, Bench | CustomBuild | Example | Test))
}

fn forbids(text: &str) -> bool {
    text.lines().any(|line| line.trim() == FORBID)
}

fn lifts(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        line.starts_with('#') && line.contains("(unsafe_code") && !line.contains("forbid(")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_attribute_itself_forbids() {
        let check = |text, expected| assert_eq!(forbids(text), expected, "{text}");
        check("//! Docs.\n#![forbid(unsafe_code)]\nmod a;", true);
        check("// #![forbid(unsafe_code)]", false);
        check("#![deny(unsafe_code)]", false);
    }

    #[test]
    fn attributes_that_lift_the_ban_are_seen() {
        let check = |text: &str, expected| assert_eq!(lifts(text), expected, "{text}");
        check(&format!("    #[{}(unsafe_code)]", "allow"), true);
        check(&format!("#![{}(unsafe_code, reason = \"x\")]", "expect"), true);
        check("#![forbid(unsafe_code)]", false);
        check("// allow(unsafe_code)", false);
    }
}
