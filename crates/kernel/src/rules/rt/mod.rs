//! The rules of the real-time class (rt.c): which task runs next, where a waking task goes, which tasks are pushed and
//! pulled.
//!
//! [`crate::state::rt`] holds the data. The paths that take other runqueues' locks are in `paths::rt`.

pub(crate) mod enqueue;
pub(crate) mod overload;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod select_cpu;
pub(crate) mod server;
pub(crate) mod throttle;
pub(crate) mod wakeup_preempt;
pub(crate) mod who_runs_next;
