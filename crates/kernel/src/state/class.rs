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
