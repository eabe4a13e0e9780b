//! The types and constants that all crates share. This crate depends on no other crate in the workspace.
//!
//! - [`ids`]: CPUs, cores, LLCs, nodes, tasks, pids and DSQs as types.
//! - [`time`]: instants and spans of virtual time. [`span_text`] parses spans as people write them (`10s`).
//! - [`noise`]: how much background activity a machine has.
//! - [`numbers`]: numbers formatted for people.
//! - [`cpuset`]: sets of CPUs.
//! - [`topology`]: which CPUs share a core, an LLC and a node, and the hops between nodes.
//! - [`scx`]: sched_ext's constants, flags and exit kinds.
//! - [`task`]: the steps of a task's program, and what a task is.
//! - [`tape`]: what a recorded task did, to be replayed.
//! - [`timeline`]: changes to a machine or its tasks at given times.
//! - [`cgroup`]: the cgroups of a workload and their settings.
//! - [`crowd`]: how old kernels' task structures evict each other from a cache.
//! - [`feature`]: which kernel features are exact, approximate or absent in the simulation.
//! - [`bpf`]: the interface between the code that executes BPF and the simulated kernel.
//! - [`lines`]: what it costs to move a cache line between CPUs.
//! - [`holders`]: which CPUs hold a cache line, in one word, whatever the size of the machine.
//! - [`fetch`](mod@fetch): requests for memory that the host is about to use.
//! - [`companion`]: the interface between the kernel and a scheduler's user-space half.
//! - [`iter`] and [`rbtree`]: BPF's number iterators and ordered trees, in the memory of a program.
//! - [`stop`]: a request to end a run.
#![forbid(unsafe_code)]

pub mod bpf;
pub mod cgroup;
pub mod clocks;
pub mod companion;
pub mod cpuset;
pub mod crowd;
pub mod feature;
pub mod fetch;
pub mod holders;
pub mod ids;
pub mod iter;
pub mod lines;
pub mod noise;
pub mod numbers;
pub mod order;
pub mod rbtree;
pub mod scx;
mod span_text;
pub mod stop;
pub mod tape;
pub mod task;
pub mod time;
pub mod timeline;
pub mod topology;

pub use cpuset::CpuSet;
pub use ids::{CoreId, CpuId, DsqId, LlcId, NodeId, Pid, TaskId};
pub use noise::Noise;
pub use span_text::SpanError;
pub use stop::Stop;
pub use time::{Instant, Span, UPTIME};
pub use topology::Topology;
