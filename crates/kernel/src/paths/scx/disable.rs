//! Disables a scheduler: `scx_root_disable()`.
//!
//! The kernel schedules in bypass mode. Every cgroup and every task leaves the scheduler, runnable tasks for the fair
//! class; then `ops.exit` is called. That ends the run, unless the scheduler's user-space half reloads it.

use crate::paths::sim::Sim;
use crate::state::class::{SchedClass, Takes};
use crate::state::frame::Frame;
use crate::state::frame::cgroup::CgroupFrame;
use crate::state::layout;
use crate::state::scx::Phase;
use crate::state::task::Member;
use keel_abi::bpf::{Ea, Engine, World};
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Begins when the scheduler has failed or asked to exit: its pending work on this CPU is completed, and then every
    /// cgroup and every task leaves it.
    pub(crate) fn begin_disable(&mut self) {
        self.k.scx.phase = Phase::Disabling;
        self.k.post_end(false);
        self.k.scx.takes = Takes::Nobody;
        let cgroups = Frame::Cgroup(CgroupFrame::Disable { place: 0 });
        self.k.this_cpu().stack.extend([Frame::DisableTask { task: TaskId(0) }, cgroups]);
        if self.k.scx.bypassed_since.is_none() {
            self.k.this_cpu().stack.push(Frame::Bypass { cpu: CpuId(0), on: true });
        }
    }

    /// Runs [`Frame::DisableTask`]: takes the next task out of the scheduler's class, with `ops.disable` and
    /// `ops.exit_task`.
    pub(crate) fn disable_task(&mut self, c: CpuId, task: TaskId) {
        if task.index() >= self.k.tasks.len() {
            return self.k.this_cpu().stack.push(Frame::DisableExit);
        }
        let next = Frame::DisableTask { task: TaskId(task.0 + 1) };
        let is_ext = self.k.tasks[task].class == SchedClass::Ext;
        if self.k.is_dead(task) || self.k.tasks[task].member == Member::No && !is_ext {
            return self.k.this_cpu().stack.push(next);
        }
        let Some(rq) = self.lock_task(c, task, Frame::DisableTask { task }) else { return };
        self.k.this_cpu().stack.push(next);
        if self.k.tasks[task].class == SchedClass::Ext {
            let policy = self.k.tasks[task].policy;
            return self.leave_ext(c, task, policy);
        }
        self.k.this_cpu().stack.extend([Frame::Unlock { rq }, Frame::ReapExit { task }]);
    }

    /// Runs [`Frame::DisableMember`].
    pub(crate) fn disable_member(&mut self, c: CpuId, task: TaskId) {
        if self.k.tasks[task].member == Member::Enabled {
            let ea = self.k.tasks[task].ea;
            self.start(c, Op::Disable, task, &[ea.0]);
        }
    }

    /// Runs [`Frame::DisableExit`]: calls `ops.exit` with the kernel's report.
    pub(crate) fn disable_exit(&mut self, c: CpuId) {
        let exit = self.k.exit.clone().expect("a scheduler is disabled because it ended");
        let at = self.k.scx.scratch;
        let (reason_at, message_at, dump_at) = (at.offset(256), at.offset(512), at.offset(4088));
        let world = self.vm.world();
        put_text(world, reason_at, exit.kind.reason(), 255);
        put_text(world, message_at, &exit.message, 1023);
        world.put(at.offset(layout::exit_info::KIND), &(exit.kind as u32).to_le_bytes());
        world.put(at.offset(layout::exit_info::EXIT_CODE), &exit.code.to_le_bytes());
        world.put(at.offset(layout::exit_info::EXIT_CPU), &exit.cpu.0.to_le_bytes());
        world.put(at.offset(layout::exit_info::REASON), &reason_at.0.to_le_bytes());
        world.put(at.offset(layout::exit_info::MSG), &message_at.0.to_le_bytes());
        world.put(at.offset(layout::exit_info::DUMP), &dump_at.0.to_le_bytes());
        self.k.this_cpu().stack.push(Frame::Disabled);
        self.start(c, Op::Exit, TaskId::IDLE, &[at.0]);
    }

    /// Runs [`Frame::Disabled`].
    pub(crate) fn disabled(&mut self, c: CpuId) {
        self.k.scx.mark_gone();
        self.k.let_halt();
        if self.k.comes_again() {
            self.k.forget_scheduler(c);
        } else {
            self.k.count_bypass();
        }
    }
}

/// Writes a NUL-terminated string of at most `most` bytes.
fn put_text<W: World>(world: &mut W, at: Ea, text: &str, most: usize) {
    let mut bytes = text.as_bytes()[..text.len().min(most)].to_vec();
    bytes.push(0);
    world.put(at, &bytes);
}
