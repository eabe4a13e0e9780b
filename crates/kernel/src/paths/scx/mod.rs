//! The sched_ext paths: enqueueing, kicks, and a scheduler's life from attaching to its end.

pub(crate) mod bypass;
pub(crate) mod class_change;
pub(crate) mod cpu_release;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod enqueue;
pub(crate) mod kick;
pub(crate) mod programs;
pub(crate) mod reenqueue;
pub(crate) mod restart;
pub(crate) mod watchdog;
