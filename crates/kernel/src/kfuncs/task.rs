//! The kfuncs and helpers on tasks.

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use crate::state::layout::TASK_STRIDE;
use crate::state::mirror::FIRST_TID;
use crate::state::task::{Member, State, Task};
use keel_abi::bpf::{Ea, World};
use keel_abi::scx::ops_flags;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// The task whose `task_struct` begins at `at`; kfunc pointers are checked by type.
    #[inline]
    pub(crate) fn task_at(&self, at: Ea) -> Option<TaskId> {
        Some(self.task_and_state_at(at)?.0)
    }

    /// Like `task_at`, with what the kernel knows of the task.
    #[inline]
    pub(super) fn task_and_state_at(&self, at: Ea) -> Option<(TaskId, &Task)> {
        let number = at.0.wrapping_sub(self.task_base.0) / TASK_STRIDE;
        let task = self.tasks.numbered(number)?;
        (task.ea == at).then_some((TaskId(number as u32), task))
    }

    /// Writes a field of the `task_struct` at `at`; the answer is whether it is one.
    #[inline(never)]
    pub(super) fn write_task<W: World>(&self, w: &mut W, at: Ea, value: u64, field: u64) -> Served {
        let is_task = self.task_at(at).is_some();
        if is_task {
            w.put(at.offset(field), &value.to_le_bytes());
        }
        u64::from(is_task).into()
    }

    pub(super) fn task_cpu(&self, at: u64) -> Served {
        match self.task_and_state_at(Ea(at)) {
            Some((_, task)) => u64::from(task.cpu.0).into(),
            None => self.idle_task_at(at).unwrap_or(0).into(),
        }
    }

    pub(super) fn serve_task(&self, f: F, a: &[u64; 5]) -> Served {
        let Some(task) = self.task_at(Ea(a[0])) else { return self.serve_idle_task(f, a[0]) };
        match f {
            F::TaskCid => self.cid_or_errno(self.tasks[task].cpu).into(),
            F::TaskRunning => u64::from(self.tasks[task].on_cpu).into(),
            F::TaskAcquire => a[0].into(),
            _ => 0.into(),
        }
    }

    /// The few functions that make sense for an idle task.
    fn serve_idle_task(&self, f: F, at: u64) -> Served {
        let Some(number) = self.idle_task_at(at) else { return 0.into() };
        let cpu = &self.cpus[CpuId(number as u32)];
        match f {
            F::TaskCid => self.cid_or_errno(CpuId(number as u32)).into(),
            F::TaskRunning => u64::from(cpu.is_idle()).into(),
            F::TaskAcquire => at.into(),
            _ => 0.into(),
        }
    }

    /// The CPU whose idle task this is.
    #[inline(never)]
    fn idle_task_at(&self, at: u64) -> Option<u64> {
        let base = self.idle_task_ea(CpuId(0)).0;
        let number = at.wrapping_sub(base) / TASK_STRIDE;
        (number < self.cpus.len() as u64).then_some(number)
    }

    /// Pids are given out in the order of tasks.
    #[inline]
    pub(super) fn task_from_pid(&self, pid: i32) -> Ea {
        let number = i64::from(pid) - i64::from(crate::state::setup::FIRST_PID);
        // A negative number is too large.
        match self.tasks.numbered(number as u64) {
            Some(task) if task.state != State::Dead => task.ea,
            _ => Ea::NULL,
        }
    }

    /// Finds only tasks that the scheduler has, and only if it asked for this (`SCX_OPS_TID_TO_TASK`).
    pub(super) fn task_from_tid(&mut self, c: CpuId, tid: u64) -> Ea {
        if self.scx.flags & ops_flags::TID_TO_TASK == 0 {
            self.error(c, "scx_bpf_tid_to_task() called without SCX_OPS_TID_TO_TASK".into());
            return Ea::NULL;
        }
        let number = tid.checked_sub(FIRST_TID).and_then(|number| u32::try_from(number).ok());
        let task = number.map(TaskId).filter(|t| t.index() < self.tasks.len());
        match task.map(|task| &self.tasks[task]) {
            Some(t) if t.state != State::Dead && t.member != Member::No => t.ea,
            _ => Ea::NULL,
        }
    }

    pub(super) fn pid_tgid(&self) -> Served {
        match self.cpus.this_cpu.curr {
            TaskId::IDLE => 0.into(),
            curr => {
                let pid = u64::from(self.tasks[curr].pid.0);
                let tgid = u64::from(self.tasks[self.leader_of(curr)].pid.0);
                (tgid << 32 | pid).into()
            }
        }
    }

    pub(super) fn prandom(&mut self) -> Served {
        (self.rng.next_u64() & 0xffff_ffff).into()
    }
}
