//! The arguments of `keel profile`.

use crate::run_args::SceneArgs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `keel profile`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// A built-in name, a .bpf.o file, or a binary with one in its .bpf.objs section. You can append settings:
    /// my.bpf.o:kick=1
    #[arg(value_name = "SCHED", required_unless_present_any = ["program", "diff"], conflicts_with_all = ["program", "diff"])]
    pub(crate) scheduler: Option<String>,
    /// Instead of SCHED: a scheduler's own program and its arguments, after --
    #[arg(last = true, value_name = "PROGRAM", conflicts_with = "diff")]
    pub(crate) program: Vec<OsString>,
    /// The scheduler's recipe [default: NAME.keel.toml beside NAME.bpf.o]
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scene: SceneArgs,
    /// Run on machines with these numbers of CPUs, and show which lines cost more on larger ones: 8,64,512
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', conflicts_with_all = ["machine", "diff"], value_parser = clap::value_parser!(u32).range(1..=i64::from(keel_abi::cpuset::MAX_CPUS)), allow_negative_numbers = true)]
    pub(crate) cpus: Vec<u32>,
    /// Compare two profiles line by line. Each is a scheduler, or the .json file of an earlier profile
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub(crate) diff: Vec<String>,
    /// How many lines to show in each table
    #[arg(long, value_name = "N", default_value_t = crate::profile::MOST_LINES, allow_negative_numbers = true)]
    pub(crate) top: usize,
    /// Also print the source with the cost of each line
    #[arg(long, conflicts_with_all = ["cpus", "diff", "json"])]
    pub(crate) annotate: bool,
    /// Write folded stacks, for flame graphs
    #[arg(long, value_name = "OUT", conflicts_with_all = ["cpus", "diff"])]
    pub(crate) folded: Option<PathBuf>,
    /// Write the profile for pprof
    #[arg(long, value_name = "OUT", conflicts_with_all = ["cpus", "diff"])]
    pub(crate) pprof: Option<PathBuf>,
    /// Write which lines and branches ran, for lcov
    #[arg(long, value_name = "OUT", conflicts_with_all = ["cpus", "diff"])]
    pub(crate) lcov: Option<PathBuf>,
    /// Write an interactive page of the run, with the profile as a tab
    #[arg(long, value_name = "OUT.html", conflicts_with_all = ["cpus", "diff"])]
    pub(crate) report: Option<PathBuf>,
    /// Print the whole profile as one JSON object, which --diff can read
    #[arg(long, conflicts_with_all = ["cpus", "diff"])]
    pub(crate) json: bool,
}
