//! The real-time class: above sched_ext, which notices its tasks only by their absence.
//!
//! Each CPU has a queue for each of the 99 priorities, and the first task of the highest one runs: under SCHED_FIFO
//! until it blocks or yields, under SCHED_RR for slices of 100 ms among equals. A CPU is overloaded if it has waiting
//! tasks that could run elsewhere: it pushes them to CPUs that run something of lower priority (`rules::rt::push`), and
//! a CPU whose priority drops pulls them (`rules::rt::pull`). To keep real-time tasks from starving others, there are
//! deadline servers ([`server`]) or, on machines with an older kernel, a budget ([`throttle`]).

pub(crate) mod overload;
pub(crate) mod queue;
pub(crate) mod server;
pub(crate) mod throttle;
