//! The state of the simulated kernel: tasks, CPUs, queues, machines, costs, and how far each CPU has got on its path.
//!
//! This is the crate's lowest layer: nothing here knows scheduling rules, calls callbacks or takes steps.

pub(crate) mod bpf;
pub(crate) mod cgroup;
pub(crate) mod class;
pub(crate) mod companion;
pub mod cost;
pub(crate) mod cpu;
pub(crate) mod cpus;
pub(crate) mod deferrable;
pub(crate) mod domains;
pub mod dsq;
pub mod event;
pub(crate) mod exit;
pub(crate) mod fair;
pub(crate) mod features;
pub(crate) mod flag;
pub(crate) mod frame;
pub(crate) mod frequency;
pub(crate) mod hooks;
pub mod idle;
pub(crate) mod jiffies;
pub(crate) mod kernel;
pub mod layout;
pub(crate) mod locks;
pub(crate) mod log;
pub(crate) mod lookups;
pub mod machine;
pub(crate) mod mask;
pub(crate) mod mirror;
pub mod noise;
pub(crate) mod objects;
pub(crate) mod ordering;
pub(crate) mod out;
pub(crate) mod outside;
pub(crate) mod percpu;
pub(crate) mod rng;
pub(crate) mod rt;
pub(crate) mod scx;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod starts;
pub(crate) mod task;
pub(crate) mod timer_number;
pub(crate) mod waits;
