//! How things happen: wakeups, picks and switches, ticks, forks, hotplug, attaching. Everything here can be suspended.
//!
//! A path asks the rules what to do, and does it step by step. Between two steps, when it calls the scheduler or waits
//! for a lock, other CPUs may go first. [`suspend`] says how a path is cut there and what it may hold in the meantime;
//! read it before you change a path.

pub(crate) mod block;
pub(crate) mod bpf_timer;
pub(crate) mod callback;
pub(crate) mod cgroup;
pub(crate) mod change;
pub(crate) mod change_from_outside;
pub(crate) mod duty;
pub(crate) mod fair;
pub(crate) mod fork;
pub(crate) mod hotplug;
pub(crate) mod pin;
pub(crate) mod policy;
pub(crate) mod queued_wakeup;
pub(crate) mod rt;
pub(crate) mod scx;
pub(crate) mod sim;
pub(crate) mod suspend;
pub(crate) mod switch;
pub(crate) mod tick;
pub(crate) mod timeline;
pub(crate) mod tracing;
pub(crate) mod unlock;
pub(crate) mod wakeup;
pub(crate) mod who_runs_next;
