//! The arguments of `./x vm`.

use super::kernels::{KERNELS, QUICK};
use crate::Failure;
use std::time::Duration;

/// The output of `--help`.
pub(super) const HELP: &str = "\
usage: ./x vm [--kernel 6.18|7.0|7.2]... [--only NAME] [--quick] [--limit SECONDS]

Boots Debian's kernels under QEMU with 8 CPUs and registers each of the project's objects with bpftool:
schedulers/* must attach, survive load and detach without a warning from the kernel; tests/objects/*
must be rejected or ended as in tests/objects/expected-7.2.tsv; the programs of tests/bpf must give
their expected results. If a guest hangs or dies, another is booted; an object that ends three
guests has failed. An object under which the kernel reports a lockup gets two guests of its own, and
fails if a fault returns. Prints one line per object; writes out/vm.json, and each guest's output to
out/vm-VERSION.log. Fetches kernels and bpftool once, into .cache/vm, from this machine's apt sources.

  --kernel V        only this kernel; may be repeated
  --only NAME       only objects whose names begin with NAME; bpf/ selects those of tests/bpf
  --quick           skip 7.0 and shorten the load, as CI does
  --limit SECONDS   how long a guest may be silent before it counts as hung [default: 180]

Exit codes: 0 all passed; 1 something failed; 75 something could not be fetched.
";

/// The parsed arguments.
#[derive(Debug)]
pub(super) struct Args {
    kernels: Vec<&'static str>,
    quick: bool,
    /// The prefix of the wanted objects' names.
    pub(super) only: String,
    /// How long a guest may be silent.
    pub(super) limit: Duration,
}

impl Args {
    /// Returns `None` if help is requested.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>, Failure> {
        let mut parsed =
            Self { kernels: Vec::new(), quick: false, only: String::new(), limit: Duration::from_secs(180) };
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "--help" | "-h" => return Ok(None),
                "--quick" => parsed.quick = true,
                "--kernel" => parsed.kernels.push(kernel(args.next())?),
                "--only" => {
                    parsed.only = args.next().ok_or("--only takes the beginning of a name")?.to_owned()
                }
                "--limit" => parsed.limit = Duration::from_secs(seconds(args.next())?),
                other => return Err(format!("./x vm has no option '{other}'; ./x vm --help lists them")),
            }
        }
        Ok(Some(parsed))
    }

    /// The requested kernels. If none was named, all, or those of the quick check.
    pub(super) fn kernels(&self) -> &[&'static str] {
        match (self.kernels.as_slice(), self.quick) {
            ([], false) => KERNELS,
            ([], true) => QUICK,
            (named, _) => named,
        }
    }

    /// How long each object is under load, in the guest's seconds.
    pub(super) fn seconds(&self) -> u32 {
        if self.quick { 1 } else { 4 }
    }
}

fn kernel(version: Option<&str>) -> Result<&'static str, Failure> {
    let known = KERNELS.iter().find(|kernel| Some(**kernel) == version);
    known.copied().ok_or_else(|| format!("--kernel takes one of {}", KERNELS.join(", ")))
}

fn seconds(text: Option<&str>) -> Result<u64, Failure> {
    let seconds = text.and_then(|text| text.parse().ok()).filter(|seconds| (1..=36_000).contains(seconds));
    seconds.ok_or_else(|| "--limit takes a number of seconds from 1 to 36000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused_by_name() {
        let parse =
            |words: &str| Args::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let names = |args: Args| args.kernels().to_vec();
        assert!(parse("--help").unwrap().is_none());
        assert_eq!(names(parse("").unwrap().unwrap()), ["6.18", "7.0", "7.2"]);
        assert_eq!(names(parse("--quick").unwrap().unwrap()), ["6.18", "7.2"]);
        assert_eq!(names(parse("--quick --kernel 7.2").unwrap().unwrap()), ["7.2"]);
        assert_eq!(parse("--only bpf/").unwrap().unwrap().only, "bpf/");
        assert!(parse("--only").unwrap_err().contains("--only"));
        assert!(parse("--kernel 5.10").unwrap_err().contains("6.18"));
        assert!(parse("--limit soon").unwrap_err().contains("seconds"));
        assert!(parse("--fast").unwrap_err().contains("--fast"));
    }
}
