//! The arguments of `keel`'s commands, as clap parses them.

use crate::fuzz_args::{BisectArgs, ExploreArgs, FuzzArgs};
use crate::gate_args::{BaselineArgs, StrictArgs};
use crate::parse;
use crate::profile_args::ProfileArgs;
use crate::recording_args::{CheckArgs, RecordArgs, ReplayArgs, ReportArgs, WorkloadArgs};
use crate::run_args::{CompareOutputArgs, EngineArg, OutputArgs, SceneArgs};
use crate::vm_args::VmArgs;
use crate::watch_args::WatchArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use keel_abi::Span;
use std::ffi::OsString;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   a budget was exceeded (--strict) or a figure regressed (--baseline)
  2   bad input or usage, or a file cannot be written
  3   the scheduler failed: an error, a stall or an exit
  4   the object or workload needs something that keel does not support
  70  an internal error of keel
  130 stopped by Ctrl-C (143: SIGTERM, 129: SIGHUP); the results cover only part of the run";

/// A lab for Linux CPU schedulers: run a compiled sched_ext scheduler on any machine you can
/// describe, get the same result every time, and see every core that idled while a thread waited.
#[derive(Debug, Parser)]
#[command(name = "keel", version, after_help = EXIT_CODES, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// The command to execute.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scheduler on a simulated machine and judge what it did
    Sim(SimArgs),
    /// Run several schedulers on the same machine and workload, side by side
    Compare(CompareArgs),
    /// Show where a scheduler's time goes: by callback, function and source line
    Profile(ProfileArgs),
    /// Score a scheduler on a suite of workloads and machines: one number, with its parts and its noise
    Score(ScoreArgs),
    /// Search for workloads, machines and settings that break a scheduler, and shrink each failure
    Fuzz(FuzzArgs),
    /// Run a workload with its nearly simultaneous events in many different orders, until one fails
    Explore(ExploreArgs),
    /// Find the commit that changed a run, with git bisect
    Bisect(BisectArgs),
    /// Search a scheduler's settings as described in a file, with the Python package evenkeel
    Sweep(SweepArgs),
    /// Serve sim, compare, check, explain and score as tools of the Model Context Protocol, on stdin and stdout
    Mcp(McpArgs),
    /// Re-run published experiments and compare the results with the published ones
    Lab(LabArgs),
    /// List built-in schedulers, machines, workloads, experiments, suites, kernels, checks and features
    List(ListArgs),
    /// Judge a recording made by keel, perf or trace-cmd
    Check(CheckArgs),
    /// Run the workload of a recording under another scheduler
    Replay(ReplayArgs),
    /// Make a workload file from a recording
    Workload(WorkloadArgs),
    /// Describe this machine in a machine file
    Machine(MachineArgs),
    /// Make one interactive HTML page from recordings
    Report(ReportArgs),
    /// Load a scheduler into this machine's kernel until you press Ctrl-C
    Run(RunArgs),
    /// Watch this machine for cores that idle while tasks wait
    Watch(WatchArgs),
    /// Record the scheduling events of this machine's kernel
    Record(RecordArgs),
    /// Write the setup done by a scheduler's own program as a recipe, for runs without the program
    RecordRecipe(RecordRecipeArgs),
    /// Run a command as a real-time task of the loaded scheduler
    Exec(ExecArgs),
    /// Run a command on a real kernel in a throwaway guest
    Vm(VmArgs),
}

impl Command {
    /// Returns whether it prints a result that is useful even if it is partial, or writes a file that a signal must not
    /// leave half-written. Commands about the running kernel handle signals themselves.
    pub(crate) const fn has_a_verdict(&self) -> bool {
        matches!(
            self,
            Self::Sim(_)
                | Self::Compare(_)
                | Self::Profile(_)
                | Self::Score(_)
                | Self::Fuzz(_)
                | Self::Explore(_)
                | Self::Lab(_)
                | Self::Check(_)
                | Self::Report(_)
                | Self::Replay(_)
                | Self::Workload(_)
                | Self::Machine(_)
        )
    }
}

/// `keel machine`.
#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    /// The command to execute.
    #[command(subcommand)]
    pub(crate) what: MachineCommand,
}

/// The ways to make a machine file.
#[derive(Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// Describe this machine as far as its kernel reports it: CPUs, caches, nodes, frequencies, settings. This needs no
    /// privileges, and lists what it could not read
    Capture(CaptureArgs),
}

