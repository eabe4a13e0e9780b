//! Helpers and kfuncs: the functions of the kernel that a scheduler can call.
//!
//! A call that touches what other CPUs can touch is a boundary: before it is served, every other CPU does everything
//! that it has to do earlier in virtual time. Each call costs its price in [`crate::state::cost`], plus the cache lines
//! and locks that it touches.

pub(crate) mod arena;
pub(crate) mod cgroup;
pub(crate) mod cid;
pub(crate) mod cpu;
pub(crate) mod cpumask;
pub(crate) mod dynptr;
mod events;
mod frequent;
pub(crate) mod idle_masks;
pub(crate) mod iter;
pub(crate) mod maps;
pub(crate) mod memory;
pub(crate) mod object;
pub(crate) mod print;
pub(crate) mod queue;
pub(crate) mod res_spin;
pub(crate) mod ring;
mod serve;
pub(crate) mod spin;
pub(crate) mod task;
pub(crate) mod timer;
pub(crate) mod unattached;

pub use crate::state::bpf::functions::helper;
pub use crate::state::bpf::functions::kfunc;
pub use crate::state::bpf::functions::served;

use crate::state::bpf::functions::{F, Terms};
use crate::state::callback::{Callback, Caller, Place};
use crate::state::cpu::{Cpu, after_ps};
use crate::state::event::Source;
use crate::state::kernel::Kernel;
use crate::state::scx::Phase;
use crate::state::scx::cids::NOWHERE;
use keel_abi::bpf::{CallSite, FaultKind, Frequent, FuncId, Host, Meter, NoValue, Reply, Usage, World};
use keel_abi::clocks::Clocks;
use keel_abi::order::{NO_CALL, Order, Point, Step};
use keel_abi::scx::Op;
use keel_abi::{CpuId, Instant, Span};

/// The outcome of serving a function.
pub(crate) enum Served {
    /// R0.
    Value(u64),
    /// The call must be made again once the CPU's clock has moved on by this many nanoseconds.
    Later(u64),
    /// The program may not do that. Boxed, so that the outcome fits in two registers.
    Forbidden(Box<FaultKind>),
}

impl Served {
    #[cold]
    fn forbidden(why: String) -> Self {
        Self::Forbidden(Box::new(FaultKind::BadCall(why)))
    }
}

impl From<u64> for Served {
    fn from(value: u64) -> Self {
        Self::Value(value)
    }
}

impl<W: World> Host<W> for Kernel {
    /// A call of any kind.
    #[inline(never)]
    fn call(&mut self, site: CallSite<'_, W>, func: FuncId, args: &[u64; 5]) -> Reply {
        let c = site.cpu;
        self.cpus.this_cpu.callback.set_waits_otherwise(false);
        let mut at = self.callback_comes_to(site.usage);
        if self.order.is_some() {
            match self.comes_in_order(c, func, at, site.again, site.number) {
                Some(later) => at = later,
                None => return self.suspends_otherwise(),
            }
        }
        let Some(terms) = self.terms.get(func.0 as usize) else { return not_served(func) };
        let cpu = &mut *self.cpus.this_cpu;
        let callback = &mut cpu.callback;
        let (f, op) = (terms.f, callback.caller.op);
        if terms.is_boundary(op) {
            // Under a BPF spin lock no other CPU runs first, so the current moment stays behind: the others have not
            // reached this CPU's clock.
            let is_free = callback.lets_others_past() || f.is_res_spin_lock() && !callback.holds_spin();
            if is_free && !site.again && !self.queue.would_come_first(c, at) {
                return self.suspends_otherwise();
            }
            if site.again
                && let Some(value) = callback.reply.take()
            {
                return Reply::Value(value);
            }
            if is_free {
                self.now = self.now.max(at);
            }
            if let Some(order) = &mut self.order {
                follow(order.as_mut(), Step { at, cpu: c, op, call: site.number });
            }
        }
        if !terms.allows(op, callback.caller.place) {
            return self.misplaced(func);
        }
        cpu.spent_ps += terms.cost_ps;
        if callback.caller.place == Place::Syscall
            && self.scx.phase == Phase::Loaded
            && let Some(nothing) = unattached::answer(f)
        {
            if f == F::CidTopo {
                cid::show_topo(site.world, args, NOWHERE);
            }
            return self.reply(nothing.into());
        }
        callback.caller.call = site.number;
        let was_over = self.exit.is_some();
        let served = serve::serves(f)(self, site.world, c, f, args);
        if self.exit.is_some() && !was_over {
            self.blame_call();
        }
        self.reply(served)
    }

