//! The rules and paths of sched_ext; [`crate::state::scx`] is what they are about.

pub(crate) mod alone;
pub(crate) mod bypass;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod enqueue;
pub(crate) mod kick;
pub(crate) mod preempt;
pub(crate) mod programs;
pub(crate) mod reenqueue;
pub(crate) mod restart;
pub(crate) mod switching;
pub(crate) mod watchdog;
