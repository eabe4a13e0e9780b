//! A callback of the scheduler, or another program of its, from its start to its end: what it costs, and how it ends
//! where it is stopped.

use crate::sim::Sim;
use crate::state::cpu::{Callback, DirectSubject, Place};
use crate::state::cpus::BOOT_CPU;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, Engine, Entry, Fault, FaultKind, InvalidPlace, Progress, Usage};
use keel_abi::scx::{ExitKind, Op};
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Class, What};

/// How far a callback came that was begun or resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It has returned, failed, or the scheduler doesn't have it.
    Over,
    /// [`Frame::Resume`] is to be left on the stack.
    Suspended,
}

impl<E: Engine> Sim<E> {
    /// Starts a callback of the scheduler, if it has this one; the frame for what follows must
    /// have been pushed before. Without the callback, 0 counts as returned.
    pub(crate) fn start(&mut self, c: CpuId, op: Op, subject: TaskId, args: &[u64]) {
        if self.begin(c, op, subject, args) == Begun::Suspended {
            self.k.this_cpu().stack.push(Frame::Resume);
        }
    }

    /// Begins a callback, if the scheduler has it.
    #[inline(always)]
    pub(crate) fn begin(&mut self, c: CpuId, op: Op, subject: TaskId, args: &[u64]) -> Begun {
        match self.k.scx.entries[op as usize] {
            Some(entry) => match *args {
                // Most have as few; the words that are missing belong to nobody.
                [a] => self.enter(c, op, entry, subject, &[a, 0, 0]),
                [a, b] => self.enter(c, op, entry, subject, &[a, b, 0]),
                _ => self.enter(c, op, entry, subject, args),
            },
            None => {
                self.k.this_cpu().returned = 0;
                Begun::Over
            }
        }
    }

    fn enter(&mut self, c: CpuId, op: Op, entry: Entry, subject: TaskId, args: &[u64]) -> Begun {
        if self.k.scx.is_disabling() && self.k.has_left(subject) {
            self.k.this_cpu().returned = 0;
            return Begun::Over;
        }
        self.k.begin_callback(op, subject);
        let progress = self.vm.start(&mut self.k, c, entry, args);
        self.progressed(c, progress)
    }

    /// Starts a function that BPF handed over, on behalf of a timer.
    pub(crate) fn start_function(&mut self, c: CpuId, function: u64, args: [u64; 5]) {
        self.k.begin_callback(Op::Tick, TaskId::IDLE);
        self.k.this_cpu().callback.place = Place::Timer;
        let progress = self.vm.start_function(&mut self.k, c, function, args);
        if self.progressed(c, progress) == Begun::Suspended {
            self.k.this_cpu().stack.push(Frame::Resume);
        }
    }

    /// [`Frame::Resume`].
    pub(crate) fn resume(&mut self, c: CpuId) {
        let progress = self.vm.resume(&mut self.k, c);
        if self.progressed(c, progress) == Begun::Suspended {
            self.k.this_cpu().stack.push(Frame::Resume);
        }
    }

    /// Goes on with what has begun on the boot CPU until it is over, while nothing else happens.
    pub(crate) fn finish_alone(&mut self, mut begun: Begun) {
        while begun == Begun::Suspended {
            let progress = self.vm.resume(&mut self.k, BOOT_CPU);
            begun = self.progressed(BOOT_CPU, progress);
        }
    }

    #[inline(always)]
    pub(crate) fn progressed(&mut self, c: CpuId, progress: Progress) -> Begun {
        match progress {
            Progress::Done { value, usage } => {
                self.k.end_callback(c, usage);
                self.k.this_cpu().returned = value;
                Begun::Over
            }
            Progress::Suspended => {
                self.k.counters.suspensions += 1;
                Begun::Suspended
            }
            Progress::Failed { fault, usage } => {
                self.failed(c, &fault, usage);
                Begun::Over
            }
        }
    }

    #[cold]
    fn failed(&mut self, c: CpuId, fault: &Fault, usage: Usage) {
        let place = self.k.this_cpu().callback.place;
        self.k.end_callback(c, usage);
        self.k.this_cpu().returned = 0;
        match place {
            Place::Syscall => self.k.stop_program(fault),
            Place::Op | Place::Timer | Place::Trace => self.k.fault(c, fault),
        }
    }
}

impl Kernel {
    /// Is this a task that the scheduler that ends has already been disabled for, or was never given?
    #[inline]
    fn has_left(&self, task: TaskId) -> bool {
        !task.is_idle() && self.tasks[task].member == crate::state::task::Member::No
    }

    #[inline]
    pub(crate) fn begin_callback(&mut self, op: Op, subject: TaskId) {
        let entry_ns = self.machine.costs.callback_ns;
        let direct_subject = match op {
            Op::SelectCpu | Op::Enqueue => DirectSubject::Task(subject),
            _ => DirectSubject::None,
        };
        let cpu = self.this_cpu();
        cpu.settle_costs();
        let began = cpu.clock;
        if cpu.callback.in_progress {
            cpu.nest();
        }
        cpu.callback = Callback {
            in_progress: true,
            op,
            subject,
            began,
            charged_ps: entry_ns * 1000,
            direct_subject,
            reply: None,
            spin: None,
            res_spins: 0,
            place: Place::Op,
            call: 0,
        };
    }

