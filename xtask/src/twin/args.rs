//! The arguments of `./x twin`.

use super::{BACKGROUND, SCENARIOS, SCHEDULERS, spread};
use crate::Failure;
use crate::tree::root;

pub(super) const HELP: &str = "\
usage: ./x twin [--quick | --once | --keep | --versus | --spread] [--kernel V] [--scheduler S[:NAME=VALUE]]... [SCENARIO...]
       ./x twin --random N [--seed S] [--keep] [--kernel V] [--scheduler S]...

Runs each workload of tests/twin on the simulated kernel and on a real one under QEMU, and prints the
figures of both side by side. Recordings and the table are in out/twin.

  --quick     one workload under one scheduler, recorded once, with the keel that tests build
  --once      record each workload under each scheduler once instead of twice
  --keep      judge the last recordings again
  --versus    instead, compare o1 with goodness on a real kernel, under hackbench and loops of sched_yield()
  --spread    instead, run three workloads 20 times on both kernels, and show how much runs differ; with --keep the
              last recordings again
  --random N  instead, draw N workloads and compare them under all schedulers, as a distribution: records what is
              missing in tests/twin/random, and keeps the figures there; with --keep no guest is booted
  --seed S    the first workload's seed [default: 1]
  --kernel V  the real kernel, as for keel vm [default: 7.2]
  --scheduler S[:NAME=VALUE]
              this scheduler, optionally with a setting, or a program of tests/programs/ecosystem.tsv
              [default: fifo, goodness and o1]
";

/// The parsed arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Args {
    pub(super) scenarios: Vec<String>,
    pub(super) schedulers: Vec<String>,
    /// Real runs of each.
    pub(super) runs: u32,
    pub(super) keep: bool,
    pub(super) versus: bool,
    pub(super) spread: bool,
    /// Run as one of CI's checks.
    pub(super) quick: bool,
    /// Compare this many random workloads instead.
    pub(super) random: Option<u32>,
    /// The first seed.
    pub(super) seed: u64,
    /// Whether schedulers were named.
    pub(super) chose_schedulers: bool,
    pub(super) kernel: String,
}

impl Args {
    /// Returns `None` if help is requested.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>, Failure> {
        let known = scenarios()?;
        let mut parsed = Self {
            scenarios: Vec::new(),
            schedulers: owned(SCHEDULERS),
            runs: 2,
            keep: false,
            versus: false,
            spread: false,
            quick: false,
            random: None,
            seed: 1,
            chose_schedulers: false,
            kernel: "7.2".to_owned(),
        };
        let mut chosen = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--keep" => parsed.keep = true,
                "--once" => parsed.runs = 1,
                "--versus" => parsed.versus = true,
                "--spread" => parsed.spread = true,
                "--quick" => {
                    parsed.quick = true;
                    parsed.scenarios = vec!["churn".to_owned()];
                    parsed.schedulers = vec!["goodness".to_owned()];
                    parsed.runs = 1;
                }
                "--random" => {
                    parsed.random = Some(number(args.next(), "--random", 1, MOST_WORKLOADS)? as u32)
                }
                "--seed" => parsed.seed = number(args.next(), "--seed", 1, MOST_SEED)?,
                "--kernel" => {
                    parsed.kernel = kernel(args.next())?;
                }
                "--scheduler" => {
                    let name = args.next().ok_or("--scheduler needs a name, as in --scheduler o1")?;
                    chosen.push(scheduler(name)?);
                }
                name if known.iter().any(|scenario| scenario == name) => {
                    parsed.scenarios.push(name.to_owned())
                }
                other => {
                    return Err(format!("unknown workload '{other}'; {SCENARIOS} has {}", known.join(", ")));
                }
            }
        }
        if parsed.spread {
            parsed.schedulers = owned(spread::SCHEDULERS);
        }
        parsed.chose_schedulers = !chosen.is_empty();
        if parsed.chose_schedulers {
            parsed.schedulers = chosen;
        }
        if parsed.spread && parsed.scenarios.is_empty() {
            parsed.scenarios = owned(spread::SCENARIOS);
        }
        if parsed.scenarios.is_empty() {
            parsed.scenarios = known;
        }
        Ok(Some(parsed))
    }
}

/// More than anybody records, and few enough for a list.
const MOST_WORKLOADS: u64 = 10_000;
const MOST_SEED: u64 = 1_000_000;

/// An option's number within limits.
fn number(word: Option<&String>, option: &str, least: u64, most: u64) -> Result<u64, Failure> {
    let number = word.and_then(|word| word.parse().ok()).filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{option} takes a number from {least} to {most}"))
}

/// A kernel's version, which becomes part of file names.
fn kernel(word: Option<&String>) -> Result<String, Failure> {
    let is_plain = |word: &&String| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    };
    word.filter(is_plain).cloned().ok_or_else(|| "--kernel needs a version, as in --kernel 7.2".to_owned())
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A scheduler's name, with or without a setting. It becomes part of file names and of the guest's script.
fn scheduler(name: &str) -> Result<String, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_=:-".contains(c);
    match name.is_empty() || !name.chars().all(is_plain) {
        true => Err(format!("--scheduler takes a built-in name, optionally with a setting, not '{name}'")),
        false => Ok(name.to_owned()),
    }
}

/// All workloads, by name.
fn scenarios() -> Result<Vec<String>, Failure> {
    let folder = root().join(SCENARIOS);
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
    names.retain(|name| name != BACKGROUND);
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Option<Args>, Failure> {
        Args::parse(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn workloads_are_chosen_by_name() {
        let all = parse(&[]).unwrap().unwrap();
        assert_eq!((all.scenarios.len(), all.schedulers.len(), all.runs), (11, 3, 2));
        let one = parse(&["--quick", "--kernel", "7.0"]).unwrap().unwrap();
        assert_eq!(
            (one.scenarios, one.schedulers, one.kernel),
            (vec!["churn".into()], vec!["goodness".into()], "7.0".into())
        );
        assert_eq!(parse(&["--help"]), Ok(None));
        let reported = parse(&["churns"]).unwrap_err();
        assert!(
            reported.starts_with("unknown workload 'churns'; tests/twin has alone, churn,"),
            "{reported}"
        );
        for bad in
            [&["--kernel"][..], &["--kernel", "../7.2"], &["--random", "0"], &["--random"], &["--seed", "x"]]
        {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        let drawn = parse(&["--random", "40", "--seed", "7", "--keep"]).unwrap().unwrap();
        assert_eq!(
            (drawn.random, drawn.seed, drawn.keep, drawn.chose_schedulers),
            (Some(40), 7, true, false)
        );
        let one = parse(&["freed", "--scheduler", "ule:posted=1"]).unwrap().unwrap();
        assert_eq!(one.schedulers, ["ule:posted=1"]);
        assert!(parse(&["--scheduler", "../x"]).is_err());
    }
}
