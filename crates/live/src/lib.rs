//! The running kernel, through libbpf: loads a scheduler into it and takes it out again, and
//! records what it does as Evenkeel's events.
//!
//! Unsafe code stays in narrow modules that argue for it.

mod attached;
mod companion;
mod errors;
mod exit;
mod guard;
mod hints;
mod host;
mod kernel_log;
mod load;
mod machine;
mod maps;
mod plan;
mod programs;
mod ready;
pub mod record;
pub mod watch;
mod words;

pub use attached::{Attached, Stats};
pub use errors::{Class, LiveError};
pub use exit::{ExitReport, RESTART};
pub use guard::Restarts;
pub use hints::{Hint, Policy, give_hint};
pub use host::{Host, State};
pub use load::{Outcome, attach};
pub use machine::facts;
pub use ready::check;
