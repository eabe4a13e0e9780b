//! The rules of Linux's own fair class, EEVDF (fair.c): which task runs next, where a waking task goes, which tasks
//! move to another CPU.
//!
//! [`crate::state::fair`] holds the data and says where the rules come from. The paths that take other runqueues' locks
//! are in `paths::fair`.

pub(crate) mod balance;
pub(crate) mod bandwidth_timer;
pub(crate) mod busiest;
pub(crate) mod capacity;
pub(crate) mod cost;
pub(crate) mod decisions;
pub(crate) mod detach;
pub(crate) mod energy;
pub(crate) mod enqueue;
pub(crate) mod groups;
pub(crate) mod hierarchy;
pub(crate) mod hrtick;
pub(crate) mod idle_time;
pub(crate) mod idlest;
pub(crate) mod load;
pub(crate) mod newidle;
pub(crate) mod nohz;
pub(crate) mod periodic;
pub(crate) mod propagate;
pub(crate) mod regroup;
pub(crate) mod select_cpu;
pub(crate) mod select_idle_sibling;
pub(crate) mod shares;
pub(crate) mod slice_end;
pub(crate) mod stats;
pub(crate) mod throttle;
pub(crate) mod uneven;
pub(crate) mod wakeup_preempt;
pub(crate) mod who_runs_next;
