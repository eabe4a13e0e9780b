//! CPU frequency: the schedutil governor as far as it heeds a scheduler (`sugov_get_util()`, `get_next_freq()`).
//!
//! A CPU whose scheduler never asked for anything has a target of all its performance, and runs at its
//! highest frequency. Work proceeds as fast as capacity and frequency say, linearly; the kernel's own paths and
//! callbacks keep their costs.

use crate::kernel::Kernel;
use crate::machine::PERF_ONE;
use crate::setup::timer_number;
use keel_abi::{CpuId, Instant, Span};

/// A CPU's frequency, of [`PERF_ONE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Perf {
    /// What the scheduler wants (`rq->scx.cpuperf_target`).
    target: u64,
    /// What the governor decided on last.
    next: u64,
    /// When it did; `None` until the first time.
    decided: Option<Instant>,
    /// What the CPU has.
    cur: u64,
}

impl Default for Perf {
    fn default() -> Self {
        Self { target: PERF_ONE, next: PERF_ONE, decided: None, cur: PERF_ONE }
    }
}

impl Kernel {
    /// `arch_scale_cpu_capacity()`.
    pub(crate) fn capacity(&self, cpu: CpuId) -> u64 {
        self.machine.capacity.get(cpu.index()).map_or(PERF_ONE, |&c| u64::from(c))
    }

    /// `arch_scale_freq_capacity()`.
    pub(crate) fn performance(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu].perf.cur
    }

    /// How fast undisturbed work proceeds on `cpu`, given how fast it would at full capacity and frequency; both in
    /// thousandths.
    #[inline]
    pub(crate) fn at_frequency(&self, cpu: CpuId, per_mille: u64) -> u64 {
        let (capacity, cur) = (self.capacity(cpu), self.performance(cpu));
        (per_mille * capacity * cur / (PERF_ONE * PERF_ONE)).max(1)
    }

    /// The scheduler sets its target (`scx_bpf_cpuperf_set()`); whether the frequency follows is for the governor to
    /// say (`cpufreq_update_util()`): not soon after its last change.
    pub(crate) fn set_target(&mut self, cpu: CpuId, target: u64) {
        let now = self.moment();
        let next = governed(target, self.capacity(cpu)).max(self.machine.frequency.least);
        let (limit, switch) = (self.machine.frequency.rate_limit_ns, self.machine.frequency.switch_ns);
        let perf = &mut self.cpu(cpu).perf;
        perf.target = target;
        let soon = perf.decided.is_some_and(|at| now.since(at) < Span::from_ns(limit));
        if soon || next == perf.next {
            return;
        }
        (perf.next, perf.decided) = (next, Some(now));
        self.queue.push(now + Span::from_ns(switch), timer_number::FIRST_FREQUENCY + cpu.0);
    }

    /// The CPU has come to its new frequency.
    pub(crate) fn frequency_comes(&mut self, cpu: CpuId) {
        let perf = &mut self.cpu(cpu).perf;
        perf.cur = perf.next;
        let speed = self.speed_of(cpu);
        if self.cpus[cpu].speed_per_mille != speed {
            self.change_speed(cpu, speed);
        }
    }
}

/// The frequency for a target: a quarter more than asked for, up to all that the CPU can do
/// (`sugov_effective_cpu_perf()`, `map_util_freq()`).
fn governed(target: u64, capacity: u64) -> u64 {
    let wanted = target.min(capacity);
    PERF_ONE * (wanted + wanted / 4).min(capacity) / capacity
}

#[cfg(test)]
mod tests {
    use super::governed;

    #[test]
    fn the_governor_gives_a_quarter_more_than_asked_for() {
        let check = |target, capacity, expected| assert_eq!(governed(target, capacity), expected);
        check(1024, 1024, 1024);
        check(512, 1024, 640);
        check(900, 1024, 1024);
        check(0, 1024, 0);
        // A small CPU is at its highest long before a big one.
        check(512, 512, 1024);
        check(256, 512, 640);
    }
}
