//! Calls of the functions that programs call most often ([`Frequent`]), where they are usual: what `call` does, with
//! what is known of the function and of the callback.
//!
//! The simple ones call hardly anything that isn't inlined, so an engine's entry for one of them has no frame of its
//! own. Until a call is known to be usual, it has changed nothing. Nor does it set the CPU's clock then, unless the
//! callback waits: the next call, or the end of the callback, sets it, and nobody looks at it before.

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::cpu::after_ps;
use crate::state::kernel::Kernel;
use crate::state::layout::dsq_insert_vtime_args::{DSQ_ID, ENQ_FLAGS, SLICE, VTIME};
use crate::state::layout::task as field;
use crate::state::task::Direct;
use keel_abi::bpf::{CallSite, Ea, Frequent, FuncId, NoValue, World};
use keel_abi::lines::whole_ns;
use keel_abi::scx::{Op, enq, ops_flags};
use keel_abi::{CpuId, DsqId, Instant, Span};

/// The value of a call, or why there is none yet.
type Answer = Result<u64, NoValue>;

/// Something about a call is rare. Not by `ok_or`: what that doesn't use it drops, by a call.
const RARE: Answer = Err(NoValue::Rare);

impl Kernel {
    #[inline(always)]
    pub(super) fn serve_frequent<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        which: Frequent,
        a: &[u64; 5],
        is_settled: bool,
    ) -> Answer {
        match which {
            Frequent::MapLookup => self.look_up_at_once(site, [Ea(a[0]), Ea(a[1])], is_settled),
            Frequent::SpinLock => self.spin_lock_at_once(site, Ea(a[0]), is_settled),
            Frequent::SpinUnlock => self.spin_unlock_at_once(site, Ea(a[0]), is_settled),
            Frequent::DsqInsert => {
                let insert = [a[1], a[2], a[3]];
                self.insert_at_once(site, F::DsqInsert, Ea(a[0]), |_| Some((insert, None)), is_settled)
            }
            Frequent::DsqInsertVtime => self.insert_vtime_at_once(site, [Ea(a[0]), Ea(a[1])], is_settled),
            Frequent::TaskSetSlice => {
                let place = (Ea(a[0]), field::SCX_SLICE);
                self.write_task_at_once(site, F::TaskSetSlice, place, a[1], is_settled)
            }
            Frequent::TaskSetVtime => {
                let place = (Ea(a[0]), field::SCX_DSQ_VTIME);
                self.write_task_at_once(site, F::TaskSetVtime, place, a[1], is_settled)
            }
            Frequent::TaskCpu => self.answer_at_once(
                site,
                F::TaskCpu,
                #[inline(always)]
                |k| Some(u64::from(k.task_and_state_at(Ea(a[0]))?.1.cpu.0)),
                is_settled,
            ),
            Frequent::TaskFromPid => self.answer_at_once(
                site,
                F::TaskFromPid,
                #[inline(always)]
                |k| Some(k.task_from_pid(a[0] as i32).0),
                is_settled,
            ),
            Frequent::TaskRelease => self.release_task_at_once(site, is_settled),
            _ => RARE,
        }
    }

    /// A call of which only the function is known.
    #[inline(always)]
    pub(super) fn serve_in_turn<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        which: Frequent,
        a: &[u64; 5],
    ) -> Answer {
        let f = function(which);
        self.serve_at_once(
            site,
            FuncId(f as u32),
            #[inline(always)]
            |_, op| f.is_boundary(op),
            #[inline(always)]
            |k, w, c, _| k.serve_known(w, c, which, a),
        )
    }

    /// Serves any call of the function.
    #[inline(always)]
    pub(super) fn serve_known<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        which: Frequent,
        a: &[u64; 5],
    ) -> Served {
        match which {
            Frequent::MapLookup => self.map_lookup(w, c, a),
            Frequent::SpinLock => self.spin_lock(w, c, Ea(a[0])),
            Frequent::SpinUnlock => self.spin_unlock(w, c, Ea(a[0])),
            Frequent::SelectCpuDfl => self.select_dfl(w, c, a),
            Frequent::DsqInsert => {
                u64::from(self.dsq_insert(w, c, a[0], DsqId(a[1]), a[2], None, a[3])).into()
            }
            Frequent::DsqInsertVtime => u64::from(self.dsq_insert_vtime(w, c, a[0], Ea(a[1]))).into(),
            Frequent::DsqMoveToLocalV1 => self.move_to_local(w, c, DsqId(a[0]), 0),
            Frequent::DsqMoveToLocal => self.move_to_local(w, c, DsqId(a[0]), a[1]),
            Frequent::TaskSetSlice => self.write_task(w, Ea(a[0]), a[1], field::SCX_SLICE),
            Frequent::TaskSetVtime => self.write_task(w, Ea(a[0]), a[1], field::SCX_DSQ_VTIME),
            Frequent::TaskCpu => self.task_cpu(a[0]),
            Frequent::TaskFromPid => self.task_from_pid(a[0] as i32).0.into(),
            // References to tasks are not counted.
            Frequent::TaskRelease => 0.into(),
            Frequent::KickCpu => self.kick_cpu(c, a[0], a[1]).into(),
        }
    }

    #[inline(always)]
    fn look_up_at_once<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        [map, key]: [Ea; 2],
        is_settled: bool,
    ) -> Answer {
        self.is_answered_at_once(is_settled)?;
        let at = self.callback_is_at(site.usage);
        // Under a lock no other CPU runs first.
        let is_locked = self.cpus.this_cpu.callback.only_holds_spin();
        if !is_locked {
            self.comes_first_at_once(at)?;
        }
        let Some(value) = site.world.map_lookup_at_once(map, key, site.cpu) else { return RARE };
        if !is_locked {
            self.now = self.now.max(at);
        }
        let price_ps = self.price_at_once(F::MapLookup, is_settled);
        self.pays_at_once(site.number, price_ps, is_settled);
        Ok(value.0)
    }

    #[inline(always)]
    fn spin_lock_at_once<W: World>(&mut self, site: CallSite<'_, W>, lock: Ea, is_settled: bool) -> Answer {
        self.is_answered_at_once(is_settled)?;
        let asked = self.callback_is_at(site.usage);
        self.comes_first_at_once(asked)?;
        if self.waits.is_some() {
            return RARE;
        }
        let price_ps = self.price_at_once(F::SpinLock, is_settled);
        let cpu = &mut *self.cpus.this_cpu;
        let Some(place) = self.spins.near_place(lock) else { return RARE };
        let Some(taken) = self.spins.get(place) else { return RARE };
        let at = after_ps(asked, price_ps);
        if !taken.is_free_for_anyone(at) {
            return RARE;
        }
        let Some(line_ps) = site.world.touch_lock_at_once(lock, site.cpu) else { return RARE };
        let took_ns = self.machine.costs.lock_acquire_ns + whole_ns(line_ps);
        taken.takes(site.cpu, at + Span::from_ns(took_ns));
        cpu.takes_spin(lock, place);
        self.now = self.now.max(asked);
        self.pays_at_once(site.number, price_ps + took_ns * 1000, is_settled);
        Ok(0)
    }

    #[inline(always)]
    fn spin_unlock_at_once<W: World>(&mut self, site: CallSite<'_, W>, lock: Ea, is_settled: bool) -> Answer {
        self.is_answered_at_once(is_settled)?;
        let at = self.callback_is_at(site.usage);
        let price_ps = self.price_at_once(F::SpinUnlock, is_settled);
        let cpu = &mut *self.cpus.this_cpu;
        if !cpu.callback.only_holds_spin() {
            return RARE;
        }
        let (held, place) = cpu.callback.held_spin();
        // Nothing has run on another CPU since it took the lock, so it still has the line, unless it evicted that
        // itself.
        if held != lock || self.lines.transfers().is_crowded() {
            return RARE;
        }
        debug_assert_eq!(site.world.touch_lock_ps(lock, site.cpu), 0, "nobody takes its line away");
        let Some(taken) = self.spins.get(place) else { return RARE };
        taken.releases(after_ps(at, price_ps));
        cpu.releases_spin();
        self.pays_at_once(site.number, price_ps, is_settled);
        Ok(0)
    }

    /// A plain callback's call of a function that only answers, if it has an answer at once.
    #[inline(always)]
    fn answer_at_once<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        f: F,
        answer: impl FnOnce(&Self) -> Option<u64>,
        is_settled: bool,
    ) -> Answer {
        self.is_answered_at_once(is_settled)?;
        if !self.may_call(f) {
            return RARE;
        }
        let at = self.callback_is_at(site.usage);
        self.comes_first_at_once(at)?;
        let Some(value) = answer(self) else { return RARE };
        self.now = self.now.max(at);
        let price_ps = self.price_at_once(f, is_settled);
        self.pays_at_once(site.number, price_ps, is_settled);
        Ok(value)
    }

    /// A usual callback's release of a task: references to tasks are not counted.
    #[inline(always)]
    fn release_task_at_once<W: World>(&mut self, site: CallSite<'_, W>, is_settled: bool) -> Answer {
        self.is_answered_at_once(is_settled)?;
        if !self.may_call(F::TaskRelease) {
            return RARE;
        }
        let price_ps = self.price_at_once(F::TaskRelease, is_settled);
        self.pays_at_once(site.number, price_ps, is_settled);
        Ok(0)
    }

    /// A usual callback's write to a field of a `task_struct`, which no other CPU can observe before its next call.
    #[inline(always)]
    fn write_task_at_once<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        f: F,
        (task, field): (Ea, u64),
        value: u64,
        is_settled: bool,
    ) -> Answer {
        self.is_answered_at_once(is_settled)?;
        if !self.may_call(f) || self.task_at(task).is_none() {
            return RARE;
        }
        if !site.world.put_words_at_once(task.offset(field), [value]) {
            return RARE;
        }
        let price_ps = self.price_at_once(f, is_settled);
        self.pays_at_once(site.number, price_ps, is_settled);
        Ok(1)
    }

    /// As `insert_at_once`, with what comes after the task in memory.
    #[inline(always)]
    fn insert_vtime_at_once<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        [task, args]: [Ea; 2],
        is_settled: bool,
    ) -> Answer {
        const { assert!(DSQ_ID == 0 && SLICE == 8 && VTIME == 16 && ENQ_FLAGS == 24) };
        self.insert_at_once(
            site,
            F::DsqInsertVtime,
            task,
            #[inline(always)]
            |w| {
                let [id, slice_ns, vtime, enq_flags] = w.words_at_once(args)?;
                Some(([id, slice_ns, enq_flags], Some(vtime)))
            },
            is_settled,
        )
    }

    /// A plain callback's first insert of its own task, which is only noted: its queue, slice and flags, and its vtime.
    #[inline(always)]
    fn insert_at_once<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        f: F,
        task: Ea,
        insert: impl FnOnce(&mut W) -> Option<([u64; 3], Option<u64>)>,
        is_settled: bool,
    ) -> Answer {
        const RARE_FLAGS: u64 = enq::CLEAR_OPSS | enq::DSQ_PRIQ | enq::IMMED;
        self.is_answered_at_once(is_settled)?;
        let callback = &self.cpus.this_cpu.callback;
        let (op, subject) = (callback.caller.op, callback.subject);
        let is_own = matches!(op, Op::SelectCpu | Op::Enqueue) && !callback.has_dispatched;
        if !is_own || !callback.is_plain() || !self.terms[f as usize].allows_callback(op) {
            return RARE;
        }
        let Some(([id, slice_ns, enq_flags], vtime)) = insert(site.world) else { return RARE };
        let is_rare = enq_flags & RARE_FLAGS != 0 || self.scx.flags & ops_flags::ALWAYS_ENQ_IMMED != 0;
        let Some(t) = self.tasks.get_mut(subject) else { return RARE };
        if is_rare || slice_ns == 0 || t.ea != task {
            return RARE;
        }
        const { assert!(field::SCX_DSQ_VTIME == field::SCX_SLICE + 8) };
        let place = task.offset(field::SCX_SLICE);
        let (is_put, flags) = match vtime {
            None => (site.world.put_words_at_once(place, [slice_ns]), enq_flags),
            Some(vtime) => {
                (site.world.put_words_at_once(place, [slice_ns, vtime]), enq_flags | enq::DSQ_PRIQ)
            }
        };
        if !is_put {
            return RARE;
        }
        t.direct = Some(Direct { dsq: DsqId(id), enq_flags: flags });
        let price_ps = self.price_at_once(f, is_settled);
        self.pays_at_once(site.number, price_ps, is_settled);
        let cpu = &mut *self.cpus.this_cpu;
        cpu.callback.has_dispatched = true;
        cpu.direct_by = Some((subject, cpu.callback.caller));
        self.counters.scheduler_inserts += 1;
        Ok(1)
    }

    /// Returns whether the callback is a usual one that may call the function.
    #[inline(always)]
    fn may_call(&self, f: F) -> bool {
        let callback = &self.cpus.this_cpu.callback;
        callback.is_usual() && self.terms[f as usize].allows_callback(callback.caller.op)
    }

    /// Passes if the answer to a call does not wait for anything.
    #[inline(always)]
    fn is_answered_at_once(&self, is_settled: bool) -> Result<(), NoValue> {
        let cpu = &self.cpus.this_cpu;
        if is_settled {
            debug_assert!(cpu.spent_ps == 0 && !cpu.pauses.owes_dequeue(), "each call has charged all costs");
            return Ok(());
        }
        match cpu.pauses.owes_dequeue() {
            false => Ok(()),
            true => Err(NoValue::Rare),
        }
    }

    /// What a call of a function costs, with what its CPU has spent before.
    #[inline(always)]
    fn price_at_once(&self, f: F, is_settled: bool) -> u64 {
        let price_ps = self.terms[f as usize].cost_ps();
        if is_settled { price_ps } else { self.cpus.this_cpu.spent_ps + price_ps }
    }

    /// Passes if it is a plain callback's turn, which has reached `at`, without a tie.
    #[inline(always)]
    fn comes_first_at_once(&mut self, at: Instant) -> Result<(), NoValue> {
        if !self.cpus.this_cpu.callback.is_plain() {
            return Err(NoValue::Rare);
        }
        if self.queue.is_before_all(at) {
            return Ok(());
        }
        // The CPU waits there.
        self.cpus.this_cpu.clock = at;
        Err(self.not_first(at))
    }

    /// Charges the callback for the call with this number, which costs this much with all that its CPU has spent.
    #[inline(always)]
    fn pays_at_once(&mut self, call: u32, price_ps: u64, is_settled: bool) {
        debug_assert!(self.exit.is_none(), "the calls of a scheduler that has ended are watched");
        let cpu = &mut *self.cpus.this_cpu;
        cpu.callback.caller.call = call;
        cpu.callback.charged_ps += price_ps;
        if !is_settled {
            cpu.spent_ps = 0;
        }
    }
}

