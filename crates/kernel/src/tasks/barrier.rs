//! Barriers: a task that arrives waits until all have arrived, blocked or busy.
//!
//! A task spins in user mode, and needs no events while it does. The last task to arrive ends that: a running spinner
//! sees it as soon as the barrier's cache line has reached its CPU, and a preempted one when it next has a CPU. As with
//! libgomp (`gomp_barrier_wait_end()`), a task that has lost patience is blocked in a futex, and a barrier with limited
//! patience is left with a system call, whether or not any task is blocked. Approximate: all spinners fetch the line at
//! the same time.

use crate::paths::sim::Sim;
use crate::state::frame::{Frame, wake_of};
use crate::state::kernel::Kernel;
use crate::state::objects::barrier::Comer;
use crate::state::task::Doing;
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::task::ObjectId;
use keel_abi::{CpuId, Instant, Span, TaskId};

impl<E: Engine> Sim<E> {
    pub(super) fn come_to_barrier(&mut self, c: CpuId, task: TaskId, barrier: ObjectId) -> Then {
        let b = &mut self.k.objects.barriers[barrier.0 as usize];
        if !b.is_complete() {
            b.come.push(Comer { task, spins: false });
            return self.block(c, task);
        }
        self.syscall(c);
        self.open_barrier(c, task, barrier);
        Then::Leave
    }

    pub(super) fn come_to_spin_barrier(
        &mut self,
        c: CpuId,
        task: TaskId,
        barrier: ObjectId,
        patience: Option<Span>,
    ) -> Then {
        let b = &mut self.k.objects.barriers[barrier.0 as usize];
        if let Some(comer) = b.come.iter_mut().rfind(|comer| patience.is_some() && comer.task == task) {
            // The step is repeated: the task's patience is over.
            comer.spins = false;
            return self.block(c, task);
        }
        let line_ps = self.k.lines.transfers().write_ps(&mut b.line, c);
        let atomic_ps = self.k.machine.costs.lock_acquire_ns * 1000;
        if !b.is_complete() {
            b.come.push(Comer { task, spins: true });
            let t = &mut self.k.tasks[task];
            t.next_step -= 1;
            t.doing = patience.map_or(Doing::Until(Instant::NEVER), Doing::Work);
            self.k.charge_ps(c, line_ps + atomic_ps);
            return Then::Leave;
        }
        self.k.charge_ps(c, line_ps + atomic_ps);
        if patience.is_some() {
            self.syscall(c);
        }
        self.open_barrier(c, task, barrier);
        Then::Leave
    }

    /// The last one has arrived: all continue.
    fn open_barrier(&mut self, c: CpuId, task: TaskId, barrier: ObjectId) {
        self.k.this_cpu().stack.push(Frame::Act);
        let come = std::mem::take(&mut self.k.objects.barriers[barrier.0 as usize].come);
        for comer in come.into_iter().rev() {
            if comer.spins {
                self.k.task(comer.task).next_step += 1;
                self.k.end_spinning(c, comer.task);
            } else {
                self.k.this_cpu().stack.push(wake_of(comer.task, task));
            }
        }
    }
}

impl Kernel {
    /// `c` has written the line on which a task spins. The task takes its next step when its CPU has got the line, or
    /// when it next has a CPU.
    pub(super) fn end_spinning(&mut self, c: CpuId, task: TaskId) {
        let target = self.tasks[task].cpu;
        let line_ps = self.lines.transfers().between_ps(c, target);
        let me = self.this_cpu();
        let seen = me.clock + Span::from_ns((me.spent_ps + line_ps) / 1000);
        self.task(task).doing = Doing::Until(seen);
        let cpu = &self.cpus[target];
        if cpu.curr == task && cpu.in_user {
            self.work_ends(target, seen);
        }
    }
}
