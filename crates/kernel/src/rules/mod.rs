//! What to do: which task runs next, which CPU a task goes to, whether a wakeup preempts.
//!
//! A rule looks at the state and changes it at a single moment. It is a method of `Kernel`, which has no engine, so it
//! can't call the scheduler and is never suspended. Code that can be suspended is in `paths`.
//!
//! | looking for | see |
//! | --- | --- |
//! | who runs next | [`fair::who_runs_next`], [`rt::who_runs_next`], [`scx::who_runs_next`]; `paths::who_runs_next` asks them |
//! | `select_cpu_dfl` | [`scx::select_cpu_dfl`] |
//! | which CPU a waking task goes to | [`fair::select_cpu`], [`fair::select_idle_sibling`], [`rt::select_cpu`] |
//! | wakeup preemption | [`wakeup_preempt`], then [`fair::wakeup_preempt`] or [`rt::wakeup_preempt`] |
//! | the tick | `paths::tick`; [`fair::slice_end`], [`rt::enqueue`] |
//! | a task's slice in sched_ext | [`scx::slice`] |
//! | priority inheritance | `paths::rt::boost` |
//! | cgroup bandwidth (`cpu.max`) | [`fair::throttle`], [`fair::bandwidth_timer`] |
//! | load balancing | [`fair::balance`], [`fair::periodic`], [`fair::newidle`] |
//! | hotplug | [`hotplug`]; its steps are in `paths::hotplug` |
//! | what a task does next | `tasks`: `take_steps` |

pub(crate) mod callback;
pub(crate) mod cgroup;
pub(crate) mod change;
pub(crate) mod deferrable_timers;
pub(crate) mod device_interrupts;
pub(crate) mod emit_acts;
pub(crate) mod emit_groups;
pub(crate) mod fair;
pub(crate) mod fetch;
pub(crate) mod frequency;
pub(crate) mod hotplug;
pub(crate) mod new_task;
pub(crate) mod noise;
pub(crate) mod pin;
pub(crate) mod policy;
pub(crate) mod processes;
pub(crate) mod queued_wakeup;
pub(crate) mod res_spin;
pub(crate) mod rt;
pub(crate) mod scx;
pub(crate) mod sessions;
pub(crate) mod spinners;
pub(crate) mod starts;
pub(crate) mod switch_to;
pub(crate) mod timeline;
pub(crate) mod turns;
pub(crate) mod wakeup_preempt;
pub(crate) mod work;
