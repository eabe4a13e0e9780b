//! Keeps the most informative decisions of a run, spread over its time, in bounded memory.
//!
//! The most informative decisions are those that leave waste: a task went to a busy CPU while another CPU was idle, or
//! a balancing for an idle CPU looked at CPUs where tasks waited and moved none of them. Next come other decisions made
//! while a CPU idled and a task waited, then balancings, then the rest. One decision is kept per moment; moments get
//! longer as the run gets longer.

use keel_trace::Policy;
use keel_trace::policy::{Kind, Outcome};

/// A moment's first length is 2 to this power, in nanoseconds.
const FIRST_SHIFT: u32 = 10;

/// How informative a decision is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// Nothing waited, or nothing idled.
    Rest,
    /// Likewise, but for a balancing.
    Balancing,
    /// A CPU idled and a task waited.
    AtWaste,
    /// A CPU idled and a task waited, and the decision did not change that.
    Missed,
}

/// The situation when a decision is made.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// The number of idle CPUs.
    pub idle: u64,
    /// The number of waiting tasks.
    pub waiting: u64,
    /// The number of waiting tasks on other CPUs that the decision looked at.
    pub seen: u64,
    /// The number of runnable tasks on the CPU that decides, or for which the decision is made.
    pub here: u64,
    /// The number of runnable tasks on the chosen CPU, if there is one.
    pub there: u64,
}

impl Worth {
    /// Returns how informative a decision is in this situation.
    pub fn of(policy: &Policy, now: Standing) -> Self {
        let balancing = policy.kind.is_balancing();
        // A task that is put on a busy CPU waits from then on.
        let crowds = matches!(policy.kind, Kind::Wakeup | Kind::Fork) && now.there > 0;
        // A CPU that isn't designated leaves the balancing to another.
        let left = !matches!(policy.outcome, Some(Outcome::Moved | Outcome::NotDesignated));
        let for_idle = matches!(policy.kind, Kind::NewIdle | Kind::Nohz) || now.here == 0;
        let missed = if balancing { for_idle && now.seen > 0 && left } else { crowds };
        match (now.idle > 0, missed, now.waiting > 0) {
            (true, true, _) => Self::Missed,
            (true, false, true) => Self::AtWaste,
            _ if balancing => Self::Balancing,
            _ => Self::Rest,
        }
    }
}

/// A decision that was kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// When it was made, in nanoseconds from the start of the run.
    pub at: u64,
    /// How informative it is.
    pub worth: Worth,
    /// The decision.
    pub policy: Policy,
}

impl Kept {
    fn rank(&self) -> (Worth, usize) {
        (self.worth, width(self.worth, &self.policy))
    }
}

/// Returns how many CPUs a decision looked at, for decisions that missed nothing: the one that looked at the most is
/// the most informative, because even it found nothing.
fn width(worth: Worth, policy: &Policy) -> usize {
    if worth == Worth::Missed { 0 } else { policy.considered.len() }
}

/// One decision per moment, for at most `MOMENTS` moments.
#[derive(Debug)]
pub struct Notable<const MOMENTS: usize> {
    slots: Vec<Option<Kept>>,
    shift: u32,
    received: u64,
}

impl<const MOMENTS: usize> Default for Notable<MOMENTS> {
    fn default() -> Self {
        Self { slots: Vec::new(), shift: FIRST_SHIFT, received: 0 }
    }
}

