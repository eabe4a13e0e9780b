//! CPUs that an emulator executes one after the other on one thread of its host, while virtual time passes for all of
//! them.
//!
//! A turn ends at the next multiple of its length, when its CPU goes idle, or when a timer is due on any CPU: then the
//! next busy CPU gets the rest of the turn.

use keel_abi::CpuId;

/// Whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    turn_ns: u64,
    /// In the order of their turns.
    busy: Vec<CpuId>,
    /// The CPU that executed at `at_ns`, as an index into `busy`, and that moment.
    holder: usize,
    at_ns: u64,
}

impl Turns {
    /// Turns of this length, with no busy CPU.
    pub(crate) const fn new(turn_ns: u64) -> Self {
        Self { turn_ns, busy: Vec::new(), holder: 0, at_ns: 0 }
    }

    pub(crate) fn is_busy(&self, c: CpuId) -> bool {
        self.busy.binary_search(&c).is_ok()
    }

    /// How many CPUs are busy, at least one.
    pub(crate) fn busy(&self) -> u64 {
        (self.busy.len() as u64).max(1)
    }

    /// A CPU becomes busy.
    pub(crate) fn becomes_busy(&mut self, c: CpuId, at_ns: u64) {
        self.go_on_to(at_ns);
        let Err(place) = self.busy.binary_search(&c) else { return };
        self.busy.insert(place, c);
        if self.busy.len() > 1 && place <= self.holder {
            self.holder += 1;
        }
    }

    /// A CPU becomes idle.
    pub(crate) fn becomes_idle(&mut self, c: CpuId, at_ns: u64) {
        self.go_on_to(at_ns);
        let Ok(place) = self.busy.binary_search(&c) else { return };
        self.busy.remove(place);
        if place < self.holder {
            self.holder -= 1;
        }
        self.holder = if self.holder < self.busy.len() { self.holder } else { 0 };
    }

    /// A timer is due on some CPU.
    pub(crate) fn pass_on(&mut self, at_ns: u64) {
        self.go_on_to(at_ns);
        self.holder = if self.holder + 1 < self.busy.len() { self.holder + 1 } else { 0 };
    }

    /// When a busy CPU will have done work that takes `work_ns` on its own, if the same CPUs stay busy.
    pub(crate) fn done_at_ns(&self, c: CpuId, at_ns: u64, work_ns: u64) -> u64 {
        let (turn_ns, others_ns) = (self.turn_ns, self.others_ns());
        if others_ns == 0 || work_ns == 0 {
            return at_ns + work_ns;
        }
        let left_ns = turn_ns - at_ns % turn_ns;
        let (begins_ns, work_ns) = match self.turns_until(c, at_ns) {
            0 if work_ns <= left_ns => return at_ns + work_ns,
            0 => (at_ns + left_ns + others_ns, work_ns - left_ns),
            turns => (at_ns + left_ns + (turns - 1) * turn_ns, work_ns),
        };
        begins_ns + work_ns + (work_ns - 1) / turn_ns * others_ns
    }

    /// How long a busy CPU has executed between two moments, if the same CPUs were busy all the time.
    pub(crate) fn executed_ns(&self, c: CpuId, from_ns: u64, to_ns: u64) -> u64 {
        let (turn_ns, others_ns) = (self.turn_ns, self.others_ns());
        let all_ns = to_ns.saturating_sub(from_ns);
        if others_ns == 0 {
            return all_ns;
        }
        let left_ns = turn_ns - from_ns % turn_ns;
        let (before_ns, done_ns) = match self.turns_until(c, from_ns) {
            0 => (left_ns + others_ns, all_ns.min(left_ns)),
            turns => (left_ns + (turns - 1) * turn_ns, 0),
        };
        let Some(since_ns) = all_ns.checked_sub(before_ns) else { return done_ns };
        let round_ns = turn_ns + others_ns;
        done_ns + since_ns / round_ns * turn_ns + (since_ns % round_ns).min(turn_ns)
    }

    /// The total length of one turn of each other CPU.
    fn others_ns(&self) -> u64 {
        (self.busy.len() as u64).saturating_sub(1) * self.turn_ns
    }

    /// How many turns, including the current one, end before a CPU's own turn; a CPU that isn't busy comes last.
    fn turns_until(&self, c: CpuId, at_ns: u64) -> u64 {
        let (busy, place) = (self.busy.len() as u64, self.busy.partition_point(|other| *other < c) as u64);
        (place + busy - self.holder_at(at_ns)) % busy.max(1)
    }

