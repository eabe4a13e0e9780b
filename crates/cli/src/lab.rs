//! The `lab` crate as this one uses it: a table of functions, so that tests can make runs
//! without any scheduler.

use keel_abi::Stop;
use keel_abi::feature::Feature;
use keel_abi::task::Workload;
use keel_experiment::Experiment;
use keel_lab::machines::Scale;
use keel_lab::{LabError, Machine, Outcome, Progress, RunSpec, SchedulerSource};
use keel_trace::Sink;

/// Names, each with one line on what it is.
pub(crate) type Names = Vec<(String, String)>;

/// A workload, and remarks on what was ignored in its file.
pub(crate) type ReadWorkload = fn(&str, &str, &Machine) -> Result<(Workload, Vec<String>), LabError>;

/// Makes one run, until it is asked to stop.
pub(crate) type Run =
    fn(&RunSpec, &mut dyn Sink, &mut dyn FnMut(Progress), &Stop) -> Result<Outcome, LabError>;

/// What `keel` asks of the `lab` crate.
pub(crate) struct Lab {
    pub(crate) schedulers: fn() -> Names,
    pub(crate) scheduler: fn(&str) -> Option<SchedulerSource>,
    pub(crate) machines: fn() -> Names,
    pub(crate) machine: fn(&str) -> Option<Machine>,
    pub(crate) machine_of_cpus: fn(u32) -> Machine,
    pub(crate) read_machine: fn(&str, &str) -> Result<Machine, LabError>,
    pub(crate) workloads: fn() -> Names,
    pub(crate) workload: fn(&str) -> Option<&'static str>,
    pub(crate) made_workload: fn(&str, &Machine) -> Option<Result<Workload, LabError>>,
    pub(crate) read_workload: ReadWorkload,
    pub(crate) run: Run,
    pub(crate) run_to_end: Run,
    pub(crate) features: fn() -> Vec<Feature>,
    pub(crate) experiments: fn() -> Vec<Experiment>,
    pub(crate) constants: fn() -> Vec<&'static str>,
    pub(crate) scaled: fn(&Machine, &str, Scale) -> Option<Machine>,
    pub(crate) recorded_recipe: fn(&RunSpec, &[u8]) -> Result<String, LabError>,
}

/// The `lab` crate itself.
pub(crate) const REAL: Lab = Lab {
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
