//! The points of the kernel that tracing programs can be attached to.
//!
//! A program is never called if the simulated kernel never reaches its point.

use keel_abi::bpf::{Ea, Entry};

/// A point that can be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// `trace_sched_switch()`: `__schedule()`, with the runqueue locked.
    SchedSwitch,
    /// `scx_tick()`, on every CPU that ticks.
    ScxTick,
    /// `bpf_scx_reg()`: a scheduler is about to be enabled.
    ScxReg,
    /// `trace_task_rename()`: no task here changes its name.
    TaskRename,
    /// `trace_cgroup_attach_task()`: a thread or a process has moved.
    CgroupAttachTask,
    /// `trace_irq_handler_entry()` and similar points, and `trace_cpu_idle()`: here, interrupts and idle states only
    /// take time.
    Interrupts,
    /// `trace_cgroup_mkdir()`: a cgroup can be found from now on.
    CgroupMkdir,
    /// `trace_cgroup_rmdir()`: it can no longer be found, and is about to go offline.
    CgroupRmdir,
    /// `cpuset_write_resmask()`: cpusets never change.
    CpusetWrite,
}

/// The points by name, as in libbpf's sections.
pub(crate) const NAMES: [(&str, Point); 13] = [
    ("tp_btf/sched_switch", Point::SchedSwitch),
    ("fentry/scx_tick", Point::ScxTick),
    ("fentry/bpf_scx_reg", Point::ScxReg),
    ("tp_btf/task_rename", Point::TaskRename),
    ("tp_btf/cgroup_attach_task", Point::CgroupAttachTask),
    ("tp_btf/irq_handler_entry", Point::Interrupts),
    ("tp_btf/irq_handler_exit", Point::Interrupts),
    ("tp_btf/softirq_entry", Point::Interrupts),
    ("tp_btf/softirq_exit", Point::Interrupts),
    ("tp_btf/cpu_idle", Point::Interrupts),
    ("tp_btf/cgroup_mkdir", Point::CgroupMkdir),
    ("tp_btf/cgroup_rmdir", Point::CgroupRmdir),
    ("fentry/cpuset_write_resmask", Point::CpusetWrite),
];

/// The attached programs of each point, in the order in which they were attached.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) by_point: [Vec<Entry>; NAMES.len()],
    /// The address at which programs find a cgroup's path (`trace_cgroup_path`), once one has been called.
    pub(crate) path_at: Option<Ea>,
}

impl Hooks {
    /// Returns whether a program is attached to the point.
    #[inline]
    pub(crate) fn traces(&self, point: Point) -> bool {
        !self.by_point[point as usize].is_empty()
    }

    pub(crate) fn nth(&self, point: Point, nth: u32) -> Option<Entry> {
        self.by_point[point as usize].get(nth as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::NAMES;
    use crate::state::layout::KERNEL_BTF;
    use keel_object::Btf;

    #[test]
    fn a_place_is_among_the_kernels_types() {
        let kernel = Btf::parse(KERNEL_BTF).unwrap();
        for (place, _) in NAMES {
            let is_there = match place.split_once('/') {
                Some(("tp_btf", event)) => {
                    let wanted = format!("btf_trace_{event}");
                    kernel.types().any(|(id, _)| kernel.name(id) == wanted)
                }
                Some((_, function)) => kernel.functions().any(|known| known.name == function),
                None => false,
            };
            assert!(is_there, "{place}");
        }
    }
}
