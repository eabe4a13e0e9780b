//! Processes: which tasks share an address space, which are whose children, and which wait for a child.
//!
//! Threads of a process share its address space and thread group. A child belongs to the task that spawned it; it is a
//! zombie from its exit until that task has waited for it.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::layout::TASK_STRIDE;
use crate::state::objects::pages::On;
use crate::state::objects::process::Member;
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::scx::wake;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    pub(super) fn exec(&mut self, c: CpuId, task: TaskId) -> Then {
        self.syscall(c);
        let exec_ns = self.k.machine.costs.exec_ns;
        self.k.charge_ns(c, exec_ns);
        let mm = self.k.replace_pages(c, task);
        let ea = self.k.tasks[task].ea;
        let member = &mut self.k.objects.processes.members[task.index()];
        member.mm = Some(mm);
        member.spaces = member.spaces.wrapping_add(1);
        member.mm_ea = ea.offset(8 * u64::from(member.spaces) % TASK_STRIDE);
        self.k.mirror_process(self.vm.world(), task);
        self.k.this_cpu().stack.push(Frame::Act);
        self.exec_elsewhere(c, task);
        Then::Leave
    }

    pub(super) fn write_pages(&mut self, c: CpuId, task: TaskId, pages: u32) -> Then {
        let k = &mut self.k;
        if let Some(mm) = k.objects.processes.members[task.index()].mm {
            let from = std::mem::take(&mut k.tasks[task].written);
            let on = On::new(&k.machine, &k.lines, &k.bus, c);
            let (ps, next) = k.objects.memory.write(mm, from..pages, on);
            k.charge_ps(c, ps);
            if next < pages {
                // This step is repeated.
                let t = k.task(task);
                t.written = next;
                t.next_step -= 1;
            }
        }
        Then::Act
    }

    pub(super) fn wait_child(&mut self, c: CpuId, task: TaskId) -> Then {
        let member = &mut self.k.objects.processes.members[task.index()];
        if member.zombies == 0 && member.children > 0 {
            member.waits = true;
            self.k.task(task).next_step -= 1;
            return self.block(c, task);
        }
        let reaps = member.zombies > 0;
        member.zombies = member.zombies.saturating_sub(1);
        self.syscall(c);
        if reaps {
            let wait_ns = self.k.machine.costs.wait_ns;
            self.k.charge_ns(c, wait_ns);
            let mut zombie = std::mem::take(&mut self.k.objects.processes.members[task.index()].zombie);
            self.k.touch_task(c, &mut zombie);
        }
        Then::Act
    }

    /// `exit_mm()` and `exit_notify()`: a waiting parent is woken, synchronously.
    pub(super) fn leave_process(&mut self, c: CpuId, task: TaskId) {
        self.k.leave_pages(c, task);
        let Member { parent, is_child, mut line, .. } = self.k.objects.processes.members[task.index()];
        if !is_child {
            return;
        }
        self.k.touch_task(c, &mut line);
        let parent_member = &mut self.k.objects.processes.members[parent.index()];
        parent_member.zombie = line;
        parent_member.children -= 1;
        parent_member.zombies += 1;
        if std::mem::take(&mut parent_member.waits) {
            let flags = wake::TTWU | wake::SYNC;
            self.k.this_cpu().stack.push(Frame::Wake { task: parent, flags, waker: task });
        }
    }
}
