//! Migration-disabled sections (`migrate_disable()` to `migrate_enable()`), in which a task may not leave its CPU.
//!
//! At the first `schedule()` within a section, the mask that BPF sees is reduced to the task's CPU. At the end of the
//! section it is restored. `ops.set_cpumask` is called both times (`migrate_disable_switch()`, `___migrate_enable()`).

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Leaves a migration-disabled section. If it is the outermost one and the task was scheduled within it, its mask
    /// has to be restored first; this then returns true.
    pub(crate) fn migrate_enable(&mut self, task: TaskId) -> bool {
        let t = &self.k.tasks[task];
        if t.migration_disabled == 1 && t.is_pinned {
            let over = Frame::SectionOver { task };
            self.k.this_cpu().stack.extend([Frame::Act, over, Frame::Pin { task, is_pinned: false }]);
            return true;
        }
        match t.migration_disabled {
            0 => {}
            1 => self.k.end_section(self.vm.world(), task),
            _ => {
                self.k.task(task).migration_disabled -= 1;
                self.k.mirror_migration(self.vm.world(), task);
            }
        }
        false
    }

    /// Runs [`Frame::SectionOver`]: pushes the task away if it may no longer stay on its CPU.
    pub(crate) fn section_over(&mut self, c: CpuId, task: TaskId) {
        if !self.k.tasks[task].allows(c) {
            if !self.k.lock_rq(c, c) {
                return self.k.this_cpu().stack.push(Frame::SectionOver { task });
            }
            self.k.this_cpu().stack.push(Frame::PushAway { task });
        }
        self.k.end_section(self.vm.world(), task);
    }

    /// Runs [`Frame::Pinned`]: changes the mask, and notifies the scheduler.
    pub(crate) fn pinned(&mut self, c: CpuId, task: TaskId, is_pinned: bool) {
        let mask = self.k.set_pinned(self.vm.world(), task, is_pinned);
        let ea = self.k.tasks[task].ea;
        let cpus = self.k.cpus_argument(self.vm.world(), c, mask);
        self.start_if_ext(c, keel_abi::scx::Op::SetCpumask, task, &[ea.0, cpus]);
    }
}
