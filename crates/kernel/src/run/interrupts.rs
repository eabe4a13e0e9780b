//! Interrupts that a CPU takes: one from its inbox per step, in order.

use crate::paths::sim::Sim;
use crate::state::cpu::Irq;
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use crate::state::frame::rt::RtFrame;
use crate::state::objects::process::Birth;
use crate::state::scx::Phase;
use keel_abi::bpf::Engine;
use keel_abi::scx::wake;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// [`Frame::Interrupt`]: takes the first interrupt that is pending on `c`.
    pub(crate) fn take_interrupt(&mut self, c: CpuId) {
        let Some(irq) = self.k.this_cpu().errands.next_irq() else { return };
        match irq {
            Irq::Sleeper(task, sleep) => {
                let frame = Frame::WakeSleeper { task, sleep };
                self.go(frame, |sim| _ = sim.wake_sleeper(c, task, sleep));
            }
            Irq::Wakeup { task, waker } => self.complete_wakeup(c, task, waker),
            // A fork waits while a scheduler is being enabled (`scx_fork_rwsem`).
            Irq::Start(start) if self.k.scx.phase == Phase::Enabling => self.k.waiting_starts.push(start),
            Irq::Start(start) => {
                let spec = self.k.spec_of_start(start);
                let child = TaskId(self.k.tasks.len() as u32);
                self.fork(c, spec, TaskId::IDLE, Birth::Start);
                self.k.emit_begins(c, child, start);
            }
            Irq::BpfTimer(timer) => self.k.this_cpu().stack.push(Frame::RunBpfTimer { timer }),
            Irq::Program(program) => self.k.this_cpu().stack.push(Frame::RunProgram { program }),
            Irq::Server(cpu, class) => self.k.server_fires(c, cpu, class),
            Irq::RtPeriod => self.begin_rt_period(c),
            Irq::Watchdog => self.watchdog(c),
            Irq::Happening { entry, nth } => self.k.this_cpu().stack.push(Frame::Happen { entry, nth }),
            Irq::Stop(task) => self.k.this_cpu().stack.push(Frame::StopTask { task }),
            Irq::PushRt => self.k.this_cpu().stack.push(Frame::Rt(RtFrame::Asked)),
            Irq::PushFair => self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Push)),
            Irq::Budget(timer) => self.budget_timer(c, timer),
            Irq::Unthrottle(slot) => {
                self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Unthrottle { slot }))
            }
            Irq::Nohz => self.begin_nohz(c),
            Irq::Offline => self.k.this_cpu().stack.push(Frame::Offline),
            Irq::Online => self.k.this_cpu().stack.push(Frame::Hotplug { online: true }),
            Irq::Device => self.k.serve_device(c),
            Irq::Attach => self.k.this_cpu().stack.push(Frame::Attach),
        }
    }

    /// [`Frame::WakeSleeper`].
    pub(crate) fn wake_sleeper(&mut self, c: CpuId, task: TaskId, sleep: u32) -> bool {
        self.k.tasks[task].sleeps == sleep && self.wake(c, task, wake::TTWU, TaskId::IDLE)
    }
}
