//! The real-time class: above sched_ext, which never sees its tasks but by their absence.
//!
//! Each CPU has a queue for each of the 99 priorities, and the first task of the highest one runs:
//! under SCHED_FIFO until it blocks or yields, under SCHED_RR for turns of 100 ms among equals.

mod place;
mod queue;
mod sched;
mod server;

pub(crate) use queue::RtQueue;
pub(crate) use server::ClassServer;
