//! The steps of the cgroup paths.

use crate::paths::sim::Sim;
use crate::state::frame::cgroup::CgroupFrame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// Takes one step of `c`'s path.
    pub(crate) fn cgroup_step(&mut self, c: CpuId, frame: CgroupFrame) {
        match frame {
            CgroupFrame::Enable { place } => self.enable_cgroup(c, place),
            CgroupFrame::Enabled { number, place } => self.enabled_cgroup(c, number, place),
            CgroupFrame::Disable { place } => self.disable_cgroup(c, place),
            CgroupFrame::Act { task, step } => self.act_on_cgroup(c, task, step),
            CgroupFrame::Unlock => self.k.unlock_cgroups(c),
            CgroupFrame::Made { number } => self.made_cgroup(c, number),
            CgroupFrame::Removed { number } => self.removed_cgroup(number),
            CgroupFrame::Weighed { number, weight } => {
                self.k.cgroups[number].weight = weight;
                self.k.emit_group(number);
                self.k.cgroup_changed_fair(number, false);
            }
            CgroupFrame::Idled { number, idle } => {
                self.k.cgroups[number].idle = idle;
                self.k.emit_group(number);
                self.k.cgroup_changed_fair(number, false);
            }
            CgroupFrame::Limited { number, step } => {
                self.k.cgroups[number].bandwidth = self.k.bandwidth_of_step(step);
                self.k.emit_group(number);
                self.k.cgroup_changed_fair(number, true);
            }
            CgroupFrame::Prepare { task, to, whole, from } => self.prepare_move(c, task, to, whole, from),
            CgroupFrame::Prepared { task, to, whole, mover } => self.prepared_move(c, task, to, whole, mover),
            CgroupFrame::Cancel { to, place } => self.cancel_move(c, to, place),
            CgroupFrame::Attach { place } => self.attach(place),
            CgroupFrame::Move { task, to, rq } => self.move_task(c, task, to, rq),
            CgroupFrame::Quiesce { task, to, was_on } => self.quiesce_for_move(c, task, to, was_on),
            CgroupFrame::Change { task, to, was_on } => self.change_cgroup(c, task, to, was_on),
            CgroupFrame::Restore { task, was_on } => self.restore_moved(c, task, was_on),
            CgroupFrame::Trace { point, number, task, whole, nth } => {
                self.trace_cgroup(c, point, number, (task, whole), nth);
            }
            CgroupFrame::Offline { number, is_told } => self.offline_cgroup(c, number, is_told),
            CgroupFrame::Running { task } => self.running_again(c, task),
        }
    }
}
