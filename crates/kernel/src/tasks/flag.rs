//! Flags in memory that tasks spin on. A task that raises a flag that is up, or lowers one that is down, keeps its CPU
//! busy until another task has changed it, and then checks again: another task may have been faster. So a flag holds
//! one message, as in pipelines between neighbours in OpenMP programs. Spinning works as with
//! [barriers](crate::state::objects::barrier).

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::task::Doing;
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::task::ObjectId;
use keel_abi::{CpuId, Instant, TaskId};

impl<E: Engine> Sim<E> {
    /// The task raises or lowers a flag.
    pub(super) fn set_flag(&mut self, c: CpuId, task: TaskId, flag: ObjectId, up: bool) -> Then {
        let f = &mut self.k.objects.flags[flag.0 as usize];
        if f.is_up == up {
            f.spinners.push(task);
            let line_ps = self.k.lines.transfers().read_ps(&mut f.line, c);
            let t = &mut self.k.tasks[task];
            t.next_step -= 1;
            t.doing = Doing::Until(Instant::NEVER);
            self.k.charge_ps(c, line_ps);
            return Then::Leave;
        }
        f.is_up = up;
        let spinners = std::mem::take(&mut f.spinners);
        let line_ps = self.k.lines.transfers().write_ps(&mut f.line, c);
        // A flag is followed by a fence, which takes as long as an atomic instruction.
        let fence_ps = self.k.machine.costs.lock_acquire_ns * 1000;
        self.k.charge_ps(c, line_ps + fence_ps);
        self.k.this_cpu().stack.push(Frame::Act);
        for spinner in spinners {
            self.k.end_spinning(c, spinner);
        }
        Then::Leave
    }
}
