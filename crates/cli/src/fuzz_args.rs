//! The arguments of `keel fuzz`, `keel explore` and `keel bisect`.

use crate::gate_args::StrictArgs;
use crate::parse;
use crate::run_args::SceneArgs;
use clap::{Args, ValueEnum};
use keel_abi::Span;
use keel_gate::Property;
use keel_search::Range;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// `keel fuzz`.
#[derive(Debug, Args)]
pub(crate) struct FuzzArgs {
    /// As for keel sim; you can append settings: my.bpf.o:kick=1. A command in quotes stands for a scheduler's own
    /// program
    #[arg(value_name = "SCHED")]
    pub(crate) scheduler: String,
    /// How long to search, in seconds. A failure found by then is still shrunk completely
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=31_536_000), allow_negative_numbers = true)]
    pub(crate) seconds: u64,
    /// Do this many runs, however long they take; 0 only reruns the corpus. The same number and seed give the same
    /// search
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = runs, allow_negative_numbers = true)]
    pub(crate) runs: Option<u64>,
    /// The seed of the search
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Also fail if figures are worse than this scheduler's in the same run: wakeup delay, waste, throughput
    #[arg(long, value_name = "SCHED")]
    pub(crate) against: Option<String>,
    /// How many times worse counts as a failure
    #[arg(long, value_name = "F", default_value_t = 3.0, requires = "against", value_parser = factor, allow_negative_numbers = true)]
    pub(crate) factor: f64,
    /// Also fail if this does not hold for a run's --json output: 'wakeup_delay_ns.p99 < 10ms && wasted_share <= 2%'
    #[arg(long, value_name = "EXPR", value_parser = property)]
    pub(crate) property: Option<Property>,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    /// Vary a global variable of the scheduler within these bounds
    #[arg(long = "vary", value_name = "NAME=LOW..HIGH", value_parser = range)]
    pub(crate) ranges: Vec<Range>,
    /// Set a global variable of the scheduler before loading it
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// The scheduler's recipe [default: NAME.keel.toml beside NAME.bpf.o]
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// Start from the inputs in this folder, and add inputs that show something new. A file is a single input
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: Option<PathBuf>,
    /// The folder for reproducers
    #[arg(short, long, value_name = "DIR", default_value = "keel-fuzz")]
    pub(crate) output: PathBuf,
    /// Continue after a failure, looking for failures of other kinds
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Generate each input independently, without guidance, for comparison
    #[arg(long)]
    pub(crate) unguided: bool,
    /// How many runs to do in parallel [default: the host's number of CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print only commands to run in CI, which fail until the failures are fixed
    #[arg(long)]
    pub(crate) as_test: bool,
    /// Print one JSON object instead
    #[arg(long, conflicts_with = "as_test")]
    pub(crate) json: bool,
}

