//! CPUs that take turns where an emulator executes them. When a CPU becomes busy or idle, the work of the others ends
//! at another moment.

use crate::state::cost::Turns;
use crate::state::cpu::Pending;
use crate::state::kernel::Kernel;
use crate::state::task::Doing;
use keel_abi::{CpuId, Instant};

impl Kernel {
    /// Adds to the costs of `c`'s last step the time it waits while other CPUs have their turns.
    #[cold]
    pub(crate) fn wait_for_turns(&mut self, c: CpuId) {
        let me = &self.cpus.this_cpu;
        // A wait for a lock comes before the work that needs it.
        let waited_ps = me.waited_ps.min(me.spent_ps);
        let (from_ns, work_ns) = (me.clock.as_ns() + waited_ps / 1000, (me.spent_ps - waited_ps) / 1000);
        if !self.turns().is_busy(c) {
            self.becomes_busy(c, Instant::from_ns(from_ns));
        }
        // A path that others interrupt asks once more before it goes on. Its last step is what it waits for.
        if self.cpus.this_cpu.spent_ps < 1000 {
            return;
        }
        let done_at_ns = self.turns().done_at_ns(c, from_ns, work_ns);
        let me = &mut *self.cpus.this_cpu;
        me.spent_ps += (done_at_ns - from_ns - work_ns) * 1000;
        me.waited_ps = 0;
        me.pending = Pending { from_ns, work_ns, done_at_ns };
    }

    /// `c` leaves its idle loop at `at`.
    fn becomes_busy(&mut self, c: CpuId, at: Instant) {
        self.change_turns(c, at, |turns| turns.becomes_busy(c, at.as_ns()));
    }

    /// `c` enters the kernel at `at`: by a timer of its own, which ends the current turn, or because of another CPU.
    #[cold]
    pub(crate) fn enters_in_turns(&mut self, c: CpuId, at: Instant) {
        let cpu = &self.cpus.this_cpu;
        let by_timer = cpu.ticks.first() <= at || cpu.errands.irqs().any(|irq| irq.is_timer());
        if !self.turns().is_busy(c) {
            self.becomes_busy(c, at);
        }
        if by_timer {
            self.change_turns(c, at, |turns| turns.pass_on(at.as_ns()));
        }
    }

    /// `c` goes back to user mode or to its idle loop, by its clock.
    #[cold]
    pub(crate) fn notice_in_turns(&mut self, c: CpuId) {
        let at = self.cpus.this_cpu.clock;
        match (self.cpus.this_cpu.is_idle(), self.turns().is_busy(c)) {
            (true, true) => self.change_turns(c, at, |turns| turns.becomes_idle(c, at.as_ns())),
            (false, false) => self.becomes_busy(c, at),
            _ => {}
        }
    }

    /// Changes whose turn it is at `at`, and updates all CPUs but `c`.
    fn change_turns(&mut self, c: CpuId, at: Instant, change: impl FnOnce(&mut Turns)) {
        self.settle_turns(c, at);
        change(self.turns.as_mut().expect("CPUs take turns"));
        self.redo_turns(c, at);
    }

    /// How fast a task's work proceeds: its CPU has an equal part of the one thread. The ticks and timers of all CPUs
    /// end turns, too, so that turns are far shorter than a spell of work.
    pub(crate) fn speed_in_turns(&self, c: CpuId) -> u64 {
        (self.speed_of(c) / self.turns().busy()).max(1)
    }

    fn turns(&self) -> &Turns {
        self.turns.as_ref().expect("CPUs take turns")
    }

    /// Counts what all CPUs but `c` have executed until `at`.
    fn settle_turns(&mut self, c: CpuId, at: Instant) {
        for other in self.others(c) {
            let cpu = &self.cpus[other];
            if cpu.in_user {
                self.stop_working(other, at);
            } else if cpu.pending.is_under_way(cpu.clock, at) {
                let Pending { from_ns, work_ns, .. } = cpu.pending;
                let left_ns = work_ns - self.turns().executed_ns(other, from_ns, at.as_ns()).min(work_ns);
                self.cpu(other).pending = Pending { from_ns: at.as_ns(), work_ns: left_ns, ..cpu.pending };
            }
        }
    }

    /// Recomputes when all CPUs but `c` finish the work that is in progress at `at`.
    fn redo_turns(&mut self, c: CpuId, at: Instant) {
        for other in self.others(c) {
            let cpu = &self.cpus[other];
            if cpu.in_user {
                if cpu.is_idle() {
                    continue;
                }
                let doing = self.tasks[cpu.curr].doing;
                let speed = self.speed_in_turns(other);
                self.cpu(other).set_speed(speed);
                if let Doing::Work(left) = doing {
                    self.work_ends(other, self.work_done_at(other, at, left));
                }
            } else if cpu.pending.is_under_way(cpu.clock, at) {
                let done_at_ns = self.turns().done_at_ns(other, at.as_ns(), cpu.pending.work_ns);
                let done_at = Instant::from_ns(done_at_ns);
                let cpu = self.cpu(other);
                cpu.pending.done_at_ns = done_at_ns;
                cpu.clock = done_at;
                self.queue.set_cpu(other, done_at);
            }
        }
    }

    fn others(&self, c: CpuId) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.cpus.len() as u32).map(CpuId).filter(move |other| *other != c)
    }
}
