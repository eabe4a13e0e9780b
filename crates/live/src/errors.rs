//! Errors: why a scheduler could not be loaded into the kernel.

use keel_object::{ObjectError, SetError};
use keel_recipe::RecipeError;

/// What an error means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The user can fix it: the input, or the machine's state.
    Input,
    /// The scheduler failed: the kernel rejected it.
    Scheduler,
    /// The kernel lacks something, which is named.
    Unsupported,
}

/// An error, as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// There is no `/sys/kernel/sched_ext`.
    #[error("this kernel has no sched_ext: it needs Linux 6.16 or newer with CONFIG_SCHED_CLASS_EXT=y")]
    NoSchedExt,
    /// There is no `/sys/kernel/btf/vmlinux`.
    #[error(
        "this kernel does not provide its types (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf,
    /// The types of kfuncs contain an argument that callers never pass.
    #[error(
        "this kernel's types (BTF) are broken: kfuncs such as {0}() show their hidden argument 'aux', so that \
         schedulers that call them cannot be loaded; Debian's kernels 7.1 and 7.2 from backports are built so"
    )]
    BrokenBtf(String),
    /// This process is neither root nor has the capabilities.
    #[error("loading a scheduler needs root, or the capabilities CAP_BPF and CAP_PERFMON")]
    NoRights,
    /// Another scheduler is attached.
    #[error("another scheduler is attached: {0}")]
    Busy(String),
    /// The object cannot be read.
    #[error("{0}")]
    Object(#[from] ObjectError),
    /// The recipe is wrong.
    #[error("{0}")]
    Recipe(#[from] RecipeError),
    /// A variable cannot be set to this value.
    #[error("{place}: {error}")]
    Set {
        /// The source: `--set NAME=VALUE`, or the recipe.
        place: String,
        /// What is wrong.
        error: SetError,
    },
    /// The object lacks something that the recipe names.
    #[error("the recipe names {what} {name}, which the object does not have")]
    Unknown {
        /// `map`, `syscall program`, ...
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// An element does not fit its map.
    #[error("the recipe's element for map {map} does not fit its {part} of {size} bytes")]
    DoesNotFit {
        /// The map.
        map: String,
        /// `key` or `value`.
        part: &'static str,
        /// Its size in bytes.
        size: usize,
    },
    /// The kernel did not accept an element.
    #[error("map {map} does not take the recipe's element: {why}")]
    Element {
        /// The map.
        map: String,
        /// The kernel's error.
        why: String,
    },
    /// The object contains no scheduler.
    #[error("no scheduler in it: a .struct_ops.link section with a struct sched_ext_ops is needed")]
    NoScheduler,
    /// The object contains more than one scheduler.
    #[error("more than one scheduler in it")]
    ManySchedulers,
    /// The object needs something that this kernel lacks.
    #[error("it needs what this kernel does not have: {0}")]
    Lacks(String),
    /// The verifier or the loader rejected it.
    #[error("the kernel refused it: {0}")]
    Refused(String),
    /// A `SEC("syscall")` program failed.
    #[error("program {program} failed: {why}")]
    Program {
        /// The program.
        program: String,
        /// Its return value, or the kernel's error.
        why: String,
    },
    /// The map of hints cannot be used.
    #[error("{0}")]
    Hints(String),
}

impl LiveError {
    /// Returns what it means for the caller.
    pub fn class(&self) -> Class {
        match self {
            Self::NoSchedExt | Self::NoBtf | Self::BrokenBtf(_) | Self::Lacks(_) => Class::Unsupported,
            Self::Object(error) if error.is_unsupported() => Class::Unsupported,
            Self::Refused(_) | Self::Program { .. } => Class::Scheduler,
            Self::NoRights
            | Self::Busy(_)
            | Self::Object(_)
            | Self::Recipe(_)
            | Self::Set { .. }
            | Self::Unknown { .. }
            | Self::DoesNotFit { .. }
            | Self::Element { .. }
            | Self::NoScheduler
            | Self::ManySchedulers
            | Self::Hints(_) => Class::Input,
        }
    }

    /// Returns what to do about it, if that is not obvious.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NoSchedExt | Self::NoBtf | Self::BrokenBtf(_) => {
                Some("keel vm boots a kernel that has it; keel sim does not need it")
            }
            Self::NoRights => Some("run it with sudo"),
            Self::Busy(_) => Some("detach it first; the kernel allows one scheduler at a time"),
            _ => None,
        }
    }
}
