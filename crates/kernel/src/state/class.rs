//! The scheduling classes.

use keel_abi::task::Policy;

/// A scheduling class. Higher classes compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum SchedClass {
    /// The class of the idle tasks.
    Idle,
    /// The class of sched_ext.
    Ext,
    /// The class of the kernel's own fair tasks.
    Fair,
    /// The class of real-time tasks.
    Rt,
    /// The class of the stopper, which pushes tasks away.
    Stop,
}

/// `rt_sched_class` and the others, by name and address. `/proc/kallsyms` shows them, and `p->sched_class` points to
/// one of them. The higher the class, the lower its address. Nothing can be read there.
pub const SCHED_CLASSES: [(&str, u64); 6] = [
    ("stop_sched_class", CLASSES_AT),
    ("dl_sched_class", CLASSES_AT + CLASS_BYTES),
    ("rt_sched_class", CLASSES_AT + 2 * CLASS_BYTES),
    ("fair_sched_class", CLASSES_AT + 3 * CLASS_BYTES),
    ("ext_sched_class", CLASSES_AT + 4 * CLASS_BYTES),
    ("idle_sched_class", CLASSES_AT + 5 * CLASS_BYTES),
];

/// The address of the classes in the kernel's read-only data, and the size of a class in bytes.
const CLASSES_AT: u64 = 0xffff_ffff_8220_0000;
const CLASS_BYTES: u64 = 0xd8;

impl SchedClass {
    /// Returns the address of the class.
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
    /// None: there is no scheduler, it is being enabled, or it is about to exit.
    Nobody,
    /// Tasks whose policy is SCHED_EXT (`SCX_OPS_SWITCH_PARTIAL`).
    Ext,
    /// All tasks except real-time tasks (`scx_switching_all`).
    All,
}

impl Takes {
    /// Returns the class of tasks with this policy (`__setscheduler_class()`, `task_should_scx()`).
    pub(crate) const fn class_of(self, policy: Policy) -> SchedClass {
        match (policy, self) {
            (Policy::Fifo(_) | Policy::RoundRobin(_), _) => SchedClass::Rt,
            (_, Self::All) | (Policy::Ext, Self::Ext) => SchedClass::Ext,
            _ => SchedClass::Fair,
        }
    }
}
