//! The features that schedulers can use: those that each crate implements, and the flags of `struct sched_ext_ops`.

use keel_abi::feature::{Feature, FeatureKind, Level};

const EXACT: Level = Level::Exact;

/// `enum scx_ops_flags` of Linux 7.2.
const FLAGS: &[(&str, Level)] = &[
    ("SCX_OPS_KEEP_BUILTIN_IDLE", EXACT),
    ("SCX_OPS_ENQ_LAST", EXACT),
    (
        "SCX_OPS_ENQ_EXITING",
        Level::Approximate("accepted: a task's exit is one step, so no task is enqueued while it exits"),
    ),
    (
        "SCX_OPS_SWITCH_PARTIAL",
        Level::Approximate(
            "exact for the scheduler; the fair class, which runs the other tasks, is approximate",
        ),
    ),
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", EXACT),
    (
        "SCX_OPS_ALLOW_QUEUED_WAKEUP",
        Level::Approximate("accepted: a waker always takes the target's runqueue lock itself"),
    ),
    ("SCX_OPS_BUILTIN_IDLE_PER_NODE", EXACT),
    ("SCX_OPS_ALWAYS_ENQ_IMMED", EXACT),
    ("SCX_OPS_TID_TO_TASK", EXACT),
];

/// Returns all known features, supported or absent, by kind.
pub fn features() -> Vec<Feature> {
    let mut all = keel_kernel::features();
    all.extend(FLAGS.iter().map(|&(name, level)| Feature { kind: FeatureKind::Flag, name, level }));
    all.extend(keel_vm::maps::features());
    all.sort_by_key(|feature| feature.kind);
    all
}