    /// A call of a usual callback that neither waits for its turn nor is forbidden: what `call` does, with what is
    /// known of it. Inlined into its caller, so that nothing of a call goes through memory.
    #[inline(always)]
    fn call_at_once(&mut self, site: CallSite<'_, W>, func: FuncId, args: &[u64; 5]) -> Result<u64, NoValue> {
        self.serve_at_once(
            site,
            func,
            #[inline(always)]
            |terms, op| terms.is_boundary(op),
            #[inline(always)]
            |k, w, c, f| serve::serves(f)(k, w, c, f, args),
        )
    }

    /// A call of a plain callback that was only suspended to let others go first. All other questions were asked then.
    #[inline(always)]
    fn call_again(&mut self, site: CallSite<'_, W>, func: FuncId, args: &[u64; 5]) -> Result<u64, NoValue> {
        let Some(terms) = self.terms.get(func.0 as usize) else { return Err(NoValue::Rare) };
        let cpu = &mut *self.cpus.this_cpu;
        if !cpu.callback.is_plain() {
            return Err(NoValue::Rare);
        }
        debug_assert!(
            terms.allows_callback(cpu.callback.caller.op) && terms.is_boundary(cpu.callback.caller.op)
        );
        let (f, at) = (terms.f, cpu.callback.asked_at);
        cpu.clock = at;
        cpu.callback.caller.call = site.number;
        cpu.spent_ps += terms.cost_ps;
        debug_assert_eq!(self.callback_comes_to(site.usage), at, "a suspended callback stays where it is");
        self.now = self.now.max(at);
        let served = serve::serves(f)(self, site.world, site.cpu, f, args);
        self.value_of(served)
    }

    #[inline(always)]
    fn call_frequent(
        &mut self,
        site: CallSite<'_, W>,
        which: Frequent,
        args: &[u64; 5],
        is_settled: bool,
    ) -> Result<u64, NoValue> {
        self.serve_frequent(site, which, args, is_settled)
    }

    #[inline(always)]
    fn call_in_turn(
        &mut self,
        site: CallSite<'_, W>,
        which: Frequent,
        args: &[u64; 5],
    ) -> Result<u64, NoValue> {
        self.serve_in_turn(site, which, args)
    }

    fn turn(&mut self, cpu: CpuId, usage: Usage, again: bool) -> Option<Instant> {
        let mut at = self.callback_comes_to(usage);
        if self.order.is_some() {
            let later = self.ordered(cpu, at, NO_CALL);
            if later > at && again {
                return None;
            }
            at = later;
        }
        // Under a BPF spin lock no other CPU runs first, as in a call.
        let is_free = self.cpus.this_cpu.callback.lets_others_past();
        if is_free && !again && !self.queue.would_come_first(cpu, at) {
            return None;
        }
        if let Some(order) = &mut self.order {
            let op = self.cpus.this_cpu.callback.caller.op;
            follow(order.as_mut(), Step { at, cpu, op, call: NO_CALL });
        }
        if !is_free {
            return Some(at);
        }
        self.now = self.now.max(at);
        Some(at)
    }

    #[inline]
    fn take_spent_ps(&mut self) -> Option<u64> {
        let cpu = &mut self.cpus.this_cpu;
        // An `ops.dequeue` that is owed runs before the first call returns.
        (!cpu.pauses.owes_dequeue()).then(|| std::mem::take(&mut cpu.spent_ps))
    }

    #[inline]
    fn give_spent_ps(&mut self, ps: u64) {
        self.cpus.this_cpu.spent_ps += ps;
    }

    fn clock(&mut self, usage: Usage) -> Instant {
        // No run lasts so long that this overflows.
        Instant::from_ns(self.callback_is_at(usage).as_ns().wrapping_add(self.uptime.as_ns()))
    }

    fn meter(&self) -> Meter {
        let callback = &self.cpus.this_cpu.callback;
        Meter { origin: callback.caller.origin(), charged_ps: callback.charged_ps }
    }

