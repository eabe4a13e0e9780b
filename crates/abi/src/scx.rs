//! sched_ext's constants in Linux 7.2 (`include/linux/sched/ext.h`, `kernel/sched/ext/`). The kernel header in
//! `crates/kernel` defines the same for BPF objects, and a test there compares the two.

/// Dispatch queue ids, `enum scx_dsq_id_flags`.
pub mod dsq {
    use crate::DsqId;

    /// Marks the built-in queues.
    pub const FLAG_BUILTIN: u64 = 1 << 63;
    /// Marks `LOCAL_ON | cpu`.
    pub const FLAG_LOCAL_ON: u64 = 1 << 62;
    /// No queue.
    pub const INVALID: DsqId = DsqId(FLAG_BUILTIN);
    /// The global queue.
    pub const GLOBAL: DsqId = DsqId(FLAG_BUILTIN | 1);
    /// The local queue of the current CPU.
    pub const LOCAL: DsqId = DsqId(FLAG_BUILTIN | 2);
    /// Each CPU's queue in bypass mode.
    pub const BYPASS: DsqId = DsqId(FLAG_BUILTIN | 3);
    /// The local queue of the CPU in the low bits.
    pub const LOCAL_ON: u64 = FLAG_BUILTIN | FLAG_LOCAL_ON;
    /// The CPU of a `LOCAL_ON` id.
    pub const LOCAL_CPU_MASK: u64 = 0xffff_ffff;
}

/// `enum scx_enq_flags`.
pub mod enq {
    /// The task just became runnable.
    pub const WAKEUP: u64 = 1;
    /// Insert at the head of a FIFO DSQ.
    pub const HEAD: u64 = 1 << 16;
    /// `ops.select_cpu` ran for this wakeup.
    pub const CPU_SELECTED: u64 = 1 << 20;
    /// Preempt what runs on the target CPU.
    pub const PREEMPT: u64 = 1 << 32;
    /// Run at once, or be passed to `ops.enqueue` again.
    pub const IMMED: u64 = 1 << 33;
    /// The task is enqueued again.
    pub const REENQ: u64 = 1 << 40;
    /// The CPU goes idle unless this task keeps running.
    pub const LAST: u64 = 1 << 41;
    /// Internal: the insertion ends the scheduler's custody.
    pub const CLEAR_OPSS: u64 = 1 << 56;
    /// Internal: ordered by vtime.
    pub const DSQ_PRIQ: u64 = 1 << 57;
}

/// `enum scx_deq_flags`.
pub mod deq {
    /// The task goes to sleep.
    pub const SLEEP: u64 = 1;
    /// Core scheduling runs it.
    pub const CORE_SCHED_EXEC: u64 = 1 << 32;
    /// The task is enqueued again afterwards, unchanged (`DEQUEUE_SAVE`).
    pub const SAVE: u64 = 2;
    /// The task may be enqueued at another place in its class's order (`DEQUEUE_MOVE`).
    pub const MOVE: u64 = 4;
    /// The task's class changes (`DEQUEUE_CLASS`).
    pub const CLASS: u64 = 0x40;
    /// A property of the task changes.
    pub const SCHED_CHANGE: u64 = 1 << 33;
}

/// `enum scx_kick_flags`.
pub mod kick {
    /// Only if the CPU is idle.
    pub const IDLE: u64 = 1;
    /// End the current task's slice.
    pub const PREEMPT: u64 = 2;
    /// Wait until the CPU has rescheduled.
    pub const WAIT: u64 = 4;
}

/// `enum scx_wake_flags`.
pub mod wake {
    /// The task starts a new program (`WF_EXEC`).
    pub const EXEC: u64 = 2;
    /// The first placement of a new task.
    pub const FORK: u64 = 4;
    /// An ordinary wakeup.
    pub const TTWU: u64 = 8;
    /// The waker is about to sleep.
    pub const SYNC: u64 = 16;
}

/// `enum scx_pick_idle_cpu_flags`.
pub mod pick_idle {
    /// Only CPUs whose SMT siblings are also idle.
    pub const CORE: u64 = 1;
    /// Only on the given node.
    pub const IN_NODE: u64 = 2;
}

