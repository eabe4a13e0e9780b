//! Throttles and releases groups that have used up their runtime (`throttle_cfs_rq()`, `unthrottle_cfs_rq()`).

use crate::state::fair::bandwidth::SLACK;
use crate::state::fair::budget_timer::BudgetTimer;
use crate::state::fair::groups::Origin;
use crate::state::fair::ids::{GroupId, QueueId, Slot};
use crate::state::kernel::Kernel;
use keel_abi::cgroup::Bandwidth;
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Class, What};

impl Kernel {
    /// Sets a group's `cpu.max` (`tg_set_cfs_bandwidth()`). All CPUs start over.
    pub(super) fn set_budget(&mut self, group: GroupId, bandwidth: Bandwidth) {
        let budget = &mut self.fair.groups.all[group.index()].budget;
        budget.set(bandwidth);
        let is_limited = budget.is_limited();
        if is_limited {
            self.start_period(group);
            let groups = &self.fair.groups;
            let is_inside = |task: &TaskId| {
                let own = self.fair.entities.get(*task).and_then(|entity| entity.group);
                own.is_some_and(|own| groups.is_within(own, group)) && !self.is_dead(*task)
            };
            for task in self.tasks.ids().filter(is_inside).collect::<Vec<_>>() {
                self.emit_limit(task, group);
            }
        }
        for slot in self.fair.groups.slots_of(group) {
            self.limit(slot, is_limited);
        }
    }

    /// Restarts a CPU's part of a limit, with the least runtime that lets tasks run.
    fn limit(&mut self, slot: Slot, is_limited: bool) {
        let cpu = self.fair.groups.slots[slot.index()].cpu;
        self.charge_fair_curr(cpu);
        let local = &mut self.fair.groups.slots[slot.index()].local;
        (local.is_limited, local.left_ns) = (is_limited, 1);
        if local.is_throttled {
            self.unthrottle(slot);
        }
    }

    /// Charges a group's queue for running this long (`account_cfs_rq_runtime()`).
    pub(super) fn account(&mut self, slot: Slot, ran: Span) {
        let below = &mut self.fair.groups.slots[slot.index()];
        if !below.local.is_limited {
            return;
        }
        below.local.left_ns -= ran.as_ns() as i64;
        if below.local.left_ns > 0 || below.local.is_throttled {
            return;
        }
        let (group, cpu, runs) = (below.group, below.cpu, below.queue.curr().is_some());
        self.start_period(group);
        let budget = &mut self.fair.groups.all[group.index()].budget;
        let has_time = self.fair.groups.slots[slot.index()].local.refill(budget);
        if !has_time && runs {
            let c = self.cpus.this_id();
            self.resched(c, cpu);
        }
    }

    /// Throttles a group's queue that has got its first entity, if it has no runtime (`check_enqueue_throttle()`).
    pub(super) fn check_enqueue_throttle(&mut self, slot: Slot) {
        let below = &self.fair.groups.slots[slot.index()];
        if !below.local.is_limited || below.local.is_throttled || below.queue.curr().is_some() {
            return;
        }
        self.account(slot, Span::ZERO);
        if self.fair.groups.slots[slot.index()].local.left_ns <= 0 {
            self.throttle(slot);
        }
    }

    /// Returns whether the runtime of a queue that a pick reaches is used up (`check_cfs_rq_runtime()`).
    pub(super) fn is_out_of_time(&mut self, slot: Slot) -> bool {
        let local = &self.fair.groups.slots[slot.index()].local;
        match local.is_limited && local.left_ns <= 0 {
            true => local.is_throttled || self.throttle(slot),
            false => false,
        }
    }

    /// `throttle_cfs_rq()`. Returns false if there was runtime left after all.
    fn throttle(&mut self, slot: Slot) -> bool {
        let below = &mut self.fair.groups.slots[slot.index()];
        let (group, cpu) = (below.group, below.cpu);
        let budget = &mut self.fair.groups.all[group.index()].budget;
        if below.local.refill_least(budget) {
            return false;
        }
        budget.throttled.push_back(slot);
        below.local.is_throttled = true;
        for slot in self.below(group, cpu) {
            self.fair.groups.slots[slot.index()].local.throttle();
            self.stop_clock(slot);
        }
        true
    }

    /// Returns the slots of a group and of the groups in it, on one CPU.
    fn below(&self, group: GroupId, cpu: CpuId) -> Vec<Slot> {
        let groups = &self.fair.groups;
        let is_below = |slot: &Slot| groups.is_within(groups.slots[slot.index()].group, group);
        groups.slots_on(cpu).filter(is_below).collect()
    }

    /// Releases a CPU's queue that has runtime again (`unthrottle_cfs_rq()`): the tasks that waited for it are
    /// enqueued.
    pub(crate) fn unthrottle(&mut self, slot: Slot) {
        let below = &mut self.fair.groups.slots[slot.index()];
        if below.local.is_limited && below.local.left_ns <= 0 {
            return;
        }
        let (group, cpu) = (below.group, below.cpu);
        below.local.is_throttled = false;
        self.fair.groups.all[group.index()].budget.throttled.retain(|&other| other != slot);
        for slot in self.below(group, cpu) {
            let local = &mut self.fair.groups.slots[slot.index()].local;
            if !local.unthrottle() {
                continue;
            }
            // The last task to arrive is the first to leave.
            let waiting = std::mem::take(&mut local.limbo);
            self.restart_clock(slot);
            for task in waiting.into_iter().rev() {
                self.cpus[cpu].fair.wait_for_time(-1);
                self.enqueue_fair(task, false);
            }
        }
        let cpu_state = &self.cpus[cpu];
        if cpu_state.is_idle() && !cpu_state.fair.is_empty() {
            let c = self.cpus.this_id();
            self.resched(c, cpu);
        }
    }

