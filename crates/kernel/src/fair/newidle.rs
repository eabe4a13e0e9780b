//! A CPU that runs out of tasks looks for one elsewhere before it goes idle (`sched_balance_newidle()`), level by level, as far
//! as that is likely to be quicker than its next wakeup, and as often as it found one of late (`NI_RANDOM`).

use crate::fair::cost::Visit;
use crate::sim::Sim;
use crate::state::fair::balancing::Search;
use crate::state::fair::rest::MIGRATION_COST;
use crate::state::fair::round::{Asker, Idleness};
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use crate::state::kernel::Kernel;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, Instant};

impl Kernel {
    /// `c` has nothing to run: is it worth looking elsewhere?
    pub(crate) fn looks_elsewhere(&mut self, c: CpuId) -> bool {
        let at = self.cpus.this_cpu.clock;
        self.fair.rest[c.index()].begins(at);
        if !self.cpus[c].online {
            return false;
        }
        let hierarchy = self.hierarchy();
        if hierarchy.levels(c).is_empty() {
            return false;
        }
        let cost_ns = self.memory_of(c, 0).cost_ns;
        if !self.fair.is_overloaded || self.fair.rest[c.index()].mean_ns < cost_ns {
            self.next_balance_by(c, 0);
            return false;
        }
        self.update_queue_load(c);
        self.fair.searches[c.index()] = Search { began: at, ..Search::NONE };
        true
    }

    /// The CPU's next periodic balancing is no later than that of this level (`update_next_balance()`).
    fn next_balance_by(&mut self, c: CpuId, level: usize) {
        let memory = self.memory_of(c, level);
        let next = memory.last + memory.interval(false, u64::from(self.machine.hz), self.most_interval());
        let at = &mut self.fair.next_balance[c.index()];
        *at = (*at).min(next);
    }
}

impl<E: Engine> Sim<E> {
    /// [`FairFrame::Newidle`]: the next level, with no lock held.
    pub(super) fn newidle(&mut self, c: CpuId, from: usize) {
        let hierarchy = self.k.hierarchy();
        for (number, level) in hierarchy.levels(c).iter().enumerate().skip(from) {
            self.k.take_turn(c, Visit::Level);
            self.k.next_balance_by(c, number);
            let memory = self.k.memory_of(c, number);
            let search = self.k.fair.searches[c.index()];
            if self.k.fair.rest[c.index()].mean_ns < search.spent_ns + memory.cost_ns {
                break;
            }
            if !level.balances_newidle() {
                continue;
            }
            let weight = 1 + memory.ratio;
            if self.k.fair.rng.below(1024) > u64::from(weight) {
                self.k.remember(c, number, |memory| memory.count(0));
                continue;
            }
            self.k.fair.searches[c.index()].weight = (1024 + weight / 2) / weight;
            return self.begin_round(c, c, number, Idleness::NewlyIdle, Asker::Newidle);
        }
        self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Newidled));
    }

    /// A level has been tried.
    pub(super) fn newidle_tried(&mut self, c: CpuId, level: usize, moved: bool) {
        let now = self.k.moment();
        let search = &mut self.k.fair.searches[c.index()];
        let cost_ns = now.since(search.began).as_ns();
        let weight = search.weight;
        (search.began, search.spent_ns) = (now, search.spent_ns + cost_ns);
        let ticks = self.k.ticks();
        self.k.remember(c, level, |memory| {
            if cost_ns > 0 {
                memory.count(if moved { weight } else { 0 });
            }
            memory.cost(cost_ns, ticks);
        });
        let is_over = moved || self.k.nr_running(c) > 0;
        let next = match is_over {
            true => FairFrame::Newidled,
            false => FairFrame::Newidle { level: level as u32 + 1 },
        };
        self.k.this_cpu().stack.push(Frame::Fair(next));
    }

    /// [`FairFrame::Newidled`]: whatever has come meanwhile is picked.
    pub(super) fn newidled(&mut self, c: CpuId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Newidled));
        }
        let spent_ns = self.k.fair.searches[c.index()].spent_ns;
        let rest = &mut self.k.fair.rest[c.index()];
        rest.search_ns = rest.search_ns.max(spent_ns);
        let has_work = self.k.nr_running(c) > 0;
        match has_work {
            true => self.k.fair.rest[c.index()].is_none(),
            false => self.k.note_newly_idle(c),
        }
        let cpu = self.k.this_cpu();
        cpu.lock.defers = true;
        // What came during the search is seen by the pick (`clear_tsk_need_resched()`).
        (cpu.need_resched, cpu.resched_at) = (false, Instant::NEVER);
        self.pick_searched(c);
    }
}

/// A CPU that will be needed sooner does not care for others' averages (`nohz_newidle_balance()`).
pub(super) const SOON_NS: u64 = MIGRATION_COST.as_ns();
