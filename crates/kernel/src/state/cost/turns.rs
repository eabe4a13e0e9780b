//! CPUs that an emulator executes in turn on one thread of its host: the CPU that is due executes for a turn, then the
//! next busy one, and virtual time passes for all of them meanwhile.
//!
//! Approximate: turns are of equal length and lie on a grid, no matter which CPUs become busy or idle.

/// The turns at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    /// How long a turn takes.
    pub(crate) turn_ns: u64,
    /// How many CPUs take turns.
    pub(crate) busy: u64,
    /// The place of the CPU in question among them, from 0.
    pub(crate) place: u64,
}

impl Turns {
    /// How much later than `at_ns` the CPU has executed what takes `work_ns` by itself: it waits until it is due, and again
    /// whenever its turn is over.
    pub(crate) fn taken_ns(self, at_ns: u64, work_ns: u64) -> u64 {
        let Self { turn_ns, busy, place } = self;
        if busy <= 1 || work_ns == 0 || turn_ns == 0 {
            return work_ns;
        }
        let round_ns = busy * turn_ns;
        // Since the CPU's last turn began.
        let since_ns = (at_ns % round_ns + round_ns - place * turn_ns) % round_ns;
        let (wait_ns, left_ns) =
            if since_ns < turn_ns { (0, turn_ns - since_ns) } else { (round_ns - since_ns, turn_ns) };
        let rounds = work_ns.saturating_sub(left_ns).div_ceil(turn_ns);
        wait_ns + work_ns + rounds * (round_ns - turn_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;
    use proptest::prelude::*;

    #[test]
    fn who_is_not_due_waits_and_long_work_takes_several_turns() {
        let check = |busy, place, at_ns, work_ns, expected| {
            assert_eq!(Turns { turn_ns: 100, busy, place }.taken_ns(at_ns, work_ns), expected);
        };
        check(1, 0, 50, 1000, 1000);
        // Due from 0 to 100, and again from 300.
        check(3, 0, 20, 30, 30);
        check(3, 0, 20, 80, 80);
        check(3, 0, 20, 81, 281);
        check(3, 0, 20, 180, 380);
        check(3, 0, 20, 181, 581);
        check(3, 0, 150, 10, 160);
        // Due from 100 to 200.
        check(3, 1, 20, 10, 90);
        check(3, 1, 620, 0, 0);
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_a_part_for_long(
            busy in 1_u64..9, place in 0_u64..9, at_ns in 0_u64..1_000_000, work_ns in 1_u64..100_000,
        ) {
            let turns = Turns { turn_ns: 1000, busy, place: place % busy };
            let taken_ns = turns.taken_ns(at_ns, work_ns);
            prop_assert!(taken_ns >= work_ns && taken_ns <= (work_ns + 2000) * busy);
            // More work never ends earlier, and work in two parts ends as work in one.
            let first_ns = turns.taken_ns(at_ns, work_ns / 2);
            prop_assert_eq!(first_ns + turns.taken_ns(at_ns + first_ns, work_ns - work_ns / 2), taken_ns);
        }
    }
}
