//! All that one run is a function of.

use crate::machines::Machine;
use keel_abi::Span;
use keel_abi::task::Workload;
use keel_recipe::Recipe;
use std::sync::Arc;

/// A compiled scheduler, and what it is called.
#[derive(Clone, Debug)]
pub struct SchedulerSource {
    /// The built-in name, or the file's name without its folder. A stranger's text.
    pub name: String,
    /// A `.bpf.o`, or an ELF binary that carries one in `.bpf.objs`. Shared by the runs of a
    /// comparison.
    pub bytes: Arc<[u8]>,
    /// What its user-space half would do; empty where there is none.
    pub recipe: Recipe,
}

/// Who executes the scheduler's instructions. Results are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Native code.
    #[default]
    Native,
    /// The interpreter, native code's oracle.
    Interpreter,
}

/// One run: the same spec gives the same events on any host.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Who schedules.
    pub scheduler: SchedulerSource,
    /// The scheduler's global variables to set before it is loaded: name and value, as written.
    pub settings: Vec<(String, String)>,
    /// What is scheduled.
    pub workload: Workload,
    /// Where.
    pub machine: Machine,
    /// How long, in virtual time.
    pub duration: Span,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Who executes instructions.
    pub engine: Engine,
    /// Ends the scheduler at its first stray access, and names it, instead of only counting. Slower.
    pub checked: bool,
}
