//! The command line as clap reads it.

use crate::gate_args::{BaselineArgs, StrictArgs};
use crate::moment::{Moment, moment};
use crate::parse;
use crate::vm_args::VmArgs;
use crate::watch_args::WatchArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use keel_abi::Span;
use std::ffi::OsString;
use std::path::PathBuf;

/// The seed of a run that names none.
pub(crate) const DEFAULT_SEED: u64 = 1;

const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   --strict, and a budget is exceeded; --baseline, and a figure regressed
  2   bad input or usage, or a file cannot be written
  3   the scheduler failed: its error, a stall, an exit
  4   the object or workload needs something that is not supported
  70  a bug of ours
  130 stopped by Ctrl-C (by SIGTERM 143, by SIGHUP 129): what is printed and written is of a part";

/// A lab for Linux CPU schedulers: runs a compiled sched_ext scheduler on any machine that you
/// can describe, repeatably, and shows every core that idled while a thread waited.
#[derive(Debug, Parser)]
#[command(name = "keel", version, after_help = EXIT_CODES, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands; those that are not there yet are hidden, and refused by name.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scheduler on a simulated machine and judge what it did
    Sim(SimArgs),
    /// Run several schedulers on the same machine and workload, side by side
    Compare(CompareArgs),
    /// Re-run published experiments, and hold ours against theirs
    Lab(LabArgs),
    /// List what is built in
    List(ListArgs),
    /// Judge a recording, whoever made it
    Check(CheckArgs),
    #[command(hide = true)]
    Replay(Rest),
    /// Make one page to explore of recordings, whoever made them
    Report(ReportArgs),
    /// Load a scheduler into this machine's kernel, until Ctrl-C
    Run(RunArgs),
    /// Watch this machine for cores that idle while tasks wait
    Watch(WatchArgs),
    /// Record what this machine's kernel schedules
    Record(RecordArgs),
    /// Run a command as a real-time task of the loaded scheduler
    Exec(ExecArgs),
    /// Run a command on a real kernel in a throwaway guest
    Vm(VmArgs),
}

impl Command {
    /// Does it print a result of which a part is worth something, too? Those about the running kernel have ways of their
    /// own to be ended.
    pub(crate) const fn has_a_verdict(&self) -> bool {
        matches!(self, Self::Sim(_) | Self::Compare(_) | Self::Lab(_) | Self::Check(_) | Self::Report(_))
    }
}

/// Whatever follows a command that is not there yet.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

/// `keel sim`.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// A built-in name, a .bpf.o, or a binary that carries one in .bpf.objs; settings may follow: my.bpf.o:kick=1
    #[arg(value_name = "SCHED")]
    pub(crate) scheduler: String,
    /// The host recipe; NAME.keel.toml beside NAME.bpf.o by default
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scene: SceneArgs,
    /// Write what the scheduler prints (bpf_printk) to this file; - is stderr
    #[arg(long, value_name = "OUT")]
    pub(crate) log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) outputs: OutputArgs,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
}

/// `keel run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A built-in name, a .bpf.o, or a binary that carries one in .bpf.objs
    #[arg(value_name = "SCHED")]
    pub(crate) scheduler: String,
    /// The host recipe; NAME.keel.toml beside NAME.bpf.o by default
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// Set a global variable of the scheduler before it is loaded
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Print what the kernel and the scheduler count, every SEC seconds
    #[arg(long, value_name = "SEC", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) stats: Option<u32>,
}

/// `keel check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Of keel record or keel sim --trace; or perf.data, trace.dat, or the text of ftrace, trace-cmd report or perf script; as it is,
    /// or compressed by gzip or zstd. Its content tells which, not its name. A pipe, or - for standard input, will do
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Print one JSON object instead of the table; times in nanoseconds
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    /// With --strict count findings, too, that are none if tasks are pinned or throttled and the recording does not say so
    #[arg(long)]
    pub(crate) assume_unrestricted: bool,
    /// Wakeups from which a task came to run later than this are findings, whatever else ran: 20ms
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_negative_numbers = true)]
    pub(crate) delay: Option<Span>,
    /// Tell instead why the tasks with this name, or the one with this pid, waited: their longest waits, event by event
    #[arg(long, value_name = "NAME", conflicts_with_all = ["strict", "allow", "budgets", "assume_unrestricted", "delay"])]
    pub(crate) task: Option<String>,
    /// How many of these waits
    #[arg(long, value_name = "N", default_value_t = 10, requires = "task", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) top: u32,
    /// Judge what happened later than this after the trace's beginning: 2s, 500ms; or the recorder's own time, 7654.19s
    #[arg(long, value_name = "TIME", value_parser = moment, allow_negative_numbers = true)]
    pub(crate) from: Option<Moment>,
    /// And earlier than this
    #[arg(long, value_name = "TIME", value_parser = moment, allow_negative_numbers = true)]
    pub(crate) until: Option<Moment>,
}

/// `keel report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Recordings as for keel check; of several the page shows one above the other
    #[arg(value_name = "TRACE", required = true, num_args = 1..=4)]
    pub(crate) traces: Vec<PathBuf>,
    /// The page to write, one HTML file that needs no network
    #[arg(short, long, value_name = "OUT.html", required_unless_present = "perfetto")]
    pub(crate) output: Option<PathBuf>,
    /// Write the events for Perfetto's viewer and tools
    #[arg(long, value_name = "OUT")]
    pub(crate) perfetto: Option<PathBuf>,
}

