//! The spec of a run: everything that determines it.

use crate::machines::Machine;
use keel_abi::order::Holds;
use keel_abi::task::Workload;
use keel_abi::{Noise, Span};
use keel_program::Clients;
use keel_recipe::Recipe;
use std::ffi::OsString;
use std::sync::Arc;

/// A scheduler: its name, its object, and its recipe.
#[derive(Clone, Debug)]
pub struct SchedulerSource {
    /// The built-in name, or the file's name without its folder. Untrusted text.
    pub name: String,
    /// A `.bpf.o`, an ELF binary that contains one in `.bpf.objs`, or a program; none for `eevdf`.
    pub bytes: ObjectBytes,
    /// What its user-space half would do; empty if it has none.
    pub recipe: Recipe,
}

/// The bytes of a scheduler's object, shared by the runs of a comparison.
#[derive(Clone, Debug)]
pub struct ObjectBytes(Given);

#[derive(Clone, Debug)]
enum Given {
    None,
    Bytes(Arc<[u8]>),
    /// A file's, which are not copied: a scheduler's own program has many.
    File(Arc<Vec<u8>>),
    BuiltIn(&'static [u8]),
    Program {
        argv: Arc<[OsString]>,
        stats: Option<Span>,
        clients: Option<Arc<dyn Clients>>,
    },
}

impl ObjectBytes {
    /// No object: the kernel's own fair class schedules every normal task.
    pub const NONE: Self = Self(Given::None);

    /// Returns the bytes, if a scheduler is to be loaded.
    pub fn get(&self) -> Option<&[u8]> {
        match &self.0 {
            Given::Bytes(bytes) => Some(bytes),
            Given::File(bytes) => Some(bytes),
            Given::BuiltIn(bytes) => Some(bytes),
            Given::None | Given::Program { .. } => None,
        }
    }

    /// Creates the source for an object that is a part of this program, which need not be copied.
    pub(crate) const fn built_in(bytes: &'static [u8]) -> Self {
        Self(Given::BuiltIn(bytes))
    }

    /// Creates the source for a program that loads its scheduler itself, from the file and its arguments.
    pub fn of_program(argv: Vec<OsString>) -> Self {
        Self(Given::Program { argv: argv.into(), stats: None, clients: None })
    }

    /// Returns the program, if it is one, and its arguments.
    pub fn program(&self) -> Option<&[OsString]> {
        match &self.0 {
            Given::Program { argv, .. } => Some(argv),
            _ => None,
        }
    }

    /// Makes the run query the program's statistics server whenever this much virtual time has passed.
    pub fn asked_every(self, span: Option<Span>) -> Self {
        match self.0 {
            Given::Program { argv, clients, .. } => Self(Given::Program { argv, stats: span, clients }),
            given => Self(given),
        }
    }

    /// Lets clients connect to the program's statistics server. If they make requests, the run depends on when they do.
    pub fn open_to(self, clients: Option<Arc<dyn Clients>>) -> Self {
        match self.0 {
            Given::Program { argv, stats, .. } => Self(Given::Program { argv, stats, clients }),
            given => Self(given),
        }
    }

    /// Returns the clients that can talk to a program's statistics server.
    pub(crate) fn clients(&self) -> Option<&Arc<dyn Clients>> {
        match &self.0 {
            Given::Program { clients, .. } => clients.as_ref(),
            _ => None,
        }
    }

    /// Returns how often a program's statistics server is queried.
    pub fn stats(&self) -> Option<Span> {
        match self.0 {
            Given::Program { stats, .. } => stats,
            _ => None,
        }
    }
}

impl From<Arc<[u8]>> for ObjectBytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(Given::Bytes(bytes))
    }
}

impl From<Vec<u8>> for ObjectBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Given::File(Arc::new(bytes)))
    }
}

impl From<&[u8]> for ObjectBytes {
    fn from(bytes: &[u8]) -> Self {
        Self(Given::Bytes(bytes.into()))
    }
}

/// The engine that executes the scheduler's instructions. All give the same results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Native code.
    #[default]
    Native,
    /// Native code by Cranelift, used on hosts for which the engine has no emitter of its own.
    Cranelift,
    /// The interpreter, the reference for native code.
    Interpreter,
    /// Native code, but the kernel's paths are executed step by step, with a frame for each, as if other CPUs suspended
    /// them at every step. The reference for direct paths.
    Frames,
    /// The interpreter, counting each instruction's cost: the run's [`Outcome`](crate::Outcome) has a profile.
    Profiler,
}

/// One run: the same spec gives the same events on any host.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The scheduler.
    pub scheduler: SchedulerSource,
    /// The scheduler's global variables to set before it is loaded: name and value, as written.
    pub settings: Vec<(String, String)>,
    /// The workload.
    pub workload: Workload,
    /// The machine.
    pub machine: Machine,
    /// The length of the run in virtual time.
    pub duration: Span,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The background activity. [`Noise::None`] keeps a run exact, as tests need it.
    pub noise: Noise,
    /// The engine that executes instructions.
    pub engine: Engine,
    /// The points at which callbacks let others run first, if any.
    pub order: Option<Holds>,
    /// Whether to end the scheduler at its first invalid access and report that, instead of only counting. Slower.
    pub checked: bool,
}
