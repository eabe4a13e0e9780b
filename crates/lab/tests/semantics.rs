//! The rules of sched_ext, each provoked by a small scheduler and checked with its log and the run's events. The rules
//! are Linux 7.2's. Each module is one topic.
#![forbid(unsafe_code)]

#[path = "semantics/harness.rs"]
mod harness;

#[path = "semantics/actors.rs"]
mod actors;
#[path = "semantics/bus.rs"]
mod bus;
#[path = "semantics/bypass.rs"]
mod bypass;
#[path = "semantics/callbacks_order.rs"]
mod callbacks_order;
#[path = "semantics/cgroup_moves.rs"]
mod cgroup_moves;
#[path = "semantics/cgroups.rs"]
mod cgroups;
#[path = "semantics/cids.rs"]
mod cids;
#[path = "semantics/cpu_preempt.rs"]
mod cpu_preempt;
#[path = "semantics/default_cpu.rs"]
mod default_cpu;
#[path = "semantics/dequeue_custody.rs"]
mod dequeue_custody;
#[path = "semantics/direct_dispatch.rs"]
mod direct_dispatch;
#[path = "semantics/dispatch.rs"]
mod dispatch;
#[path = "semantics/domains.rs"]
mod domains;
#[path = "semantics/dsq_order.rs"]
mod dsq_order;
#[path = "semantics/enable_disable.rs"]
mod enable_disable;
#[path = "semantics/enq_last.rs"]
mod enq_last;
#[path = "semantics/events.rs"]
mod events;
#[path = "semantics/exits.rs"]
mod exits;
#[path = "semantics/fair.rs"]
mod fair;
#[path = "semantics/frequency.rs"]
mod frequency;
#[path = "semantics/hotplug.rs"]
mod hotplug;
#[path = "semantics/idle.rs"]
mod idle;
#[path = "semantics/immed.rs"]
mod immed;
#[path = "semantics/iteration.rs"]
mod iteration;
#[path = "semantics/keep_last.rs"]
mod keep_last;
#[path = "semantics/kicks.rs"]
mod kicks;
#[path = "semantics/locks.rs"]
mod locks;
#[path = "semantics/migration.rs"]
mod migration;
#[path = "semantics/outside.rs"]
mod outside;
#[path = "semantics/partial.rs"]
mod partial;
#[path = "semantics/printing.rs"]
mod printing;
#[path = "semantics/processes.rs"]
mod processes;
#[path = "semantics/realtime.rs"]
mod realtime;
#[path = "semantics/reenqueue.rs"]
mod reenqueue;
#[path = "semantics/rules.rs"]
mod rules;
#[path = "semantics/select_cpu.rs"]
mod select_cpu;
#[path = "semantics/sessions.rs"]
mod sessions;
#[path = "semantics/slices.rs"]
mod slices;
#[path = "semantics/spins.rs"]
mod spins;
#[path = "semantics/together.rs"]
mod together;
#[path = "semantics/wakeup.rs"]
mod wakeup;
#[path = "semantics/watchdog.rs"]
mod watchdog;
#[path = "semantics/wrong_on_purpose.rs"]
mod wrong_on_purpose;
