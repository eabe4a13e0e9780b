//! Steps in which tasks create, change and remove cgroups. Each of them holds `cgroup_mutex`.

use crate::paths::sim::Sim;
use crate::state::cgroup::Number;
use crate::state::frame::Frame;
use crate::state::frame::cgroup::CgroupFrame;
use crate::state::hooks::Point;
use keel_abi::bpf::Engine;
use keel_abi::cgroup::{Bandwidth, CgroupId, CgroupStep};
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Runs [`CgroupFrame::Act`].
    pub(crate) fn act_on_cgroup(&mut self, c: CpuId, task: TaskId, step: u32) {
        if !self.k.lock_cgroups(c) {
            return self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Act { task, step }));
        }
        self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Unlock));
        let act = self.k.cgroup_step_of(step);
        if let CgroupStep::Make(id) = act {
            return self.make_cgroup(c, id);
        }
        let Some(number) = self.k.cgroups.present(act.id()) else { return };
        match act {
            CgroupStep::Join(_) => self.begin_move(task, number, false),
            CgroupStep::JoinProcess(_) => self.begin_move(task, number, true),
            // The root has no settings files, and its directory stays.
            _ if number == Number::ROOT => {}
            CgroupStep::Remove(_) => self.remove_cgroup(c, number),
            CgroupStep::Weight(_, weight) => self.weigh_cgroup(c, number, weight),
            CgroupStep::Idle(_, idle) => self.idle_cgroup(c, number, idle),
            CgroupStep::Bandwidth(_, bandwidth) => self.limit_cgroup(c, step, number, bandwidth),
            CgroupStep::Make(_) => {}
        }
    }

    fn then(&mut self, frame: CgroupFrame) {
        self.k.this_cpu().stack.push(Frame::Cgroup(frame));
    }

    /// `cgroup_mkdir()`, up to `scx_tg_online()`.
    fn make_cgroup(&mut self, c: CpuId, id: CgroupId) {
        if self.k.cgroups.present(id).is_some() {
            return;
        }
        let Some(number) = self.k.new_cgroup(self.vm.world(), id) else { return };
        self.then(CgroupFrame::Made { number });
        match self.k.tells_of_cgroups(Op::CgroupInit) {
            true => self.init_cgroup(c, number),
            false => self.k.this_cpu().returned = 0,
        }
    }

    /// Runs [`CgroupFrame::Made`]. If the callback failed, the cgroup does not exist.
    pub(crate) fn made_cgroup(&mut self, c: CpuId, number: Number) {
        let answer = self.k.this_cpu().returned as i32;
        if answer != 0 {
            self.k.sane_errno(c, "cgroup_init", answer);
            return self.k.let_cgroup_go(self.vm.world(), number);
        }
        self.k.cgroups.publish(number);
        self.k.emit_group(number);
        self.k.cgroups[number].inited = self.k.cgroups.enabled;
        self.queue_tracers(Point::CgroupMkdir, number, (TaskId::IDLE, false));
    }

    /// `cgroup_rmdir()`. By the time `ops.cgroup_exit` runs (`scx_tg_offline()`), the cgroup can no longer be found.
    fn remove_cgroup(&mut self, c: CpuId, number: Number) {
        let group = &self.k.cgroups[number];
        if group.tasks > 0 || !group.children.is_empty() {
            return;
        }
        let is_told = group.inited && self.k.tells_of_cgroups(Op::CgroupExit);
        self.k.cgroups.withdraw(number);
        self.k.mirror_cgroup_dead(self.vm.world(), number);
        if self.k.hooks.traces(Point::CgroupRmdir) {
            self.then(CgroupFrame::Offline { number, is_told });
            return self.queue_tracers(Point::CgroupRmdir, number, (TaskId::IDLE, false));
        }
        self.offline_cgroup(c, number, is_told);
    }

    /// Runs [`CgroupFrame::Offline`].
    pub(crate) fn offline_cgroup(&mut self, c: CpuId, number: Number, is_told: bool) {
        self.then(CgroupFrame::Removed { number });
        if is_told {
            self.exit_cgroup(c, number);
        }
    }

    /// Runs [`CgroupFrame::Removed`].
    pub(crate) fn removed_cgroup(&mut self, number: Number) {
        self.k.let_cgroup_go(self.vm.world(), number);
    }

    /// `scx_group_set_weight()`. The weight of an idle cgroup cannot be set (`sched_group_set_shares()`).
    fn weigh_cgroup(&mut self, c: CpuId, number: Number, weight: u32) {
        let group = &self.k.cgroups[number];
        let (ea, differs) = (group.ea, group.weight != weight);
        if group.idle {
            return;
        }
        self.then(CgroupFrame::Weighed { number, weight });
        if differs && self.k.tells_of_cgroups(Op::CgroupSetWeight) {
            self.start(c, Op::CgroupSetWeight, TaskId::IDLE, &[ea.0, u64::from(weight)]);
        }
    }

    /// `scx_group_set_idle()`, which calls the scheduler even if nothing changed.
    fn idle_cgroup(&mut self, c: CpuId, number: Number, idle: bool) {
        let ea = self.k.cgroups[number].ea;
        self.then(CgroupFrame::Idled { number, idle });
        if self.k.tells_of_cgroups(Op::CgroupSetIdle) {
            self.start(c, Op::CgroupSetIdle, TaskId::IDLE, &[ea.0, u64::from(idle)]);
        }
    }

    /// `scx_group_set_bandwidth()`.
    fn limit_cgroup(&mut self, c: CpuId, step: u32, number: Number, new: Bandwidth) {
        let group = &self.k.cgroups[number];
        let (ea, differs) = (group.ea, group.bandwidth != new);
        self.then(CgroupFrame::Limited { number, step });
        if differs && self.k.tells_of_cgroups(Op::CgroupSetBandwidth) {
            let args = [ea.0, new.period_us, new.quota_us, new.burst_us];
            self.start(c, Op::CgroupSetBandwidth, TaskId::IDLE, &args);
        }
    }
}
