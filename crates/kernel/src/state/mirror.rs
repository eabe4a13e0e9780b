//! The `task_struct` that BPF sees. It is written whenever the kernel's own task changes, and never read back, except
//! for the slice and the vtime, which exist only there.

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::layout;
use crate::state::layout::task as field;
use crate::state::mask::write_mask;
use crate::state::task::Task;
use crate::state::task_struct::TaskStruct;
use keel_abi::bpf::World;
use keel_abi::scx::ent;
use keel_abi::{Instant, TaskId};

/// The first task's `p->scx.tid`; no task has 0.
pub(crate) const FIRST_TID: u64 = 1;

/// `PF_IDLE`.
const PF_IDLE: u32 = 2;

/// `PF_EXITING`.
const PF_EXITING: u32 = 4;

/// `PF_KTHREAD`.
const PF_KTHREAD: u32 = 0x0020_0000;

/// `PF_NO_SETAFFINITY`.
const PF_NO_SETAFFINITY: u32 = 0x0400_0000;

/// The first of the kernel's priorities beyond the real-time ones.
const MAX_RT_PRIO: i32 = 100;

/// The nice value 0 among the kernel's priorities.
const DEFAULT_PRIO: i32 = 120;

impl Kernel {
    /// Writes the whole `task_struct` of a new task.
    pub(crate) fn mirror_new<W: World>(&mut self, world: &mut W, task: TaskId) {
        let t = &self.tasks[task];
        let at = t.ea;
        let mut comm = [0; 16];
        let name = self.comm(task);
        comm[..name.len()].copy_from_slice(name.as_bytes());
        let parent_ea = self.parent_of(task).map_or(self.task_base, |parent| self.tasks[parent].ea);
        let put = |world: &mut W, offset: u64, bytes: &[u8]| world.put(at.offset(offset), bytes);
        put(world, field::PID, &t.pid.0.to_le_bytes());
        put(world, field::COMM, &comm);
        put(world, field::REAL_PARENT, &parent_ea.0.to_le_bytes());
        put(world, field::CPUS_PTR, &at.offset(field::CPUS_MASK).0.to_le_bytes());
        put(world, field::SCX_TID, &(FIRST_TID + u64::from(task.0)).to_le_bytes());
        put(world, field::SCX_SLICE, &keel_abi::scx::SLICE_DFL_NS.to_le_bytes());
        self.sessions.write_pid(world, task, t.pid.0);
        put(world, field::THREAD_PID, &self.sessions.pid_of(task).0.to_le_bytes());
        for cred in [field::REAL_CRED, field::CRED] {
            put(world, cred, &self.sessions.cred.0.to_le_bytes());
        }
        if self.is_kthread(task) {
            let spec = t.spec.map(|spec| &self.workload.tasks[spec as usize]);
            let is_bound = spec.is_some_and(|spec| !spec.cpus.is_empty());
            let fixed = if is_bound { PF_NO_SETAFFINITY } else { 0 };
            put(world, field::FLAGS, &(PF_KTHREAD | fixed).to_le_bytes());
        }
        self.mirror_process(world, task);
        self.mirror_policy(world, task);
        self.mirror_cpus(world, task);
        self.mirror_cpu(world, task);
        self.mirror_flags(world, task);
        self.mirror_runnable_at(world, task);
    }

    /// Writes thread group and address space.
    pub(crate) fn mirror_process<W: World>(&self, world: &mut W, task: TaskId) {
        let at = self.tasks[task].ea;
        let leader = &self.tasks[self.leader_of(task)];
        world.put(at.offset(field::TGID), &leader.pid.0.to_le_bytes());
        world.put(at.offset(field::GROUP_LEADER), &leader.ea.0.to_le_bytes());
        world.put(at.offset(field::MM), &self.mm_ea(task).0.to_le_bytes());
    }

