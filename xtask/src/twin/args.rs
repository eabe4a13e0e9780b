//! The arguments of `./x twin`.

use super::{BACKGROUND, SCENARIOS, SCHEDULERS, spread};
use crate::Failure;
use crate::tree::root;

pub(super) const HELP: &str = "\
usage: ./x twin [--quick | --keep | --versus | --spread] [--kernel V] [--scheduler S[:NAME=VALUE]]... [SCENARIO...]

Runs each workload of tests/twin on the simulated kernel and on a real one under QEMU, and prints the
figures of both side by side. Recordings and the table are in out/twin.

  --quick     one workload under one scheduler, recorded once
  --keep      judge the last recordings again
  --versus    instead, compare o1 with goodness on a real kernel, under hackbench and loops of sched_yield()
  --spread    instead, run three workloads 20 times on both kernels, and show how much runs differ; with --keep the
              last recordings again
  --kernel V  the real kernel, as for keel vm [default: 7.2]
  --scheduler S[:NAME=VALUE]
              this scheduler, optionally with a setting [default: fifo, goodness and o1]
";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Args {
    pub(super) scenarios: Vec<String>,
    pub(super) schedulers: Vec<String>,
    /// Real runs of each.
    pub(super) runs: u32,
    pub(super) keep: bool,
    pub(super) versus: bool,
    pub(super) spread: bool,
    pub(super) kernel: String,
}

impl Args {
    /// `None` where help is asked for.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>, Failure> {
        let known = scenarios()?;
        let mut parsed = Self {
            scenarios: Vec::new(),
            schedulers: owned(SCHEDULERS),
            runs: 2,
            keep: false,
            versus: false,
            spread: false,
            kernel: "7.2".to_owned(),
        };
        let mut chosen = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--keep" => parsed.keep = true,
                "--versus" => parsed.versus = true,
                "--spread" => parsed.spread = true,
                "--quick" => {
                    parsed.scenarios = vec!["churn".to_owned()];
                    parsed.schedulers = vec!["goodness".to_owned()];
                    parsed.runs = 1;
                }
                "--kernel" => {
                    parsed.kernel =
                        args.next().cloned().ok_or("--kernel needs a version, as in --kernel 7.2")?;
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
        if !chosen.is_empty() {
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

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A scheduler's name, with a setting or without. It becomes a part of files' names and of the guest's script.
fn scheduler(name: &str) -> Result<String, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_=:-".contains(c);
    match name.is_empty() || !name.chars().all(is_plain) {
        true => Err(format!("--scheduler takes a built-in name, optionally with a setting, not '{name}'")),
        false => Ok(name.to_owned()),
    }
}

/// The workloads that there are, by name.
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
        assert!(parse(&["--kernel"]).is_err());
        let one = parse(&["freed", "--scheduler", "ule:posted=1"]).unwrap().unwrap();
        assert_eq!(one.schedulers, ["ule:posted=1"]);
        assert!(parse(&["--scheduler", "../x"]).is_err());
    }
}
