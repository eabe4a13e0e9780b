//! The messages of Perfetto's published protos that are read here, each field by its published number
//! (`protos/perfetto/trace/`: `trace_packet.proto`, `ftrace/*.proto`, `system_info/cpu_info.proto`).
//!
//! Names are bytes: a task's name need not be UTF-8. Fields that are not listed are skipped.

use prost::Message;
use prost::bytes::Bytes;

/// `TracePacket`, without the events of its bundle.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PacketHead {
    #[prost(message, optional, tag = "1")]
    pub(super) ftrace_events: Option<BundleHead>,
    #[prost(message, optional, tag = "45")]
    pub(super) system_info: Option<SystemInfo>,
    /// Packets compressed with zlib.
    #[prost(bytes = "bytes", optional, tag = "50")]
    pub(super) compressed_packets: Option<Bytes>,
    #[prost(message, optional, tag = "67")]
    pub(super) cpu_info: Option<CpuInfo>,
    /// Packets compressed with zstd.
    #[prost(bytes = "bytes", optional, tag = "133")]
    pub(super) zstd_compressed_packets: Option<Bytes>,
}

/// `FtraceEventBundle`: the CPU of its events.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BundleHead {
    #[prost(uint32, optional, tag = "1")]
    pub(super) cpu: Option<u32>,
}

/// `SystemInfo`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    pub(super) utsname: Option<Utsname>,
    #[prost(uint32, optional, tag = "8")]
    pub(super) num_cpus: Option<u32>,
}

/// `Utsname`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Utsname {
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(super) release: Option<Bytes>,
}

/// `CpuInfo`: a message for each CPU.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CpuInfo {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(super) cpus: Vec<Bytes>,
}

/// `TracePacket`, only its bundle.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Packet {
    #[prost(message, optional, tag = "1")]
    pub(super) ftrace_events: Option<Bundle>,
}

/// `FtraceEventBundle`: events of one CPU.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Bundle {
    #[prost(message, repeated, tag = "2")]
    pub(super) event: Vec<FtraceEvent>,
    #[prost(bool, optional, tag = "3")]
    pub(super) lost_events: Option<bool>,
    #[prost(message, optional, tag = "4")]
    pub(super) compact_sched: Option<CompactSched>,
}

/// `FtraceEvent`; at most one of the events is set.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceEvent {
    #[prost(uint64, optional, tag = "1")]
    pub(super) timestamp: Option<u64>,
    /// The task that was running when it happened.
    #[prost(uint32, optional, tag = "2")]
    pub(super) pid: Option<u32>,
    #[prost(message, optional, tag = "4")]
    pub(super) sched_switch: Option<Switch>,
    #[prost(uint32, optional, tag = "5")]
    pub(super) common_flags: Option<u32>,
    #[prost(message, optional, tag = "17")]
    pub(super) sched_wakeup: Option<Wake>,
    #[prost(message, optional, tag = "20")]
    pub(super) sched_waking: Option<Wake>,
    #[prost(message, optional, tag = "114")]
    pub(super) sched_wakeup_new: Option<Wake>,
    #[prost(message, optional, tag = "235")]
    pub(super) task_newtask: Option<NewTask>,
    #[prost(message, optional, tag = "236")]
    pub(super) task_rename: Option<Rename>,
    #[prost(message, optional, tag = "239")]
    pub(super) sched_process_fork: Option<Fork>,
    #[prost(message, optional, tag = "345")]
    pub(super) cpuhp_enter: Option<CpuhpEnter>,
    #[prost(message, optional, tag = "491")]
    pub(super) sched_migrate_task: Option<Migrate>,
}

/// `SchedSwitchFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Switch {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(super) prev_comm: Option<Bytes>,
    #[prost(int32, optional, tag = "2")]
    pub(super) prev_pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) prev_prio: Option<i32>,
    #[prost(int64, optional, tag = "4")]
    pub(super) prev_state: Option<i64>,
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub(super) next_comm: Option<Bytes>,
    #[prost(int32, optional, tag = "6")]
    pub(super) next_pid: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub(super) next_prio: Option<i32>,
}

/// `SchedWakingFtraceEvent`, `SchedWakeupFtraceEvent` and `SchedWakeupNewFtraceEvent`, which have the same fields.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Wake {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(super) comm: Option<Bytes>,
    #[prost(int32, optional, tag = "2")]
    pub(super) pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) prio: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(super) target_cpu: Option<i32>,
}

/// `TaskNewtaskFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct NewTask {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(super) comm: Option<Bytes>,
}

/// `TaskRenameFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Rename {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(super) newcomm: Option<Bytes>,
}

/// `SchedProcessForkFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Fork {
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(super) child_comm: Option<Bytes>,
    #[prost(int32, optional, tag = "4")]
    pub(super) child_pid: Option<i32>,
}

/// `CpuhpEnterFtraceEvent`: a CPU begins step `idx` on its way to `target`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CpuhpEnter {
    #[prost(uint32, optional, tag = "1")]
    pub(super) cpu: Option<u32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) idx: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(super) target: Option<i32>,
}

/// `SchedMigrateTaskFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Migrate {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(super) comm: Option<Bytes>,
    #[prost(int32, optional, tag = "2")]
    pub(super) pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) prio: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(super) orig_cpu: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(super) dest_cpu: Option<i32>,
}

/// `FtraceEventBundle.CompactSched`: the most common events, with a list for each field. Each time except the first is
/// relative to the one before it, and a name is an index into `intern_table`. The task that is switched out is omitted:
/// it is the one that was switched in before.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CompactSched {
    #[prost(uint64, repeated, tag = "1")]
    pub(super) switch_timestamp: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) switch_prev_state: Vec<i64>,
    #[prost(int32, repeated, tag = "3")]
    pub(super) switch_next_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "4")]
    pub(super) switch_next_prio: Vec<i32>,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub(super) intern_table: Vec<Bytes>,
    #[prost(uint32, repeated, tag = "6")]
    pub(super) switch_next_comm_index: Vec<u32>,
    #[prost(uint64, repeated, tag = "7")]
    pub(super) waking_timestamp: Vec<u64>,
    #[prost(int32, repeated, tag = "8")]
    pub(super) waking_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "9")]
    pub(super) waking_target_cpu: Vec<i32>,
    #[prost(int32, repeated, tag = "10")]
    pub(super) waking_prio: Vec<i32>,
    #[prost(uint32, repeated, tag = "11")]
    pub(super) waking_comm_index: Vec<u32>,
    #[prost(uint32, repeated, tag = "12")]
    pub(super) waking_common_flags: Vec<u32>,
}
