//! The state changes of CPU hotplug, the order of the changes, and the tasks that still wait on a CPU that goes
//! offline.

use crate::state::cpu::Irq;
use crate::state::cpus::BOOT_CPU;
use crate::state::kernel::Kernel;
use crate::state::ticks::Ticks;
use keel_abi::bpf::World;
use keel_abi::scx::{ExitKind, ecode};
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

/// The exit code with which the kernel requests a restart because CPUs have changed.
pub(crate) const RESTART: i64 = ecode::ACT_RESTART | ecode::RSN_HOTPLUG;

impl Kernel {
    /// Takes a CPU online or offline before there is a scheduler.
    pub(super) fn plug_at_boot(&mut self, cpu: CpuId, online: bool) {
        if self.cpus[cpu].alive == online {
            return;
        }
        self.outside.hotplug.seq += 1;
        let c = self.cpu(cpu);
        (c.alive, c.online) = (online, online);
        self.idle.set_online(cpu, online);
        self.set_active_at_boot(cpu, online);
        self.tell(Class::BRIEF, cpu, What::Online { target: cpu, up: online });
    }

    /// `set_cpu_online()` with true.
    pub(crate) fn come_alive<W: World>(&mut self, world: &mut W, cpu: CpuId) {
        let now = self.this_cpu().clock;
        let c = self.cpu(cpu);
        c.alive = true;
        c.clock = c.clock.max(now);
        self.idle.set_online(cpu, true);
        self.mirror_online(world);
        self.tell(Class::BRIEF, cpu, What::Online { target: cpu, up: true });
    }

    /// `set_cpu_online()` with false. The stopper was the last to run there, so the CPU counts as idle, as in the
    /// kernel.
    pub(crate) fn switch_off<W: World>(&mut self, world: &mut W, c: CpuId) {
        let cpu = self.this_cpu();
        cpu.alive = false;
        cpu.errands.set_leaving(false);
        cpu.ticks = Ticks::NONE;
        cpu.need_resched = false;
        cpu.server.disarm();
        cpu.fair_server.disarm();
        self.idle.set_online(c, false);
        self.set_idle(world, c, true);
        self.mirror_online(world);
        self.tell(Class::BRIEF, c, What::Online { target: c, up: false });
    }

    /// Writes the mask of online CPUs for BPF, if BPF uses it.
    fn mirror_online<W: World>(&mut self, world: &mut W) {
        if !self.online_mask.is_null() {
            crate::state::mask::write_mask(world, self.online_mask, self.idle.online_words());
        }
    }

    /// Completes the current change: its timeline entry continues, and then the next one that waits.
    pub(crate) fn hotplug_done(&mut self, c: CpuId) {
        let now = self.cpus[c].clock;
        let Some((entry, nth)) = self.outside.hotplug.busy.take() else { return };
        self.interrupt(BOOT_CPU, now, Irq::Happening { entry, nth: nth + 1 });
        self.next_hotplug(c);
    }

    /// Lets the next waiting entry start, because no hotplug change is in progress.
    pub(crate) fn next_hotplug(&mut self, c: CpuId) {
        let now = self.cpus[c].clock;
        if let Some((entry, nth)) = self.outside.hotplug.waiting.pop_front() {
            self.interrupt(BOOT_CPU, now, Irq::Happening { entry, nth });
        }
    }

    /// Returns the runnable tasks of `c`'s runqueue that are neither running nor in its local DSQ, in the order in
    /// which they began to wait.
    pub(crate) fn waiting_elsewhere(&self, c: CpuId) -> Vec<TaskId> {
        let local = self.queues.local(c);
        let elsewhere = |&task: &TaskId| {
            let t = &self.tasks[task];
            t.cpu == c && t.queued && !t.on_cpu && !t.busy && t.queue != Some(local)
        };
        let mut found: Vec<TaskId> = self.tasks.ids().filter(elsewhere).collect();
        found.sort_by_key(|&task| (self.tasks[task].runnable_at, task));
        found
    }

    /// Returns whether CPUs have changed since the scheduler's user-space half was created (`check_hotplug_seq()`). If
    /// so, ends the scheduler.
    pub(crate) fn end_if_stale(&mut self, c: CpuId) -> bool {
        let (expected, actual) = (self.scx.hotplug_seq, self.outside.hotplug.seq);
        let stale = expected != 0 && expected != actual;
        if stale {
            let message = format!("expected hotplug seq {expected} did not match actual {actual}");
            self.end_scheduler(c, ExitKind::UnregKern, RESTART, message);
        }
        stale
    }
}
