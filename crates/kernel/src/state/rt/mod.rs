//! The real-time class: above sched_ext, which never sees its tasks but by their absence.
//!
//! Each CPU has a queue for each of the 99 priorities, and the first task of the highest one runs:
//! under SCHED_FIFO until it blocks or yields, under SCHED_RR for turns of 100 ms among equals. A CPU with tasks that wait
//! and might run elsewhere is overloaded: it pushes them to CPUs that run something lower (`rules::rt::push`), and a CPU that comes
//! down pulls them (`rules::rt::pull`). What keeps them from starving others are the deadline servers ([`server`]) or, on machines
//! with an older kernel, a budget ([`throttle`]).

pub(crate) mod overload;
pub(crate) mod queue;
pub(crate) mod server;
pub(crate) mod throttle;
