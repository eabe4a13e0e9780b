//! One record of a recording, independent of its format: tasks are pids and names, as in tracepoints.

use keel_trace::Why;

/// The limit of pids (`PID_MAX_LIMIT`); higher ones are damage.
pub(crate) const PID_LIMIT: u32 = 1 << 22;

/// A task's name as the kernel stores it (`TASK_COMM_LEN`), padded with zeroes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Name([u8; 16]);

impl Name {
    /// Creates a name from the bytes before a zero, as far as they fit.
    #[inline]
    pub(crate) fn new(bytes: &[u8]) -> Self {
        /// A one in each byte.
        const ONES: u128 = u128::MAX / 255;
        let name = bytes.first_chunk::<16>().copied().unwrap_or_else(|| {
            let mut name = [0; 16];
            name[..bytes.len()].copy_from_slice(bytes);
            name
        });
        let letters = u128::from_le_bytes(name);
        // The highest bit of the first zero byte, and perhaps of later bytes.
        let zeroes = letters.wrapping_sub(ONES) & !letters & (ONES << 7);
        match zeroes.trailing_zeros() {
            128 => Self(name),
            bit => Self((letters & ((1 << (bit - 7)) - 1)).to_le_bytes()),
        }
    }

    /// Returns all bytes, including padding.
    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns whether it begins with these bytes.
    pub(crate) fn begins(&self, with: &[u8]) -> bool {
        self.0.starts_with(with)
    }

    /// Returns whether it is unknown.
    pub(crate) fn is_empty(&self) -> bool {
        self.0[0] == 0
    }

    /// Returns it as text.
    pub(crate) fn text(&self) -> String {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

/// A task as in a tracepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    /// Its pid; 0 for idle tasks.
    pub(crate) pid: u32,
    /// Its name; empty if unknown.
    pub(crate) name: Name,
    /// The kernel's priority: 100 to 139 for nice -20 to 19.
    pub(crate) prio: Option<i32>,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchedRecord {
    /// When, in nanoseconds of the recording's clock.
    pub(crate) at: u64,
    /// The CPU that wrote it.
    pub(crate) cpu: u32,
    /// The number of events that this CPU lost just before.
    pub(crate) lost: u64,
    /// The task that was running when it was written, if given.
    pub(crate) current: Option<u32>,
    /// Whether an interrupt, which interrupted `current`, wrote it.
    pub(crate) interrupt: bool,
    /// Its content.
    pub(crate) what: SchedEvent,
}

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchedEvent {
    /// `sched_switch`; `why` is never [`Why::WasIdle`].
    Switch { prev: Who, why: Why, next: Who },
    /// `sched_waking`: a waker starts to wake the task, whose CPU is not chosen yet.
    Waking { task: Who, target: u32 },
    /// `sched_wakeup`: the task is on a runqueue.
    Wakeup { task: Who, target: u32 },
    /// A wakeup with both halves, combined from the two above.
    Woken { task: Who, target: u32, waker: u32, waker_cpu: u32 },
    /// `sched_wakeup_new`.
    WakeupNew { task: Who, target: u32 },
    /// `sched_process_fork`.
    Forked { child: Who },
    /// `sched_migrate_task`.
    Migrate { task: Who, from: u32, to: u32 },
    /// `task_rename` and similar.
    Named { task: Who },
    /// `cpuhp_enter` of the step from which the scheduler uses a CPU.
    Online { target: u32, up: bool },
    /// The ring buffer of this CPU overwrote everything before.
    BeginsHere,
    /// Something else, which still provides the time, CPU and task.
    Other,
}

impl SchedEvent {
    /// Converts `cpuhp_enter`: `target` begins `step` on its way to `goal`. The scheduler starts to use a CPU in the
    /// last step of going online (`CPUHP_AP_ACTIVE`), and stops in the first step of going offline.
    pub(crate) fn hotplug(target: u32, goal: i64, step: i64) -> Self {
        match step {
            _ if step > goal => Self::Online { target, up: false },
            _ if step.checked_add(1) == Some(goal) => Self::Online { target, up: true },
            _ => Self::Other,
        }
    }

    /// Returns the pids in it.
    pub(crate) fn pids(&self) -> [u32; 2] {
        match self {
            Self::Switch { prev, next, .. } => [prev.pid, next.pid],
            Self::Waking { task, .. }
            | Self::Wakeup { task, .. }
            | Self::Woken { task, .. }
            | Self::WakeupNew { task, .. }
            | Self::Forked { child: task }
            | Self::Migrate { task, .. }
            | Self::Named { task } => [task.pid, 0],
            Self::Online { .. } | Self::BeginsHere | Self::Other => [0, 0],
        }
    }

    /// Returns the highest CPU in it.
    pub(crate) fn highest_cpu(&self) -> u32 {
        match *self {
            Self::Waking { target, .. }
            | Self::Wakeup { target, .. }
            | Self::WakeupNew { target, .. }
            | Self::Online { target, .. } => target,
            Self::Woken { target, waker_cpu, .. } => target.max(waker_cpu),
            Self::Migrate { from, to, .. } => from.max(to),
            Self::Switch { .. }
            | Self::Forked { .. }
            | Self::Named { .. }
            | Self::BeginsHere
            | Self::Other => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_precedes_a_zero() {
        let check = |bytes: &[u8], expected: &str| {
            let name = Name::new(bytes);
            assert_eq!((name.text().as_str(), name.is_empty()), (expected, expected.is_empty()), "{bytes:?}");
            assert_eq!(
                name,
                Name::new(expected.as_bytes()),
                "{bytes:?}: nothing is left of what follows the zero"
            );
        };
        check(b"", "");
        check(b"make", "make");
        check(b"make\0old rubbish", "make");
        check(b"make\0\x01\x01\x80\x81 old", "make");
        check(b"sixteen letters!", "sixteen letters!");
        check(b"sixteen letters! and more", "sixteen letters!");
        check(b"\0sixteen letters", "");
        check(b"\x01\x01\0", "\x01\x01");
    }
}
