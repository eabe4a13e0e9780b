//! The arguments of commands that make or read recordings.

use crate::gate_args::{BaselineArgs, StrictArgs};
use crate::moment::{Moment, moment};
use crate::parse;
use crate::run_args::OutputArgs;
use clap::{Args, Subcommand};
use keel_abi::Span;
use std::ffi::OsString;
use std::path::PathBuf;

/// `keel replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A recording, as for keel check
    #[arg(value_name = "TRACE")]
    pub(crate) recording: PathBuf,
    /// A built-in name, a .bpf.o file, or a binary with one in its .bpf.objs section. You can append settings:
    /// my.bpf.o:kick=1. A command in quotes stands for a scheduler's own program: 'scx_lavd --performance'
    #[arg(value_name = "SCHED")]
    pub(crate) scheduler: String,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// The scheduler's recipe [default: NAME.keel.toml beside NAME.bpf.o]
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// How long to run, in virtual time [default: as long as the recording]
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Span>,
    /// The seed of everything that is not in the recording [default: the seed of the recorded simulation, or 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Set a global variable of the scheduler before loading it
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse::setting)]
    pub(crate) settings: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) outputs: OutputArgs,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
}

/// Which tasks of a recording, how many copies, and on what machine.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    /// The machine to replay on: a built-in name, a number of CPUs, or a file [default: the recording's shape, with the
    /// costs of a current server]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) machine: Option<String>,
    /// Replay on a machine with this many CPUs
    #[arg(long, value_name = "N", conflicts_with = "machine", value_parser = clap::value_parser!(u32).range(1..=i64::from(keel_abi::cpuset::MAX_CPUS)), allow_negative_numbers = true)]
    pub(crate) cpus: Option<u32>,
    /// Replay only tasks with this name or pid; can be repeated. Waits for other tasks last as long as in the recording
    #[arg(long, value_name = "TASK")]
    pub(crate) keep: Vec<String>,
    /// Replay this many copies of each task
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100), allow_negative_numbers = true)]
    pub(crate) scale: u32,
}

/// `keel workload`.
#[derive(Debug, Args)]
pub(crate) struct WorkloadArgs {
    /// The subcommand to execute.
    #[command(subcommand)]
    pub(crate) what: WorkloadCommand,
}

/// The ways to make a workload file.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadCommand {
    /// Write the workload of a recording as an rt-app file with keel's extensions, for you to read and edit
    From(FromArgs),
}

/// `keel workload from`.
#[derive(Debug, Args)]
pub(crate) struct FromArgs {
    /// A recording, as for keel check
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The workload file to write
    #[arg(short, long, value_name = "W.json")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) part: PartArgs,
}

/// `keel check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A recording by keel record, keel sim --trace, perf or trace-cmd, or the text of ftrace, trace-cmd report or perf
    /// script. keel detects the format, and unpacks gzip and zstd. It can be a pipe; - is standard input
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Print one JSON object instead of the table; times in nanoseconds
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    /// With --strict, also count findings that pinned or throttled tasks could explain, if the recording does not say
    /// which tasks are
    #[arg(long)]
    pub(crate) assume_unrestricted: bool,
    /// Report each wakeup after which the task waited longer than this to run, no matter what else ran: 20ms
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) delay: Option<Span>,
    /// Instead, explain why the tasks with this name or pid waited: their longest waits, event by event
    #[arg(long, value_name = "NAME", conflicts_with_all = ["strict", "allow", "budgets", "assume_unrestricted", "delay"])]
    pub(crate) task: Option<String>,
    /// How many waits to list
    // As for --program-log of keel sim: what conflicts with --task would make clap drop `requires`.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "task", conflicts_with_all = ["strict", "allow", "budgets", "assume_unrestricted", "delay"], value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(crate) top: u32,
    /// Judge only events after this time, counted from the start of the trace (2s, 500ms) or by the recorder's clock
    /// (7654.19s)
    #[arg(long, value_name = "TIME", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) from: Option<Moment>,
    /// Judge only events before this time
    #[arg(long, value_name = "TIME", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) until: Option<Moment>,
}

/// `keel report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Recordings, as for keel check; the page shows them one above the other, up to four
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,
    /// The page to write: one HTML file that needs no network
    #[arg(short, long, value_name = "OUT.html", required_unless_present = "perfetto")]
    pub(crate) output: Option<PathBuf>,
    /// Write the events as a Perfetto trace
    #[arg(long, value_name = "OUT")]
    pub(crate) perfetto: Option<PathBuf>,
}

/// `keel record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// The trace to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// How long to record: 10s, 500ms, 2m [default: until CMD ends or you press Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Span>,
    /// Size of each CPU's buffer in KiB [default: 4096, less on machines with more than 64 CPUs]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(4..=1_048_576), allow_negative_numbers = true)]
    pub(crate) buffer: Option<u32>,
    /// Keep only this much, such as the last 30s, and write it at the end and at each SIGUSR1
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) ring: Option<Span>,
    /// Also record what Linux's own scheduler considers: which CPUs and groups it looks at, what it chooses and moves
    #[arg(long)]
    pub(crate) decisions: bool,
    /// Also record the bytes through each pipe and local socket, so that tasks in a replay wait for that data
    #[arg(long)]
    pub(crate) pipes: bool,
    /// Record while this command runs, and exit with its exit code
    #[arg(value_name = "CMD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}
