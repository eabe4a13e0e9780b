//! Timers of the queue: who owns one that is due, and which CPU it interrupts.

use crate::state::class::SchedClass;
use crate::state::cpu::Irq;
use crate::state::fair::budget_timer::BudgetTimer;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, Instant, TaskId};

impl Kernel {
    /// A timer of the queue is due: it interrupts its owner's CPU. Returns that CPU if it takes the interrupt at once,
    /// before anything else, and the task to wake; that is the idle task if the CPU has to look into its inbox.
    #[inline(always)]
    pub(crate) fn timer_fires(&mut self, timer: u32, at: Instant) -> Option<(CpuId, TaskId)> {
        self.now = self.now.max(at);
        let sleeper = TaskId(timer);
        let Some(t) = self.tasks.get(sleeper) else { return self.other_timer_fires(timer, at) };
        let (c, sleeps) = (t.cpu, t.sleeps);
        let cpu = &self.cpus[c];
        // A CPU in the kernel takes it before it leaves.
        let enters = cpu.in_user;
        if cpu.alive && (!enters || cpu.pauses.is_empty() && !cpu.errands.has_irq()) {
            if enters && self.queue.take_or_set_cpu(c, at) {
                return Some((c, sleeper));
            }
            self.cpus[c].errands.add_irq(Irq::Sleeper(sleeper, sleeps));
            return None;
        }
        self.interrupts(c, Irq::Sleeper(sleeper, sleeps), at)
    }

    #[inline(never)]
    fn other_timer_fires(&mut self, timer: u32, at: Instant) -> Option<(CpuId, TaskId)> {
        let (c, irq) = self.owner_of_timer(timer, at)?;
        self.interrupts(c, irq, at)
    }

    #[inline(never)]
    fn interrupts(&mut self, c: CpuId, irq: Irq, at: Instant) -> Option<(CpuId, TaskId)> {
        let c = self.alive_or_boot(c);
        let cpu = &mut self.cpus[c];
        cpu.errands.add_irq(irq);
        (cpu.in_user && self.queue.take_or_set_cpu(c, at)).then_some((c, TaskId::IDLE))
    }

    /// The CPU that a timer interrupts, if any. Not for timers of sleeping tasks.
    #[inline(never)]
    pub(crate) fn owner_of_timer(&mut self, timer: u32, at: Instant) -> Option<(CpuId, Irq)> {
        use crate::state::timer_number as number;
        let frequencies = number::frequencies(self.cpus.len());
        Some(match timer {
            number::RESTART => {
                self.restart_due();
                return None;
            }
            t if frequencies.contains(&t) => {
                self.frequency_comes(CpuId(t - frequencies.start));
                return None;
            }
            number::WATCHDOG => (CpuId(0), Irq::Watchdog),
            number::RT_PERIOD => (self.rt_period.owner(), Irq::RtPeriod),
            t if t >= number::FIRST_BPF => {
                let slot = t - number::FIRST_BPF;
                (self.timers.cpu_of(slot), Irq::BpfTimer(slot))
            }
            t if t >= number::FIRST_PROGRAM => (CpuId(0), Irq::Program(t - number::FIRST_PROGRAM)),
            t if t >= number::FIRST_HAPPENING => self.happening_due(t - number::FIRST_HAPPENING, at),
            t if t >= number::FIRST_START => {
                let start = t - number::FIRST_START;
                self.starts.due_at(start, at);
                (self.cpu_of_start(start), Irq::Start(start))
            }
            t if t >= number::FIRST_BUDGET => {
                let timer = BudgetTimer::numbered(t - number::FIRST_BUDGET);
                (self.owner_of_budget(timer, at)?, Irq::Budget(timer))
            }
            t if t >= number::FIRST_INTERRUPT => {
                return self.device_interrupts(CpuId(t - number::FIRST_INTERRUPT), at);
            }
            t if t >= number::FIRST_FAIR_SERVER => {
                let cpu = CpuId(t - number::FIRST_FAIR_SERVER);
                (cpu, Irq::Server(cpu, SchedClass::Fair))
            }
            t if t >= number::FIRST_SERVER => {
                let cpu = CpuId(t - number::FIRST_SERVER);
                (cpu, Irq::Server(cpu, SchedClass::Ext))
            }
            t => unreachable!("timer {t} is nobody's"),
        })
    }
}
