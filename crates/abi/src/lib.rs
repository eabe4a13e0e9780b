//! The words that every room shares, and nothing that does work of its own.
//!
//! Ids, virtual time, CPU sets, topology, sched_ext's constants, the steps that a task's
//! program is made of, and two contracts: [`bpf`] between whoever executes BPF and whoever
//! plays the kernel, and [`lines`] for the cost of cache lines that move between CPUs.
//!
//! This room depends on no other room, and never will.
#![forbid(unsafe_code)]

pub mod bpf;
pub mod cgroup;
pub mod companion;
pub mod cpuset;
pub mod crowd;
pub mod feature;
pub mod ids;
pub mod iter;
pub mod lines;
pub mod rbtree;
pub mod scx;
mod span_text;
pub mod stop;
pub mod task;
pub mod time;
pub mod timeline;
pub mod topology;

pub use cpuset::CpuSet;
pub use ids::{CoreId, CpuId, DsqId, LlcId, NodeId, Pid, TaskId};
pub use span_text::SpanError;
pub use stop::Stop;
pub use time::{Instant, Span};
pub use topology::Topology;
