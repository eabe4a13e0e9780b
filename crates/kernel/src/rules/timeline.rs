//! Determines when a timeline entry is due, and which CPU or task is next.

use crate::state::cpu::Irq;
use crate::state::cpus::BOOT_CPU;
use crate::state::kernel::Kernel;
use crate::state::outside::Member;
use crate::state::scx::Phase;
use crate::state::task::State;
use crate::state::timer_number;
use keel_abi::timeline::Change;
use keel_abi::{CpuId, CpuSet, Instant, Span, TaskId};
use keel_trace::{Act, Class, Request, What};

impl Kernel {
    /// Applies the entries that are due at the start, before a scheduler is attached. Only offline CPUs matter at that
    /// point, because there are no tasks yet. Schedules all other entries.
    pub(crate) fn arm_timeline(&mut self) {
        for entry in 0..self.outside.entries.len() as u32 {
            let happening = &self.outside.entries[entry as usize].happening;
            let due = Instant::ZERO + happening.at;
            let change = happening.change.clone();
            if due > Instant::ZERO {
                let e = &mut self.outside.entries[entry as usize];
                e.due = due;
                if e.happening.follows {
                    continue;
                }
                self.queue.push(due, timer_number::FIRST_HAPPENING + entry);
                continue;
            }
            match change {
                Change::Offline(cpus) => cpus.iter().for_each(|cpu| self.plug_at_boot(cpu, false)),
                Change::Online(cpus) => cpus.iter().for_each(|cpu| self.plug_at_boot(cpu, true)),
                Change::Affinity { .. } | Change::Nice { .. } | Change::Policy { .. } => {}
            }
            self.outside.entries[entry as usize].begun = 1;
            self.arm_again(entry, Instant::ZERO);
        }
    }

    /// Starts the entries that waited for the scheduler, once it is enabled or has exited.
    pub(crate) fn release_happenings(&mut self) {
        let now = self.this_cpu().clock;
        for (entry, nth) in std::mem::take(&mut self.outside.waiting) {
            match self.scx.at_boot && self.scx.phase == Phase::Enabled {
                true => self.queue.push(now, timer_number::FIRST_HAPPENING + entry),
                false => self.interrupt(BOOT_CPU, now, Irq::Happening { entry, nth }),
            }
        }
    }

    /// Handles an entry's expired timer.
    pub(crate) fn happening_due(&mut self, entry: u32, at: Instant) -> (CpuId, Irq) {
        self.outside.entries[entry as usize].due = at;
        (BOOT_CPU, Irq::Happening { entry, nth: 0 })
    }

    /// Emits when the changes that follow were due, or that no more follow, as acts without a task.
    pub(crate) fn emit_happening(&mut self, c: CpuId, entry: Option<u32>) {
        if self.out.wants(Class::ACTS) {
            let act = match entry {
                Some(entry) => Act::Begins { at: self.outside.entries[entry as usize].due },
                None => Act::Waits,
            };
            self.tell(Class::ACTS, c, What::Acts { task: TaskId::IDLE, act });
        }
    }

    /// Emits the request of an entry to one of its CPUs or tasks.
    pub(crate) fn emit_asked(&mut self, entry: u32, member: Member) {
        let (task, request) = match (member, self.outside.change(entry)) {
            (Member::Cpu(cpu), Change::Online(_)) => (TaskId::IDLE, Request::Online(cpu)),
            (Member::Cpu(cpu), _) => (TaskId::IDLE, Request::Offline(cpu)),
            (Member::Task(task), Change::Affinity { cpus, .. }) => (task, Request::Cpus(cpus.clone())),
            (Member::Task(task), &Change::Nice { nice, .. }) => (task, Request::Nice(nice)),
            (Member::Task(task), &Change::Policy { policy, .. }) => (task, Request::Policy(policy)),
            (Member::Task(_), Change::Online(_) | Change::Offline(_)) => return,
        };
        self.emit_request(task, true, request);
    }

    /// Completes an entry, after everything that it requests has been done.
    pub(crate) fn done_happening(&mut self, c: CpuId, entry: u32) {
        self.forget_dead(entry);
        let e = &mut self.outside.entries[entry as usize];
        e.begun = e.begun.saturating_add(1);
        let now = self.cpus[c].clock;
        self.arm_again(entry, now);
    }

    /// Schedules the entry again, at the next multiple of its period after `now`.
    fn arm_again(&mut self, entry: u32, now: Instant) {
        let e = &self.outside.entries[entry as usize];
        let Some(every) = e.happening.every else { return };
        if e.happening.times.is_some_and(|times| e.begun >= times) {
            return;
        }
        let missed = now.since(e.due).as_ns() / every.as_ns();
        let next = e.due + Span::from_ns(every.as_ns().saturating_mul(missed + 1));
        self.queue.push(next, timer_number::FIRST_HAPPENING + entry);
    }

    /// Forgets dead tasks, so that they are not visited again.
    pub(crate) fn forget_dead(&mut self, entry: u32) {
        let Some(spec) = self.outside.change(entry).spec() else { return };
        let tasks = &self.tasks;
        let members = self.outside.members.get_mut(&spec).expect("an entry's spec is followed");
        members.retain(|&task| tasks[task].state != State::Dead);
    }

    /// Returns an online CPU of `cpus`, a different one each time (`cpumask_any_and_distribute()`).
    pub(crate) fn any_online(&mut self, cpus: &CpuSet) -> Option<CpuId> {
        let usable = || cpus.iter().filter(|&c| self.cpus[c].online);
        let last = CpuId(self.outside.spread);
        let found = usable().find(|&c| c > last).or_else(|| usable().next())?;
        self.outside.spread = found.0;
        Some(found)
    }
}