/// `enum scx_ops_flags`.
pub mod ops_flags {
    /// Keep built-in idle tracking even if there is `ops.update_idle`.
    pub const KEEP_BUILTIN_IDLE: u64 = 1;
    /// Enqueue the last runnable task too.
    pub const ENQ_LAST: u64 = 1 << 1;
    /// Enqueue exiting tasks too.
    pub const ENQ_EXITING: u64 = 1 << 2;
    /// Schedule only `SCHED_EXT` tasks.
    pub const SWITCH_PARTIAL: u64 = 1 << 3;
    /// Enqueue migration-disabled tasks too.
    pub const ENQ_MIGRATION_DISABLED: u64 = 1 << 4;
    /// Wakeups may be queued to the target CPU.
    pub const ALLOW_QUEUED_WAKEUP: u64 = 1 << 5;
    /// Keep an idle mask per node.
    pub const BUILTIN_IDLE_PER_NODE: u64 = 1 << 6;
    /// Every insertion into a local DSQ is `IMMED`.
    pub const ALWAYS_ENQ_IMMED: u64 = 1 << 7;
    /// Tasks can be looked up by tid.
    pub const TID_TO_TASK: u64 = 1 << 8;
}

/// `enum scx_ent_flags`.
pub mod ent {
    /// On an ext runqueue.
    pub const QUEUED: u32 = 1;
    /// Inserted into a local DSQ with [`enq::IMMED`](super::enq::IMMED), and still in it or running from it.
    pub const IMMED: u32 = 1 << 5;
    /// Reset `runnable_at` when the task next runs.
    pub const RESET_RUNNABLE_AT: u32 = 1 << 2;
    /// Dequeued because the task sleeps.
    pub const DEQD_FOR_SLEEP: u32 = 1 << 3;
    /// The lowest bit of the state.
    pub const STATE_SHIFT: u32 = 8;
    /// The bits of the state.
    pub const STATE_MASK: u32 = 7 << 8;
    /// State: `ops.init_task` ran.
    pub const STATE_INIT: u32 = 2 << 8;
    /// State: ready to be enabled.
    pub const STATE_READY: u32 = 3 << 8;
    /// State: `ops.enable` ran.
    pub const STATE_ENABLED: u32 = 4 << 8;
    /// The bits of the reason for enqueueing a task again.
    pub const REENQ_REASON_MASK: u32 = 3 << 12;
    /// Reason: the scheduler requested it.
    pub const REENQ_KFUNC: u32 = 1 << 12;
    /// Reason: the task could not run at once.
    pub const REENQ_IMMED: u32 = 2 << 12;
    /// Reason: a higher class took its CPU.
    pub const REENQ_PREEMPTED: u32 = 3 << 12;
}

/// How often in a row a local DSQ's tasks may be enqueued again (`SCX_REENQ_LOCAL_MAX_REPEAT`).
pub const REENQ_LOCAL_MAX_REPEAT: u32 = 256;

/// `enum scx_exit_code`: what the kernel puts into the exit code.
pub mod ecode {
    /// CPUs have come online or gone offline.
    pub const RSN_HOTPLUG: i64 = 1 << 32;
    /// The scheduler should be loaded again.
    pub const ACT_RESTART: i64 = 1 << 48;
}

/// The default slice, in nanoseconds.
pub const SLICE_DFL_NS: u64 = 20_000_000;
/// The slice in bypass mode, in nanoseconds.
pub const SLICE_BYPASS_NS: u64 = 5_000_000;
/// A slice that never ends.
pub const SLICE_INF: u64 = u64::MAX;
/// The number of insertions that `ops.dispatch` may buffer by default.
pub const DSP_DFL_MAX_BATCH: u32 = 32;
/// How often `ops.dispatch` is called at most for one pick.
pub const DSP_MAX_LOOPS: u32 = 32;
/// The longest watchdog timeout, in milliseconds; also the default.
pub const WATCHDOG_MAX_TIMEOUT_MS: u32 = 30_000;

/// Why a scheduler exited: `enum scx_exit_kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum ExitKind {
    /// It has not exited.
    #[default]
    None = 0,
    /// It exited, with no further details.
    Done = 1,
    /// Detached from user space.
    Unreg = 64,
    /// `scx_bpf_exit()`.
    UnregBpf = 65,
    /// The kernel made it exit (hotplug).
    UnregKern = 66,
    /// A runtime error.
    Error = 1024,
    /// `scx_bpf_error()`.
    ErrorBpf = 1025,
    /// A runnable task did not run for too long.
    ErrorStall = 1026,
}

