//! The functions that programs call most often.

#[cfg(doc)]
use super::Host;

/// A helper or kfunc that programs call so often that an engine may have an entry of its own for it
/// ([`Host::call_frequent`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequent {
    /// `bpf_map_lookup_elem()`.
    MapLookup,
    /// `bpf_spin_lock()`.
    SpinLock,
    /// `bpf_spin_unlock()`.
    SpinUnlock,
    /// `scx_bpf_select_cpu_dfl()`.
    SelectCpuDfl,
    /// `scx_bpf_dsq_insert()`, as its second version.
    DsqInsert,
    /// `scx_bpf_dsq_insert_vtime()`, with its arguments in a structure.
    DsqInsertVtime,
    /// `scx_bpf_dsq_move_to_local()`, as its first version.
    DsqMoveToLocalV1,
    /// The same, as its second version.
    DsqMoveToLocal,
    /// `scx_bpf_task_set_slice()`.
    TaskSetSlice,
    /// `scx_bpf_task_set_dsq_vtime()`.
    TaskSetVtime,
    /// `scx_bpf_task_cpu()`.
    TaskCpu,
    /// `bpf_task_from_pid()`.
    TaskFromPid,
    /// `bpf_task_release()`.
    TaskRelease,
    /// `scx_bpf_kick_cpu()`.
    KickCpu,
}

impl Frequent {
    /// All of them, in their order.
    pub const ALL: [Self; 14] = [
        Self::MapLookup,
        Self::SpinLock,
        Self::SpinUnlock,
        Self::SelectCpuDfl,
        Self::DsqInsert,
        Self::DsqInsertVtime,
        Self::DsqMoveToLocalV1,
        Self::DsqMoveToLocal,
        Self::TaskSetSlice,
        Self::TaskSetVtime,
        Self::TaskCpu,
        Self::TaskFromPid,
        Self::TaskRelease,
        Self::KickCpu,
    ];

    /// The helper with this number, if it is one of them.
    pub const fn helper(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::MapLookup),
            93 => Some(Self::SpinLock),
            94 => Some(Self::SpinUnlock),
            _ => None,
        }
    }

    /// The kfunc with this name, if it is one of them.
    pub fn kfunc(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|which| which.kfunc_name() == Some(name))
    }

    /// Its name, if it is a kfunc.
    const fn kfunc_name(self) -> Option<&'static str> {
        match self {
            Self::MapLookup | Self::SpinLock | Self::SpinUnlock => None,
            Self::SelectCpuDfl => Some("scx_bpf_select_cpu_dfl"),
            Self::DsqInsert => Some("scx_bpf_dsq_insert___v2"),
            Self::DsqInsertVtime => Some("__scx_bpf_dsq_insert_vtime"),
            Self::DsqMoveToLocalV1 => Some("scx_bpf_dsq_move_to_local"),
            Self::DsqMoveToLocal => Some("scx_bpf_dsq_move_to_local___v2"),
            Self::TaskSetSlice => Some("scx_bpf_task_set_slice"),
            Self::TaskSetVtime => Some("scx_bpf_task_set_dsq_vtime"),
            Self::TaskCpu => Some("scx_bpf_task_cpu"),
            Self::TaskFromPid => Some("bpf_task_from_pid"),
            Self::TaskRelease => Some("bpf_task_release"),
            Self::KickCpu => Some("scx_bpf_kick_cpu"),
        }
    }

    /// How many arguments it takes.
    pub const fn args(self) -> usize {
        match self {
            Self::SpinLock | Self::SpinUnlock => 1,
            Self::DsqMoveToLocalV1 | Self::TaskCpu | Self::TaskFromPid | Self::TaskRelease => 1,
            Self::MapLookup | Self::DsqInsertVtime | Self::DsqMoveToLocal | Self::KickCpu => 2,
            Self::TaskSetSlice | Self::TaskSetVtime => 2,
            Self::SelectCpuDfl | Self::DsqInsert => 4,
        }
    }

    /// Whether serving it takes so little that it must not panic.
    pub const fn is_simple(self) -> bool {
        matches!(self, Self::MapLookup | Self::SpinLock | Self::SpinUnlock)
    }
}
