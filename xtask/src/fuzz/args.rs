//! The arguments of `./x fuzz`.

use super::targets::TARGETS;
use crate::Failure;

pub(super) const HELP: &str = "\
usage: ./x fuzz [--replay | --minimise] [--cases N] [--seconds N] [--no-sanitizer] [TARGET...]

Feeds mutated objects, workloads, machines, recipes, experiments and traces to keel, guided by code
coverage, under AddressSanitizer. Prints one line per target. Runs all targets, unless you name some.

  --cases N       cases of each target [default: 20000]
  --seconds N     stop each target after this time
  --replay        only run fuzz/corpus and fuzz/regressions, under the sanitizer
  --minimise      afterwards, reduce fuzz/corpus to the smallest set of cases with the same coverage
  --no-sanitizer  twice as fast, but misses memory errors that do no visible harm

Findings stay in .cache/fuzz/found; docs/how-to/fuzzing.md explains what to do with them.
";

/// The parsed arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Args {
    pub(super) targets: Vec<String>,
    pub(super) cases: u64,
    pub(super) seconds: Option<u64>,
    pub(super) replay: bool,
    pub(super) minimise: bool,
    pub(super) sanitizer: bool,
}

impl Args {
    /// Returns `None` if help is requested.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>, Failure> {
        let mut parsed = Self {
            targets: Vec::new(),
            cases: 20_000,
            seconds: None,
            replay: false,
            minimise: false,
            sanitizer: true,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut number = || args.next().and_then(|n| n.parse().ok()).filter(|&n: &u64| n > 0);
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--cases" => parsed.cases = number().ok_or("--cases takes a number above 0")?,
                "--seconds" => parsed.seconds = Some(number().ok_or("--seconds takes a number above 0")?),
                "--replay" => parsed.replay = true,
                "--minimise" => parsed.minimise = true,
                "--no-sanitizer" => parsed.sanitizer = false,
                name if TARGETS.iter().any(|target| target.name == name) => {
                    parsed.targets.push(name.to_owned())
                }
                other => return Err(format!("fuzz: unknown argument {other}; see ./x fuzz --help")),
            }
        }
        if parsed.replay && parsed.minimise {
            return Err("fuzz: --replay changes nothing, so --minimise does not go with it".to_owned());
        }
        Ok(Some(parsed))
    }

    /// Whether this target is requested.
    pub(super) fn wants(&self, target: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|name| name == target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let parse = |args: &[&str]| Args::parse(&args.iter().map(|&a| a.to_owned()).collect::<Vec<_>>());
        let read = parse(&["--cases", "5", "run", "--minimise"]).unwrap().unwrap();
        assert_eq!((read.cases, read.minimise, read.sanitizer), (5, true, true));
        assert!(read.wants("run") && !read.wants("trace"));
        assert!(parse(&[]).unwrap().unwrap().wants("trace"));
        assert_eq!(parse(&["-h"]), Ok(None));
        for (args, expected) in [
            (["--cases", "0"].as_slice(), "--cases takes"),
            (&["--seconds"], "--seconds takes"),
            (&["walk"], "fuzz: unknown argument walk"),
            (&["--replay", "--minimise"], "fuzz: --replay"),
        ] {
            assert!(parse(args).unwrap_err().starts_with(expected), "{args:?}");
        }
    }
}