    /// Writes the idle tasks, one per CPU: `swapper/N`, pid 0.
    pub(crate) fn mirror_idle_tasks<W: World>(&self, world: &mut W) {
        for number in 0..self.cpus.len() as u32 {
            let at = self.idle_task_ea(keel_abi::CpuId(number));
            let name = format!("swapper/{number}");
            world.put(at.offset(field::COMM), name.as_bytes());
            world.put(at.offset(field::FLAGS), &PF_IDLE.to_le_bytes());
            world.put(at.offset(field::THREAD_INFO_CPU), &number.to_le_bytes());
            world.put(at.offset(field::CPUS_PTR), &at.offset(field::CPUS_MASK).0.to_le_bytes());
            world.put(at.offset(field::NR_CPUS_ALLOWED), &1u32.to_le_bytes());
            let root = &self.cgroups[crate::state::cgroup::Number::ROOT];
            world.put(at.offset(field::CGROUPS), &root.css_set.0.to_le_bytes());
            world.put(at.offset(field::SCHED_TASK_GROUP), &root.task_group.0.to_le_bytes());
            world.put(at.offset(field::SIGNAL), &self.sessions.idle_signal().0.to_le_bytes());
            world.put(at.offset(field::SCHED_CLASS), &SchedClass::Idle.address().to_le_bytes());
            world.put(at.offset(field::THREAD_PID), &self.sessions.all[0].pid.0.to_le_bytes());
            for cred in [field::REAL_CRED, field::CRED] {
                world.put(at.offset(cred), &self.sessions.cred.0.to_le_bytes());
            }
        }
    }

    pub(crate) fn mirror_nice<W: World>(&self, world: &mut W, task: TaskId) {
        let t = &self.tasks[task];
        let static_prio = DEFAULT_PRIO + i32::from(t.nice);
        let prio = |rt_priority: u8| match i32::from(rt_priority) {
            0 => static_prio,
            rt_priority => MAX_RT_PRIO - 1 - rt_priority,
        };
        let (prio, normal_prio) = (prio(t.rt_priority()), prio(t.policy.rt_priority()));
        if t.class == SchedClass::Ext {
            world.put(t.ea.offset(field::SCX_WEIGHT), &t.weight.to_le_bytes());
        }
        world.put(t.ea.offset(field::SCHED_CLASS), &t.class.address().to_le_bytes());
        world.put(t.ea.offset(field::STATIC_PRIO), &static_prio.to_le_bytes());
        world.put(t.ea.offset(field::PRIO), &prio.to_le_bytes());
        world.put(t.ea.offset(field::NORMAL_PRIO), &normal_prio.to_le_bytes());
    }

    pub(crate) fn mirror_cpus<W: World>(&self, world: &mut W, task: TaskId) {
        let t = &self.tasks[task];
        world.put(t.ea.offset(field::NR_CPUS_ALLOWED), &t.nr_allowed.to_le_bytes());
        world.put(t.ea.offset(field::CPUS_MASK), &[0; layout::cpumask::SIZE as usize]);
        write_mask(world, t.ea.offset(field::CPUS_MASK), t.cpus.words());
    }

    #[inline]
    pub(crate) fn mirror_cpu<W: World>(&self, world: &mut W, task: TaskId) {
        self.tasks[task].mirror_cpu(world);
    }

    /// `p->scx.flags`.
    #[inline(never)]
    pub(crate) fn mirror_flags<W: World>(&self, world: &mut W, task: TaskId) {
        self.tasks[task].mirror_flags(world);
    }

    /// Sets in `p->scx.flags` that the scheduler has the task.
    pub(crate) fn mirror_enabled<W: World>(&self, world: &mut W, task: TaskId) {
        let at = self.tasks[task].ea.offset(field::SCX_FLAGS);
        let flags = (world.u32_at(at) & ent::QUEUED) | ent::STATE_ENABLED;
        world.put(at, &flags.to_le_bytes());
    }

