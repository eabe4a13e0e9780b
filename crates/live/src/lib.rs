//! Works with the running kernel through libbpf: loads and unloads a scheduler, and records the kernel's scheduling as
//! Evenkeel's events.
//!
//! Unsafe code stays in small modules that justify it.
//!
//! Loading a scheduler:
//!
//! - `ready`: the requirements for loading a scheduler
//! - `load`: loads an object and attaches its scheduler
//! - `plan`: a recipe's actions and `--set`, applied to an object before it is loaded
//! - `maps`: libbpf's maps by the object's own names
//! - `libbpf_log`: libbpf's messages while it loads
//! - `errors`: why a scheduler could not be loaded
//!
//! While it runs, and its end:
//!
//! - `attached`: an attached scheduler, and its removal when it is dropped
//! - `companion`: a recipe's companions, one thread each
//! - `hints`: real-time hints for tasks
//! - `guard`: how often a scheduler is attached again at the kernel's request
//! - `exit`: why the kernel ended a scheduler
//! - `kernel_log`: the kernel's messages about sched_ext
//!
//! Observing the kernel:
//!
//! - [`record`]: what this kernel schedules, as a stream of events
//! - [`watch`]: the same at a fraction of the cost: occasional samples and short recordings
//! - `programs`: the compiled BPF programs that observe the kernel
//! - `host`: the kernel's files about sched_ext
//! - `machine`: the machine under the kernel, from `/sys/devices/system`

mod attached;
mod companion;
mod errors;
mod exit;
mod guard;
mod hints;
mod host;
mod kernel_log;
mod libbpf_log;
mod load;
mod machine;
mod maps;
mod plan;
mod programs;
mod ready;
pub mod record;
pub mod watch;

pub use attached::{Attached, Stats};
pub use errors::{Class, LiveError};
pub use exit::{ExitReport, RESTART};
pub use guard::Restarts;
pub use hints::{Hint, Policy, give_hint};
pub use host::{Host, State};
pub use load::{Outcome, attach};
pub use machine::facts;
pub use ready::check;
