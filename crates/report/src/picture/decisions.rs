//! The most telling decisions of a run, spread over its time, in bounded memory.
//!
//! Most telling is one that leaves things as they should not be: a task went to a busy CPU while another idled, or a
//! balancing moved nothing while a CPU idled and tasks waited. Then others at such moments, then balancings, then
//! the rest. Of each moment one is kept; moments get longer as the run does.

use super::heat::Heat;
use keel_abi::Instant;
use keel_trace::Policy;
use keel_trace::policy::Outcome;

/// Moments that are kept at most.
const SLOTS: usize = 1024;
/// A moment's first length is 2 to this power, in nanoseconds.
const FIRST_SHIFT: u32 = 10;

/// How telling a decision is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    Rest,
    Balancing,
    /// A CPU idled and a task waited.
    AtWaste,
    /// And it stayed so.
    Missed,
}

/// A decision that may be drawn.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Nanoseconds from the run's beginning.
    pub(super) at: u64,
    pub(super) worth: Worth,
    pub(super) policy: Policy,
}

/// One decision a moment.
#[derive(Debug)]
pub(super) struct Decisions {
    slots: Vec<Option<Kept>>,
    shift: u32,
    pub(super) heard: u64,
}

impl Default for Decisions {
    fn default() -> Self {
        Self { slots: Vec::new(), shift: FIRST_SHIFT, heard: 0 }
    }
}

impl Decisions {
    /// One more; `heat` is as it was when it was made.
    pub(super) fn hear(&mut self, at: Instant, policy: &Policy, heat: &Heat) {
        let at = heat.since_start(at);
        self.heard += 1;
        while at >> self.shift >= SLOTS as u64 {
            self.coarsen();
        }
        let slot = (at >> self.shift) as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
        }
        let worth = worth(policy, heat);
        if self.slots[slot].as_ref().is_none_or(|kept| kept.worth < worth) {
            self.slots[slot] = Some(Kept { at, worth, policy: policy.clone() });
        }
    }

    fn coarsen(&mut self) {
        let mut old = std::mem::take(&mut self.slots).into_iter();
        while let Some(first) = old.next() {
            let second = old.next().flatten();
            let better = match (&first, &second) {
                (Some(a), Some(b)) => b.worth > a.worth,
                (a, _) => a.is_none(),
            };
            self.slots.push(if better { second } else { first });
        }
        self.shift += 1;
    }

    /// The most telling first; of equals, so that the first few lie all over the run.
    pub(super) fn best_first(&self) -> Vec<&Kept> {
        let kept = self.slots.iter().enumerate().filter_map(|(slot, kept)| Some((slot, kept.as_ref()?)));
        let mut kept: Vec<(usize, &Kept)> = kept.collect();
        kept.sort_by_key(|(slot, kept)| (std::cmp::Reverse(kept.worth), slot.reverse_bits()));
        kept.into_iter().map(|(_, kept)| kept).collect()
    }
}

fn worth(policy: &Policy, heat: &Heat) -> Worth {
    let balancing = policy.kind.is_balancing();
    let (idle, waiting) = heat.idle_and_waiting();
    // A task that is put on a busy CPU waits from then on.
    let crowds = !balancing && policy.chosen.is_some_and(|cpu| heat.runnable(cpu) > 0);
    let missed = if balancing { waiting > 0 && policy.outcome != Some(Outcome::Moved) } else { crowds };
    match (idle > 0, missed, waiting > 0) {
        (true, true, _) => Worth::Missed,
        (true, false, true) => Worth::AtWaste,
        _ if balancing => Worth::Balancing,
        _ => Worth::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{CpuId, Pid, Span, TaskId, Topology};
    use keel_trace::policy::Kind;
    use keel_trace::{Event, Meta, What};

    fn policy(kind: Kind, chosen: Option<u32>, outcome: Outcome) -> Policy {
        let (chosen, outcome) = (chosen.map(CpuId), Some(outcome));
        Policy { pid: Pid(1), chosen, outcome, ..Policy::of(kind, CpuId(0)) }
    }

    /// 4 CPUs, so many tasks on CPU 1.
    fn heat(tasks: u32) -> Heat {
        let mut heat = Heat::default();
        let [scheduler, workload, unit] = ["", "", ""].map(str::to_owned);
        heat.meta(Instant::ZERO, &Meta::Start { topology: Topology::flat(4), scheduler, workload, unit });
        for task in 0..tasks {
            let what = What::Wakeup { task: TaskId(task), target: CpuId(1), waker: TaskId::IDLE };
            heat.events(&[Event { at: Instant::ZERO, cpu: CpuId(1), what }]);
        }
        heat
    }

    #[test]
    fn what_leaves_waste_is_worth_most() {
        let check = |tasks, kind, chosen, outcome, expected| {
            assert_eq!(worth(&policy(kind, chosen, outcome), &heat(tasks)), expected, "{kind:?} {outcome:?}");
        };
        check(2, Kind::Balance, None, Outcome::Balanced, Worth::Missed);
        check(2, Kind::NewIdle, Some(1), Outcome::Moved, Worth::AtWaste);
        check(1, Kind::Balance, None, Outcome::Balanced, Worth::Balancing);
        check(1, Kind::Wakeup, Some(1), Outcome::Chose, Worth::Missed);
        check(1, Kind::Wakeup, Some(2), Outcome::Chose, Worth::Rest);
        check(2, Kind::Fork, Some(2), Outcome::Chose, Worth::AtWaste);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_best() {
        let (mut decisions, crowded, calm) = (Decisions::default(), heat(2), heat(1));
        let dull = policy(Kind::Wakeup, Some(2), Outcome::Chose);
        let telling = policy(Kind::Balance, None, Outcome::Balanced);
        for n in 0..200_000u64 {
            let at = Instant::ZERO + Span::from_us(n * 10);
            decisions.hear(at, &dull, &calm);
            if n == 137_000 {
                decisions.hear(at, &telling, &crowded);
            }
        }
        let best = decisions.best_first();
        assert!((SLOTS / 2 - 1..=SLOTS).contains(&best.len()), "{}", best.len());
        assert_eq!((best[0].at, best[0].worth), (1_370_000_000, Worth::Missed));
        assert_eq!(best.iter().filter(|kept| kept.worth == Worth::Missed).count(), 1);
        let early = best[1..9].iter().filter(|kept| kept.at < 1_000_000_000).count();
        assert!((3..=5).contains(&early), "the first few lie all over the run: {early}");
        assert_eq!(decisions.heard, 200_001);
    }
}
