//! Moving tasks between CPUs of a level (`sched_balance_rq()`): who has too much is found without a lock; tasks are taken
//! under the source's, and put where they go under that CPU's.

use crate::fair::cost::Visit;
use crate::sim::Sim;
use crate::state::cpu::Irq;
use crate::state::fair::round::{Asker, Idleness, Memory, Moves, Round, TASKS_A_LOCK};
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Tasks were to move, and did or did not.
    Unbalanced,
    /// No group has too much.
    Balanced,
    /// Another CPU balances for this group.
    NotDesignated,
    /// No waiting task may go there.
    AllPinned,
    /// The running task may not go there.
    OnePinned,
}

impl<E: Engine> Sim<E> {
    /// Balances a level for `to`; `asker` goes on afterwards.
    pub(super) fn begin_round(
        &mut self,
        c: CpuId,
        to: CpuId,
        level: usize,
        idleness: Idleness,
        asker: Asker,
    ) {
        let hierarchy = self.k.hierarchy();
        let cpus = hierarchy.levels(to)[level].span.clone();
        let round = Round::new(to, level, idleness, asker, cpus, hierarchy);
        self.k.fair.rounds[c.index()] = Some(Box::new(round));
        self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Find));
    }

    /// [`FairFrame::Find`].
    pub(super) fn find_imbalance(&mut self, c: CpuId) {
        let Some(mut round) = self.k.fair.rounds[c.index()].take() else { return };
        self.k.begin_decision();
        if !self.k.should_balance(c, &round) {
            round.considered = self.k.fair.considered.take();
            self.k.fair.goes_on[c.index()] = false;
            return self.end_round(c, *round, End::NotDesignated);
        }
        match self.k.find_busiest(c, &mut round) {
            None => self.end_round(c, *round, End::Balanced),
            Some(from) => {
                round.from = from;
                round.all_pinned = true;
                let tasks = self.k.nr_running(from);
                if tasks <= 1 {
                    return self.end_round(c, *round, End::Unbalanced);
                }
                round.most = tasks.min(TASKS_A_LOCK);
                self.k.fair.rounds[c.index()] = Some(round);
                self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Detach));
            }
        }
    }

    /// [`FairFrame::Detach`].
    pub(super) fn detach_tasks(&mut self, c: CpuId) {
        let Some(mut round) = self.k.fair.rounds[c.index()].take() else { return };
        let from = round.from;
        if !self.k.lock_rq(c, from) {
            self.k.fair.rounds[c.index()] = Some(round);
            return self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Detach));
        }
        self.k.take_tasks(c, &mut round);
        let moves = round.taken.drain(..).map(|task| Frame::MoveLock { task, target: round.to });
        let moves: Vec<Frame> = moves.collect();
        round.moved += moves.len() as u32;
        self.k.fair.rounds[c.index()] = Some(round);
        self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Attached));
        self.k.this_cpu().stack.extend(moves);
        self.k.this_cpu().stack.push(Frame::Unlock { rq: from });
    }

    /// [`FairFrame::Attached`]: is there more to move, or another CPU to try?
    pub(super) fn attached(&mut self, c: CpuId) {
        let Some(mut round) = self.k.fair.rounds[c.index()].take() else { return };
        let again = std::mem::take(&mut round.needs_pause);
        let other = round.other.filter(|_| !again && round.imbalance > 0);
        if let Some(other) = other {
            round.cpus.remove(round.to);
            round.other = None;
            round.to = other;
            round.restart();
        }
        if again || other.is_some() {
            self.k.fair.rounds[c.index()] = Some(round);
            return self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Detach));
        }
        self.k.note_pinned(&round);
        if !round.all_pinned {
            return self.end_round(c, *round, End::Unbalanced);
        }
        round.cpus.remove(round.from);
        let hierarchy = round.hierarchy.clone();
        let level = &hierarchy.levels(round.owner)[round.level];
        if round.cpus.is_subset(&hierarchy.local(level).cpus) {
            return self.end_round(c, *round, End::AllPinned);
        }
        round.restart();
        self.k.fair.rounds[c.index()] = Some(round);
        self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Find));
    }

    fn end_round(&mut self, c: CpuId, mut round: Round, end: End) {
        self.k.tell_round(c, &mut round, end);
        let (asker, owner, level) = (round.asker, round.owner, round.level as u32);
        let moved = self.k.conclude(c, round, end);
        match asker {
            Asker::Newidle => self.newidle_tried(c, level as usize, moved),
            Asker::Periodic => {
                self.k.balanced_level(c, owner, level as usize, moved);
                let next = FairFrame::Periodic { cpu: owner, level: level + 1 };
                self.k.this_cpu().stack.push(Frame::Fair(next));
            }
        }
    }
}

impl Kernel {
    /// Is it this CPU that balances for its group (`should_we_balance()`)? The first idle one, on an idle core if there is
    /// one, else the first.
    fn should_balance(&mut self, c: CpuId, round: &Round) -> bool {
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
                self.cpus[cpu].siblings.iter().for_each(|sibling| {
                    left.remove(sibling);
                });
                continue;
            }
            return cpu == round.to;
        }
        single.unwrap_or(group.first_balancer()) == round.to
    }

    /// Balancing failed because tasks may not go where there is a place: the level above learns of it (`sgc->imbalance`).
    fn note_pinned(&mut self, round: &Round) {
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

    /// What the level remembers of the attempt; tells whether a task moved.
    fn conclude(&mut self, c: CpuId, round: Round, end: End) -> bool {
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

    /// Is the task that runs on the busiest CPU to be pushed away (`need_active_balance()`)?
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

    /// Asks the busiest CPU's stopper to push its task; says no where that may not go there.
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
