//! Creates and removes cgroups.

use crate::state::cgroup::Number;
use crate::state::kernel::Kernel;
use crate::state::layout::cgroup_init_args as field;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Owner, World};
use keel_abi::cgroup::CgroupId;

impl Kernel {
    /// Creates the root and the cgroups that exist before the scheduler. Returns false if the world is full.
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

    /// Creates a cgroup that cannot be found yet. Returns `None` if its parent does not exist or memory runs out.
    pub(crate) fn new_cgroup<W: World>(&mut self, world: &mut W, id: CgroupId) -> Option<Number> {
        let settings = id.place().map(|place| &self.workload.cgroups[place]);
        let parent = match settings {
            Some(settings) => Some(self.cgroups.present(settings.parent)?),
            None => None,
        };
        let number = self.cgroups.add(id, parent, settings)?;
        self.mirror_cgroup(world, number).then_some(number)
    }

    /// Writes a cgroup's `struct scx_cgroup_init_args` to where `c` keeps arguments, and returns the address.
    pub(crate) fn cgroup_init_args<W: World>(&self, world: &mut W, c: CpuId, number: Number) -> Ea {
        let at = self.scx.args_at(c);
        let group = &self.cgroups[number];
        world.put(at, &[0; field::SIZE as usize]);
        world.put(at.offset(field::WEIGHT), &group.weight.to_le_bytes());
        world.put(at.offset(field::BW_PERIOD_US), &group.bandwidth.period_us.to_le_bytes());
        world.put(at.offset(field::BW_QUOTA_US), &group.bandwidth.quota_us.to_le_bytes());
        world.put(at.offset(field::BW_BURST_US), &group.bandwidth.burst_us.to_le_bytes());
        at
    }

    /// Drops a reference that BPF holds. Dropping the last one frees a removed cgroup's storage
    /// (`css_free_rwork_fn()`).
    pub(crate) fn put_cgroup<W: World>(&mut self, world: &mut W, number: Number) {
        if self.cgroups.put(number) {
            world.storage_forget(Owner::Cgroup(number.0));
        }
    }

    /// Drops the kernel's own reference to a cgroup that was removed or whose creation failed.
    pub(crate) fn let_cgroup_go<W: World>(&mut self, world: &mut W, number: Number) {
        if self.cgroups.let_go(number) {
            world.storage_forget(Owner::Cgroup(number.0));
        }
    }
}