    /// Returns whether the task's group, or a group above it, has used up its runtime on the CPU
    /// (`throttled_hierarchy()`).
    pub(crate) fn waits_for_time(&self, at: QueueId) -> bool {
        at.group().is_some_and(|slot| self.fair.groups.slots[slot.index()].local.throttles() > 0)
    }

    /// When a throttled task joins another queue: returns whether it has to wait there too
    /// (`enqueue_throttled_task()`).
    pub(super) fn stays_throttled(&mut self, task: TaskId, home: QueueId) -> bool {
        let (waits, runs) = (self.waits_for_time(home), self.tasks[task].on_cpu);
        if waits && !runs {
            self.enter_limbo(task, home);
            return true;
        }
        self.emit_task_throttled(task, home, false);
        self.fair.entities[task].is_throttled = false;
        false
    }

    pub(crate) fn enter_limbo(&mut self, task: TaskId, home: QueueId) {
        let Some(slot) = home.group() else { return };
        self.fair.groups.slots[slot.index()].local.limbo.push(task);
        self.cpus[home.cpu].fair.wait_for_time(1);
        self.fair.entities[task].queue = home;
    }

    /// Removes a throttled task that leaves its CPU, its group or the class (`dequeue_throttled_task()`). Returns false
    /// if it was not throttled.
    pub(super) fn leave_limbo(&mut self, task: TaskId) -> bool {
        let entity = &self.fair.entities[task];
        let Some(slot) = entity.queue.group().filter(|_| entity.is_throttled) else { return false };
        let below = &mut self.fair.groups.slots[slot.index()];
        let (count, cpu) = (below.local.limbo.len(), below.cpu);
        below.local.limbo.retain(|&other| other != task);
        let was_there = self.fair.groups.slots[slot.index()].local.limbo.len() < count;
        if was_there {
            self.cpus[cpu].fair.wait_for_time(-1);
        }
        was_there
    }

    /// Emits that a task of this queue is throttled or released, with the group that has the limit.
    pub(crate) fn emit_task_throttled(&mut self, task: TaskId, at: QueueId, on: bool) {
        let group = self.used_up(at).or_else(|| self.limited(self.fair.entities[task].group?));
        self.emit_throttled(task, group, on);
    }

    /// Returns the nearest group, from this queue's own upwards, that has used up its runtime.
    fn used_up(&self, at: QueueId) -> Option<GroupId> {
        let mut above = self.groups_above(at).map(|slot| &self.fair.groups.slots[slot.index()]);
        above.find(|above| above.local.is_throttled).map(|above| above.group)
    }

    /// Returns the nearest group with a limit: this one, or one above it.
    fn limited(&self, group: GroupId) -> Option<GroupId> {
        let groups = &self.fair.groups;
        groups.upwards(group).find(|group| groups.all[group.index()].budget.is_limited())
    }

    /// Emits which group's limit applies to a task that has joined a group, so that readers know it before the task is
    /// first throttled.
    pub(super) fn emit_limit(&mut self, task: TaskId, group: GroupId) {
        if let Some(limited) = self.limited(group) {
            self.emit_throttled(task, Some(limited), false);
        }
    }

    fn emit_throttled(&mut self, task: TaskId, group: Option<GroupId>, on: bool) {
        // Readers identify cgroups by number. An autogroup has no limit.
        let number = group.map_or(0, |group| match self.fair.groups.all[group.index()].origin {
            Origin::Cgroup(number) => number.0,
            Origin::Autogroup(_) => 0,
        });
        let (group, c) = (number, self.cpus.this_id());
        self.tell(Class::BRIEF, c, What::Throttled { task, on, group });
    }

    /// Returns the runtime that a CPU does not need after a group's last task has left it (`return_cfs_rq_runtime()`).
    pub(super) fn return_runtime(&mut self, slot: Slot) {
        let now = self.cpus.this_cpu.clock;
        let below = &mut self.fair.groups.slots[slot.index()];
        if !below.local.is_limited || below.queue.entities() > 0 {
            return;
        }
        let group = below.group;
        let budget = &mut self.fair.groups.all[group.index()].budget;
        if budget.take_back(&mut below.local, now) {
            let at = now + SLACK;
            budget.slack_at = Some(at);
            self.queue.push(at, BudgetTimer::Slack(group).number());
        }
    }

    /// Lifts the limits on a CPU that goes offline, because its tasks must run to be moved
    /// (`unthrottle_offline_cfs_rqs()`), and restores them on a CPU that comes online (`update_runtime_enabled()`).
    pub(crate) fn limit_cpu(&mut self, cpu: CpuId, online: bool) {
        if self.fair.groups.is_flat() {
            return;
        }
        if !online {
            self.withdraw_contributions(cpu);
        }
        for slot in self.fair.groups.slots_on(cpu).collect::<Vec<_>>() {
            let group = self.fair.groups.slots[slot.index()].group;
            let is_limited = online && self.fair.groups.all[group.index()].budget.is_limited();
            self.limit(slot, is_limited);
        }
    }

    /// Returns whether the group's runtime is used up on that CPU, so that no task should move there
    /// (`lb_throttled_cfs_rq()`).
    pub(super) fn is_throttled_on(&self, task: TaskId, cpu: CpuId) -> bool {
        let groups = &self.fair.groups;
        let group = self.fair.entities[task].group.unwrap_or(GroupId::ROOT);
        let slot = groups.slot(group, cpu);
        slot.is_some_and(|slot| groups.slots[slot.index()].local.throttles() > 0)
    }
}
