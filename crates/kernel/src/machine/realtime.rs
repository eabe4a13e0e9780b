//! Which rules of the real-time class a machine's kernel has: the `[realtime]` table.

use serde::Deserialize;

/// When a real-time task that wakes looks for another CPU than the one it was on.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum WakeupRule {
    /// Where any real-time task runs there: that one keeps its caches (Linux up to 2.6.36).
    Before,
    /// Where a more urgent one runs there, as Rostedt's change of September 2010 has it.
    Posted,
    /// Where one runs there that is as urgent or more, or may run nowhere else: today's rule (since 3.2).
    #[default]
    After,
}

/// How a CPU that comes down to something less urgent gets what waits elsewhere.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Pull {
    /// It takes the other runqueues' locks, and the tasks (Linux up to 4.0, and later without `RT_PUSH_IPI`).
    Take,
    /// It asks the overloaded CPUs one by one to push (`RT_PUSH_IPI`).
    #[default]
    Ask,
}

/// The rules of a machine's real-time class; today's kernel's by default.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Realtime {
    /// `wakeup`.
    pub wakeup: WakeupRule,
    /// `pull`.
    pub pull: Pull,
}
