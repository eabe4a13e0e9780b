//! Companions: tasks that exist before the scheduler is attached, and whose programs use its maps.
//!
//! A companion is in the system call that attaches the scheduler until the scheduler is enabled; then it is woken, and
//! scheduled like any other task.

use crate::paths::sim::Sim;
use crate::state::companion::{companion_pid, task_of};
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use crate::state::objects::process::Birth;
use crate::state::scx::events::ScxEvent;
use crate::state::setup::ProgramFailure;
use crate::state::task::{Doing, State};
use crate::tasks::Then;
use keel_abi::bpf::Engine;
use keel_abi::companion::Act;
use keel_abi::task::Step;
use keel_abi::{CpuId, Instant, Span, TaskId};

/// The step of a companion that says which CPUs it has confined itself to.
const CONFINES: u32 = 1;

impl<E: Engine> Sim<E> {
    /// Creates the companions' tasks, right after the first task; they wait for the scheduler.
    pub(crate) fn make_companions(&mut self) {
        let first = self.k.workload.tasks.len() - self.companions.len();
        for number in 0..self.companions.len() as u32 {
            let spec = first as u32 + number;
            let task = self.k.make_task(self.vm.world(), Some(spec), CpuId(0), TaskId::IDLE, Birth::Start);
            debug_assert_eq!((task, self.k.tasks[task].pid), (task_of(number), companion_pid(number)));
            self.k.task(task).state = State::Blocked;
        }
    }

    /// [`Step::Accompany`].
    pub(super) fn accompany(&mut self, c: CpuId, task: TaskId, number: u32) -> Then {
        // The same step again.
        self.k.task(task).next_step -= 1;
        let now = self.k.this_cpu().clock;
        let k = &self.k;
        let idle = &mut k.machine.topology.iter().map(|cpu| (k.cpus[cpu].online, k.idle_time(cpu, now)));
        let companion = &mut self.companions[number as usize].companion;
        companion.see_cpus(idle);
        companion.see_events(&mut ScxEvent::NAMES.into_iter().zip(self.k.scx_events()));
        let act = companion.go_on(self.vm.world(), c, now, k);
        if companion.asks() {
            self.k.again.ask();
            self.k.let_halt();
        }
        match act {
            Act::Work { insns, stall_ps } => {
                let ps = insns * self.k.machine.costs.insn_ps + stall_ps;
                self.k.task(task).doing = Doing::Work(Span::from_ns(ps.div_ceil(1000)));
                Then::Leave
            }
            Act::Call { helper, stall_ps } => {
                let ps = self.k.companion_call_ps(helper) + stall_ps;
                self.k.charge_ps(c, ps);
                self.call_and_act(c)
            }
            Act::Run { function, context } => {
                if self.k.scx.is_disabling() && !self.is_between() {
                    self.companions[number as usize].companion.ran(self.vm.world(), None);
                    return self.call_and_act(c);
                }
                self.k.this_cpu().stack.push(Frame::CompanionRan { number });
                self.start_for_companion(c, function, context);
                Then::Leave
            }
            Act::Print(line) => {
                self.k.print(c, line);
                self.call_and_act(c)
            }
            Act::Yield => {
                self.syscall(c);
                self.k.this_cpu().stack.push(Frame::Yield);
                Then::Leave
            }
            Act::Confine(cpus) => {
                let step = self.k.steps.replace(&self.k.tasks[task], CONFINES, Step::Affinity(cpus));
                if !self.k.would_confine(task, step) {
                    return self.call_and_act(c);
                }
                self.syscall(c);
                self.k.this_cpu().stack.extend([Frame::Act, Frame::SetCpus { task, step }]);
                Then::Leave
            }
            Act::Sleep(span) => self.sleep_until(c, task, now + span, keel_trace::Timer::Relative),
            Act::Fail(why) => {
                self.k.companion_failed(task, why);
                self.give_up_cpu(c, task)
            }
        }
    }

    /// [`Frame::CompanionRan`]: the companion continues after its system call.
    pub(crate) fn companion_ran(&mut self, c: CpuId, number: u32) {
        let value = self.k.this_cpu().returned;
        self.companions[number as usize].companion.ran(self.vm.world(), Some(value));
        self.call_and_act(c);
    }

    fn call_and_act(&mut self, c: CpuId) -> Then {
        self.syscall(c);
        Then::Act
    }
}

impl Kernel {
    /// How long a CPU has been idle until `now`.
    fn idle_time(&self, cpu: CpuId, now: Instant) -> Span {
        let cpu = &self.cpus[cpu];
        cpu.idle.total(cpu.is_idle(), now)
    }

    /// The cost of the map operation itself, besides the system call.
    fn companion_call_ps(&self, helper: &str) -> u64 {
        let words = (self.cpus.len() as u64).div_ceil(64);
        crate::state::cost::kfunc::price(helper).over(words) * self.machine.costs.insn_ps
    }

    fn companion_failed(&mut self, task: TaskId, why: String) {
        let program = format!("{} (a companion)", self.name_of(task));
        self.let_halt();
        self.failed_program.get_or_insert(ProgramFailure { program, why });
    }
}
