//! Takes CPUs online and offline (`sched_cpu_deactivate()`, `rq_offline_scx()`, `handle_hotplug()`, `balance_push()`).
//!
//! A CPU that goes offline is no longer chosen for anything. Its runnable tasks are put into its local DSQ, and the
//! scheduler is notified (`ops.cpu_offline`); a scheduler without that callback exits with a request to be restarted.
//! Then each task is picked and immediately pushed to another CPU, and when none is left the CPU is off. When a CPU
//! comes online, `ops.cpu_online` is called before the scheduler may use it. Only one such change is in progress at a
//! time.

use crate::paths::sim::Sim;
use crate::rules::change::OFFLINE_FLAGS;
use crate::rules::hotplug::RESTART;
use crate::state::cpu::Irq;
use crate::state::cpus::BOOT_CPU;
use crate::state::frame::Frame;
use crate::state::scx::Phase;
use keel_abi::bpf::Engine;
use keel_abi::scx::{ExitKind, Op};
use keel_abi::timeline::Change;
use keel_abi::{CpuId, Span, TaskId};

impl<E: Engine> Sim<E> {
    /// Takes `cpu` online or offline, as a timeline entry says.
    pub(super) fn begin_hotplug(&mut self, c: CpuId, cpu: CpuId, entry: u32, nth: u32) {
        let hotplug = &mut self.k.outside.hotplug;
        if hotplug.busy.is_some() {
            return hotplug.waiting.push_back((entry, nth));
        }
        let on = matches!(self.k.outside.change(entry), Change::Online(_));
        if self.k.cpus[cpu].alive == on {
            self.k.next_hotplug(c);
            return self.k.this_cpu().stack.push(Frame::Happen { entry, nth: nth + 1 });
        }
        self.k.outside.hotplug.busy = Some((entry, nth));
        let irq = match on {
            true => {
                self.k.come_alive(self.vm.world(), cpu);
                Irq::Online
            }
            false => Irq::Offline,
        };
        let costs = &self.k.machine.costs;
        let (send_ns, ipi) = (costs.ipi_send_ns, Span::from_ns(costs.ipi_ns));
        let at = self.k.this_cpu().clock + ipi;
        self.k.interrupt(cpu, at, irq);
        self.k.charge_ns(c, send_ns);
    }

    /// Runs [`Frame::Offline`]: from now on nothing may use `c`. Tasks that wait on its runqueue are put into its local
    /// DSQ, the most recently queued first (`rq_offline_scx()`).
    pub(crate) fn go_offline(&mut self, c: CpuId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Offline);
        }
        self.k.this_cpu().online = false;
        self.k.stop_throttling(c);
        self.k.limit_cpu(c, false);
        let waiting = self.k.waiting_elsewhere(c);
        self.k.this_cpu().stack.extend([Frame::Hotplug { online: false }, Frame::Unlock { rq: c }]);
        // The last frame pushed runs first.
        self.k.this_cpu().stack.extend(waiting.into_iter().map(|task| Frame::Requeue { task }));
    }

    /// Runs [`Frame::Requeue`].
    pub(crate) fn requeue(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        if t.cpu == c && t.queued && !t.busy && !t.on_cpu {
            self.take_off(c, task, OFFLINE_FLAGS, None);
        }
    }

    /// Runs [`Frame::Hotplug`]: `handle_hotplug()`, with no runqueue locked.
    pub(crate) fn handle_hotplug(&mut self, c: CpuId, online: bool) {
        self.k.outside.hotplug.seq += 1;
        self.k.this_cpu().stack.push(Frame::Hotplugged { online });
        match online {
            true => self.k.set_active(self.vm.world(), c, true),
            false => self.k.free_llc_id(self.vm.world(), c),
        }
        if !matches!(self.k.scx.phase, Phase::Enabled | Phase::Disabling) {
            // There is no scheduler to notify.
            return;
        }
        let op = if online { Op::CpuOnline } else { Op::CpuOffline };
        if self.k.has(op) {
            let cpu = self.k.cpu_argument(c);
            return self.start(c, op, TaskId::IDLE, &[cpu]);
        }
        let going = if online { "online" } else { "offline" };
        let message = format!("cpu {} going {going}, exiting scheduler", c.0);
        self.k.end_scheduler(c, ExitKind::UnregKern, RESTART, message);
    }

    /// Runs [`Frame::Hotplugged`]: a CPU that comes online looks for tasks, and one that goes offline pushes its tasks
    /// away.
    pub(crate) fn hotplugged(&mut self, c: CpuId, online: bool) {
        if online {
            let cpu = self.k.this_cpu();
            cpu.online = true;
            self.k.limit_cpu(c, true);
            let cpu = self.k.this_cpu();
            // The last to run here was the CPU's hotplug thread.
            cpu.in_stopper = true;
            self.k.resched(c, c);
            return self.k.hotplug_done(c);
        }
        self.k.set_active(self.vm.world(), c, false);
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Hotplugged { online });
        }
        self.k.this_cpu().errands.set_leaving(true);
        let curr = self.k.this_cpu().curr;
        // A task with migration disabled stays until it enables migration; every pick checks this.
        if curr.is_idle() || self.k.tasks[curr].migration_disabled > 0 {
            self.k.resched(c, c);
            self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
        } else {
            self.k.this_cpu().stack.push(Frame::PushAway { task: curr });
        }
    }

    /// Runs [`Frame::Die`]: takes the CPU off if all tasks are gone (`balance_hotplug_wait()`). CPUs that wait for its
    /// runqueue's lock may still add some.
    pub(crate) fn die(&mut self, c: CpuId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Die);
        }
        let cpu = self.k.this_cpu();
        let vacated = cpu.nr_running == 0 && cpu.nr_pinned == 0 && cpu.curr.is_idle();
        if vacated && cpu.lock.waiters.is_empty() && !cpu.errands.has_irq() {
            self.k.switch_off(self.vm.world(), c);
            self.k.move_deferrable(c, BOOT_CPU);
            self.k.hotplug_done(c);
        }
        self.k.unlock_rq(c, c);
    }
}
