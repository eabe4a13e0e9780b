//! The timers of groups' bandwidth limits, and their numbers.

use crate::state::fair::ids::GroupId;
use crate::state::timer_number;

/// A timer of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetTimer {
    /// The end of a period.
    Period(GroupId),
    /// The redistribution of returned runtime.
    Slack(GroupId),
}

impl BudgetTimer {
    /// Returns the timer with this number.
    pub(crate) fn numbered(number: u32) -> Self {
        let group = GroupId(number / 2);
        if number.is_multiple_of(2) { Self::Period(group) } else { Self::Slack(group) }
    }

    pub(crate) fn number(self) -> u32 {
        let own = match self {
            Self::Period(group) => 2 * group.0,
            Self::Slack(group) => 2 * group.0 + 1,
        };
        timer_number::FIRST_BUDGET + own
    }
}
