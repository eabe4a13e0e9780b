//! CPU frequency: the schedutil governor (`sugov_get_util()`, `get_next_freq()`). It follows what a sched_ext scheduler
//! requests, and the utilization of the other classes.
//!
//! Until a sched_ext scheduler sets a CPU's target, the target is full performance and the CPU runs at its highest
//! frequency. Tasks' work proceeds in proportion to capacity and frequency; the kernel's own paths and callbacks always
//! cost the same.

use crate::state::class::Takes;
use crate::state::kernel::Kernel;
use crate::state::machine::PERF_ONE;
use crate::state::scx::Phase;
use crate::state::timer_number;
use keel_abi::{CpuId, Span};

impl Kernel {
    /// Returns the CPU's current frequency (`arch_scale_freq_capacity()`).
    pub(crate) fn performance(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu].perf.cur
    }

    /// Returns how fast undisturbed work proceeds on `cpu`, given how fast it would proceed at full capacity and
    /// frequency. Both are in thousandths.
    #[inline]
    pub(crate) fn at_frequency(&self, cpu: CpuId, per_mille: u64) -> u64 {
        let (capacity, cur) = (self.capacity(cpu), self.performance(cpu));
        (per_mille * capacity * cur / (PERF_ONE * PERF_ONE)).max(1)
    }

    /// Sets the scheduler's target (`scx_bpf_cpuperf_set()`).
    pub(crate) fn set_target(&mut self, cpu: CpuId, target: u64) {
        self.cpu(cpu).perf.target = target;
        self.govern(cpu);
    }

    /// Called when the demand on the CPU has changed: the governor decides whether the frequency follows
    /// (`cpufreq_update_util()`, `sugov_update_single_freq()`). It does not for some time after its last change.
    pub(crate) fn govern(&mut self, cpu: CpuId) {
        let frequency = self.machine.frequency;
        if frequency.least == PERF_ONE {
            return;
        }
        let now = self.moment();
        let is_soon = |at| now.since(at) < Span::from_ns(frequency.rate_limit_ns);
        if self.cpus[cpu].perf.decided.is_some_and(is_soon) {
            return;
        }
        let (wanted, least) = self.wanted(cpu);
        let mut next = governed(wanted, least, self.capacity(cpu)).max(frequency.least);
        let keeps = self.keeps_frequency(cpu);
        let perf = &mut self.cpu(cpu).perf;
        if keeps {
            next = next.max(perf.next);
        }
        if next == perf.next {
            return;
        }
        (perf.next, perf.decided) = (next, Some(now));
        self.queue.push(now + Span::from_ns(frequency.switch_ns), timer_number::FIRST_FREQUENCY + cpu.0);
    }

    /// Returns the performance that the CPU's tasks and its scheduler want, and the minimum (`sugov_get_util()`,
    /// `effective_cpu_util()`). A runnable real-time task wants full performance.
    fn wanted(&self, cpu: CpuId) -> (u64, u64) {
        let capacity = self.capacity(cpu);
        let target = if self.scx.phase == Phase::Absent { 0 } else { self.cpus[cpu].perf.target };
        let fair = if self.heeds_fair() { self.cpu_util_boosted(cpu) } else { 0 };
        let least = if self.cpus[cpu].rt.is_ready() { capacity } else { 0 };
        ((target + fair + self.rt_util(cpu)).min(capacity), least)
    }

    /// Returns whether the governor follows the fair class, because no scheduler has all tasks (`scx_switched_all()`).
    /// A scheduler that is restarting still counts.
    fn heeds_fair(&self) -> bool {
        self.scx.phase == Phase::Absent || self.scx.takes == Takes::Ext
    }

    /// Returns whether the CPU keeps at least its current frequency, because it has not been idle since the governor
    /// last ran (`sugov_hold_freq()`).
    fn keeps_frequency(&mut self, cpu: CpuId) -> bool {
        if !self.heeds_fair() {
            return false;
        }
        let perf = &mut self.cpu(cpu).perf;
        let seen = std::mem::replace(&mut perf.seen_idle_calls, perf.idle_calls);
        seen == perf.idle_calls
    }

    /// Counts that `c` goes idle (`tick_nohz_idle_stop_tick()`).
    #[inline]
    pub(crate) fn count_idle_call(&mut self, c: CpuId) {
        self.cpu(c).perf.idle_calls += 1;
    }

    /// Makes the CPU's new frequency effective. Work up to now was done at the old one.
    pub(crate) fn frequency_comes(&mut self, cpu: CpuId) {
        if self.heeds_fair() {
            self.pelt_now(cpu);
        }
        let perf = &mut self.cpu(cpu).perf;
        perf.cur = perf.next;
        let speed = self.speed_of(cpu);
        if self.cpus[cpu].speed_per_mille != speed {
            self.change_speed(cpu, speed);
        }
    }
}

/// Returns the frequency for a wanted performance: a quarter more, at least `least`, and at most the CPU's capacity
/// (`sugov_effective_cpu_perf()`, `map_util_freq()`).
fn governed(wanted: u64, least: u64, capacity: u64) -> u64 {
    let wanted = wanted.min(capacity);
    PERF_ONE * (wanted + wanted / 4).min(capacity).max(least) / capacity
}

#[cfg(test)]
mod tests {
    use super::governed;

    #[test]
    fn the_governor_gives_a_quarter_more_than_asked_for() {
        let check = |target, capacity, expected| assert_eq!(governed(target, 0, capacity), expected);
        check(1024, 1024, 1024);
        check(512, 1024, 640);
        check(900, 1024, 1024);
        check(0, 1024, 0);
        // A small CPU reaches its maximum long before a big one.
        check(512, 512, 1024);
        check(256, 512, 640);
        // A real-time task gets full performance.
        assert_eq!(governed(100, 512, 512), 1024);
    }
}
