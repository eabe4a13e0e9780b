//! CPUs come and go (`sched_cpu_deactivate()`, `rq_offline_scx()`, `handle_hotplug()`, `balance_push()`).
//!
//! A CPU that goes is no longer chosen for anything. Its runnable tasks are put into its local queue, the scheduler is
//! notified (`ops.cpu_offline`) or, without that callback, ends with a request to be restarted; then each task is
//! picked and at once pushed to another CPU, and when none is left the CPU is off. For one that comes `ops.cpu_online`
//! is called before the scheduler may use it. There is one such change at a time.

use crate::external_events::change::OFFLINE_FLAGS;
use crate::sim::Sim;
use crate::state::cpu::Irq;
use crate::state::cpus::BOOT_CPU;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use crate::state::scx::Phase;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::{ExitKind, Op, ecode};
use keel_abi::timeline::Change;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Class, What};

impl<E: Engine> Sim<E> {
    /// Somebody wants `cpu` on or off, as an entry says.
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

    /// [`Frame::Offline`]: nobody may use `c` from now on; who waits on its runqueue is put into its local queue, last
    /// come first (`rq_offline_scx()`).
    pub(crate) fn go_offline(&mut self, c: CpuId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Offline);
        }
        self.k.this_cpu().online = false;
        self.k.stop_throttling(c);
        self.k.limit_cpu(c, false);
        let waiting = self.k.waiting_elsewhere(c);
        self.k.this_cpu().stack.extend([Frame::Hotplug { online: false }, Frame::Unlock { rq: c }]);
        // The last pushed is the first done.
        self.k.this_cpu().stack.extend(waiting.into_iter().map(|task| Frame::Requeue { task }));
    }

    /// [`Frame::Requeue`].
    pub(crate) fn requeue(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        if t.cpu == c && t.queued && !t.busy && !t.on_cpu {
            self.take_off(c, task, OFFLINE_FLAGS, None);
        }
    }

    /// [`Frame::Hotplug`]: `handle_hotplug()`, with no runqueue locked.
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
            return self.start(c, op, TaskId::IDLE, &[u64::from(c.0)]);
        }
        let going = if online { "online" } else { "offline" };
        let message = format!("cpu {} going {going}, exiting scheduler", c.0);
        self.k.end_scheduler(c, ExitKind::UnregKern, RESTART, message);
    }

    /// [`Frame::Hotplugged`]: a CPU that comes looks for tasks; one that goes pushes away who is on it.
    pub(crate) fn hotplugged(&mut self, c: CpuId, online: bool) {
        if online {
            let cpu = self.k.this_cpu();
            cpu.online = true;
            self.k.limit_cpu(c, true);
            let cpu = self.k.this_cpu();
            // Its hotplug thread was the last on it.
            cpu.in_stopper = true;
            self.k.resched(c, c);
            return self.k.hotplug_done(c);
        }
        self.k.set_active(self.vm.world(), c, false);
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Hotplugged { online });
        }
        self.k.this_cpu().leaving = true;
        let curr = self.k.this_cpu().curr;
        // A task in a spell stays until it is over, as each pick sees.
        if curr.is_idle() || self.k.tasks[curr].migration_disabled > 0 {
            self.k.resched(c, c);
            self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
        } else {
            self.k.this_cpu().stack.push(Frame::PushAway { task: curr });
        }
    }

    /// [`Frame::Die`]: is everybody gone (`balance_hotplug_wait()`)? Who is in line for the runqueue's lock is
    /// still to come.
    pub(crate) fn die(&mut self, c: CpuId) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Die);
        }
        let cpu = self.k.this_cpu();
        let vacated = cpu.nr_running == 0 && cpu.nr_pinned == 0 && cpu.curr.is_idle();
        if vacated && cpu.lock.waiters.is_empty() && cpu.inbox.is_empty() {
            self.k.switch_off(self.vm.world(), c);
            self.k.move_deferrable(c, BOOT_CPU);
            self.k.hotplug_done(c);
        }
        self.k.unlock_rq(c, c);
    }
}

/// The kernel's wish, as an exit code: start me again, for CPUs have changed.
pub(crate) const RESTART: i64 = ecode::ACT_RESTART | ecode::RSN_HOTPLUG;

