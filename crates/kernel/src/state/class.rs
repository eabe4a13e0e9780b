//! Which scheduling classes there are; higher ones are greater.

use keel_abi::task::Policy;

/// A class; higher ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum SchedClass {
    /// The idle tasks'.
    Idle,
    /// sched_ext's.
    Ext,
    /// The kernel's own fair tasks'.
    Fair,
    /// Real-time tasks'.
    Rt,
    /// The stopper's, which pushes tasks away.
    Stop,
}

/// `rt_sched_class` and the others, by name and address: `/proc/kallsyms` shows them, `p->sched_class` is one of them. The
/// higher a class, the lower its address. Nothing is to be read there.
pub const SCHED_CLASSES: [(&str, u64); 6] = [
    ("stop_sched_class", CLASSES_AT),
    ("dl_sched_class", CLASSES_AT + CLASS_BYTES),
    ("rt_sched_class", CLASSES_AT + 2 * CLASS_BYTES),
    ("fair_sched_class", CLASSES_AT + 3 * CLASS_BYTES),
    ("ext_sched_class", CLASSES_AT + 4 * CLASS_BYTES),
    ("idle_sched_class", CLASSES_AT + 5 * CLASS_BYTES),
];

/// Where the kernel's read-only data seems to lie, and how long a class is.
const CLASSES_AT: u64 = 0xffff_ffff_8220_0000;
const CLASS_BYTES: u64 = 0xd8;

impl SchedClass {
    /// The address of the class.
    pub(crate) fn address(self) -> u64 {
        let place = match self {
            Self::Stop => 0,
            Self::Rt => 2,
            Self::Fair => 3,
            Self::Ext => 4,
            Self::Idle => 5,
        };
        SCHED_CLASSES[place].1
    }
}

/// The tasks that the attached scheduler takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nobody: there is none, it is being enabled, or it is about to go.
    Nobody,
    /// Tasks whose policy is SCHED_EXT (`SCX_OPS_SWITCH_PARTIAL`).
    Ext,
    /// All but real-time tasks (`scx_switching_all`).
    All,
}

impl Takes {
    /// The class of a policy (`__setscheduler_class()`, `task_should_scx()`).
    pub(crate) const fn class_of(self, policy: Policy) -> SchedClass {
        match (policy, self) {
            (Policy::Fifo(_) | Policy::RoundRobin(_), _) => SchedClass::Rt,
            (_, Self::All) | (Policy::Ext, Self::Ext) => SchedClass::Ext,
            _ => SchedClass::Fair,
        }
    }
}
