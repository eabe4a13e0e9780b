//! Migration-disabled sections (`migrate_disable()` to `migrate_enable()`), in which a task may not leave its CPU:
//! their state, and what BPF sees of them.

use crate::state::kernel::Kernel;
use crate::state::layout;
use crate::state::layout::task as field;
use keel_abi::bpf::World;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Enters a migration-disabled section. Sections nest.
    pub(crate) fn migrate_disable<W: World>(&mut self, world: &mut W, task: TaskId) {
        self.scx.needs_slow_path = true;
        let t = self.task(task);
        let (cpu, is_first) = (t.cpu, t.migration_disabled == 0);
        t.migration_disabled = t.migration_disabled.saturating_add(1);
        if is_first {
            self.cpu(cpu).nr_pinned += 1;
        }
        self.mirror_migration(world, task);
    }

    /// Leaves the outermost section.
    pub(crate) fn end_section<W: World>(&mut self, world: &mut W, task: TaskId) {
        let t = self.task(task);
        t.migration_disabled = 0;
        let cpu = t.cpu;
        self.cpu(cpu).nr_pinned -= 1;
        self.mirror_migration(world, task);
    }

    /// Ends the section of a task that dies within it, so that the task does not keep its CPU from going offline.
    #[cold]
    pub(crate) fn drop_section<W: World>(&mut self, world: &mut W, task: TaskId) {
        if self.tasks[task].migration_disabled > 0 {
            self.end_section(world, task);
        }
    }

    /// Writes the count for BPF. A BPF program runs in its own migration-disabled section, so the task on its CPU shows
    /// one more.
    pub(crate) fn mirror_migration<W: World>(&self, world: &mut W, task: TaskId) {
        let t = &self.tasks[task];
        let own = u16::from(t.on_cpu && t.migration_disabled > 0);
        let shown = t.migration_disabled.saturating_add(own);
        world.put(t.ea.offset(field::MIGRATION_DISABLED), &shown.to_le_bytes());
    }

    /// Writes a task's migration-disabled count for BPF when it gets or loses a CPU.
    #[cold]
    pub(crate) fn mirror_section<W: World>(&self, world: &mut W, task: TaskId) {
        if !task.is_idle() && self.tasks[task].migration_disabled > 0 {
            self.mirror_migration(world, task);
        }
    }

    /// Returns whether the task's mask has to be reduced to its CPU before it is scheduled.
    #[inline]
    pub(crate) fn is_to_be_pinned(&self, task: TaskId) -> bool {
        if !self.scx.needs_slow_path {
            return false;
        }
        std::hint::cold_path();
        !task.is_idle() && self.tasks[task].migration_disabled > 0 && !self.tasks[task].is_pinned
    }

    /// Returns the address of a mask of one CPU (`cpumask_of()`).
    fn mask_of<W: World>(&mut self, world: &mut W, cpu: CpuId) -> u64 {
        if self.single_masks.is_null() {
            let bytes = layout::cpumask::SIZE * self.cpus.len() as u64;
            self.single_masks = world.reserve(bytes).unwrap_or_default();
        }
        let at = self.single_masks.offset(layout::cpumask::SIZE * u64::from(cpu.0));
        let word = at.offset(u64::from(cpu.0 / 64) * 8);
        if let Some(bytes) = world.slice_mut(word, 8) {
            bytes.copy_from_slice(&(1u64 << (cpu.0 % 64)).to_le_bytes());
        }
        at.0
    }

    /// Points the mask that BPF sees to the task's CPU, or back to the task's own mask. Returns the mask's address.
    pub(crate) fn set_pinned<W: World>(&mut self, world: &mut W, task: TaskId, is_pinned: bool) -> u64 {
        let (cpu, ea) = (self.tasks[task].cpu, self.tasks[task].ea);
        let mask = match is_pinned {
            true => self.mask_of(world, cpu),
            false => ea.offset(field::CPUS_MASK).0,
        };
        self.task(task).is_pinned = is_pinned;
        world.put(ea.offset(field::CPUS_PTR), &mask.to_le_bytes());
        mask
    }
}
