//! A callback or another program of the scheduler, from start to end.

use crate::paths::sim::Sim;
use crate::state::callback::Place;
use crate::state::cpus::BOOT_CPU;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{AtOnce, Engine, Fault, Progress, Usage};
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

/// How far a callback got after it was begun or resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It has returned, failed, or the scheduler doesn't have it.
    Over,
    /// [`Frame::Resume`] must be left on the stack.
    Suspended,
}

impl<E: Engine> Sim<E> {
    /// Starts a callback of the scheduler, if it has this one. The frame for the next step must
    /// have been pushed before. Without the callback, the result is 0.
    pub(crate) fn start(&mut self, c: CpuId, op: Op, subject: TaskId, args: &[u64]) {
        let begun = self.begin(c, op, subject, args);
        self.leave_if_suspended(begun);
    }

    /// Begins a callback, if the scheduler has it.
    #[inline(always)]
    pub(crate) fn begin(&mut self, c: CpuId, op: Op, subject: TaskId, args: &[u64]) -> Begun {
        if !self.k.has(op) {
            return self.skips_callback();
        }
        self.begin_known(c, op, subject, args)
    }

    /// Begins a callback that the scheduler has.
    #[inline(always)]
    pub(crate) fn begin_known(&mut self, c: CpuId, op: Op, subject: TaskId, args: &[u64]) -> Begun {
        debug_assert_eq!(c, self.k.cpus.this_id(), "the CPU that takes a step makes the call");
        debug_assert!(self.k.has(op));
        match *args {
            // Most callbacks take at most two arguments; the remaining words are unused.
            [a] => self.enter(op, subject, a, 0, 0),
            [a, b] => self.enter(op, subject, a, b, 0),
            [a, b, d] => self.enter(op, subject, a, b, d),
            _ => self.enter_long(op, subject, args),
        }
    }

    /// Leaves a suspended callback for the loop.
    #[inline(always)]
    pub(crate) fn leave_if_suspended(&mut self, begun: Begun) {
        if begun == Begun::Suspended {
            self.k.this_cpu().stack.push(Frame::Resume);
        }
    }

    /// The scheduler is not called: the result is 0.
    #[inline(always)]
    pub(crate) fn skips_callback(&mut self) -> Begun {
        self.k.this_cpu().returned = 0;
        Begun::Over
    }

    /// The scheduler has the callback. As many arguments as nearly all callbacks have, so that nothing asks how many.
    /// They come in registers, so this looks up the rest itself.
    #[inline(never)]
    fn enter(&mut self, op: Op, subject: TaskId, a: u64, b: u64, d: u64) -> Begun {
        let entry = self.k.scx.entries.of(op);
        if self.k.cpus.this_cpu.callback.may_begin_plainly() {
            let c = self.k.cpus.this_id();
            let begins = |k: &mut Kernel| k.begin_plain_callback(op, subject);
            match self.vm.start_at_once(&mut self.k, c, entry, [a, b, d], begins) {
                AtOnce::Done { value, usage } => {
                    self.k.end_callback(value, usage);
                    return Begun::Over;
                }
                AtOnce::Suspended => return self.suspended_at_once(),
                AtOnce::Failed => return self.failed_at_once(),
                AtOnce::Refused => {}
            }
        }
        self.enter_rarely(op, subject, a, b, d)
    }

    #[inline(always)]
    fn suspended(&mut self) -> Begun {
        self.k.counters.suspensions += 1;
        Begun::Suspended
    }

    #[inline(never)]
    fn suspended_at_once(&mut self) -> Begun {
        self.vm.put_aside();
        self.suspended()
    }

    #[cold]
    #[inline(never)]
    fn failed_at_once(&mut self) -> Begun {
        let (fault, usage) = self.vm.failed();
        self.failed(&fault, usage);
        self.settled(Begun::Over)
    }

    /// Puts what the end of an unusual callback has cost on the clock, as that of others does, unless CPUs take turns:
    /// then they look at it.
    fn settled(&mut self, begun: Begun) -> Begun {
        let cpu = self.k.this_cpu();
        if begun == Begun::Over && !cpu.pauses.takes_turns() {
            cpu.settle_costs();
        }
        begun
    }

    /// A callback that is not a plain one, or that the engine can't start at once.
    #[cold]
    #[inline(never)]
    fn enter_rarely(&mut self, op: Op, subject: TaskId, a: u64, b: u64, d: u64) -> Begun {
        self.enter_long(op, subject, &[a, b, d])
    }

    /// A callback of any kind.
    #[inline(never)]
    fn enter_long(&mut self, op: Op, subject: TaskId, args: &[u64]) -> Begun {
        let c = self.k.cpus.this_id();
        let Some(entry) = self.k.scx.entries.get(op) else { return self.skips_callback() };
        if self.k.scx.is_disabling() && self.k.has_left(subject) {
            let begun = self.skips_callback();
            return self.settled(begun);
        }
        self.k.begin_callback(op, subject);
        if self.k.clocks.is_some() {
            self.k.callback_begins(c, op, subject);
        }
        let progress = self.vm.start(&mut self.k, c, entry, args);
        let begun = self.progressed(progress);
        self.settled(begun)
    }

    /// Starts a function that BPF handed over, on behalf of a timer.
    pub(crate) fn start_function(&mut self, c: CpuId, function: u64, args: [u64; 5]) {
        self.k.begin_program(Place::Timer);
        let progress = self.vm.start_function(&mut self.k, c, function, args);
        let begun = self.progressed(progress);
        self.leave_if_suspended(begun);
    }

    /// [`Frame::Resume`].
    pub(crate) fn resume(&mut self, c: CpuId) {
        let begun = self.go_on_with_callback(c);
        self.leave_if_suspended(begun);
    }

    /// Continues the innermost callback of a CPU.
    #[inline(never)]
    fn go_on_with_callback(&mut self, c: CpuId) -> Begun {
        let progress = self.vm.resume(&mut self.k, c);
        self.progressed(progress)
    }

    /// Continues a callback on the boot CPU until it is over, while nothing else happens.
    pub(crate) fn finish_alone(&mut self, mut begun: Begun) {
        while begun == Begun::Suspended {
            begun = self.go_on_with_callback(BOOT_CPU);
        }
    }

    #[inline(always)]
    pub(crate) fn progressed(&mut self, progress: Progress) -> Begun {
        match progress {
            Progress::Done { value, usage } => {
                self.k.end_callback(value, usage);
                Begun::Over
            }
            Progress::Suspended => self.suspended(),
            Progress::Failed { fault, usage } => {
                self.failed(&fault, usage);
                Begun::Over
            }
        }
    }

    #[cold]
    fn failed(&mut self, fault: &Fault, usage: Usage) {
        let c = self.k.cpus.this_id();
        let callback = &mut self.k.this_cpu().callback;
        callback.reply = None;
        let place = callback.caller.place;
        self.k.end_stopped_callback(usage);
        // Its last call may have been made after the moment at which it failed: time does not go back.
        let now = self.k.now;
        let cpu = self.k.this_cpu();
        cpu.clock = cpu.clock.max(now);
        match place {
            Place::Syscall => self.k.stop_program(fault),
            Place::Op | Place::Timer | Place::Trace => self.k.fault(c, fault),
        }
    }
}