/// `keel machine capture`.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// The machine file to write [default: standard output]
    #[arg(short, long, value_name = "M.toml")]
    pub(crate) output: Option<PathBuf>,
    /// Also measure the cost of switches, wakeups, cache lines and timers, which takes a few seconds. Do it while the
    /// machine is idle
    #[arg(long)]
    pub(crate) measure: bool,
}

/// `keel sim`.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// A built-in name, a .bpf.o file, or a binary with one in its .bpf.objs section. You can append settings:
    /// my.bpf.o:kick=1
    #[arg(value_name = "SCHED", required_unless_present = "program", conflicts_with = "program")]
    pub(crate) scheduler: Option<String>,
    /// Instead of SCHED: a scheduler's own program and its arguments, after --. It runs alongside the simulated kernel
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
    /// Write what the program prints to this file; - is stderr
    // clap drops `requires` where the required argument conflicts with a given one, so the conflict is listed too.
    #[arg(long, value_name = "OUT", requires = "program", conflicts_with = "scheduler")]
    pub(crate) program_log: Option<PathBuf>,
    /// Query the program's scx_stats server every SEC virtual seconds, and print each answer to stderr as one line
    #[arg(long, value_name = "SEC", requires = "program", conflicts_with = "scheduler", value_parser = clap::value_parser!(u32).range(1..=3600), allow_negative_numbers = true)]
    pub(crate) stats: Option<u32>,
    /// Let scx_stats clients, such as scx_layered --monitor, connect to the program through this socket [without PATH:
    /// /var/run/scx/root/stats]. The run is then no faster than real time, and depends on when clients ask
    #[arg(long, value_name = "PATH", requires = "program", conflicts_with = "scheduler", num_args = 0..=1, default_missing_value = crate::stats_socket::PLACE)]
    pub(crate) stats_socket: Option<PathBuf>,
    /// The scheduler's recipe [default: NAME.keel.toml beside NAME.bpf.o]
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scene: SceneArgs,
    /// Delay callbacks at the points in this file, which keel explore wrote
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    pub(crate) order: Option<String>,
    /// Write the scheduler's bpf_printk output to this file; - is stderr
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
    /// A built-in name, a .bpf.o file, or a binary with one in its .bpf.objs section
    #[arg(value_name = "SCHED")]
    pub(crate) scheduler: String,
    /// The scheduler's recipe [default: NAME.keel.toml beside NAME.bpf.o]
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// Set a global variable of the scheduler before loading it
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Print the counters of the kernel and the scheduler every SEC seconds
    #[arg(long, value_name = "SEC", value_parser = clap::value_parser!(u32).range(1..=3600), allow_negative_numbers = true)]
    pub(crate) stats: Option<u32>,
}

/// `keel record-recipe`.
#[derive(Debug, Args)]
pub(crate) struct RecordRecipeArgs {
    /// The recipe to write [default: standard output]
    #[arg(short, long, value_name = "NAME.keel.toml")]
    pub(crate) output: Option<PathBuf>,
    /// The object that the program loads [default: the one in the program's .bpf.objs section]
    #[arg(long, value_name = "OBJ")]
    pub(crate) object: Option<PathBuf>,
    /// The machine that the program sees: a built-in name, a number of CPUs, or a file
    #[arg(long, value_name = "M", default_value = crate::inputs::DEFAULT_MACHINE, allow_negative_numbers = true)]
    pub(crate) machine: String,
    /// The program and its arguments, after --
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    pub(crate) program: Vec<OsString>,
}

/// `keel exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The real-time priority, 1 to 99; a higher number is more urgent
    #[arg(long, value_name = "PRIO", value_parser = clap::value_parser!(u32).range(1..=99), allow_negative_numbers = true)]
    pub(crate) rt: u32,
    /// Use SCHED_RR, which takes turns with tasks of the same priority, instead of SCHED_FIFO
    #[arg(long)]
    pub(crate) rr: bool,
    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// `keel compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Schedulers, separated by commas. The first is the baseline. Append settings to a single scheduler:
    /// my.bpf.o:kick=1:slice_ns=5000000. A command in quotes stands for a scheduler's own program: 'scx_lavd
    /// --performance'
    #[arg(value_name = "SCHED,SCHED,...", value_delimiter = ',', required = true)]
    pub(crate) schedulers: Vec<String>,
    #[command(flatten)]
    pub(crate) scene: SceneArgs,
    #[command(flatten)]
    pub(crate) outputs: CompareOutputArgs,
    #[command(flatten)]
    pub(crate) strict: StrictArgs,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
    /// How many times to run each scheduler, with consecutive seeds starting at --seed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(crate) runs: u32,
}