impl<const MOMENTS: usize> Notable<MOMENTS> {
    /// Adds a decision, `at` nanoseconds from the start of the run.
    pub fn receive(&mut self, at: u64, policy: &Policy, now: Standing) {
        self.received += 1;
        while at >> self.shift >= MOMENTS as u64 {
            self.coarsen();
        }
        let slot = (at >> self.shift) as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
        }
        let worth = Worth::of(policy, now);
        let rank = (worth, width(worth, policy));
        if self.slots[slot].as_ref().is_none_or(|kept| kept.rank() < rank) {
            self.slots[slot] = Some(Kept { at, worth, policy: policy.clone() });
        }
    }

    /// Returns how many decisions were received.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the kept decisions, sorted by time.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.slots.iter().flatten()
    }

    /// Returns the kept decisions, the most informative first. Equals are ordered so that the first few are spread over
    /// the run.
    pub fn best_first(&self) -> Vec<&Kept> {
        let kept = self.slots.iter().enumerate().filter_map(|(slot, kept)| Some((slot, kept.as_ref()?)));
        let mut kept: Vec<(usize, &Kept)> = kept.collect();
        kept.sort_by_key(|(slot, kept)| (std::cmp::Reverse(kept.worth), slot.reverse_bits()));
        kept.into_iter().map(|(_, kept)| kept).collect()
    }

    fn coarsen(&mut self) {
        let mut old = std::mem::take(&mut self.slots).into_iter();
        while let Some(first) = old.next() {
            let second = old.next().flatten();
            let better = match (&first, &second) {
                (Some(a), Some(b)) => b.rank() > a.rank(),
                (a, _) => a.is_none(),
            };
            self.slots.push(if better { second } else { first });
        }
        self.shift += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{CpuId, Pid};

    /// The number of moments in the tests.
    const SLOTS: usize = 1024;

    fn policy(kind: Kind, chosen: Option<u32>, outcome: Outcome) -> Policy {
        let (chosen, outcome) = (chosen.map(CpuId), Some(outcome));
        Policy { pid: Pid(1), chosen, outcome, ..Policy::of(kind, CpuId(0)) }
    }

    /// Returns a situation with these numbers of idle CPUs, waiting tasks, waiting tasks seen, and runnable tasks on
    /// the chosen CPU.
    fn standing(idle: u64, waiting: u64, seen: u64, there: u64) -> Standing {
        Standing { idle, waiting, seen, here: 0, there }
    }

    #[test]
    fn what_leaves_waste_is_worth_most() {
        let check = |now, kind, chosen, outcome, expected| {
            assert_eq!(Worth::of(&policy(kind, chosen, outcome), now), expected, "{kind:?} {outcome:?}");
        };
        check(standing(3, 1, 1, 0), Kind::Balance, None, Outcome::Balanced, Worth::Missed);
        let busy = Standing { here: 1, ..standing(3, 1, 1, 0) };
        check(busy, Kind::Balance, None, Outcome::Balanced, Worth::AtWaste);
        check(busy, Kind::NewIdle, None, Outcome::Pinned, Worth::Missed);
        check(standing(3, 1, 0, 0), Kind::Balance, None, Outcome::Balanced, Worth::AtWaste);
        check(standing(3, 1, 1, 0), Kind::Balance, None, Outcome::NotDesignated, Worth::AtWaste);
        check(standing(3, 1, 1, 2), Kind::NewIdle, Some(1), Outcome::Moved, Worth::AtWaste);
        check(standing(3, 0, 0, 0), Kind::Balance, None, Outcome::Balanced, Worth::Balancing);
        check(standing(3, 0, 0, 1), Kind::Wakeup, Some(1), Outcome::Chose, Worth::Missed);
        check(standing(3, 0, 0, 0), Kind::Wakeup, Some(2), Outcome::Chose, Worth::Rest);
        check(standing(3, 1, 1, 0), Kind::Fork, Some(2), Outcome::Chose, Worth::AtWaste);
        check(standing(0, 5, 5, 1), Kind::Wakeup, Some(1), Outcome::Chose, Worth::Rest);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_best() {
        let mut decisions = Notable::<SLOTS>::default();
        let dull = policy(Kind::Wakeup, Some(2), Outcome::Chose);
        let rank = policy(Kind::Balance, None, Outcome::Balanced);
        for n in 0..200_000u64 {
            decisions.receive(n * 10_000, &dull, standing(3, 0, 0, 0));
            if n == 137_000 {
                decisions.receive(n * 10_000, &rank, standing(3, 1, 1, 0));
            }
        }
        let best = decisions.best_first();
        assert!((SLOTS / 2 - 1..=SLOTS).contains(&best.len()), "{}", best.len());
        assert_eq!((best[0].at, best[0].worth), (1_370_000_000, Worth::Missed));
        assert_eq!(best.iter().filter(|kept| kept.worth == Worth::Missed).count(), 1);
        let early = best[1..9].iter().filter(|kept| kept.at < 1_000_000_000).count();
        assert!((3..=5).contains(&early), "the first few are spread over the run: {early}");
        assert!(decisions.kept().is_sorted_by_key(|kept| kept.at));
        assert_eq!(decisions.received(), 200_001);
    }
}
