//! The character of the built-in schedulers: what each promises, measured on the simulated kernel.
#![forbid(unsafe_code)]

#[allow(dead_code, reason = "these tests use the builders of tasks")]
#[path = "semantics/harness.rs"]
mod harness;
#[path = "schedulers/scene.rs"]
mod scene;

#[path = "schedulers/bsd.rs"]
mod bsd;
#[path = "schedulers/cfs.rs"]
mod cfs;
#[path = "schedulers/goodness.rs"]
mod goodness;
#[path = "schedulers/hotplug.rs"]
mod hotplug;
#[path = "schedulers/mq.rs"]
mod mq;
#[path = "schedulers/o1.rs"]
mod o1;
#[path = "schedulers/realtime.rs"]
mod realtime;
#[path = "schedulers/ule.rs"]
mod ule;
#[path = "schedulers/wasted_cores.rs"]
mod wasted_cores;
