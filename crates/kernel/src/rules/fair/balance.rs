//! Decides whether a CPU should balance a sched domain, and what follows from an attempt (`sched_balance_rq()`).

use crate::rules::fair::cost::Visit;
use crate::state::cpu::Irq;
use crate::state::fair::round::{Idleness, Memory, Moves, Round};
use crate::state::kernel::Kernel;
use keel_abi::CpuId;

/// How a balancing attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The domain is imbalanced; tasks may or may not have moved.
    Unbalanced,
    /// No group is overloaded.
    Balanced,
    /// Another CPU balances for this group.
    NotDesignated,
    /// No waiting task may run on the destination.
    AllPinned,
    /// The running task may not run on the destination.
    OnePinned,
}

impl Kernel {
    /// Returns whether this CPU balances for its group (`should_we_balance()`). That is the first idle CPU, preferably
    /// on an idle core; if none is idle, the first CPU.
    pub(crate) fn should_balance(&mut self, c: CpuId, round: &Round) -> bool {
        if !self.cpus[round.to].online {
            return false;
        }
        if round.idleness == Idleness::NewlyIdle {
            return self.nr_running(round.to) == 0;
        }
        let hierarchy = round.hierarchy.clone();
        let level = &hierarchy.levels(round.owner)[round.level];
        let group = hierarchy.local(level);
        let mut left = group.balancers.clone();
        let mut single = None;
        while let Some(cpu) = left.lowest() {
            left.remove(cpu);
            self.look_at(c, cpu, Visit::Idle);
            if !self.is_vacant(cpu) || !round.cpus.contains(cpu) {
                continue;
            }
            if !level.is_core() && !self.is_core_vacant_beside(cpu) {
                single = single.or(Some(cpu));
                self.cpus[cpu].siblings.iter().for_each(|&sibling| {
                    left.remove(sibling);
                });
                continue;
            }
            return cpu == round.to;
        }
        single.unwrap_or(group.first_balancer()) == round.to
    }

    /// If tasks could not move because of their affinity, marks the group as imbalanced in the level above
    /// (`sgc->imbalance`).
    pub(crate) fn note_pinned(&mut self, round: &Round) {
        if round.some_pinned && round.imbalance > 0 {
            self.set_imbalanced(round, true);
        }
    }

    fn set_imbalanced(&mut self, round: &Round, is_imbalanced: bool) {
        let hierarchy = round.hierarchy.clone();
        let Some(above) = hierarchy.levels(round.owner).get(round.level + 1) else { return };
        let key = (above.number, hierarchy.local(above).first_balancer());
        match is_imbalanced {
            true => self.fair.imbalanced.insert(key),
            false => self.fair.imbalanced.remove(&key),
        };
    }

    /// Updates the level's state after an attempt. Returns whether a task moved.
    pub(crate) fn conclude(&mut self, c: CpuId, round: Round, end: End) -> bool {
        let counts = round.idleness != Idleness::NewlyIdle && round.moves != Moves::Misfit;
        let mut end = end;
        if end == End::Unbalanced {
            if round.moved > 0 {
                self.remember(round.owner, round.level, |memory| memory.failed = 0);
            } else {
                self.remember(round.owner, round.level, |memory| memory.failed += u32::from(counts));
            }
            let is_pushed = round.moved == 0 && self.needs_push(&round);
            match is_pushed && !self.ask_to_push(c, &round) {
                true => end = End::OnePinned,
                false => self.remember(round.owner, round.level, Memory::hurry),
            }
        }
        if end == End::Unbalanced {
            return round.moved > 0;
        }
        if matches!(end, End::Balanced | End::NotDesignated) && !round.all_pinned {
            self.set_imbalanced(&round, false);
        }
        if end != End::OnePinned {
            self.remember(round.owner, round.level, |memory| memory.failed = 0);
        }
        if counts {
            self.remember(round.owner, round.level, |memory| memory.relax(round.all_pinned));
        }
        false
    }

    /// Returns whether the running task of the busiest CPU should be pushed away (`need_active_balance()`).
    fn needs_push(&self, round: &Round) -> bool {
        let hierarchy = round.hierarchy.clone();
        let level = &hierarchy.levels(round.owner)[round.level];
        let failed = self.memory_of(round.owner, round.level).failed;
        let pct = level.imbalance_pct;
        let gains = round.idleness != Idleness::Busy
            && self.cpus[round.from].fair.len() == 1
            && self.is_reduced(round.from, pct)
            && self.capacity_left(round.from) * pct < self.capacity_left(round.to) * 100;
        gains
            || round.moves == Moves::Tasks && failed > level.cache_nice_tries + 2
            || round.moves == Moves::Misfit
    }

    /// Asks the busiest CPU's stopper to push its running task. Returns false if the task may not run on the
    /// destination.
    fn ask_to_push(&mut self, c: CpuId, round: &Round) -> bool {
        let curr = self.cpus[round.from].curr;
        if curr.is_idle() || !self.may_use(curr, round.owner) {
            return false;
        }
        if self.fair.pushes[round.from.index()].is_none() {
            self.fair.pushes[round.from.index()] = Some(round.owner);
            self.send_irq(c, round.from, Irq::PushFair);
        }
        true
    }
}
