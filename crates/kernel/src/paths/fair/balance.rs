//! Moves tasks between the CPUs of a sched domain (`sched_balance_rq()`). The busiest CPU is found without a lock;
//! tasks are detached under the source's lock and attached under the destination's.

use crate::paths::sim::Sim;
use crate::rules::fair::balance::End;
use crate::state::fair::round::{Asker, Idleness, Round, TASKS_A_LOCK};
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// Balances a level for `to`, and then continues as `asker` requires.
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

    /// Runs [`FairFrame::Find`]: finds the busiest CPU.
    pub(crate) fn find_imbalance(&mut self, c: CpuId) {
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

    /// Runs [`FairFrame::Detach`].
    pub(crate) fn detach_tasks(&mut self, c: CpuId) {
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

    /// Runs [`FairFrame::Attached`]: decides whether to move more, to try another CPU, or to end.
    pub(crate) fn attached(&mut self, c: CpuId) {
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
        self.k.emit_round(c, &mut round, end);
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
