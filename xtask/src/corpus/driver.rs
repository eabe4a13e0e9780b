//! Runs the driver, crates/lab/examples/corpus.rs, and parses its output.

use super::verdict::Test;
use crate::Failure;
use crate::tree::root;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Facts about a run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts(BTreeMap<String, String>);

impl Facts {
    pub(super) fn parse(text: &str) -> Self {
        let facts = text.lines().filter_map(|line| line.split_once('\t'));
        Self(facts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// The fact's text. Empty if there is no such fact.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The fact's number, if it is one.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.text(name).parse().ok()
    }
}

/// Runs an object on a machine with this many CPUs.
pub(super) fn run(driver: &Path, object: &Path, test: &Test, cpus: u32) -> Result<Facts, Failure> {
    let workload = match test.workload.ends_with(".json") {
        true => format!("{}/{}", super::KNOWN, test.workload),
        false => test.workload.clone(),
    };
    let mut command = Command::new(driver);
    command.arg(object).arg(cpus.to_string()).arg(test.ms.to_string()).arg(workload);
    if !test.recipe.is_empty() {
        command.arg(format!("{}/{}.keel.toml", super::KNOWN, test.recipe));
    }
    let output = command.current_dir(root()).output().map_err(|e| format!("cannot run the driver: {e}"))?;
    if output.status.success() {
        return Ok(Facts::parse(&String::from_utf8_lossy(&output.stdout)));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().find(|line| line.contains("panicked")).unwrap_or("it died");
    Err(format!("{} on {cpus} CPUs: an internal error: {why}: {}", test.name, said.trim()))
}
