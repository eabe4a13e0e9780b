//! A task as the fair class counts it (`struct sched_entity`).

use keel_abi::task::Policy;

/// The weight of nice 0.
const NICE_0_WEIGHT: i64 = 1024;
/// The weight of a SCHED_IDLE task (`WEIGHT_IDLEPRIO`).
const IDLE_WEIGHT: i64 = 3;

/// Virtual times are nanoseconds of a task of nice 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entity {
    /// Its share of the CPU; 0 while it is in no queue.
    pub(super) weight: i64,
    /// What it has run for.
    pub(super) vruntime: i64,
    /// When its slice would end.
    pub(super) deadline: i64,
    /// Until then nobody takes the CPU from it who is not more urgent (`vprot`).
    pub(super) protected: i64,
    /// By how much it was behind the others when it left a queue.
    pub(super) lag: i64,
    /// What was left until its deadline, where it left a queue without having slept.
    pub(super) left: Option<i64>,
}

impl Entity {
    /// Is it in a queue?
    pub(super) fn is_queued(&self) -> bool {
        self.weight > 0
    }

    /// Time of its own in virtual time (`calc_delta_fair()`).
    pub(super) fn scaled(&self, ns: u64) -> i64 {
        scaled(ns, self.weight)
    }
}

/// Time of a task of this weight in virtual time.
pub(super) fn scaled(ns: u64, weight: i64) -> i64 {
    i64::try_from(u128::from(ns) * NICE_0_WEIGHT as u128 / weight as u128).unwrap_or(i64::MAX / 4)
}

/// The weight of a task (`set_load_weight()`).
pub(super) fn weight_of(policy: Policy, nice: i8) -> i64 {
    match policy {
        Policy::Idle => IDLE_WEIGHT,
        _ => i64::from(keel_abi::scx::load_weight_of_nice(nice)),
    }
}
