//! How a callback or another program of the scheduler begins and ends: what it costs, and what happens if it is
//! stopped.

use crate::state::bpf::spin::SpinPlace;
use crate::state::callback::{Callback, Caller, Place};
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, Fault, FaultKind, InvalidPlace, Usage};
use keel_abi::clocks::Sync;
use keel_abi::scx::{ExitKind, Op};
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Class, What};

impl Kernel {
    /// Returns whether the exiting scheduler no longer has the task, or never had it, so that no callback is made for
    /// it.
    #[inline(never)]
    pub(crate) fn has_left(&self, task: TaskId) -> bool {
        !task.is_idle() && self.tasks[task].member == crate::state::task::Member::No
    }

    /// Begins a callback that is a plain one.
    #[inline(always)]
    pub(crate) fn begin_plain_callback(&mut self, op: Op, subject: TaskId) {
        debug_assert!(!self.scx.is_disabling(), "the calls of a scheduler that has ended are watched");
        debug_assert!(self.clocks.is_none(), "calls are watched if their order is recorded");
        let entry_ps = self.entry_ps;
        let cpu = &mut *self.cpus.this_cpu;
        cpu.settle_costs();
        cpu.begin_plain(op, subject, entry_ps);
    }

    /// Begins a callback of any kind.
    #[inline(never)]
    pub(crate) fn begin_callback(&mut self, op: Op, subject: TaskId) {
        let entry_ps = self.entry_ps;
        let cpu = self.this_cpu();
        cpu.settle_costs();
        match cpu.callback.is_in_progress() {
            false => cpu.begin_callback(op, subject, entry_ps),
            true => cpu.nest_callback(op, subject, entry_ps),
        }
    }

    /// Begins a program that is none of the scheduler's callbacks. `Op::Tick` stands for 'no callback'; `place` says
    /// what it is.
    pub(crate) fn begin_program(&mut self, place: Place) {
        self.begin_callback(Op::Tick, TaskId::IDLE);
        self.this_cpu().begins_from(place);
    }

    /// The callback ends with this value and usage.
    #[inline(always)]
    pub(crate) fn end_callback(&mut self, value: u64, usage: Usage) {
        let insn_ps = self.insn_ps;
        let cpu = &mut *self.cpus.this_cpu;
        debug_assert!(cpu.callback.is_in_progress(), "the callback that ends has begun");
        debug_assert!(cpu.has_right_marks());
        cpu.returned = value;
        if !cpu.callback.is_plain() {
            return self.end_rarely(usage, true);
        }
        cpu.rest();
        let end = cpu.callback_ends_at(usage, insn_ps);
        debug_assert!(cpu.clock <= end, "calls only take time");
        cpu.clock = end;
        let took = cpu.callback_took();
        self.count_callback(usage, took);
        if self.out.wants(Class::COSTS) {
            let Callback { caller, subject, .. } = self.cpus.this_cpu.callback;
            self.emit_callback(caller.op, subject, took, usage);
        }
    }

    /// The callback was stopped. That it still holds locks is no fault of its own, and would hide why it was stopped.
    #[cold]
    pub(crate) fn end_stopped_callback(&mut self, usage: Usage) {
        let cpu = &mut *self.cpus.this_cpu;
        if cpu.callback.is_plain() {
            return self.end_callback(0, usage);
        }
        cpu.returned = 0;
        self.end_rarely(usage, false);
    }

    /// The end of a callback that is not a plain one. If it `returns`, it must hold no locks.
    #[inline(never)]
    fn end_rarely(&mut self, usage: Usage, returns: bool) {
        let c = self.cpus.this_id();
        if self.clocks.is_some() {
            self.callback_ends(c);
        }
        let insn_ps = self.insn_ps;
        let cpu = self.this_cpu();
        let Callback { caller: Caller { op, place, .. }, subject, res_spins, .. } = cpu.callback;
        let spin = cpu.callback.spin();
        let end = cpu.callback_ends_at(usage, insn_ps);
        cpu.clock = cpu.clock.max(end);
        let took = cpu.callback_took();
        cpu.leave_callback();
        if res_spins > 0 {
            self.res_spin_drop(c, res_spins);
        }
        if place == Place::Syscall {
            // A syscall does not count as the scheduler's time in the kernel.
            return;
        }
        self.count_callback(usage, took);
        if let Some((lock, place)) = spin {
            self.release_spin(c, (lock, place));
            if returns {
                let op = op.name();
                self.error(c, format!("bpf_spin_lock at {:#x} is still held when ops.{op} returns", lock.0));
            }
        }
        if returns && res_spins > 0 {
            let op = op.name();
            self.error(c, format!("{res_spins} bpf_res_spin_lock still held when ops.{op} returns"));
        }
        if self.out.wants(Class::COSTS) {
            self.emit_callback(op, subject, took, usage);
        }
    }

    #[inline(never)]
    fn emit_callback(&mut self, op: Op, task: TaskId, took: Span, usage: Usage) {
        let c = self.cpus.this_id();
        let insns = u32::try_from(usage.insns).unwrap_or(u32::MAX);
        self.tell(Class::COSTS, c, What::Callback { op, task, took, insns });
    }

    #[inline(always)]
    fn count_callback(&mut self, usage: Usage, took: Span) {
        self.counters.callbacks += 1;
        self.counters.insns += usage.insns;
        self.counters.callback_time.accumulate(took);
    }

    #[cold]
    fn release_spin(&mut self, c: CpuId, (lock, place): (Ea, SpinPlace)) {
        let at = self.moment();
        self.spins.at(place).release(at);
        self.sync_released(c, Sync::Spin(lock.0));
    }

    /// A program was stopped: the scheduler fails.
    #[cold]
    pub(crate) fn fault(&mut self, c: CpuId, fault: &Fault) {
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

/// What lies at an address that a program should not have accessed.
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
