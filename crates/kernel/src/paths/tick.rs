//! The tick of all classes (`sched_tick()`, with `task_tick_scx()`) and `sched_yield()` (`yield_task_scx()`). What
//! the other classes do at a tick is in `rules::fair::slice_end` and `rules::rt::enqueue`.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::hooks::Point;
use keel_abi::bpf::Engine;
use keel_abi::scx::Op;
use keel_abi::{CpuId, Instant};

impl<E: Engine> Sim<E> {
    /// [`Frame::Tick`].
    pub(crate) fn tick(&mut self, c: CpuId) {
        if self.k.this_cpu().is_idle() {
            self.k.this_cpu().ticks.set_tick(Instant::NEVER);
            return;
        }
        if !self.k.lock_own_rq(c) {
            return self.k.this_cpu().stack.push(Frame::Tick);
        }
        self.k.expire_deferrable();
        let tick_ns = self.k.machine.costs.tick_ns;
        self.k.charge_ns(c, tick_ns);
        self.k.arm_tick(c);
        self.go(Frame::TickLocked, |sim| sim.tick_locked(c));
    }

    /// [`Frame::TickLocked`]. Usually one of the scheduler's tasks runs, no fair task is queued, and nobody asked
    /// for ticks.
    pub(crate) fn tick_locked(&mut self, c: CpuId) {
        let cpu = &mut *self.k.cpus.this_cpu;
        let t = &mut self.k.tasks[cpu.curr];
        let is_usual = t.class == SchedClass::Ext && self.k.fair.queued == 0 && cpu.pauses.is_empty();
        if !is_usual
            || cpu.bypassing
            || self.k.scx.entries.has(Op::Tick)
            || self.k.hooks.traces(Point::ScxTick)
        {
            return self.tick_locked_otherwise(c);
        }
        let world = self.vm.world();
        let (ran, slice_ns) = t.charge_slice(world, cpu.clock);
        cpu.server.ran.accumulate(ran);
        self.skips_callback();
        self.ticked_with(c, slice_ns);
    }

    /// Like `tick_locked` with all that may be to be done.
    #[inline(never)]
    fn tick_locked_otherwise(&mut self, c: CpuId) {
        let curr = self.k.this_cpu().curr;
        if self.k.hooks.traces(Point::ScxTick) {
            self.k.this_cpu().stack.push(Frame::TraceTick { nth: 0 });
        }
        self.k.update_curr_here(self.vm.world());
        if self.k.fair.queued > 0 {
            self.trigger_balance(c);
        }
        match self.k.tasks[curr].class {
            SchedClass::Ext => {}
            class => {
                match class {
                    SchedClass::Fair => self.k.tick_fair(c),
                    _ => self.k.tick_rt(c, curr),
                }
                return self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
            }
        }
        if self.k.this_cpu().bypassing {
            self.k.set_slice(self.vm.world(), curr, 0);
            return self.k.this_cpu().stack.push(Frame::Ticked);
        }
        let ea = self.k.tasks[curr].ea;
        self.call(c, Op::Tick, (curr, &[ea.0]), Frame::Ticked, |sim| sim.ticked_here(c));
    }

    /// [`Frame::Ticked`]: ends a slice that is used up.
    pub(crate) fn ticked(&mut self, c: CpuId) {
        self.ticked_here(c);
    }

    #[inline(always)]
    fn ticked_here(&mut self, c: CpuId) {
        let curr = self.k.this_cpu().curr;
        let slice_ns = self.k.slice(self.vm.world(), curr);
        self.ticked_with(c, slice_ns);
    }

    /// Like `ticked` if it is known how much is left of the slice.
    #[inline(always)]
    fn ticked_with(&mut self, c: CpuId, slice_ns: u64) {
        let cpu = &*self.k.cpus.this_cpu;
        let served = cpu.is_wanted_above() && !cpu.server.is_serving();
        if served || slice_ns == 0 {
            self.k.resched_here();
        }
        self.go_straight(Frame::Unlock { rq: c }, |sim| _ = sim.k.unlock_own_rq(c));
    }

    /// [`Frame::Yield`].
    pub(crate) fn yield_cpu(&mut self, c: CpuId) {
        let next = if self.k.lock_rq(c, c) { Frame::YieldLocked } else { Frame::Yield };
        self.k.this_cpu().stack.push(next);
    }

    /// [`Frame::YieldLocked`]: without `ops.yield`, the task gives up the rest of its slice.
    pub(crate) fn yield_locked(&mut self, c: CpuId) {
        let curr = self.k.this_cpu().curr;
        self.k.update_curr(self.vm.world(), c);
        self.k.task(curr).yielded = true;
        self.k.this_cpu().stack.push(Frame::Yielded);
        let class = self.k.tasks[curr].class;
        if class == SchedClass::Fair {
            self.k.yield_fair(curr);
        } else if class != SchedClass::Ext {
            self.k.yield_rt(curr);
        } else if self.k.has(Op::Yield) {
            let ea = self.k.tasks[curr].ea;
            self.start(c, Op::Yield, curr, &[ea.0, 0]);
        } else {
            self.k.set_slice(self.vm.world(), curr, 0);
        }
    }

    /// [`Frame::Yielded`].
    pub(crate) fn yielded(&mut self, c: CpuId) {
        self.k.resched(c, c);
        self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
    }
}
