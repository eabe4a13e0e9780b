//! Initializes cgroups when a scheduler is enabled, and exits them when it is disabled: `scx_cgroup_init()` and
//! `scx_cgroup_exit()`.
//!
//! Parents are initialized before their children, and all cgroups before any task. On disable, children exit before
//! their parents, again all before any task.

use crate::paths::sim::Sim;
use crate::state::cgroup::Number;
use crate::state::frame::Frame;
use crate::state::frame::cgroup::CgroupFrame;
use keel_abi::bpf::Engine;
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Calls `ops.cgroup_init`.
    pub(super) fn init_cgroup(&mut self, c: CpuId, number: Number) {
        let args = self.k.cgroup_init_args(self.vm.world(), c, number);
        let ea = self.k.cgroups[number].ea;
        self.start(c, Op::CgroupInit, TaskId::IDLE, &[ea.0, args.0]);
    }

    /// Calls `ops.cgroup_exit`.
    pub(super) fn exit_cgroup(&mut self, c: CpuId, number: Number) {
        let ea = self.k.cgroups[number].ea;
        self.start(c, Op::CgroupExit, TaskId::IDLE, &[ea.0]);
    }

    /// Runs [`CgroupFrame::Enable`]: initializes the next cgroup. After the last one it continues with the tasks.
    pub(crate) fn enable_cgroup(&mut self, c: CpuId, place: u32) {
        if place == 0 {
            self.k.cgroups.walk = self.k.cgroups.pre_order();
        }
        let Some(&number) = self.k.cgroups.walk.get(place as usize) else {
            self.k.cgroups.enabled = true;
            return self.k.this_cpu().stack.push(Frame::EnableTask { task: TaskId(0) });
        };
        self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Enabled { number, place }));
        self.init_cgroup(c, number);
    }

    /// Runs [`CgroupFrame::Enabled`]. An error ends the scheduler; the kernel's message contains the value as returned.
    pub(crate) fn enabled_cgroup(&mut self, c: CpuId, number: Number, place: u32) {
        let answer = self.k.this_cpu().returned as i32;
        if answer != 0 {
            return self.k.error(c, format!("ops.cgroup_init() failed ({answer})"));
        }
        self.k.cgroups[number].inited = true;
        self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Enable { place: place + 1 }));
    }

    /// Runs [`CgroupFrame::Disable`]: exits the next initialized cgroup. After the last one the tasks follow.
    pub(crate) fn disable_cgroup(&mut self, c: CpuId, place: u32) {
        if place == 0 {
            self.k.cgroups.enabled = false;
            self.k.cgroups.walk = self.k.cgroups.post_order();
        }
        let Some(&number) = self.k.cgroups.walk.get(place as usize) else { return };
        self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Disable { place: place + 1 }));
        if std::mem::take(&mut self.k.cgroups[number].inited) {
            self.exit_cgroup(c, number);
        }
    }
}
