//! Helpers and kfuncs that emitted code handles itself if it knows their prices: no other CPU can observe when they
//! run, and their results are available. The interpreter and Cranelift's code call the host, with the same results.
//!
//! A call is charged exactly as the host would charge it, to the picosecond. The host keeps costs of less than a
//! nanosecond that are not on the CPU's clock yet, and charges them with the first call that it handles. So it passes
//! them to the engine whenever code is entered, and the engine returns them, from
//! [`carry_ps`](crate::context::Context::carry_ps), whenever the host is called or the code is left.

/// Instead of costs to be charged: the host handles all calls.
pub(crate) const HOST_SERVES: u64 = u64::MAX;

/// A function that emitted code handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// `bpf_get_smp_processor_id()`.
    SmpId,
    /// `bpf_ktime_get_ns()`.
    Ktime,
    /// `scx_bpf_now()`.
    Now,
    /// `bpf_iter_num_new()`.
    NumNew,
    /// `bpf_iter_num_destroy()`.
    NumDestroy,
    /// `bpf_rcu_read_lock()`.
    RcuLock,
    /// `bpf_rcu_read_unlock()`.
    RcuUnlock,
}

impl Known {
    /// All of them, in the order of their prices in [`VmConfig`](crate::VmConfig).
    pub const ALL: [Self; 7] =
        [Self::SmpId, Self::Ktime, Self::Now, Self::NumNew, Self::NumDestroy, Self::RcuLock, Self::RcuUnlock];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SmpId => "bpf_get_smp_processor_id",
            Self::Ktime => "bpf_ktime_get_ns",
            Self::Now => "scx_bpf_now",
            Self::NumNew => "bpf_iter_num_new",
            Self::NumDestroy => "bpf_iter_num_destroy",
            Self::RcuLock => "bpf_rcu_read_lock",
            Self::RcuUnlock => "bpf_rcu_read_unlock",
        }
    }

    /// How many arguments it takes.
    pub(crate) const fn args(self) -> usize {
        match self {
            Self::SmpId | Self::Ktime | Self::Now | Self::RcuLock | Self::RcuUnlock => 0,
            Self::NumDestroy => 1,
            Self::NumNew => 3,
        }
    }

    /// The number of a helper.
    const fn number(self) -> Option<i32> {
        match self {
            Self::Ktime => Some(5),
            Self::SmpId => Some(8),
            _ => None,
        }
    }

    /// The helper with this number, if it is one of them.
    pub(crate) fn helper(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.number() == Some(number))
    }

    /// The kfunc with this name, if it is one of them.
    pub(crate) fn kfunc(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.number().is_none() && known.name() == name)
    }
}