/// The function.
#[inline(always)]
const fn function(which: Frequent) -> F {
    match which {
        Frequent::MapLookup => F::MapLookup,
        Frequent::SpinLock => F::SpinLock,
        Frequent::SpinUnlock => F::SpinUnlock,
        Frequent::SelectCpuDfl => F::SelectCpuDfl,
        Frequent::DsqInsert => F::DsqInsert,
        Frequent::DsqInsertVtime => F::DsqInsertVtime,
        Frequent::DsqMoveToLocalV1 => F::DsqMoveToLocalV1,
        Frequent::DsqMoveToLocal => F::DsqMoveToLocal,
        Frequent::TaskSetSlice => F::TaskSetSlice,
        Frequent::TaskSetVtime => F::TaskSetVtime,
        Frequent::TaskCpu => F::TaskCpu,
        Frequent::TaskFromPid => F::TaskFromPid,
        Frequent::TaskRelease => F::TaskRelease,
        Frequent::KickCpu => F::KickCpu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::bpf::functions::{helper, kfunc};

    #[test]
    fn frequent_functions_are_those_of_the_kernels_table() {
        let helpers = (0..1000).filter_map(|number| Some((Frequent::helper(number)?, helper(number))));
        let kfuncs = F::all().iter().filter_map(|f| Some((Frequent::kfunc(f.name())?, kfunc(f.name()))));
        let mut found = Vec::new();
        for (which, id) in helpers.chain(kfuncs) {
            assert_eq!(id, Some(FuncId(function(which) as u32)), "{which:?}");
            found.push(which as usize);
        }
        found.sort_unstable();
        assert_eq!(found, (0..Frequent::ALL.len()).collect::<Vec<_>>());
        assert!(Frequent::ALL.iter().enumerate().all(|(i, &which)| which as usize == i));
    }
}
