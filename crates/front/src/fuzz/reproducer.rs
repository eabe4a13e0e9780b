//! A shrunk failure: a workload, a machine, and the command that reproduces it.

use super::{Asked, corpus};
use crate::failure::Failure;
use crate::text::{shown, shown_path};
use keel_abi::numbers::counted;
use keel_search::fuzz::Found;
use keel_search::genome::Size;
use keel_search::{Genome, render};
use serde::Serialize;

/// A failure, and how to reproduce it.
#[derive(Debug, Serialize)]
pub struct Reproducer {
    /// Its kind: two failures are the same if their kinds are equal.
    pub kind: String,
    /// The failure as a sentence.
    pub what: String,
    /// How many runs were made before it was found.
    pub after_runs: u64,
    /// The size of the input that first failed.
    pub before: Size,
    /// The size of the shrunk input.
    pub after: Size,
    /// The number of runs that shrinking took.
    pub shrink_runs: usize,
    /// The path of the workload's file.
    pub workload: String,
    /// The path of the machine's file.
    pub machine: String,
    /// The command that shows the failure.
    pub command: String,
    /// The command that passes once the failure is fixed.
    pub test: String,
}

impl Reproducer {
    /// Writes the files.
    pub(super) fn new(
        asked: &Asked<'_>,
        found: &Found,
        small: &Genome,
        what: String,
        shrink_runs: usize,
    ) -> Result<Self, Failure> {
        let kind = &found.failure.kind;
        let name = corpus::name(small);
        let stem = format!("{}-{}", plain(kind), &name[..8]);
        let file = |suffix: &str| asked.out.join(format!("{stem}{suffix}"));
        let (workload, machine, input) = (file(".json"), file(".toml"), file(".fuzz.json"));
        corpus::write(&workload, &render::workload(small))?;
        corpus::write(&machine, &render::machine(small, &stem))?;
        corpus::write(&input, &corpus::text(small))?;
        let [workload, machine, input] =
            [workload, machine, input].map(|path| path.to_string_lossy().into_owned());
        let command = match of_rival_or_property(kind) {
            true => again(asked, &input),
            false => sim(asked, small, &workload, &machine),
        };
        let test = command.clone();
        Ok(Self {
            kind: kind.clone(),
            what,
            after_runs: found.after_runs,
            before: found.genome.size(),
            after: small.size(),
            shrink_runs,
            workload,
            machine,
            command,
            test,
        })
    }

    /// Returns the reproducer as text.
    pub(super) fn text(&self) -> String {
        format!(
            "\n{}\n  found after {}: {}\n  shrunk in {} to:  {}\n  workload: {}\n  machine:  {}\n  {}\n",
            shown(&self.what),
            counted(self.after_runs, "run"),
            self.before,
            counted(self.shrink_runs as u64, "run"),
            self.after,
            shown_path(self.workload.as_ref()),
            shown_path(self.machine.as_ref()),
            shown(&self.command)
        )
    }
}

/// Returns whether only a search detects this kind: it compares runs or evaluates a property, and a single run shows no
/// failure.
fn of_rival_or_property(kind: &str) -> bool {
    kind == "property" || kind.starts_with("worse ")
}

fn sim(asked: &Asked<'_>, genome: &Genome, workload: &str, machine: &str) -> String {
    let mut words = vec!["keel".to_owned(), "sim".to_owned()];
    let is_command = asked.scheduler.contains(' ');
    if !is_command {
        words.push(quoted(asked.scheduler));
    }
    if let Some(recipe) = asked.recipe {
        words.push(format!("--host {}", quoted(&recipe.to_string_lossy())));
    }
    words.push(format!("--workload {} --machine {}", quoted(workload), quoted(machine)));
    let noise = if genome.noise { "quiet" } else { "none" };
    words.push(format!("--duration {}us --seed {} --noise {noise}", genome.duration_us, genome.seed));
    let varied = genome.settings.iter().map(|(name, value)| (name.clone(), value.to_string()));
    for (name, value) in asked.settings.iter().cloned().chain(varied) {
        words.push(format!("--set {}", quoted(&format!("{name}={value}"))));
    }
    words.push("--strict".to_owned());
    if is_command {
        words.push(format!("-- {}", asked.scheduler));
    }
    words.join(" ")
}

/// Returns the command that searches with this one input.
fn again(asked: &Asked<'_>, input: &str) -> String {
    let mut words =
        vec![format!("keel fuzz {} --runs 0 --corpus {}", quoted(asked.scheduler), quoted(input))];
    if let Some(recipe) = asked.recipe {
        words.push(format!("--host {}", quoted(&recipe.to_string_lossy())));
    }
    if let Some(property) = &asked.judging.property {
        words.push(format!("--property {}", quoted(property.text())));
    }
    if let Some(rival) = &asked.judging.rival {
        words.push(format!("--against {} --factor {}", quoted(&rival.scheduler), rival.factor));
    }
    for (name, value) in &asked.settings {
        words.push(format!("--set {}", quoted(&format!("{name}={value}"))));
    }
    for range in &asked.ranges {
        words.push(format!("--vary {}={}..{}", range.name, range.low, range.high));
    }
    words.join(" ")
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}

/// Converts a kind to part of a file's name.
fn plain(kind: &str) -> String {
    let plain: String =
        kind.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}