    fn clocks(&mut self) -> Option<&mut Clocks> {
        self.clocks.as_deref_mut()
    }
}

impl Kernel {
    /// Serves a call of a usual callback that neither waits for its turn nor is forbidden. Otherwise does nothing and
    /// returns nothing.
    #[inline(always)]
    fn serve_at_once<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        func: FuncId,
        is_boundary: impl Fn(&Terms, Op) -> bool,
        serves: impl FnOnce(&mut Self, &mut W, CpuId, F) -> Served,
    ) -> Result<u64, NoValue> {
        let CallSite { world, cpu: c, usage, number, .. } = site;
        let at = self.callback_comes_to(usage);
        let Some(terms) = self.terms.get(func.0 as usize) else { return Err(NoValue::Rare) };
        let cpu = &mut *self.cpus.this_cpu;
        let callback = &mut cpu.callback;
        if callback.is_plain() && terms.allows_callback(callback.caller.op) {
            if is_boundary(terms, callback.caller.op) {
                if !self.queue.is_before_all(at) {
                    return Err(self.not_first(at));
                }
                self.now = self.now.max(at);
            }
        } else if !passes_nobody(callback, terms) {
            return Err(NoValue::Rare);
        }
        callback.caller.call = number;
        cpu.spent_ps += terms.cost_ps;
        let f = terms.f;
        let served = serves(self, world, c, f);
        self.value_of(served)
    }

    /// Why a call has no value yet whose callback has reached `at`: it is not before everything that is due.
    #[inline(always)]
    fn not_first(&mut self, at: Instant) -> NoValue {
        match self.queue.is_after_first(at) {
            true => {
                self.cpus.this_cpu.callback.asked_at = at;
                NoValue::Suspend
            }
            // Who comes first in a tie, or while the queue is barred, takes a while to find out.
            false => NoValue::Rare,
        }
    }

    /// The callback is suspended, and its call has to be looked at again.
    #[cold]
    #[inline(never)]
    fn suspends_otherwise(&mut self) -> Reply {
        self.cpus.this_cpu.callback.set_waits_otherwise(true);
        Reply::Suspend
    }
}

/// Returns whether a usual callback may call the function, and no other CPU goes first: none can tell when it is
/// served, or the callback holds a BPF lock.
#[inline]
fn passes_nobody(callback: &Callback, terms: &Terms) -> bool {
    let op = callback.caller.op;
    let holds_lock = !callback.lets_others_past() && !terms.f.is_res_spin_lock();
    let is_now = !terms.is_boundary(op) || holds_lock;
    callback.is_usual() && terms.allows_callback(op) && is_now
}

#[cold]
#[inline(never)]
fn not_served(func: FuncId) -> Reply {
    Reply::Stop(Box::new(FaultKind::BadCall(format!("function {} is not served", func.0))))
}

/// Most runs have no order, so this is kept out of their way.
#[cold]
#[inline(never)]
fn follow(order: &mut dyn Order, step: Step) {
    order.passes(step);
}

impl Kernel {
    /// The current call has ended the scheduler.
    #[cold]
    #[inline(never)]
    fn blame_call(&mut self) {
        self.blame(Some(self.cpus.this_cpu.callback.caller));
    }

    /// The moment that the CPU's callback has reached with this usage.
    #[inline(always)]
    fn callback_is_at(&self, usage: Usage) -> Instant {
        let callback = &self.cpus.this_cpu.callback;
        let used_ps = usage.insns * self.insn_ps + usage.stall_ps + callback.charged_ps;
        after_ps(callback.began, used_ps)
    }

    /// Sets the CPU's clock to that moment.
    #[inline(always)]
    fn callback_comes_to(&mut self, usage: Usage) -> Instant {
        let at = self.callback_is_at(usage);
        self.cpus.this_cpu.clock = at;
        at
    }

    /// When a callback that has reached `at` makes its call in a run that has an order. Nothing if it lets others pass
    /// first.
    #[cold]
    #[inline(never)]
    fn comes_in_order(
        &mut self,
        c: CpuId,
        func: FuncId,
        at: Instant,
        again: bool,
        call: u32,
    ) -> Option<Instant> {
        let op = self.cpus.this_cpu.callback.caller.op;
        if !self.terms.get(func.0 as usize).is_some_and(|terms| terms.is_boundary(op)) {
            return Some(at);
        }
        let later = self.ordered(c, at, call);
        (later == at || !again).then_some(later)
    }