    #[inline(always)]
    fn end_callback(&mut self, c: CpuId, usage: Usage) {
        let insn_ps = self.machine.policy_insn_ps();
        let is_told = self.out.wants(Class::COSTS);
        let cpu = self.this_cpu();
        debug_assert!(cpu.callback.in_progress, "the callback that ends has begun");
        if is_told
            || !cpu.callback.lets_others_past()
            || cpu.callback.place == Place::Syscall
            || !cpu.outer.is_empty()
        {
            return self.end_rarely(c, usage);
        }
        cpu.callback.in_progress = false;
        let took = cpu.end_callback(usage, insn_ps);
        self.count_callback(usage, took);
    }

    /// The end of a callback that others must be notified of, or that is nested in one.
    #[inline(never)]
    fn end_rarely(&mut self, c: CpuId, usage: Usage) {
        let insn_ps = self.machine.policy_insn_ps();
        let cpu = self.this_cpu();
        let Callback { op, subject, spin, res_spins, place, .. } = cpu.callback;
        let took = cpu.end_callback(usage, insn_ps);
        match cpu.outer.pop() {
            Some(outer) => cpu.callback = outer,
            None => cpu.callback.in_progress = false,
        }
        if res_spins > 0 {
            self.res_spin_drop(c, res_spins);
        }
        if place == Place::Syscall {
            // Nothing of the scheduler's time in the kernel.
            return;
        }
        self.count_callback(usage, took);
        if let Some(lock) = spin {
            self.still_locked(c, op, lock);
        }
        if res_spins > 0 {
            let op = op.name();
            self.error(c, format!("{res_spins} bpf_res_spin_lock still held when ops.{op} returns"));
        }
        if self.out.wants(Class::COSTS) {
            let insns = u32::try_from(usage.insns).unwrap_or(u32::MAX);
            self.tell(Class::COSTS, c, What::Callback { op, task: subject, took, insns });
        }
    }

    #[inline(always)]
    fn count_callback(&mut self, usage: Usage, took: Span) {
        self.counters.callbacks += 1;
        self.counters.insns += usage.insns;
        self.counters.callback_time += took;
    }

    #[cold]
    fn still_locked(&mut self, c: CpuId, op: Op, lock: Ea) {
        let at = self.moment();
        self.spins.release(lock, at);
        let op = op.name();
        self.error(c, format!("bpf_spin_lock at {:#x} is still held when ops.{op} returns", lock.0));
    }

    /// A program was stopped: that is the scheduler's failure.
    #[cold]
    fn fault(&mut self, c: CpuId, fault: &Fault) {
        match &fault.kind {
            FaultKind::NeverEnds => {
                let message = format!("soft lockup - CPU {} stuck in {}", c.0, place_of(fault));
                self.end_scheduler(c, ExitKind::Error, 0, message);
            }
            _ => self.error(c, why_stopped(fault)),
        }
    }
}

/// Where a program was stopped.
fn place_of(fault: &Fault) -> String {
    match &fault.source {
        Some(source) => format!("{} insn {} ({source})", fault.program, fault.insn),
        None => format!("{} insn {}", fault.program, fault.insn),
    }
}

/// What is where a program should not have gone.
fn place_name(what: InvalidPlace) -> &'static str {
    match what {
        InvalidPlace::Null => "by a null pointer",
        InvalidPlace::Freed => "in an object that was freed",
        InvalidPlace::Element => "in no key or value that its map holds",
        InvalidPlace::Arena => "in a page of the arena that is not allocated",
        InvalidPlace::ReadOnly => "in a read-only object",
        InvalidPlace::Stack => "below the stack frame of the function",
        InvalidPlace::Nowhere => "outside every live object",
    }
}

/// Why and where a program was stopped.
pub(crate) fn why_stopped(fault: &Fault) -> String {
    let place = place_of(fault);
    match &fault.kind {
        FaultKind::NeverEnds => format!("it never ends: stuck in {place}"),
        FaultKind::TooDeep => format!("the call stack is too deep in {place}"),
        FaultKind::Poisoned(missing) => format!("{missing}, needed by {place}"),
        FaultKind::OutOfBounds { at: Ea(at), len, write, place: what } => {
            let act = if *write { "write" } else { "read" };
            let bytes = if *len == 1 { "byte" } else { "bytes" };
            format!("{act} of {len} {bytes} at {at:#x}, {}, in {place}", place_name(*what))
        }
        FaultKind::BadInstruction => format!("invalid instruction in {place}"),
        FaultKind::BadCall(why) => format!("{why}, in {place}"),
    }
}
