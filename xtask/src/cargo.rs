//! Runs cargo, directly or for its test results.

use crate::Failure;
use crate::tree::root;
use cargo_metadata::MetadataCommand;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// cargo in the workspace, with stdin closed so that it never waits for input.
fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs cargo. Returns an error if it fails.
pub(crate) fn run(args: &[&str]) -> Result<(), Failure> {
    finish(cargo(args), args)
}

/// Runs cargo with an environment variable that makes a test write its expected output.
pub(crate) fn renew(variable: &str, args: &[&str]) -> Result<(), Failure> {
    run_with(variable, "1", args)
}

/// Runs cargo with an environment variable.
pub(crate) fn run_with(variable: &str, value: &str, args: &[&str]) -> Result<(), Failure> {
    let mut command = cargo(args);
    command.env(variable, value);
    finish(command, args)
}

fn finish(mut command: Command, args: &[&str]) -> Result<(), Failure> {
    let status = command.status().map_err(|e| format!("cannot run cargo: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cargo {} failed; see its message above", args[0])),
    }
}

/// The path of a program from a release build, wherever the target folder is.
pub(crate) fn built(program: &str) -> Result<PathBuf, Failure> {
    Ok(target()?.join("release").join(program))
}

/// Builds an example with the features of tests, and returns its path.
pub(crate) fn example(name: &str) -> Result<PathBuf, Failure> {
    run(&AS_TESTS.into_iter().chain(["--example", name]).collect::<Vec<_>>())?;
    Ok(target()?.join("debug/examples").join(name))
}

/// Builds a program with the features of tests, and returns its path.
pub(crate) fn program(name: &str) -> Result<PathBuf, Failure> {
    run(&AS_TESTS.into_iter().chain(["--bin", name]).collect::<Vec<_>>())?;
    Ok(target()?.join("debug").join(name))
}

/// Dependencies get the features that all packages and their tests need together, as in `cargo test --workspace`, so
/// what that has compiled is reused. With the features of one package, or without an example or a test in the build,
/// features would differ and cargo would compile most of the tree again.
const AS_TESTS: [&str; 5] = ["build", "--quiet", "--workspace", "--example", "bpf_cases"];

fn target() -> Result<PathBuf, Failure> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|e| format!("cannot get the target folder from cargo: {e}"))?;
    Ok(metadata.target_directory.into())
}

/// How many tests `cargo test` ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tests {
    /// Adds the counts in one line of `cargo test`. Ignores other lines.
    fn add_line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test result: ") else { return };
        let number = |word: &str| {
            rest.split(['.', ';'])
                .find_map(|part| part.trim().strip_suffix(word))
                .and_then(|n| n.trim().parse::<u64>().ok())
                .unwrap_or(0)
        };
        self.passed += number(" passed");
        self.failed += number(" failed");
    }
}

/// Runs all tests of the workspace, shows cargo's output, and counts the tests. A compile error, or a test program that
/// crashes, counts as one failure.
pub(crate) fn test(extra: &[String]) -> Result<Tests, Failure> {
    let mut args = vec!["test", "--workspace", "--no-fail-fast"];
    args.extend(extra.iter().map(String::as_str));
    let mut child =
        cargo(&args).stdout(Stdio::piped()).spawn().map_err(|e| format!("cannot run cargo: {e}"))?;
    let mut tests = Tests::default();
    let stdout = child.stdout.take().expect("stdout is piped");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|e| format!("cannot read cargo's output: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        tests.add_line(&line);
        println!("{line}");
    }
    let status = child.wait().map_err(|e| format!("cannot wait for cargo: {e}"))?;
    if !status.success() && tests.failed == 0 {
        tests.failed = 1;
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed_over_test_programs() {
        let check = |lines: &[&str], passed, failed| {
            let mut tests = Tests::default();
            lines.iter().for_each(|line| tests.add_line(line));
            assert_eq!(tests, Tests { passed, failed });
        };
        let good =
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        let bad = "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        check(&[good, "running 5 tests", bad], 15, 2);
        check(&["test it::says::test result: 5 passed; ... ok"], 0, 0);
        check(&[], 0, 0);
    }
}