    /// A function that may not be called from here.
    #[cold]
    #[inline(never)]
    fn misplaced(&self, func: FuncId) -> Reply {
        let terms = &self.terms[func.0 as usize];
        let callback = &self.cpus.this_cpu.callback;
        let why = match terms.is_for_cpus() && self.scx.speaks_cids() {
            true => format!("{}() may not be called by a sched_ext_ops_cid", terms.f.name()),
            false => {
                let from = Caller { op: callback.caller.op, place: callback.caller.place, call: 0 }.words();
                format!("{}() may not be called from {from}", terms.f.name())
            }
        };
        Reply::Stop(Box::new(FaultKind::BadCall(why)))
    }

    /// When a callback that has reached `at` continues: later if the run's order makes it let others pass.
    #[cold]
    #[inline(never)]
    fn ordered(&mut self, c: CpuId, at: Instant, call: u32) -> Instant {
        let (callback, queue) = (&mut self.cpus.this_cpu.callback, &self.queue);
        let lets_pass = callback.lets_others_past() && callback.reply.is_none();
        let (Some(order), Some((other_at, source))) = (&mut self.order, queue.peek_source()) else {
            return at;
        };
        // A CPU that is due earlier goes first anyway.
        if !lets_pass || other_at < at || other_at > at + order.window() {
            return at;
        }
        self.counters.order_points += 1;
        let other = match source {
            Source::Cpu(other) => Some(other),
            Source::Timer(_) => None,
        };
        if !order.holds(Point { at, cpu: c, op: callback.caller.op, call, other, other_at }) {
            return at;
        }
        let held = order.window() + Span::from_ns(1);
        callback.charged_ps += held.as_ns() * 1000;
        self.cpus.this_cpu.clock = at + held;
        at + held
    }

    /// The time since boot, as the kernel's clocks show it on this CPU.
    #[inline(always)]
    fn shown_clock(&self) -> Instant {
        self.cpus.this_cpu.clock + self.uptime
    }

    /// Charges the callback for the call, then replies.
    fn reply(&mut self, served: Served) -> Reply {
        self.charge_call();
        match self.outcome(served) {
            Ok(value) => Reply::Value(value),
            Err(NoValue::Stop(why)) => Reply::Stop(why),
            Err(NoValue::Rare | NoValue::Suspend) => Reply::Suspend,
        }
    }

    /// Charges the usual callback for the call, and returns its value.
    #[inline(always)]
    fn value_of(&mut self, served: Served) -> Result<u64, NoValue> {
        if self.charge_call().pauses.hold_up_calls() {
            self.blame_ended();
            return self.outcome(served);
        }
        match served {
            Served::Value(value) => Ok(value),
            _ => Err(self.no_value(served)),
        }
    }

    #[inline(always)]
    fn charge_call(&mut self) -> &mut Cpu {
        let cpu = self.this_cpu();
        cpu.callback.charged_ps += std::mem::take(&mut cpu.spent_ps);
        cpu
    }

    /// The current call of a usual callback may have ended the scheduler.
    #[cold]
    #[inline(never)]
    fn blame_ended(&mut self) {
        if self.exit.is_some() {
            self.blame_call();
        }
    }

    /// The value of a call that was charged.
    #[inline(always)]
    fn outcome(&mut self, served: Served) -> Result<u64, NoValue> {
        match served {
            Served::Value(value) if !self.cpus.this_cpu.pauses.owes_dequeue() => Ok(value),
            _ => Err(self.no_value(served)),
        }
    }

    #[cold]
    #[inline(never)]
    fn no_value(&mut self, served: Served) -> NoValue {
        let cpu = self.this_cpu();
        match served {
            Served::Value(value) => {
                // `ops.dequeue` is owed: it runs before the call returns.
                cpu.callback.set_waits_otherwise(true);
                cpu.callback.reply = Some(value);
                NoValue::Suspend
            }
            Served::Later(ns) => {
                cpu.callback.set_waits_otherwise(true);
                cpu.callback.charged_ps += ns * 1000;
                cpu.clock += Span::from_ns(ns);
                NoValue::Suspend
            }
            Served::Forbidden(why) => NoValue::Stop(why),
        }
    }
}
