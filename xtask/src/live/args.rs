//! The arguments of `./x live`.

use crate::{Failure, vm};
use std::path::PathBuf;

pub(super) const HELP: &str = "\
usage: ./x live [--load | --failures] [--quick] [--kernel V]... [--scheduler S]... [--seconds N]
       ./x live --rt-migrate [--kernel V]... [--runs N]
       ./x live --bugs [--kernel V]... [--seconds N]
       ./x live --watch [--kernel V]... [--seconds N]
       ./x live --ring [--kernel V]... [--seconds N]
       ./x live --scenes [--scene NAME]... [--kernel V]... [--seconds N]
       ./x live --harm [--kernel V]... [--minutes N] [--seconds N] [--recorder KEEL]

Boots real kernels under QEMU with 8 CPUs on 2 nodes. First (load), keel run attaches each scheduler under hackbench,
stress-ng and an rt-app mix; it must stay attached without a warning from the kernel until Ctrl-C detaches it. Then
(failures), failures are provoked, and keel must print what tests/live/failures.tsv contains. The guests' output and the
table are in out/live.

  --load         only the load
  --failures     only the failures
  --rt-migrate   instead: SCHED_FIFO threads that share locks, on 4 CPUs, with the counts of a real kernel [default: 7.2]
                 beside those of the simulated kernel's current rule
  --bugs         instead: cfs with bugs of the Wasted Cores paper and without, on 8 CPUs of 4 nodes in a ring, each
                 recorded for some seconds [default: 10]; keel check must find the waste
  --watch        instead: keel watch for some seconds [default: 10] each, while cores are wasted and while they are not
  --ring         instead: keel record --ring on 4 CPUs, for some seconds [default: 3]; each signal must give a complete
                 file of the last moments, and a killed keel none
  --scenes       instead: scenes with known truth (tests/live/scenes.tsv), on 4 CPUs, each recorded for some seconds
                 [default: 2] by keel, perf and trace-cmd, and judged
  --scene NAME   this scene; may be repeated [default: all]
  --harm         instead: keel record and keel watch on 4 CPUs under mounts, forks, hotplug, cgroups, real-time and
                 deadline tasks, perf and trace-cmd, for some minutes [default: 15] in turns of some seconds
                 [default: 40]; the kernel must not warn, and the recordings must be complete
  --recorder KEEL  with --harm or --scenes: use this keel to record and to boot guests, and build none
  --runs N       with --rt-migrate: runs with plain locks and with inheritance each [default: 3]
  --quick        only Linux 7.2, 10 seconds of load, and no failures that need another kernel
  --kernel V     this kernel, as for keel vm; may be repeated [default: 6.18, 7.0 and 7.2]
  --scheduler S  this scheduler; may be repeated [default: all]
  --seconds N    seconds of load, by the guest's clock [default: 60]
";

/// The parsed arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Args {
    pub(super) load: bool,
    pub(super) failures: bool,
    pub(super) rt_migrate: bool,
    pub(super) bugs: bool,
    pub(super) watch: bool,
    pub(super) ring: bool,
    pub(super) scenes_only: bool,
    /// All if empty.
    pub(super) scenes: Vec<String>,
    pub(super) harm: bool,
    /// How long each kernel is disturbed.
    pub(super) minutes: u32,
    /// Use this keel instead of the one that is built.
    pub(super) recorder: Option<PathBuf>,
    pub(super) quick: bool,
    pub(super) kernels: Vec<String>,
    pub(super) schedulers: Vec<String>,
    pub(super) seconds: u32,
    /// Runs of the real-time threads.
    pub(super) runs: u32,
}

