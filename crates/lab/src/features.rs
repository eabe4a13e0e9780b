//! What a scheduler may use here: what every crate serves, and the flags of `struct sched_ext_ops`.

use keel_abi::feature::{Feature, FeatureKind, Level};
use keel_abi::scx::ops_flags as bit;

const EXACT: Level = Level::Exact;

/// `enum scx_ops_flags` of Linux 7.2.
pub(crate) const FLAGS: &[(u64, &str, Level)] = &[
    (bit::KEEP_BUILTIN_IDLE, "SCX_OPS_KEEP_BUILTIN_IDLE", EXACT),
    (bit::ENQ_LAST, "SCX_OPS_ENQ_LAST", EXACT),
    (bit::ENQ_EXITING, "SCX_OPS_ENQ_EXITING", EXACT),
    (
        bit::SWITCH_PARTIAL,
        "SCX_OPS_SWITCH_PARTIAL",
        Level::Approximate(
            "exact for the scheduler; the fair class, which runs the other tasks, is approximate",
        ),
    ),
    (bit::ENQ_MIGRATION_DISABLED, "SCX_OPS_ENQ_MIGRATION_DISABLED", EXACT),
    (
        bit::ALLOW_QUEUED_WAKEUP,
        "SCX_OPS_ALLOW_QUEUED_WAKEUP",
        Level::Approximate("accepted: a waker always takes the target's runqueue lock itself"),
    ),
    (bit::BUILTIN_IDLE_PER_NODE, "SCX_OPS_BUILTIN_IDLE_PER_NODE", EXACT),
    (bit::ALWAYS_ENQ_IMMED, "SCX_OPS_ALWAYS_ENQ_IMMED", EXACT),
    (bit::TID_TO_TASK, "SCX_OPS_TID_TO_TASK", EXACT),
];

/// All that is known, served or absent, by kind.
pub fn features() -> Vec<Feature> {
    let mut all = keel_kernel::features();
    all.extend(FLAGS.iter().map(|&(_, name, level)| Feature { kind: FeatureKind::Flag, name, level }));
    all.extend(keel_vm::maps::features());
    all.sort_by_key(|feature| feature.kind);
    all
}

/// The name of the first of these flags that is absent.
pub(crate) fn absent_flag(flags: u64) -> Option<&'static str> {
    let absent =
        |&&(bit, _, level): &&(u64, &str, Level)| flags & bit != 0 && matches!(level, Level::Absent(_));
    FLAGS.iter().find(absent).map(|&(_, name, _)| name)
}
