//! The cgroups as cgroupfs shows them.

use crate::state::kernel::Kernel;
use crate::state::task::State;
use keel_abi::TaskId;
use keel_abi::cgroup::CgroupNow;
use std::collections::BTreeMap;

impl Kernel {
    /// All cgroups that can be found, parents before their children, with their processes and threads.
    pub(crate) fn cgroups_now(&self) -> Vec<CgroupNow> {
        let order = self.cgroups.pre_order();
        let mut shown: Vec<CgroupNow> = Vec::new();
        for &number in &order {
            let group = &self.cgroups[number];
            let path = group.id.place().map_or("", |place| &self.workload.cgroups[place].path);
            shown.push(CgroupNow {
                path: path.to_owned(),
                number: number.0,
                weight: group.weight,
                bandwidth: group.bandwidth,
                idle: group.idle,
                processes: Vec::new(),
                threads: Vec::new(),
            });
        }
        let places: BTreeMap<_, usize> = order.into_iter().zip(0..).collect();
        let is_alive = |task: &TaskId| !task.is_idle() && self.tasks[*task].state != State::Dead;
        for task in self.tasks.ids().filter(is_alive) {
            let Some(&place) = places.get(&self.cgroups.of(task)) else { continue };
            let pid = self.tasks[task].pid.0 as i32;
            shown[place].threads.push(pid);
            if self.leader_of(task) == task {
                shown[place].processes.push(pid);
            }
        }
        shown
    }
}
