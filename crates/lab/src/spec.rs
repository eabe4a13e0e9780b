//! All that one run is a function of.

use crate::machines::Machine;
use keel_abi::order::Holds;
use keel_abi::task::Workload;
use keel_abi::{Noise, Span};
use keel_recipe::Recipe;
use std::ffi::OsString;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

/// A compiled scheduler, and what it is called.
#[derive(Clone, Debug)]
pub struct SchedulerSource {
    /// The built-in name, or the file's name without its folder. Untrusted text.
    pub name: String,
    /// A `.bpf.o`, or an ELF binary that carries one in `.bpf.objs`; none for `eevdf`.
    pub bytes: ObjectBytes,
    /// What its user-space half would do; empty where there is none.
    pub recipe: Recipe,
}

/// The bytes of a scheduler's object, shared by the runs of a comparison.
#[derive(Clone, Debug)]
pub struct ObjectBytes(Given);

#[derive(Clone, Debug)]
enum Given {
    None,
    Bytes(Arc<[u8]>),
    Program { argv: Arc<[OsString]>, stats: Option<Span>, socket: Option<Arc<UnixListener>> },
}

impl ObjectBytes {
    /// No object: the kernel's own fair class has every ordinary task.
    pub const NONE: Self = Self(Given::None);

    /// The bytes, if a scheduler is to be loaded.
    pub fn get(&self) -> Option<&[u8]> {
        match &self.0 {
            Given::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A program that loads its scheduler itself: the file and its arguments.
    pub fn of_program(argv: Vec<OsString>) -> Self {
        Self(Given::Program { argv: argv.into(), stats: None, socket: None })
    }

    /// The program, if it is one, and its arguments.
    pub fn program(&self) -> Option<&[OsString]> {
        match &self.0 {
            Given::Program { argv, .. } => Some(argv),
            _ => None,
        }
    }

    /// The same, with a program's statistics server queried whenever this much virtual time has passed.
    pub fn asked_every(self, span: Option<Span>) -> Self {
        match self.0 {
            Given::Program { argv, socket, .. } => Self(Given::Program { argv, stats: span, socket }),
            given => Self(given),
        }
    }

    /// The same, with a socket at which clients reach a program's statistics server. The run then takes at least as long
    /// on the host as it does in virtual time.
    pub fn reached_at(self, socket: Option<Arc<UnixListener>>) -> Self {
        match self.0 {
            Given::Program { argv, stats, .. } => Self(Given::Program { argv, stats, socket }),
            given => Self(given),
        }
    }

    /// Where clients reach a program's statistics server.
    pub fn stats_socket(&self) -> Option<Arc<UnixListener>> {
        match &self.0 {
            Given::Program { socket, .. } => socket.clone(),
            _ => None,
        }
    }

    /// How often a program's statistics server is queried.
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
        Self(Given::Bytes(bytes.into()))
    }
}

impl From<&[u8]> for ObjectBytes {
    fn from(bytes: &[u8]) -> Self {
        Self(Given::Bytes(bytes.into()))
    }
}

/// Who executes the scheduler's instructions. Results are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Native code.
    #[default]
    Native,
    /// Native code by Cranelift, as hosts run it for which the engine has no emitter.
    Cranelift,
    /// The interpreter, native code's oracle.
    Interpreter,
    /// Native code; the kernel's paths are taken step by step, a frame each, as a path is that others hold up at every
    /// step. The oracle of paths that go straight on.
    Frames,
    /// The interpreter, counting what each instruction costs: the run's [`Outcome`](crate::Outcome) has a profile.
    Profiler,
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
    /// What goes on beside the workload; [`Noise::None`] keeps a run exact, as tests want it.
    pub noise: Noise,
    /// Who executes instructions.
    pub engine: Engine,
    /// Where callbacks let others run first; nowhere without it.
    pub order: Option<Holds>,
    /// Ends the scheduler at its first invalid access, and names it, instead of only counting. Slower.
    pub checked: bool,
}
