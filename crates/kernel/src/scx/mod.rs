//! The rules and paths of sched_ext; [`crate::state::scx`] is what they are about.

pub(crate) mod alone;
pub(crate) mod bypass;
pub(crate) mod deferred;
pub(crate) mod disable;
pub(crate) mod dispatch;
pub(crate) mod enable;
pub(crate) mod enqueue;
pub(crate) mod idling;
pub(crate) mod insert;
pub(crate) mod kick;
pub(crate) mod preempt;
pub(crate) mod programs;
pub(crate) mod queue_lock;
pub(crate) mod reenqueue;
pub(crate) mod restart;
pub(crate) mod slice;
pub(crate) mod switching;
pub(crate) mod watchdog;