impl Args {
    /// Returns `None` if help is requested. `known` lists all schedulers.
    pub(super) fn parse(args: &[String], known: &[String]) -> Result<Option<Self>, Failure> {
        let mut parsed = Self {
            load: true,
            failures: true,
            rt_migrate: false,
            bugs: false,
            watch: false,
            ring: false,
            scenes_only: false,
            scenes: Vec::new(),
            harm: false,
            minutes: 15,
            recorder: None,
            quick: false,
            kernels: Vec::new(),
            schedulers: Vec::new(),
            seconds: 0,
            runs: 3,
        };
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "--help" | "-h" => return Ok(None),
                "--load" => parsed.failures = false,
                "--failures" => parsed.load = false,
                "--rt-migrate" => parsed.rt_migrate = true,
                "--bugs" => parsed.bugs = true,
                "--watch" => parsed.watch = true,
                "--ring" => parsed.ring = true,
                "--scenes" => parsed.scenes_only = true,
                "--scene" => {
                    parsed
                        .scenes
                        .push(args.next().ok_or("--scene needs a name of tests/live/scenes.tsv")?.into());
                }
                "--harm" => parsed.harm = true,
                "--minutes" => parsed.minutes = number("--minutes", args.next(), 1440)?,
                "--recorder" => {
                    parsed.recorder = Some(args.next().ok_or("--recorder needs a keel's path")?.into());
                }
                "--quick" => parsed.quick = true,
                "--kernel" => {
                    parsed.kernels.push(args.next().ok_or("--kernel needs a version, as in 7.2")?.into());
                }
                "--scheduler" => parsed.schedulers.push(scheduler(args.next(), known)?),
                "--seconds" => parsed.seconds = number("--seconds", args.next(), 3600)?,
                "--runs" => parsed.runs = number("--runs", args.next(), 100)?,
                other => return Err(format!("./x live has no option '{other}'; ./x live --help lists them")),
            }
        }
        if !parsed.load && !parsed.failures {
            return Err("--load and --failures exclude each other".to_owned());
        }
        if parsed.rt_migrate && !(parsed.load && parsed.failures) {
            return Err("--rt-migrate takes neither --load nor --failures".to_owned());
        }
        if parsed.bugs && (parsed.rt_migrate || !parsed.load || !parsed.failures) {
            return Err("--bugs takes neither --load nor --failures nor --rt-migrate".to_owned());
        }
        if parsed.watch && (parsed.bugs || parsed.rt_migrate || !parsed.load || !parsed.failures) {
            return Err("--watch takes neither --load nor --failures nor --rt-migrate nor --bugs".to_owned());
        }
        let others = parsed.harm
            || parsed.ring
            || parsed.watch
            || parsed.bugs
            || parsed.rt_migrate
            || !parsed.load
            || !parsed.failures;
        if parsed.scenes_only && others {
            return Err("--scenes goes with --scene, --kernel, --seconds and --recorder alone".to_owned());
        }
        if parsed.harm
            && (parsed.watch || parsed.bugs || parsed.rt_migrate || !parsed.load || !parsed.failures)
        {
            return Err("--harm excludes --load, --failures, --rt-migrate, --bugs and --watch".to_owned());
        }
        if parsed.ring
            && (parsed.harm
                || parsed.watch
                || parsed.bugs
                || parsed.rt_migrate
                || !parsed.load
                || !parsed.failures)
        {
            return Err("--ring goes with --kernel and --seconds alone".to_owned());
        }
        if parsed.recorder.is_some() && !parsed.harm && !parsed.scenes_only {
            return Err("--recorder goes with --harm or --scenes alone".to_owned());
        }
        if parsed.kernels.is_empty() {
            let all = if parsed.quick || parsed.rt_migrate { &["7.2"] } else { vm::KERNELS };
            parsed.kernels = all.iter().map(|&kernel| kernel.to_owned()).collect();
        }
        if parsed.schedulers.is_empty() {
            parsed.schedulers = known.to_vec();
        }
        if parsed.seconds == 0 {
            parsed.seconds = match () {
                () if parsed.scenes_only => 2,
                () if parsed.ring => 3,
                () if parsed.quick || parsed.bugs || parsed.watch => 10,
                () if parsed.harm => 40,
                () => 60,
            };
        }
        Ok(Some(parsed))
    }
}

