//! The arguments shared by all commands that make simulated runs: what to run, and what to write.

use crate::parse;
use clap::{Args, ValueEnum};
use keel_abi::Span;
use keel_front::inputs::Scene;
use std::path::PathBuf;

/// The seed of a run that specifies none.
pub(crate) use keel_front::inputs::DEFAULT_SEED;

/// What to run, on which machine, for how long.
#[derive(Debug, Args)]
pub(crate) struct SceneArgs {
    /// A built-in name, an rt-app JSON file, or a generator such as mix:1000:80 (see keel list workloads). Join several
    /// with '+', as in typist+hogs:1000. Confine or delay one with '@', as in lu:16@nodes=1,2. A recording works too,
    /// as for keel replay
    #[arg(long, value_name = "W", default_value = keel_lab::workloads::DEFAULT)]
    pub(crate) workload: String,
    /// A built-in name, a number of CPUs, or a file [default: 8, or for a recording, the shape of its machine]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) machine: Option<String>,
    /// How long to run, in virtual time: 10s, 500ms, 2m [default: the workload's own duration, or 10s]
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Span>,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// How much background activity to add: interrupts, kernel threads, latencies. It follows from the seed
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = NoiseArg::Quiet)]
    pub(crate) noise: NoiseArg,
    /// Set a global variable of the scheduler before loading it
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Stop the scheduler at its first invalid memory access and report the source line (slower)
    #[arg(long)]
    pub(crate) checked: bool,
    /// How to execute the scheduler's instructions; all give the same results
    #[arg(long, value_enum, default_value_t = EngineArg::Native)]
    pub(crate) engine: EngineArg,
}

impl SceneArgs {
    /// Returns whether no option differs from its default.
    pub(crate) fn is_default(&self) -> bool {
        let Self { workload, machine, duration, seed, noise, settings, checked, engine } = self;
        let is_default_run = machine.is_none() && duration.is_none() && settings.is_empty() && !checked;
        is_default_run
            && (workload.as_str(), *seed) == (keel_lab::workloads::DEFAULT, DEFAULT_SEED)
            && (*noise, *engine) == (NoiseArg::Quiet, EngineArg::Native)
    }

    /// Converts the arguments to a scene.
    pub(crate) fn scene(&self) -> Scene {
        Scene {
            workload: self.workload.clone(),
            machine: self.machine.clone(),
            duration: self.duration,
            seed: self.seed,
            noise: self.noise.into(),
            settings: self.settings.clone(),
            order: None,
            checked: self.checked,
            engine: self.engine.into(),
        }
    }
}

/// What to write besides the table.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write every event of the run to this trace file
    #[arg(long, value_name = "OUT")]
    pub(crate) trace: Option<PathBuf>,
    /// Write an interactive page of the run, or a picture if the name ends in .svg
    #[arg(long, value_name = "OUT.html")]
    pub(crate) report: Option<PathBuf>,
    /// Write the events as a Perfetto trace
    #[arg(long, value_name = "OUT")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Write where the scheduler's time went, by source line (slower). The extension sets the format: .json, .pb.gz
    /// (pprof), .folded, .info (lcov), otherwise text
    #[arg(long, value_name = "OUT")]
    pub(crate) profile: Option<PathBuf>,
    /// Print one JSON object instead of the table; times in nanoseconds
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `keel compare` writes besides the table. The others need a single run, so the help leaves them out; who gives
/// one gets an explanation.
#[derive(Debug, Args)]
pub(crate) struct CompareOutputArgs {
    #[arg(long, hide = true)]
    trace: Option<PathBuf>,
    #[arg(long, hide = true)]
    perfetto: Option<PathBuf>,
    /// Write an interactive page of the first run of each scheduler
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
    /// Write where each scheduler's time went in its first run, by source line, side by side (slower)
    #[arg(long, value_name = "OUT")]
    profile: Option<PathBuf>,
    /// Print one JSON object instead of the table; times in nanoseconds
    #[arg(long)]
    json: bool,
}

impl CompareOutputArgs {
    /// The same, as for other commands.
    pub(crate) fn outputs(&self) -> OutputArgs {
        OutputArgs {
            trace: self.trace.clone(),
            report: self.report.clone(),
            perfetto: self.perfetto.clone(),
            profile: self.profile.clone(),
            json: self.json,
        }
    }
}

/// The engines that execute a scheduler's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// Native code
    Native,
    /// Native code by Cranelift, to compare with
    Cranelift,
    /// The interpreter
    Interpreter,
    /// Native code, and each step of a kernel path by itself, to compare with
    Frames,
}

impl From<EngineArg> for keel_lab::Engine {
    fn from(engine: EngineArg) -> Self {
        match engine {
            EngineArg::Native => Self::Native,
            EngineArg::Cranelift => Self::Cranelift,
            EngineArg::Interpreter => Self::Interpreter,
            EngineArg::Frames => Self::Frames,
        }
    }
}

/// How much background activity there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoiseArg {
    /// Nothing: the same run for every seed, unless the workload asks for chance
    None,
    /// As on an idle server
    Quiet,
    /// As on a server with devices at work
    Busy,
}

impl From<NoiseArg> for keel_abi::Noise {
    fn from(noise: NoiseArg) -> Self {
        match noise {
            NoiseArg::None => Self::None,
            NoiseArg::Quiet => Self::Quiet,
            NoiseArg::Busy => Self::Busy,
        }
    }
}
