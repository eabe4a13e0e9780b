//! Decides which tasks move between cgroups.

use crate::state::cgroup::Number;
use crate::state::kernel::Kernel;
use crate::state::task::{Member, State};
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Returns the cgroup that a new task starts in: the one that its description names, or else its parent's.
    pub(crate) fn cgroup_of_new(&self, spec: Option<u32>, parent: TaskId) -> Number {
        let own = spec.and_then(|spec| self.workload.tasks[spec as usize].cgroup);
        let own = own.and_then(|id| self.cgroups.present(id));
        let inherited = || if parent.is_idle() { Number::ROOT } else { self.cgroups.of(parent) };
        own.unwrap_or_else(inherited)
    }

    /// Returns the next task to move, from number `from` on: any thread of the process, or only the task itself.
    pub(crate) fn next_mover(&self, task: TaskId, whole: bool, from: u32) -> Option<TaskId> {
        if !whole {
            return (from <= task.0).then_some(task);
        }
        let leader = self.leader_of(task);
        let is_one = |&other: &TaskId| {
            let state = self.tasks[other].state;
            let is_in = self.tasks[other].member != Member::No;
            is_in && self.leader_of(other) == leader && !matches!(state, State::Dead | State::Exiting)
        };
        (from..self.tasks.len() as u32).map(TaskId).find(is_one)
    }
}

impl Kernel {
    /// Puts a real-time task that moves behind tasks of equal priority. If it is running, it yields to them.
    pub(crate) fn requeue_moved(&mut self, c: CpuId, task: TaskId) {
        let t = &self.tasks[task];
        if t.state != State::Blocked && t.state != State::New {
            let (rq, runs) = (t.cpu, t.on_cpu);
            self.yield_rt(task);
            if runs {
                self.resched(c, rq);
            }
        }
    }

    /// Returns whether a whole process is being moved. Until that is done, no task can exit
    /// (`cgroup_threadgroup_rwsem`).
    pub(crate) fn moves_process(&self) -> bool {
        self.cgroups.moves_process
    }
}
