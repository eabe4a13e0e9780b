//! Small scenes to run schedulers in, and the allowed results.

use crate::text::sentence;
use keel_abi::Span;
use keel_abi::task::Workload;
use keel_lab::prepared::KernelTypes;
use keel_lab::{
    Engine, LabError, Machine, Outcome, Prepared, RunSpec, SchedulerSource, machines, schedulers,
};
use keel_recipe::Recipe;

/// The maximum number of instructions per callback, which soon ends endless loops.
pub(crate) const MOST_INSNS: u64 = 1 << 18;

/// What every run of a target needs. Created once per thread.
pub(crate) struct Scene {
    /// The simulated kernel's types.
    pub(crate) types: KernelTypes,
    /// A machine with two nodes of two cores with two threads each.
    pub(crate) machine: Machine,
    workload: Workload,
    /// The built-in fifo, already loaded.
    pub(crate) fifo: Prepared,
}

thread_local! {
    static SCENE: Scene = Scene::new();
}

/// Runs a function with the thread's scene.
pub(crate) fn with<T>(act: impl FnOnce(&Scene) -> T) -> T {
    SCENE.with(act)
}

/// Returns a built-in scheduler.
pub(crate) fn built_in(name: &str) -> SchedulerSource {
    let bytes = schedulers::built_in(name).expect("it is built in");
    SchedulerSource { name: name.into(), bytes: bytes.into(), recipe: Recipe::default() }
}

impl Scene {
    fn new() -> Self {
        let types = KernelTypes::read().expect("our own types are right");
        let shape = "name = 'small'\n[topology]\nnodes = 2\nllcs_per_node = 1\ncores_per_llc = 2\nthreads_per_core = 2\n";
        let machine = machines::read("small.toml", shape).expect("our own machine is right");
        let workload = keel_workload::mix(5, machine.topology.cpus(), 250, 40);
        let spec = spec_of(built_in("fifo"), workload.clone(), machine.clone());
        let fifo = Prepared::new(&types, &spec).expect("fifo loads");
        Self { types, machine, workload, fifo }
    }

    /// Returns a short run of this scheduler.
    pub(crate) fn spec(&self, scheduler: SchedulerSource) -> RunSpec {
        spec_of(scheduler, self.workload.clone(), self.machine.clone())
    }
}

fn spec_of(scheduler: SchedulerSource, workload: Workload, machine: Machine) -> RunSpec {
    RunSpec {
        scheduler,
        settings: Vec::new(),
        workload,
        machine,
        duration: Span::from_us(1500),
        seed: 1,
        noise: keel_abi::Noise::None,
        engine: Engine::Interpreter,
        order: None,
        checked: false,
    }
}

/// The result of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended(Result<Outcome, LabError>);

impl Ended {
    /// Converts the result of a run.
    pub(crate) fn of(result: Result<Outcome, LabError>) -> Self {
        Self(result)
    }

    /// Returns the number of instructions that callbacks executed. `None` if there was no run.
    #[cfg(test)]
    pub(crate) fn instructions(&self) -> Option<u64> {
        self.0.as_ref().ok().map(|outcome| outcome.overhead.instructions)
    }

    /// Returns itself. Panics if the run ended through a fault of keel.
    pub(crate) fn checked(self) -> Self {
        self.check();
        self
    }

    /// Panics if the run ended through a fault of keel.
    pub(crate) fn check(&self) {
        match &self.0 {
            Ok(outcome) => {
                assert!(!outcome.exit.is_error() || !outcome.message.is_empty(), "it fails without a word");
            }
            Err(LabError::Bug(text)) => panic!("our own fault: {text}"),
            Err(error) => sentence(error),
        }
    }
}
