//! Cgroups at a scheduler's beginning and end: `scx_cgroup_init()` and `scx_cgroup_exit()`.
//!
//! Parents are taken in before their children, all before any task; at the end children go before their parents, and again all
//! before any task.

use crate::sim::Sim;
use crate::state::cgroup::Number;
use crate::state::frame::Frame;
use crate::state::frame::cgroup::CgroupFrame;
use crate::state::kernel::Kernel;
use crate::state::layout::cgroup_init_args as field;
use keel_abi::bpf::{Ea, Engine, Owner, World};
use keel_abi::cgroup::CgroupId;
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// The root, and what is there before the scheduler is; false when the world is full.
    pub(crate) fn make_first_cgroups<W: World>(&mut self, world: &mut W) -> bool {
        let there = |(place, cgroup): (usize, &keel_abi::cgroup::Cgroup)| {
            cgroup.is_there.then_some(CgroupId::at(place))
        };
        let ids: Vec<_> = self.workload.cgroups.iter().enumerate().filter_map(there).collect();
        std::iter::once(CgroupId::ROOT).chain(ids).all(|id| match self.new_cgroup(world, id) {
            Some(number) => {
                self.cgroups.publish(number);
                true
            }
            None => false,
        })
    }

    /// A cgroup that can't be found yet; nothing where its parent does not exist, or memory runs out.
    pub(super) fn new_cgroup<W: World>(&mut self, world: &mut W, id: CgroupId) -> Option<Number> {
        let settings = id.place().map(|place| &self.workload.cgroups[place]);
        let parent = match settings {
            Some(settings) => Some(self.cgroups.present(settings.parent)?),
            None => None,
        };
        let number = self.cgroups.add(id, parent, settings)?;
        self.mirror_cgroup(world, number).then_some(number)
    }

    /// `struct scx_cgroup_init_args` of a cgroup, where `c` keeps arguments.
    pub(super) fn cgroup_init_args<W: World>(&self, world: &mut W, c: CpuId, number: Number) -> Ea {
        let at = self.scx.args_at(c);
        let group = &self.cgroups[number];
        world.put(at, &[0; field::SIZE as usize]);
        world.put(at.offset(field::WEIGHT), &group.weight.to_le_bytes());
        world.put(at.offset(field::BW_PERIOD_US), &group.bandwidth.period_us.to_le_bytes());
        world.put(at.offset(field::BW_QUOTA_US), &group.bandwidth.quota_us.to_le_bytes());
        world.put(at.offset(field::BW_BURST_US), &group.bandwidth.burst_us.to_le_bytes());
        at
    }

    /// BPF gives a reference back: with the last one a removed cgroup's storage goes (`css_free_rwork_fn()`).
    pub(crate) fn put_cgroup<W: World>(&mut self, world: &mut W, number: Number) {
        if self.cgroups.put(number) {
            world.storage_forget(Owner::Cgroup(number.0));
        }
    }

    /// The kernel has done with a cgroup that is gone, or never came to be.
    pub(super) fn let_cgroup_go<W: World>(&mut self, world: &mut W, number: Number) {
        if self.cgroups.let_go(number) {
            world.storage_forget(Owner::Cgroup(number.0));
        }
    }
}

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

    /// [`CgroupFrame::Enable`]: the next cgroup; after the last the tasks follow.
    pub(super) fn enable_cgroup(&mut self, c: CpuId, place: u32) {
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

    /// [`CgroupFrame::Enabled`]: an error ends the scheduler, in the kernel's words as it was returned.
    pub(super) fn enabled_cgroup(&mut self, c: CpuId, number: Number, place: u32) {
        let answer = self.k.this_cpu().returned as i32;
        if answer != 0 {
            return self.k.error(c, format!("ops.cgroup_init() failed ({answer})"));
        }
        self.k.cgroups[number].inited = true;
        self.k.this_cpu().stack.push(Frame::Cgroup(CgroupFrame::Enable { place: place + 1 }));
    }

    /// [`CgroupFrame::Disable`]: of the cgroups that were taken in, the next; the tasks follow.
    pub(super) fn disable_cgroup(&mut self, c: CpuId, place: u32) {
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
