//! This crate's view of the `lab` crate: a table of functions, so that tests can make runs without any scheduler.

use keel_abi::Stop;
use keel_abi::feature::Feature;
use keel_abi::task::Workload;
use keel_experiment::Experiment;
use keel_lab::machines::Scale;
use keel_lab::{LabError, Machine, Outcome, Progress, RunSpec, SchedulerSource};
use keel_trace::Sink;

/// Names, each with a description in one line.
pub type Names = Vec<(String, String)>;

/// A workload, and remarks about ignored parts of its file.
pub type ReadWorkload = fn(&str, &str, &Machine) -> Result<(Workload, Vec<String>), LabError>;

/// Makes one run to its end or until a stop is requested.
pub type Run = fn(&RunSpec, &mut dyn Sink, &mut dyn FnMut(Progress), &Stop) -> Result<Outcome, LabError>;

/// The functions that `keel` uses from the `lab` crate.
pub struct Lab {
    /// The built-in schedulers.
    pub schedulers: fn() -> Names,
    /// The built-in scheduler of this name.
    pub scheduler: fn(&str) -> Option<SchedulerSource>,
    /// The built-in machines.
    pub machines: fn() -> Names,
    /// The built-in machine of this name.
    pub machine: fn(&str) -> Option<Machine>,
    /// A modern server with this many CPUs.
    pub machine_of_cpus: fn(u32) -> Machine,
    /// Reads a machine from its file's name and text.
    pub read_machine: fn(&str, &str) -> Result<Machine, LabError>,
    /// The built-in workloads.
    pub workloads: fn() -> Names,
    /// The text of the built-in workload of this name.
    pub workload: fn(&str) -> Option<&'static str>,
    /// A generated workload, if the name is a generator's.
    pub made_workload: fn(&str, &Machine) -> Option<Result<Workload, LabError>>,
    /// Reads a workload from its file's name and text.
    pub read_workload: ReadWorkload,
    /// Makes a run of the duration in its spec.
    pub run: Run,
    /// Makes a run that ends with its last task.
    pub run_to_end: Run,
    /// The features that schedulers can use.
    pub features: fn() -> Vec<Feature>,
    /// The built-in experiments.
    pub experiments: fn() -> Vec<Experiment>,
    /// The names of machine constants.
    pub constants: fn() -> Vec<&'static str>,
    /// The machine with one constant scaled.
    pub scaled: fn(&Machine, &str, Scale) -> Option<Machine>,
    /// The setup that a scheduler's program performs, as a recipe for the object with these bytes.
    pub recorded_recipe: fn(&RunSpec, &[u8]) -> Result<String, LabError>,
}

/// The `lab` crate itself.
pub const REAL: Lab = Lab {
    schedulers: keel_lab::schedulers::list,
    scheduler: keel_lab::schedulers::source,
    machines: keel_lab::machines::list,
    machine: keel_lab::machines::built_in,
    machine_of_cpus: keel_lab::machines::of_cpus,
    read_machine: keel_lab::machines::read,
    workloads: keel_lab::workloads::list,
    workload: keel_lab::workloads::built_in,
    made_workload: keel_lab::workloads::made,
    read_workload: |name, text, machine| {
        let (workload, remarks) = keel_lab::workloads::read(name, text, machine)?;
        Ok((workload, remarks.iter().map(ToString::to_string).collect()))
    },
    run: keel_lab::run_or_stop,
    run_to_end: keel_lab::run_to_end_or_stop,
    features: keel_lab::features,
    experiments: keel_experiment::built_in::all,
    constants: keel_lab::machines::constants,
    scaled: keel_lab::machines::scaled,
    recorded_recipe: keel_lab::recorded_recipe,
};
