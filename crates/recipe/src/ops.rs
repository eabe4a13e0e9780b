//! The members of `struct sched_ext_ops` that a recipe can set.

use keel_abi::scx::ops_flags;

/// The flags of `enum scx_ops_flags` in Linux 7.2: names and bits.
pub const FLAGS: &[(&str, u64)] = &[
    ("SCX_OPS_KEEP_BUILTIN_IDLE", ops_flags::KEEP_BUILTIN_IDLE),
    ("SCX_OPS_ENQ_LAST", ops_flags::ENQ_LAST),
    ("SCX_OPS_ENQ_EXITING", ops_flags::ENQ_EXITING),
    ("SCX_OPS_SWITCH_PARTIAL", ops_flags::SWITCH_PARTIAL),
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", ops_flags::ENQ_MIGRATION_DISABLED),
    ("SCX_OPS_ALLOW_QUEUED_WAKEUP", ops_flags::ALLOW_QUEUED_WAKEUP),
    ("SCX_OPS_BUILTIN_IDLE_PER_NODE", ops_flags::BUILTIN_IDLE_PER_NODE),
    ("SCX_OPS_ALWAYS_ENQ_IMMED", ops_flags::ALWAYS_ENQ_IMMED),
    ("SCX_OPS_TID_TO_TASK", ops_flags::TID_TO_TASK),
];

/// Returns a flag's bit by its name.
pub(crate) fn flag(name: &str) -> Option<u64> {
    FLAGS.iter().find(|(known, _)| *known == name).map(|(_, bit)| *bit)
}