/// `keel record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// The trace to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// How long: 10s, 500ms, 2m; by default until CMD ends or Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_negative_numbers = true)]
    pub(crate) duration: Option<Span>,
    /// Memory for what was not read yet, KiB a CPU; 4096 by default, less on machines with more than 64 CPUs
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(4..=1_048_576))]
    pub(crate) buffer: Option<u32>,
    /// Record while this command runs, and end with its exit code
    #[arg(value_name = "CMD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// `keel exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The real-time priority, 1 to 99; the greater the more urgent
    #[arg(long, value_name = "PRIO", value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) rt: u32,
    /// In turn with others of the same priority (SCHED_RR) instead of until it gives way (SCHED_FIFO)
    #[arg(long)]
    pub(crate) rr: bool,
    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// `keel compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Schedulers, with commas between them; the first is what the others are compared with. Behind a scheduler stand the
    /// settings of it alone: my.bpf.o:kick=1:slice_ns=5000000
    #[arg(value_name = "SCHED,SCHED,...", value_delimiter = ',', required = true)]
    pub(crate) schedulers: Vec<String>,
    #[command(flatten)]
    pub(crate) scene: SceneArgs,
    #[command(flatten)]
    pub(crate) outputs: OutputArgs,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
    /// Runs of each scheduler, with seeds counted up from --seed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
}

/// `keel lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// Built-in names, or experiments' files; all that are built in by default
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// Runs of each arm, with seeds counted up from the experiment's own; 20 by default, 3 with --matrix, 1 with
    /// --sensitivity
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,
    /// Runs side by side; as many as the host has CPUs by default
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
    /// Halve and double each machine constant, and show which ratios move
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Have every built-in scheduler do each experiment's work, and show how much worse than the best it is
    #[arg(long, conflicts_with = "sensitivity")]
    pub(crate) matrix: bool,
    /// Show what each decision of these schedulers costs with 10 to 100,000 tasks waiting, and on 1 to 1,024 CPUs
    #[arg(long, value_name = "SCHED,...", value_delimiter = ',', conflicts_with_all = ["experiments", "runs", "sensitivity", "matrix"])]
    pub(crate) decisions: Vec<String>,
    /// Where the tasks of --decisions wait: a built-in name, a number of CPUs, or a file
    #[arg(long, value_name = "M", default_value = "8", requires = "decisions")]
    pub(crate) machine: String,
    /// Write a page with all that was found to this file; of --decisions a chart, to a file that ends in .svg
    #[arg(long, value_name = "OUT.html")]
    pub(crate) report: Option<PathBuf>,
    /// Who executes the schedulers' instructions; the results are the same
    #[arg(long, value_enum, default_value_t = EngineArg::Native, conflicts_with_all = ["sensitivity", "decisions"])]
    pub(crate) engine: EngineArg,
    /// List the experiments instead
    #[arg(long, conflicts_with_all = ["experiments", "runs", "jobs", "sensitivity", "matrix", "decisions", "report"])]
    pub(crate) list: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is run where, for how long.
#[derive(Debug, Args)]
pub(crate) struct SceneArgs {
    /// A built-in name, an rt-app JSON file, a generator such as mix:1000:80 or chat:10:20:100 (keel list
    /// workloads), or several joined by '+': typist+hogs:1000; behind each what is asked of it: lu:16@nodes=1,2
    #[arg(long, value_name = "W", default_value = keel_lab::workloads::DEFAULT)]
    pub(crate) workload: String,
    /// A built-in name, a number of CPUs, or a file
    #[arg(long, value_name = "M", default_value = "8")]
    pub(crate) machine: String,
    /// How long, in virtual time: 10s, 500ms, 2m; the workload's own duration, or else 10s, by default
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_negative_numbers = true)]
    pub(crate) duration: Option<Span>,
    /// Where all random numbers come from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Set a global variable of the scheduler before it is loaded
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// End the scheduler at its first stray memory access, and name the source line (slower)
    #[arg(long)]
    pub(crate) checked: bool,
    /// Who executes the scheduler's instructions; the results are the same
    #[arg(long, value_enum, default_value_t = EngineArg::Native)]
    pub(crate) engine: EngineArg,
}

/// What comes out besides the table.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write every event of the run to this file
    #[arg(long, value_name = "OUT")]
    pub(crate) trace: Option<PathBuf>,
    /// Write a page to explore the run, or a picture of it if the name ends in .svg
    #[arg(long, value_name = "OUT.html")]
    pub(crate) report: Option<PathBuf>,
    /// Write the events for Perfetto's viewer and tools
    #[arg(long, value_name = "OUT")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Print one JSON object instead of the table; times in nanoseconds
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keel list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list; everything by default
    #[arg(value_enum, value_name = "WHAT")]
    pub(crate) what: Option<Listed>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    Schedulers,
    Machines,
    Workloads,
    Experiments,
    /// Kernels for `keel vm`
    Kernels,
    Checks,
    /// What schedulers may use, and how near it is to the kernel's
    Features,
}

/// Who executes the scheduler's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// Native code
    Native,
    /// The interpreter
    Interpreter,
}

impl From<EngineArg> for keel_lab::Engine {
    fn from(engine: EngineArg) -> Self {
        match engine {
            EngineArg::Native => Self::Native,
            EngineArg::Interpreter => Self::Interpreter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
