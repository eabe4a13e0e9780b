//! The arguments of `./x corpus`.

use super::CPUS;
use crate::Failure;

pub(super) const HELP: &str = "\
usage: ./x corpus [--only NAME] [--cpus 1|2|8|64]
       ./x corpus --real [--only NAME] [--kernel V] [--keep]

Fetches the kernel's own schedulers (tools/sched_ext) and selftests from Debian, builds them, runs each
on simulated machines, and prints a table of the results; missing features are named. Compares the
selftests with tests/corpus/selftests.tsv. The table is also in out/corpus.tsv.

  --only NAME  only objects whose names begin with NAME
  --cpus N     only the machine with N CPUs
  --real       run each on a real kernel with four emulated CPUs and on the simulated one, with the same
               workload, and compare; takes about ten minutes; the table is also in out/corpus/real.tsv
  --keep       compare the last recordings with new simulated runs
  --kernel V   the real kernel, as for keel vm [default: 7.2]
";

/// The parsed arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Args {
    pub(super) only: String,
    pub(super) cpus: Option<u32>,
    pub(super) real: bool,
    pub(super) kernel: String,
    /// Make no new recordings.
    pub(super) keep: bool,
}

impl Args {
    /// Returns `None` if help is requested.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>, Failure> {
        let mut parsed =
            Self { only: String::new(), cpus: None, real: false, kernel: "7.2".to_owned(), keep: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--keep" => parsed.keep = true,
                "--real" => parsed.real = true,
                "--kernel" => parsed.kernel = args.next().cloned().ok_or("--kernel needs a version")?,
                "--only" => parsed.only = args.next().cloned().ok_or("--only needs a name")?,
                "--cpus" => {
                    let cpus = args.next().and_then(|n| n.parse().ok()).filter(|n| CPUS.contains(n));
                    parsed.cpus = Some(cpus.ok_or("--cpus takes 1, 2, 8 or 64")?);
                }
                other => return Err(format!("corpus: unknown argument {other}; see ./x corpus --help")),
            }
        }
        Ok(Some(parsed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let parse = |args: &[&str]| Args::parse(&args.iter().map(|&a| a.to_owned()).collect::<Vec<_>>());
        let both = Args {
            only: "exit".to_owned(),
            cpus: Some(8),
            real: false,
            kernel: "7.2".to_owned(),
            keep: false,
        };
        assert_eq!(parse(&["--cpus", "8", "--only", "exit"]), Ok(Some(both)));
        assert_eq!(parse(&["-h"]), Ok(None));
        for (args, expected) in [
            (["--cpus", "3"].as_slice(), "--cpus takes"),
            (&["--only"], "--only needs"),
            (&["exit"], "corpus: unknown argument exit"),
        ] {
            assert!(parse(args).unwrap_err().starts_with(expected), "{args:?}");
        }
    }
}