/// `keel score`.
#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// As for keel sim; you can append settings: my.bpf.o:kick=1. A command in quotes stands for a scheduler's own
    /// program
    #[arg(value_name = "SCHED")]
    pub(crate) scheduler: String,
    /// A built-in name, or a file
    #[arg(long, value_name = "S", default_value = "general")]
    pub(crate) suite: String,
    /// Use the held-out seeds, which are not for tuning
    #[arg(long)]
    pub(crate) held_out: bool,
    /// How many runs to do in parallel [default: the host's number of CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keel mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// How long a call may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) time: Span,
    /// How much memory a call may use, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(64..), allow_negative_numbers = true)]
    pub(crate) memory: u32,
}

/// `keel sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// A TOML file: scheduler, workload, machine, [space], [objective]
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// The folder for the results; if it already holds this sweep, the sweep continues [default: FILE.sweep]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How many runs to do in parallel [default: the host's number of CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
    /// The address of a Ray cluster, auto, or local
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) ray: Option<String>,
    /// The Python interpreter that has the package evenkeel
    #[arg(long, value_name = "PYTHON", default_value = "python3")]
    pub(crate) python: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keel lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// Built-in names or experiment files [default: all built-in ones]
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// How many times to run each arm, with consecutive seeds starting at the experiment's own [default: 5, and 20
    /// where the verdict is close; 3 with --matrix, 1 with --sensitivity]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(crate) runs: Option<u32>,
    /// How many runs to do in parallel [default: the host's number of CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
    /// Halve and double each machine constant, and show which ratios change
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Run each experiment's workload under every built-in scheduler, and compare each with the best
    #[arg(long, conflicts_with = "sensitivity")]
    pub(crate) matrix: bool,
    /// Show what each decision of these schedulers costs, with 10 to 100,000 waiting tasks and 1 to 1,024 CPUs
    #[arg(long, value_name = "SCHED,...", value_delimiter = ',', conflicts_with_all = ["experiments", "runs", "sensitivity", "matrix"])]
    pub(crate) decisions: Vec<String>,
    /// The machine for --decisions: a built-in name, a number of CPUs, or a file
    // As for --program-log: what conflicts with --decisions would make clap drop `requires`.
    #[arg(long, value_name = "M", default_value = "8", requires = "decisions", conflicts_with_all = ["experiments", "runs", "sensitivity", "matrix", "engine", "costs", "programs", "list"], allow_negative_numbers = true)]
    pub(crate) machine: String,
    /// Write all results to this HTML page; with --decisions, write a chart to this .svg file
    #[arg(long, value_name = "OUT.html")]
    pub(crate) report: Option<PathBuf>,
    /// How to execute the schedulers' instructions; all give the same results
    #[arg(long, value_enum, default_value_t = EngineArg::Native, conflicts_with_all = ["sensitivity", "decisions"])]
    pub(crate) engine: EngineArg,
    /// Charge for BPF instructions, or for the native instructions that clang makes from the same sources
    #[arg(long, value_enum, default_value_t = CostsArg::Bpf, conflicts_with_all = ["sensitivity", "decisions"])]
    pub(crate) costs: CostsArg,
    /// The folder with the programs that experiments name with a version: DIR/NAME-VERSION/bin/NAME, as installed by
    /// cargo install --root
    #[arg(long, value_name = "DIR", default_value = ".cache/programs", conflicts_with_all = ["decisions"])]
    pub(crate) programs: PathBuf,
    /// Only list the experiments
    #[arg(long, conflicts_with_all = ["experiments", "runs", "jobs", "sensitivity", "matrix", "decisions", "report"])]
    pub(crate) list: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keel list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list [default: all but kernels and features]
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
    /// Suites for `keel score`
    Suites,
    /// Kernels for `keel vm`
    Kernels,
    Checks,
    /// Callbacks, flags, kfuncs and helpers that schedulers can use, and how exact each is
    Features,
}

/// Whose instructions a scheduler is charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostsArg {
    /// Those of its BPF object
    Bpf,
    /// Those of compiled C
    Native,
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
