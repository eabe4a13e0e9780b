//! Companions: tasks that exist before the scheduler is attached and whose programs use its maps.

use crate::state::setup::{FIRST_PID, Setup};
use keel_abi::companion::Companion;
use keel_abi::task::{Policy, Step, TaskSpec};
use keel_abi::{CpuSet, Pid, TaskId};

/// A companion, and its task's name.
pub struct Beside<W> {
    /// The task's name.
    pub name: String,
    /// The companion itself.
    pub companion: Box<dyn Companion<W>>,
}

/// Returns the pid that the companion with this number will get, so that it can be set before anything is loaded.
pub const fn companion_pid(number: u32) -> Pid {
    Pid(FIRST_PID + 1 + number)
}

/// Returns the task of the companion with this number. Companions come right after the kernel's first task.
pub(crate) const fn task_of(number: u32) -> TaskId {
    TaskId(1 + number)
}

/// Adds the companions' tasks to the workload, in which none of them starts on its own. Their policy is `SCHED_EXT`, so
/// that the scheduler always schedules them: a scheduler's user-space half requests that policy.
pub(crate) fn add_specs<W>(setup: &mut Setup, companions: &[Beside<W>]) {
    let tasks = &mut setup.workload.tasks;
    let free = tasks.iter().map(|task| task.process).max().map_or(0, |most| most.saturating_add(1));
    for (number, beside) in companions.iter().enumerate() {
        tasks.push(TaskSpec {
            name: beside.name.clone(),
            // A companion never reaches the second step, which only records the CPUs that it confines itself to.
            steps: vec![Step::Accompany(number as u32), Step::Affinity(CpuSet::new())],
            process: free.saturating_add(number as u32),
            policy: Policy::Ext,
            ..TaskSpec::default()
        });
    }
}
