//! Newidle balancing (`sched_balance_newidle()`): a CPU that runs out of tasks looks for one elsewhere before it goes
//! idle. It searches level by level, as long as that is expected to take less time than the CPU is likely to stay idle,
//! and with a probability that follows its recent success (`NI_RANDOM`).

use crate::paths::sim::Sim;
use crate::rules::fair::cost::Visit;
use crate::state::fair::round::{Asker, Idleness};
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, Instant};

impl<E: Engine> Sim<E> {
    /// Runs [`FairFrame::Newidle`]: searches the next level, with no lock held.
    pub(crate) fn newidle(&mut self, c: CpuId, from: usize) {
        let hierarchy = self.k.hierarchy();
        for (number, level) in hierarchy.levels(c).iter().enumerate().skip(from) {
            self.k.charge_visit(c, Visit::Level);
            self.k.next_balance_by(c, number);
            let memory = self.k.memory_of(c, number);
            let search = self.k.fair.searches[c.index()];
            if self.k.fair.idle_times[c.index()].mean_ns < search.spent_ns + memory.cost_ns {
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

    /// Updates the statistics after a level has been searched, and continues.
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

    /// Runs [`FairFrame::Newidled`]: picks again, including tasks that arrived during the search.
    pub(crate) fn newidled(&mut self, c: CpuId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Newidled));
        }
        let spent_ns = self.k.fair.searches[c.index()].spent_ns;
        let rest = &mut self.k.fair.idle_times[c.index()];
        rest.search_ns = rest.search_ns.max(spent_ns);
        let has_work = self.k.nr_running(c) > 0;
        match has_work {
            true => self.k.fair.idle_times[c.index()].cancel(),
            false => self.k.note_newly_idle(c),
        }
        let cpu = self.k.this_cpu();
        cpu.lock.defers = true;
        // The pick sees the tasks that arrived during the search (`clear_tsk_need_resched()`).
        (cpu.need_resched, cpu.resched_at) = (false, Instant::NEVER);
        self.pick_searched(c);
    }
}
