//! The real-time class: above sched_ext, which never sees its tasks but by their absence.
//!
//! Each CPU has a queue for each of the 99 priorities, and the first task of the highest one runs:
//! under SCHED_FIFO until it blocks or yields, under SCHED_RR for turns of 100 ms among equals. A CPU with tasks that wait
//! and might run elsewhere is overloaded: it pushes them to CPUs that run something lower ([`push`]), and a CPU that comes
//! down pulls them ([`pull`]). What keeps them from starving others are the deadline servers ([`server`]) or, on machines
//! with an older kernel, a budget ([`throttle`]).

mod boost;
mod frame;
mod overload;
mod place;
mod pull;
mod push;
mod queue;
mod sched;
mod server;
mod throttle;

pub(crate) use frame::RtFrame;
pub(crate) use overload::Overload;
pub(crate) use queue::RtQueue;
pub(crate) use server::ClassServer;
pub(crate) use throttle::RtPeriod;