impl ExitKind {
    /// Returns the kernel's text (`scx_exit_reason()`).
    pub const fn reason(self) -> &'static str {
        match self {
            Self::None | Self::Done => "",
            Self::Unreg => "unregistered from user space",
            Self::UnregBpf => "unregistered from BPF",
            Self::UnregKern => "unregistered from the main kernel",
            Self::Error => "runtime error",
            Self::ErrorBpf => "scx_bpf_error",
            Self::ErrorStall => "runnable task stall",
        }
    }

    /// Returns whether it exited other than at its user's request: with an error, a stall, or an exit of its own.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::None | Self::Done | Self::Unreg)
    }

    /// Returns whether it exited because of an error.
    pub const fn is_error(self) -> bool {
        self as u32 >= Self::Error as u32
    }
}

macro_rules! ops {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// The callbacks of `struct sched_ext_ops` that are simulated.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $(#[doc = concat!("`ops.", $name, "`")] $variant,)* }

        impl Op {
            /// All callbacks.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the member's name in `struct sched_ext_ops`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

ops! {
    SelectCpu "select_cpu", Enqueue "enqueue", Dequeue "dequeue", Dispatch "dispatch",
    Tick "tick", Runnable "runnable", Running "running", Stopping "stopping",
    Quiescent "quiescent", Yield "yield", SetWeight "set_weight", SetCpumask "set_cpumask",
    UpdateIdle "update_idle", InitTask "init_task", ExitTask "exit_task", Enable "enable",
    Disable "disable", CpuOnline "cpu_online", CpuOffline "cpu_offline", Init "init", Exit "exit",
    CpuAcquire "cpu_acquire", CpuRelease "cpu_release", Dump "dump", DumpCpu "dump_cpu",
    DumpTask "dump_task",
    CgroupInit "cgroup_init", CgroupExit "cgroup_exit", CgroupPrepMove "cgroup_prep_move",
    CgroupMove "cgroup_move", CgroupCancelMove "cgroup_cancel_move",
    CgroupSetWeight "cgroup_set_weight", CgroupSetBandwidth "cgroup_set_bandwidth",
    CgroupSetIdle "cgroup_set_idle",
}

impl Op {
    /// Returns the callback with this member name in `struct sched_ext_ops`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Returns the callback with this member name in `struct sched_ext_ops_cid`, which identifies CPUs by cid.
    pub fn from_cid_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.cid_name() == Some(name))
    }

    /// Returns the member's name in `struct sched_ext_ops_cid`, which lacks two callbacks.
    pub const fn cid_name(self) -> Option<&'static str> {
        match self {
            Self::SelectCpu => Some("select_cid"),
            Self::SetCpumask => Some("set_cmask"),
            Self::CpuOnline => Some("cid_online"),
            Self::CpuOffline => Some("cid_offline"),
            Self::DumpCpu => Some("dump_cid"),
            Self::CpuAcquire | Self::CpuRelease => None,
            other => Some(other.name()),
        }
    }
}

/// Returns the weight of a nice value in the kernel's fair class, 15 to 88761 (`sched_prio_to_weight[]`).
pub fn load_weight_of_nice(nice: i8) -> u32 {
    const PRIO_TO_WEIGHT: [u32; 40] = [
        88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906,
        3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45,
        36, 29, 23, 18, 15,
    ];
    PRIO_TO_WEIGHT[(i32::from(nice.clamp(-20, 19)) + 20) as usize]
}

/// Returns the weight of a nice value as sched_ext schedulers see it, 1 to 10000 with a default of 100
/// (`sched_weight_to_cgroup()`).
pub fn weight_of_nice(nice: i8) -> u32 {
    let weight = u64::from(load_weight_of_nice(nice));
    ((weight * 100 + 512) / 1024).clamp(1, 10_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_kernels() {
        let check = |nice, expected| assert_eq!(weight_of_nice(nice), expected);
        check(0, 100);
        check(19, 1);
        check(-20, 8668);
    }
}