/// `keel explore`.
#[derive(Debug, Args)]
pub(crate) struct ExploreArgs {
    /// A built-in name, a .bpf.o file, or a binary with one in its .bpf.objs section. You can append settings:
    /// my.bpf.o:kick=1
    #[arg(value_name = "SCHED")]
    pub(crate) scheduler: String,
    /// The scheduler's recipe [default: NAME.keel.toml beside NAME.bpf.o]
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scene: SceneArgs,
    /// How to choose orders
    #[arg(long, value_enum, default_value_t = MethodArg::Pct)]
    pub(crate) method: MethodArg,
    /// For pct: how many orderings a bug needs. For exhaustive: the maximum number of delayed callbacks
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16), allow_negative_numbers = true)]
    pub(crate) depth: u32,
    /// How long to delay a callback, if an event is due elsewhere within that time
    #[arg(long, value_name = "TIME", default_value = "10us", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) window: Span,
    /// The maximum number of orders
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) orders: u64,
    /// The maximum time in seconds
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=31_536_000), allow_negative_numbers = true)]
    pub(crate) seconds: u64,
    /// The seed of the search
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) search_seed: u64,
    /// Also fail if this does not hold for a run's --json output, as for keel fuzz
    #[arg(long, value_name = "EXPR", value_parser = property)]
    pub(crate) property: Option<Property>,
    /// Also report data races: unordered accesses by two CPUs to the same bytes of maps or global data, at least one of
    /// them a write
    #[arg(long)]
    pub(crate) races: bool,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    /// The file for the failing order
    #[arg(short, long, value_name = "FILE", default_value = "keel.order")]
    pub(crate) output: PathBuf,
    /// How many runs to do in parallel [default: the host's number of CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print one JSON object instead
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keel bisect`.
#[derive(Debug, Args)]
pub(crate) struct BisectArgs {
    /// As for keel sim; usually the file that the build makes
    #[arg(value_name = "SCHED")]
    pub(crate) scheduler: String,
    /// A good commit
    #[arg(long, value_name = "COMMIT")]
    pub(crate) good: String,
    /// A later bad commit
    #[arg(long, value_name = "COMMIT")]
    pub(crate) bad: String,
    #[command(flatten)]
    pub(crate) scene: SceneArgs,
    /// A commit is good if this holds for the run's --json output; without it, if findings are within their budgets
    #[arg(long, value_name = "EXPR", value_parser = property)]
    pub(crate) property: Option<Property>,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    /// Judge the commit that is checked out, for git
    #[arg(long, hide = true)]
    pub(crate) step: bool,
    /// The command that builds a commit, after --; commits for which it fails are skipped
    #[arg(last = true, value_name = "BUILD", required = true)]
    pub(crate) build: Vec<OsString>,
}

/// Where orders come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    /// Priorities of CPUs that change at a few points
    Pct,
    /// A random choice at each point
    Walk,
    /// Every order, for small runs
    Exhaustive,
}

fn property(text: &str) -> Result<Property, String> {
    Property::read(text).map_err(|wrong| wrong.to_string())
}

fn runs(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "write a whole number of runs, at least 1, or 0 to repeat the corpus only".to_owned())
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 1.0 && factor <= 100.0 => Ok(factor),
        _ => Err("write a number above 1, up to 100".into()),
    }
}

/// Parses `NAME=LOW..HIGH`.
fn range(text: &str) -> Result<Range, String> {
    let wrong = || {
        "write NAME=LOW..HIGH with the name of a global variable, as in slice_ns=100000..20000000".to_owned()
    };
    let (name, value) = parse::setting(text).map_err(|_| wrong())?;
    let (low, high) = value.split_once("..").ok_or_else(wrong)?;
    match (low.parse(), high.parse()) {
        (Ok(low), Ok(high)) if low <= high => Ok(Range { name, low, high }),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn bounds_are_two_numbers_in_order() {
        let check = |text: &str, expected: Option<(i64, i64)>| {
            assert_eq!(range(text).ok().map(|range| (range.low, range.high)), expected, "{text}");
        };
        check("slice_ns=100..2000", Some((100, 2000)));
        check("x=-5..5", Some((-5, 5)));
        check("x=3..3", Some((3, 3)));
        for bad in ["x=5..1", "x=1", "x", "x=..", "1x=1..2", "x=1...2"] {
            check(bad, None);
        }
    }

    #[test]
    fn a_number_of_runs_is_whole_and_not_negative() {
        let check = |given: &str, expected: Result<Option<u64>, &str>| {
            let found = crate::args::Cli::try_parse_from(["keel", "fuzz", "fifo", "--runs", given]);
            match (found, expected) {
                (Ok(cli), Ok(runs)) => {
                    let crate::args::Command::Fuzz(args) = cli.command else { panic!("{given}") };
                    assert_eq!(args.runs, runs, "{given}");
                }
                (Err(error), Err(why)) => assert!(error.to_string().contains(why), "{given}: {error}"),
                (found, _) => panic!("{given}: {found:?}"),
            }
        };
        check("0", Ok(Some(0)));
        check("64", Ok(Some(64)));
        for bad in ["-1", "-100", "1.5", "many", "99999999999999999999"] {
            check(bad, Err("'--runs <N>': write a whole number of runs, at least 1"));
        }
    }

    #[test]
    fn a_factor_is_above_one() {
        let check = |text: &str, good: bool| assert_eq!(factor(text).is_ok(), good, "{text}");
        check("1.5", true);
        check("100", true);
        for bad in ["1", "0", "-3", "101", "nan", "inf", "x"] {
            check(bad, false);
        }
    }
}
