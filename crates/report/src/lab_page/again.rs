//! Writes the commands that repeat an experiment's runs, to copy into a shell and modify.

use super::{put, text};
use keel_experiment::{Arm, Experiment, Until};
use std::fmt::Write;

/// Writes the commands for the whole experiment and for one run of each arm.
pub(super) fn commands(page: &mut String, experiment: &Experiment) {
    put!(page, "<details><summary>Run it again, with a change</summary>");
    put!(page, "<p>All of it:</p><pre>keel lab {}</pre>", text(&word(&experiment.id)));
    put!(
        page,
        "<p>One run of each arm, as a page of its own. Change the scheduler, a setting (<code>--set</code>), the machine, the \
         workload or the seed:</p><pre>"
    );
    for arm in &experiment.arms {
        put!(page, "{}", text(&one_run(experiment, arm)));
    }
    put!(page, "</pre>");
    put!(
        page,
        "<p>Other arms, another band: copy <code>experiments/{}.toml</code>, change the copy and name it, \
         <code>keel lab ./mine.toml</code>.</p></details>",
        text(&experiment.id)
    );
}

/// Returns the `keel sim` command for an arm's first run.
fn one_run(experiment: &Experiment, arm: &Arm) -> String {
    let mut command = format!("keel sim {} --workload {}", word(&command_of(arm)), word(&arm.workload));
    let _ = write!(command, " --machine {} --seed {}", word(&arm.machine), experiment.seed);
    let _ = write!(command, " --noise {}", experiment.noise.name());
    if let Until::After(duration) = experiment.until {
        let _ = write!(command, " --duration {}ms", duration.as_ns() / 1_000_000);
    }
    for (name, value) in &arm.settings {
        let _ = write!(command, " --set {}", word(&format!("{name}={value}")));
    }
    let _ = write!(command, " --report {}", word(&format!("{}-{}.html", experiment.id, arm.label)));
    command
}

/// Returns the scheduler. A program with a version is at the path where `keel lab` looks for it.
fn command_of(arm: &Arm) -> String {
    let Some(version) = &arm.version else { return arm.scheduler.clone() };
    let name = arm.scheduler.split_whitespace().next().unwrap_or_default();
    format!(".cache/programs/{name}-{version}/bin/{}", arm.scheduler)
}

/// Quotes text so that a shell takes it as one word.
fn word(given: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%".contains(c);
    if !given.is_empty() && given.chars().all(is_plain) {
        return given.to_owned();
    }
    format!("'{}'", given.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_shell_takes_each_for_one_word() {
        let check = |given: &str, expected: &str| assert_eq!(word(given), expected);
        check("make:8:64", "make:8:64");
        check("lu:16:10@nodes=1,2", "lu:16:10@nodes=1,2");
        check("make:64+r", "'make:64+r'");
        check("a b", "'a b'");
        check("it's", "'it'\\''s'");
        check("", "''");
        check("$(reboot)", "'$(reboot)'");
    }
}
