//! Queries about tasks and CPUs that every layer needs and that depend only on the state.

use crate::state::class::SchedClass;
use crate::state::cpus::BOOT_CPU;
use crate::state::kernel::Kernel;
use crate::state::layout::{TASK_STRIDE, cpumask};
use crate::state::machine::PERF_ONE;
use crate::state::setup::MAX_TASKS;
use keel_abi::bpf::Ea;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// The parent that `task_struct` shows: `None` for the kernel's first task.
    pub(crate) fn parent_of(&self, task: TaskId) -> Option<TaskId> {
        let parent = self.objects.processes.members[task.index()].parent;
        (!parent.is_idle()).then_some(parent)
    }

    /// The thread group's leader.
    pub(crate) fn leader_of(&self, task: TaskId) -> TaskId {
        self.objects.processes.members[task.index()].leader
    }

    /// Returns whether it is a kernel thread.
    pub(crate) fn is_kthread(&self, task: TaskId) -> bool {
        self.tasks[task].spec.is_some_and(|spec| self.workload.tasks[spec as usize].kthread)
    }

    /// The address at which BPF sees the task's address space.
    pub(crate) fn mm_ea(&self, task: TaskId) -> Ea {
        self.objects.processes.members[task.index()].mm_ea
    }

    /// `arch_scale_cpu_capacity()`.
    pub(crate) fn capacity(&self, cpu: CpuId) -> u64 {
        self.machine.capacity.get(cpu.index()).map_or(PERF_ONE, |&c| u64::from(c))
    }

    /// The `task_struct` of the task that runs on `cpu`.
    pub(crate) fn current_ea(&self, cpu: CpuId) -> Ea {
        match self.cpus[cpu].curr {
            TaskId::IDLE => self.idle_task_ea(cpu),
            curr => self.tasks[curr].ea,
        }
    }

    /// The number of mask words that the machine's CPUs take.
    pub(crate) fn mask_word_count(&self) -> usize {
        self.cpus.len().div_ceil(64)
    }

    /// Bytes of one of the kernel's own masks.
    pub(crate) fn mask_bytes(&self) -> u64 {
        cpumask::SIZE.max(self.mask_word_count() as u64 * 8)
    }

    /// `name[pid]`, as the kernel names tasks in its messages.
    pub(crate) fn name_of(&self, task: TaskId) -> String {
        format!("{}[{}]", self.comm(task), self.tasks[task].pid)
    }

    /// The first 15 bytes of the task's name.
    pub(crate) fn comm(&self, task: TaskId) -> String {
        let name = match self.tasks[task].spec {
            Some(spec) => self.workload.tasks[spec as usize].name.as_str(),
            None => "init",
        };
        let mut end = name.len().min(15);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name[..end].to_owned()
    }

    /// The CPU that an interrupt for `c` goes to: the boot CPU if `c` is off (`hrtimers_cpu_dying()`).
    #[inline]
    pub(crate) fn alive_or_boot(&self, c: CpuId) -> CpuId {
        if self.cpus[c].alive { c } else { BOOT_CPU }
    }

    /// The `task_struct` of a CPU's idle task: behind those of the tasks.
    pub(crate) fn idle_task_ea(&self, cpu: CpuId) -> Ea {
        self.task_base.offset(TASK_STRIDE * (MAX_TASKS + u64::from(cpu.0)))
    }

    /// The class of a task, or of the idle task.
    #[inline]
    pub(crate) fn class_of(&self, task: TaskId) -> SchedClass {
        if task.is_idle() { SchedClass::Idle } else { self.tasks[task].class }
    }
}
