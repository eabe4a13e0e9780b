//! The rules of sched_ext: which queue a task goes into, which task is moved to a CPU, slices, idle CPUs, kicks.
//!
//! [`crate::state::scx`] holds the data. The paths that call the scheduler are in `paths::scx`.

pub(crate) mod bypass;
pub(crate) mod cids;
pub(crate) mod cpu_release;
pub(crate) mod deferred;
pub(crate) mod direct_dispatch;
pub(crate) mod dispatch;
pub(crate) mod insert;
pub(crate) mod kick;
pub(crate) mod programs;
pub(crate) mod queue_lock;
pub(crate) mod reenqueue;
pub(crate) mod restart;
pub(crate) mod select_cpu_dfl;
pub(crate) mod slice;
pub(crate) mod switching;
pub(crate) mod watchdog;
pub(crate) mod who_runs_next;
