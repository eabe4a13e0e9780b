//! The machine as programs see it in cgroupfs and `/proc`.

use super::Number;
use crate::state::kernel::Kernel;
use crate::state::task::State;
use keel_abi::cgroup::CgroupNow;
use keel_abi::companion::{TaskNow, View};
use keel_abi::{Span, TaskId};
use std::collections::BTreeMap;

impl View for Kernel {
    /// Returns all cgroups that can be found, parents before their children, with their processes and threads.
    fn cgroups(&self) -> Vec<CgroupNow> {
        let order = self.cgroups.pre_order();
        let used = self.used();
        let mut shown: Vec<CgroupNow> = Vec::new();
        for &number in &order {
            let group = &self.cgroups[number];
            shown.push(CgroupNow {
                path: self.cgroup_path(number),
                number: number.0,
                weight: group.weight,
                bandwidth: group.bandwidth,
                idle: group.idle,
                processes: Vec::new(),
                threads: Vec::new(),
                used: used[number.0 as usize],
            });
        }
        let places: BTreeMap<_, usize> = order.into_iter().zip(0..).collect();
        for task in self.alive() {
            let Some(&place) = places.get(&self.cgroups.of(task)) else { continue };
            let pid = self.tasks[task].pid.0 as i32;
            shown[place].threads.push(pid);
            if self.leader_of(task) == task {
                shown[place].processes.push(pid);
            }
        }
        shown
    }

    fn processes(&self) -> BTreeMap<i32, Vec<i32>> {
        let mut all: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for task in self.alive() {
            let leader = self.tasks[self.leader_of(task)].pid.0 as i32;
            all.entry(leader).or_default().push(self.tasks[task].pid.0 as i32);
        }
        all
    }

    fn task(&self, pid: i32) -> Option<TaskNow> {
        let id = self.alive().find(|&id| self.tasks[id].pid.0 as i32 == pid)?;
        let leader = self.leader_of(id);
        let task = &self.tasks[id];
        let state = match task.state {
            State::New | State::Runnable | State::Blocking => 'R',
            State::Blocked => 'S',
            State::Exiting | State::Dead => 'Z',
        };
        Some(TaskNow {
            pid,
            process: self.tasks[leader].pid.0 as i32,
            parent: self.parent_of(leader).map_or(0, |parent| self.tasks[parent].pid.0 as i32),
            name: self.comm(id),
            state,
            is_kernel_thread: self.is_kthread(id),
            policy: task.policy,
            nice: task.nice,
            cpu: task.cpu,
            cpus: task.cpus.clone(),
            cpu_time: task.cpu_time,
            began: task.began,
            cgroup: self.cgroup_path(self.cgroups.of(id)),
        })
    }
}

impl Kernel {
    fn alive(&self) -> impl Iterator<Item = TaskId> {
        self.tasks.ids().filter(|task| !task.is_idle() && self.tasks[*task].state != State::Dead)
    }

    pub(crate) fn cgroup_path(&self, number: Number) -> String {
        let place = self.cgroups[number].id.place();
        place.map_or_else(String::new, |place| self.workload.cgroups[place].path.clone())
    }

    /// Returns the CPU time of every cgroup that has ever existed, including the cgroups below it.
    fn used(&self) -> Vec<Span> {
        let mut used = self.cgroups.used_by_leavers();
        for task in self.tasks.ids().filter(|task| !task.is_idle()) {
            let Number(number) = self.cgroups.of(task);
            used[number as usize] += self.tasks[task].cpu_time - self.cgroups.used_before(task);
        }
        // Parents have lower numbers than their children.
        for number in (1..used.len()).rev() {
            if let Some(Number(parent)) = self.cgroups[Number(number as u32)].parent {
                let below = used[number];
                used[parent as usize] += below;
            }
        }
        used
    }
}
