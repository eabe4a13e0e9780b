//! The steps of balancing, split where another runqueue's lock is taken.

use crate::state::fair::ids::Slot;
use keel_abi::{CpuId, TaskId};

/// One step of a path of the fair class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FairFrame {
    /// `sched_balance_rq()`: finds the overloaded CPU.
    Find,
    /// `detach_tasks()`, with the source's lock held.
    Detach,
    /// The tasks have been attached.
    Attached,
    /// `sched_balance_newidle()`, from this level on.
    Newidle { level: u32 },
    /// `sched_balance_newidle()` is over: the CPU's own runqueue is locked again.
    Newidled,
    /// `sched_balance_domains()` for this CPU, from this level on.
    Periodic { cpu: CpuId, level: u32 },
    /// `sched_balance_softirq()`.
    Softirq,
    /// `_nohz_idle_balance()`: the next idle CPU, after `nth` others.
    Nohz { nth: u32 },
    /// `active_load_balance_cpu_stop()`.
    Push,
    /// `throttle_cfs_rq_work()`.
    Throttle,
    /// `unthrottle_cfs_rq()` for a group on this CPU.
    Unthrottle { slot: Slot },
    /// `migration_cpu_stop()` for a task that starts a program.
    Leave { task: TaskId, target: CpuId },
}