fn scheduler(name: Option<&str>, known: &[String]) -> Result<String, Failure> {
    let found = known.iter().find(|known| Some(known.as_str()) == name);
    found.cloned().ok_or_else(|| format!("--scheduler takes one of {}", known.join(", ")))
}

fn number(option: &str, text: Option<&str>, most: u32) -> Result<u32, Failure> {
    let number = text.and_then(|text| text.parse().ok()).filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("{option} takes a number from 1 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused_by_name() {
        let known = ["fifo".to_owned(), "o1".to_owned()];
        let parse = |words: &str| {
            Args::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), &known)
        };
        assert_eq!(parse("--help"), Ok(None));
        let all = parse("").unwrap().unwrap();
        assert_eq!((all.kernels.len(), all.schedulers.len(), all.seconds), (3, 2, 60));
        let quick = parse("--quick --scheduler o1").unwrap().unwrap();
        assert_eq!(
            (quick.kernels, quick.schedulers, quick.seconds),
            (vec!["7.2".into()], vec!["o1".into()], 10)
        );
        let load = parse("--load --kernel 6.18 --seconds 5").unwrap().unwrap();
        assert_eq!(
            (load.load, load.failures, load.kernels, load.seconds),
            (true, false, vec!["6.18".into()], 5)
        );
        let rt = parse("--rt-migrate --runs 5").unwrap().unwrap();
        assert_eq!((rt.rt_migrate, rt.kernels, rt.runs), (true, vec!["7.2".into()], 5));
        assert!(parse("--rt-migrate --load").unwrap_err().contains("neither"));
        let bugs = parse("--bugs --kernel 6.18").unwrap().unwrap();
        assert_eq!((bugs.bugs, bugs.kernels, bugs.seconds), (true, vec!["6.18".into()], 10));
        let ring = parse("--ring --kernel 7.2").unwrap().unwrap();
        assert_eq!((ring.ring, ring.kernels, ring.seconds), (true, vec!["7.2".into()], 3));
        assert!(parse("--ring --harm").unwrap_err().contains("alone"));
        assert!(parse("--ring --scenes").unwrap_err().contains("alone"));
        let watch = parse("--watch --seconds 5").unwrap().unwrap();
        assert_eq!((watch.watch, watch.kernels.len(), watch.seconds), (true, 3, 5));
        assert!(parse("--watch --bugs").unwrap_err().contains("neither"));
        let scenes = parse("--scenes --scene pinned --kernel 7.2").unwrap().unwrap();
        assert_eq!((scenes.scenes_only, scenes.scenes, scenes.seconds), (true, vec!["pinned".into()], 2));
        assert!(parse("--scenes --watch").unwrap_err().contains("alone"));
        let harm = parse("--harm --minutes 60 --recorder old/keel").unwrap().unwrap();
        assert_eq!((harm.harm, harm.minutes, harm.seconds, harm.kernels.len()), (true, 60, 40, 3));
        assert_eq!(harm.recorder, Some("old/keel".into()));
        assert!(parse("--harm --watch").unwrap_err().contains("excludes"));
        assert!(parse("--recorder keel").unwrap_err().contains("--harm or --scenes"));
        assert!(parse("--minutes 0").unwrap_err().contains("1 to 1440"));
        assert!(parse("--bugs --load").unwrap_err().contains("neither"));
        assert!(parse("--runs 0").unwrap_err().contains("1 to 100"));
        assert!(parse("--scheduler cfs").unwrap_err().contains("fifo, o1"));
        assert!(parse("--seconds soon").unwrap_err().contains("1 to 3600"));
        assert!(parse("--load --failures").unwrap_err().contains("exclude"));
        assert!(parse("--fast").unwrap_err().contains("--fast"));
    }
}