    fn holder_at(&self, at_ns: u64) -> u64 {
        let ended = (at_ns / self.turn_ns).saturating_sub(self.at_ns / self.turn_ns);
        (self.holder as u64 + ended) % (self.busy.len() as u64).max(1)
    }

    fn go_on_to(&mut self, at_ns: u64) {
        self.holder = self.holder_at(at_ns) as usize;
        self.at_ns = self.at_ns.max(at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `busy` CPUs from 0 on; the first has its turn at 0.
    fn turns(busy: u32) -> Turns {
        let mut turns = Turns::new(100);
        (0..busy).for_each(|c| turns.becomes_busy(CpuId(c), 0));
        turns
    }

    #[test]
    fn who_is_not_due_waits_and_long_work_takes_several_turns() {
        let check = |busy, c, at_ns, work_ns, expected| {
            let turns = turns(busy);
            let done_at_ns = turns.done_at_ns(CpuId(c), at_ns, work_ns);
            assert_eq!(done_at_ns - at_ns, expected);
            assert_eq!(turns.executed_ns(CpuId(c), at_ns, done_at_ns), work_ns);
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

    #[test]
    fn who_goes_idle_leaves_the_rest_of_its_turn_to_the_next() {
        let check = |idle: &[(u32, u64)], c, expected| {
            let mut turns = turns(3);
            idle.iter().for_each(|&(c, at_ns)| turns.becomes_idle(CpuId(c), at_ns));
            let at_ns = idle.last().map_or(0, |last| last.1);
            assert_eq!(turns.done_at_ns(CpuId(c), at_ns, 10), expected);
        };
        check(&[], 1, 110);
        check(&[(0, 30)], 1, 40);
        check(&[(0, 30)], 2, 110);
        check(&[(2, 30)], 0, 40);
        check(&[(2, 30)], 1, 110);
        check(&[(1, 130)], 2, 140);
        check(&[(0, 30), (1, 40)], 2, 50);
        check(&[(0, 30), (1, 40), (0, 50)], 2, 60);
    }

    #[test]
    fn a_timer_ends_a_turn() {
        let mut turns = turns(3);
        turns.pass_on(30);
        assert_eq!([0, 1, 2].map(|c| turns.done_at_ns(CpuId(c), 30, 10)), [210, 40, 110]);
        turns.pass_on(150);
        assert_eq!([0, 1, 2].map(|c| turns.done_at_ns(CpuId(c), 150, 10)), [160, 210, 310]);
    }

    #[test]
    fn who_becomes_busy_waits_for_its_turn() {
        let mut turns = Turns::new(100);
        turns.becomes_busy(CpuId(2), 30);
        assert_eq!(turns.done_at_ns(CpuId(2), 30, 500), 530);
        turns.becomes_busy(CpuId(0), 250);
        assert_eq!(turns.done_at_ns(CpuId(0), 250, 10), 310);
        assert_eq!(turns.done_at_ns(CpuId(2), 250, 50), 300);
        assert_eq!(turns.done_at_ns(CpuId(2), 250, 51), 401);
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_a_part_for_long(
            busy in 1_u32..9, place in 0_u32..9, at_ns in 0_u64..1_000_000, work_ns in 1_u64..100_000,
        ) {
            let (turns, c) = (turns(busy), CpuId(place % busy));
            let done_at_ns = turns.done_at_ns(c, at_ns, work_ns);
            let taken_ns = done_at_ns - at_ns;
            prop_assert!(taken_ns >= work_ns && taken_ns <= (work_ns + 200) * u64::from(busy));
            // More work never ends earlier, and work in two parts ends as work in one.
            let first_at_ns = turns.done_at_ns(c, at_ns, work_ns / 2);
            prop_assert_eq!(turns.done_at_ns(c, first_at_ns, work_ns - work_ns / 2), done_at_ns);
            prop_assert_eq!(turns.executed_ns(c, at_ns, done_at_ns), work_ns);
        }

        #[test]
        fn all_busy_cpus_together_execute_all_the_time(
            busy in 1_u32..9, from_ns in 0_u64..10_000, span_ns in 0_u64..10_000,
        ) {
            let turns = turns(busy);
            let executed = (0..busy).map(|c| turns.executed_ns(CpuId(c), from_ns, from_ns + span_ns));
            prop_assert_eq!(executed.sum::<u64>(), span_ns);
        }
    }
}