    /// Some bits of `p->scx.flags`.
    pub(crate) fn mirror_scx_bits<W: World>(&self, world: &mut W, task: TaskId, mask: u32, bits: u32) {
        let at = self.tasks[task].ea.offset(field::SCX_FLAGS);
        let flags = (world.u32_at(at) & !mask) | bits;
        world.put(at, &flags.to_le_bytes());
    }

    /// `PF_EXITING`.
    pub(crate) fn mirror_exiting<W: World>(&self, world: &mut W, task: TaskId) {
        let at = self.tasks[task].ea.offset(field::FLAGS);
        let flags = world.u32_at(at) | PF_EXITING;
        world.put(at, &flags.to_le_bytes());
    }

    #[inline]
    pub(crate) fn mirror_runnable_at<W: World>(&mut self, world: &mut W, task: TaskId) {
        let t = &self.tasks[task];
        let jiffies = self.jiffies.at(t.runnable_at + self.uptime);
        world.put(t.ea.offset(field::SCX_RUNNABLE_AT), &jiffies.to_le_bytes());
    }

    /// Writes that the task of a `task_struct` waits since now.
    #[inline(always)]
    pub(crate) fn mirror_waiting(&mut self, shown: &mut TaskStruct<'_>) {
        let now = Instant::from_ns(self.now.as_ns().wrapping_add(self.uptime.as_ns()));
        shown.set_u64(field::SCX_RUNNABLE_AT, self.jiffies.at(now));
    }

    #[inline]
    pub(crate) fn mirror_selected<W: World>(&self, world: &mut W, task: TaskId, answer: i32) {
        self.tasks[task].mirror_selected(world, answer);
    }

    /// Writes policy, priority and class as BPF sees them.
    pub(crate) fn mirror_policy<W: World>(&self, world: &mut W, task: TaskId) {
        use crate::state::layout::task as field;
        let t = &self.tasks[task];
        let rt_priority = u32::from(t.policy.rt_priority());
        world.put(t.ea.offset(field::POLICY), &t.policy.number().to_le_bytes());
        world.put(t.ea.offset(field::RT_PRIORITY), &rt_priority.to_le_bytes());
        self.mirror_nice(world, task);
    }
}

impl Task {
    #[inline]
    pub(crate) fn mirror_cpu<W: World>(&self, world: &mut W) {
        self.show_cpu(&mut TaskStruct::at(world, self.ea));
    }

    #[inline]
    pub(crate) fn show_cpu(&self, shown: &mut TaskStruct<'_>) {
        shown.set_u32(field::THREAD_INFO_CPU, self.cpu.0);
        shown.set_u32(field::WAKE_CPU, self.wake_cpu.0);
    }

    /// `p->scx.selected_cpu`: the return value of `ops.select_cpu()`, or of the kernel in its place, valid CPU or not.
    #[inline(always)]
    pub(crate) fn mirror_selected<W: World>(&self, world: &mut W, answer: i32) {
        world.put(self.ea.offset(field::SCX_SELECTED_CPU), &answer.to_le_bytes());
    }

    /// `p->scx.flags`. Inlined where a task blocks.
    #[inline(always)]
    pub(crate) fn mirror_flags<W: World>(&self, world: &mut W) {
        TaskStruct::at(world, self.ea).set_queued(self.queued);
    }

    /// `p->sched_info`: one of the scheduler's tasks gets its CPU (`sched_info_arrive()`). The kernel writes it right
    /// after `ops.running()`, keel right before.
    #[inline(always)]
    pub(crate) fn mirror_arrival(&self, shown: &mut TaskStruct<'_>) {
        let mut add = |field, more| shown.set_u64(field, shown.u64(field).wrapping_add(more));
        add(field::SCHED_INFO_PCOUNT, 1);
        // A branch, which keeps the compiler from adding both at once: that would take longer.
        if self.exec_start > self.runnable_at {
            add(field::SCHED_INFO_RUN_DELAY, self.exec_start.since(self.runnable_at).as_ns());
        }
    }
}
