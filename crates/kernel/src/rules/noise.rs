//! Noise, all of it drawn from the run's seed: interrupts, kernel threads, latencies, and work that takes a little more
//! or less time than usual.
//!
//! A run without noise has none of this, and draws no random numbers for it.

use crate::state::kernel::Kernel;
use keel_abi::{CpuId, Instant, Span, TaskId};

impl Kernel {
    /// Returns the phase of `c`'s tick within its period, in nanoseconds.
    #[inline]
    pub(crate) fn tick_phase_ns(&self, c: CpuId) -> u64 {
        let period = self.tick.as_ns();
        let skew = if self.noise.skewed { period * u64::from(c.0) / self.cpus.len() as u64 } else { 0 };
        (self.noise.tick_offset_ns + skew) % period
    }

    /// Returns the delay of a tick or slice end (`HRTICK`) on `c`, because the CPU has interrupts disabled from time to
    /// time.
    #[inline]
    pub(crate) fn interrupt_latency(&mut self, c: CpuId) -> Span {
        let Some(rng) = self.noise.ticks.get_mut(c.0 as usize) else { return Span::ZERO };
        Span::from_ns(rng.below(self.machine.costs.ipi_ns + 1))
    }

    /// Returns how long after its expiry a sleeping task's timer fires. It may wait up to `slack_ns` for other timers,
    /// and fires with the first interrupt within its slack (`hrtimer_interrupt()`). Here, only the tick can be that
    /// interrupt.
    #[inline]
    pub(crate) fn timer_delay_ns(&mut self, task: TaskId, slack_ns: u64) -> u64 {
        if self.noise.profile.is_none() { slack_ns } else { self.noisy_delay_ns(task, slack_ns) }
    }

    #[inline(never)]
    fn noisy_delay_ns(&mut self, task: TaskId, slack_ns: u64) -> u64 {
        let (period_ns, latency_ns) = (self.tick.as_ns(), self.machine.costs.ipi_ns);
        let rng = &mut self.task(task).rng;
        let to_tick_ns = rng.below(period_ns);
        to_tick_ns.min(slack_ns) + rng.below(latency_ns + 1)
    }

    /// Returns how long a task's work takes this time.
    #[inline]
    pub(crate) fn varied(&mut self, task: TaskId, work: Span) -> Span {
        match self.noise.profile {
            Some(_) => self.noisy_work(task, work),
            None => work,
        }
    }

    #[inline(never)]
    fn noisy_work(&mut self, task: TaskId, work: Span) -> Span {
        let Some(profile) = self.noise.profile else { return work };
        let most_ns = (u128::from(work.as_ns()) * u128::from(profile.work_per_mille) / 1000) as u64;
        let drawn_ns = self.task(task).rng.below(2 * most_ns + 1);
        Span::from_ns(work.as_ns() - most_ns + drawn_ns)
    }

    /// Returns how much later than planned a task of the workload starts: at most `most_ns`.
    pub(crate) fn start_delay(&mut self, most_ns: u64) -> Span {
        match self.noise.profile {
            Some(_) => Span::from_ns(self.noise.machine.below(most_ns + 1)),
            None => Span::ZERO,
        }
    }

    /// Schedules the first interrupt of each CPU.
    pub(crate) fn arm_interrupts(&mut self) {
        for c in self.machine.topology.iter() {
            self.arm_interrupt(c, Instant::ZERO);
        }
    }
}