impl Kernel {
    /// A CPU comes or goes before a scheduler is there.
    pub(super) fn plug_at_boot(&mut self, cpu: CpuId, online: bool) {
        if self.cpus[cpu].alive == online {
            return;
        }
        self.outside.hotplug.seq += 1;
        let c = self.cpu(cpu);
        (c.alive, c.online) = (online, online);
        self.idle.set_online(cpu, online);
        self.set_active_at_boot(cpu, online);
        self.tell(Class::CORE, cpu, What::Online { target: cpu, up: online });
    }

    /// `set_cpu_online()`, on.
    fn come_alive<W: World>(&mut self, world: &mut W, cpu: CpuId) {
        let now = self.this_cpu().clock;
        let c = self.cpu(cpu);
        c.alive = true;
        c.clock = c.clock.max(now);
        self.idle.set_online(cpu, true);
        self.show_online(world);
        self.tell(Class::CORE, cpu, What::Online { target: cpu, up: true });
    }

    /// `set_cpu_online()`, off. The stopper was the last on it, so that it counts as idle, as in the kernel.
    fn switch_off<W: World>(&mut self, world: &mut W, c: CpuId) {
        let cpu = self.this_cpu();
        (cpu.alive, cpu.leaving) = (false, false);
        cpu.tick_at = Instant::NEVER;
        cpu.need_resched = false;
        cpu.hrtick_at = keel_abi::Instant::NEVER;
        cpu.server.disarm();
        cpu.fair_server.disarm();
        self.idle.set_online(c, false);
        self.set_idle(world, c, true);
        self.show_online(world);
        self.tell(Class::CORE, c, What::Online { target: c, up: false });
    }

    /// Writes the mask of online CPUs to where BPF reads it, if it does.
    fn show_online<W: World>(&mut self, world: &mut W) {
        if !self.online_mask.is_null() {
            crate::state::mask::write_mask(world, self.online_mask, self.idle.online_words());
        }
    }

    /// The change in progress is done: the task that asked for it goes on, and then those that wait.
    fn hotplug_done(&mut self, c: CpuId) {
        let now = self.cpus[c].clock;
        let Some((entry, nth)) = self.outside.hotplug.busy.take() else { return };
        self.interrupt(BOOT_CPU, now, Irq::Happening { entry, nth: nth + 1 });
        self.next_hotplug(c);
    }

    /// Nobody changes CPUs any more: the next who waits may.
    fn next_hotplug(&mut self, c: CpuId) {
        let now = self.cpus[c].clock;
        if let Some((entry, nth)) = self.outside.hotplug.waiting.pop_front() {
            self.interrupt(BOOT_CPU, now, Irq::Happening { entry, nth });
        }
    }

    /// Runnable tasks of `c`'s runqueue that are neither running nor in its local queue, longest waiting first.
    fn waiting_elsewhere(&self, c: CpuId) -> Vec<TaskId> {
        let local = self.queues.local(c);
        let elsewhere = |&task: &TaskId| {
            let t = &self.tasks[task];
            t.cpu == c && t.queued && !t.on_cpu && !t.busy && t.queue != Some(local)
        };
        let mut found: Vec<TaskId> = self.tasks.ids().filter(elsewhere).collect();
        found.sort_by_key(|&task| (self.tasks[task].runnable_at, task));
        found
    }

    /// Have CPUs come or gone since the scheduler's user-space half was made (`check_hotplug_seq()`)? That ends it.
    pub(crate) fn is_stale(&mut self, c: CpuId) -> bool {
        let (expected, actual) = (self.scx.hotplug_seq, self.outside.hotplug.seq);
        let stale = expected != 0 && expected != actual;
        if stale {
            let message = format!("expected hotplug seq {expected} did not match actual {actual}");
            self.end_scheduler(c, ExitKind::UnregKern, RESTART, message);
        }
        stale
    }

    /// Where an interrupt for `c` goes: to the boot CPU if it is off (`hrtimers_cpu_dying()`).
    #[inline]
    pub(crate) fn alive_or_boot(&self, c: CpuId) -> CpuId {
        if self.cpus[c].alive { c } else { BOOT_CPU }
    }
}
