//! The messages of Perfetto's published protos that are written here, each field by its published number
//! (`protos/perfetto/trace/`: `trace_packet.proto`, `ftrace/*.proto`, `track_event/*.proto`).

use prost::Message;

/// `TracePacket`; a trace is these as field 1 of `Trace`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TracePacket {
    #[prost(message, optional, tag = "1")]
    pub(crate) ftrace_events: Option<FtraceEventBundle>,
    #[prost(uint64, optional, tag = "8")]
    pub(crate) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(crate) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(crate) track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    pub(crate) sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "45")]
    pub(crate) system_info: Option<SystemInfo>,
    #[prost(message, optional, tag = "60")]
    pub(crate) track_descriptor: Option<TrackDescriptor>,
}

/// `SystemInfo`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SystemInfo {
    #[prost(uint32, optional, tag = "8")]
    pub(crate) num_cpus: Option<u32>,
}

/// `FtraceEventBundle`: events of one CPU.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FtraceEventBundle {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) event: Vec<FtraceEvent>,
    #[prost(bool, optional, tag = "3")]
    pub(crate) lost_events: Option<bool>,
}

/// `FtraceEvent`; one of the events is there.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FtraceEvent {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) timestamp: Option<u64>,
    /// Who ran when it happened.
    #[prost(uint32, optional, tag = "2")]
    pub(crate) pid: Option<u32>,
    #[prost(message, optional, tag = "4")]
    pub(crate) sched_switch: Option<Switch>,
    #[prost(message, optional, tag = "20")]
    pub(crate) sched_waking: Option<Wake>,
    #[prost(message, optional, tag = "114")]
    pub(crate) sched_wakeup_new: Option<Wake>,
    #[prost(message, optional, tag = "491")]
    pub(crate) sched_migrate_task: Option<Migrate>,
}

/// `SchedSwitchFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Switch {
    #[prost(string, optional, tag = "1")]
    pub(crate) prev_comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) prev_pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) prev_prio: Option<i32>,
    #[prost(int64, optional, tag = "4")]
    pub(crate) prev_state: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub(crate) next_comm: Option<String>,
    #[prost(int32, optional, tag = "6")]
    pub(crate) next_pid: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub(crate) next_prio: Option<i32>,
}

/// `SchedWakingFtraceEvent` and `SchedWakeupNewFtraceEvent`, which have the same fields.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Wake {
    #[prost(string, optional, tag = "1")]
    pub(crate) comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) prio: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(crate) success: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(crate) target_cpu: Option<i32>,
}

/// `SchedMigrateTaskFtraceEvent`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Migrate {
    #[prost(string, optional, tag = "1")]
    pub(crate) comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) prio: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(crate) orig_cpu: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(crate) dest_cpu: Option<i32>,
}

/// `TrackDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) parent_uuid: Option<u64>,
}

/// `TrackEvent`; of type 1 a slice begins, of type 2 it ends.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackEvent {
    #[prost(int32, optional, tag = "9")]
    pub(crate) r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub(crate) track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub(crate) categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub(crate) name: Option<String>,
}
