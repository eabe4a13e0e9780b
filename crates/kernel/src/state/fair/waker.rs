//! Remembers which tasks a task wakes (`record_wakee()`, `wake_wide()`). A task that wakes many different tasks does
//! not pull them to its LLC.

use keel_abi::TaskId;

/// The history of a waker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waker {
    /// The task that it woke last.
    last: Option<TaskId>,
    /// How often the wakee was different from the one before. Halved once a second.
    flips: u32,
    /// The tick at which `flips` was last halved.
    since: u64,
}

impl Waker {
    /// The history of a task that has woken no other.
    pub(super) const NEW: Self = Self { last: None, flips: 0, since: 0 };

    /// Records that the task wakes another, `ticks` ticks after boot, with `hz` ticks per second (`record_wakee()`).
    pub(crate) fn record_wakee(&mut self, task: TaskId, ticks: u64, hz: u64) {
        if ticks > self.since + hz {
            self.flips >>= 1;
            self.since = ticks;
        }
        if self.last != Some(task) {
            self.last = Some(task);
            self.flips += 1;
        }
    }

    /// Returns whether either task has more partners than an LLC with this many CPUs can hold (`wake_wide()`).
    pub(crate) fn is_wide(&self, wakee: &Self, cache: u32) -> bool {
        let (less, more) = (self.flips.min(wakee.flips), self.flips.max(wakee.flips));
        less >= cache && u64::from(more) >= u64::from(less) * u64::from(cache)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `record_wakee()`.
    #[test]
    fn only_changes_of_partner_count() {
        let check = |wakes: &[(u32, u64)], expected| {
            let mut waker = Waker::NEW;
            wakes.iter().for_each(|&(task, ticks)| waker.record_wakee(TaskId(task), ticks, 1000));
            assert_eq!(waker.flips, expected, "{wakes:?}");
        };
        check(&[(1, 0), (1, 1), (1, 2)], 1);
        check(&[(1, 0), (2, 1), (1, 2)], 3);
        check(&[(1, 0), (2, 1), (1, 1001)], 2);
    }

    /// `wake_wide()`.
    #[test]
    fn many_partners_on_both_sides_are_wide() {
        let check = |waker, wakee, cache, expected| {
            let of = |flips| Waker { flips, ..Waker::NEW };
            assert_eq!(of(waker).is_wide(&of(wakee), cache), expected, "{waker} {wakee} {cache}");
        };
        check(64, 8, 8, true);
        check(8, 64, 8, true);
        check(63, 8, 8, false);
        check(640, 7, 8, false);
        check(0, 0, 1, false);
    }
}
