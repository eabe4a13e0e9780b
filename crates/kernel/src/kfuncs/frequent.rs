//! Calls of the helpers that programs call most often ([`Frequent`](keel_abi::bpf::Frequent)), where they are usual: what
//! `call` does, with what is known of the helper and of the callback. Any program may call these helpers.
//!
//! Nothing here calls anything that isn't inlined, so an engine's entry for one of them has no frame of its own. Until a
//! call is known to be usual, it has only set the CPU's clock.

use crate::state::bpf::functions::F;
use crate::state::callback::Callback;
use crate::state::cpu::after_ps;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{CallSite, Ea, World};
use keel_abi::lines::whole_ns;
use keel_abi::{Instant, Span};

impl Kernel {
    #[inline(always)]
    pub(super) fn look_up_at_once<W: World>(
        &mut self,
        site: CallSite<'_, W>,
        [map, key]: [Ea; 2],
    ) -> Option<u64> {
        let at = self.callback_comes_to(site.usage);
        let callback = &self.cpus.this_cpu.callback;
        let is_locked = holds_spin(callback);
        let price_ps = self.price_at_once(F::MapLookup)?;
        if !is_locked && !self.comes_first_at_once(at) {
            return None;
        }
        let value = site.world.map_lookup_at_once(map, key, site.cpu)?;
        if !is_locked {
            self.now = self.now.max(at);
        }
        self.pays_at_once(site.number, price_ps);
        Some(value.0)
    }

    #[inline(always)]
    pub(super) fn spin_lock_at_once<W: World>(&mut self, site: CallSite<'_, W>, lock: Ea) -> Option<u64> {
        let asked = self.callback_comes_to(site.usage);
        let price_ps = self.price_at_once(F::SpinLock)?;
        if !self.comes_first_at_once(asked) || self.waits.is_some() {
            return None;
        }
        let cpu = &mut *self.cpus.this_cpu;
        let place = self.spins.near_place(lock)?;
        let taken = self.spins.get(place)?;
        let at = after_ps(asked, cpu.spent_ps + price_ps);
        if !taken.is_free_for_anyone(at) {
            return None;
        }
        let line_ps = site.world.touch_lock_at_once(lock, site.cpu)?;
        let took_ns = self.machine.costs.lock_acquire_ns + whole_ns(line_ps);
        taken.takes(site.cpu, at + Span::from_ns(took_ns));
        cpu.takes_spin(lock, place);
        self.now = self.now.max(asked);
        self.pays_at_once(site.number, price_ps + took_ns * 1000);
        Some(0)
    }

    #[inline(always)]
    pub(super) fn spin_unlock_at_once<W: World>(&mut self, site: CallSite<'_, W>, lock: Ea) -> Option<u64> {
        let at = self.callback_comes_to(site.usage);
        let price_ps = self.price_at_once(F::SpinUnlock)?;
        let cpu = &mut *self.cpus.this_cpu;
        let (held, place) = cpu.callback.spin?;
        // Nothing has run on another CPU since it took the lock, so it still has the line, unless it evicted that itself.
        if held != lock || !cpu.callback.is_usual() || self.lines.transfers().is_crowded() {
            return None;
        }
        debug_assert_eq!(site.world.touch_lock_ps(lock, site.cpu), 0, "nobody takes its line away");
        self.spins.get(place)?.releases(after_ps(at, cpu.spent_ps + price_ps));
        cpu.releases_spin();
        self.pays_at_once(site.number, price_ps);
        Some(0)
    }

    /// The price of a function, if its answer is not to wait for anything.
    #[inline(always)]
    fn price_at_once(&self, f: F) -> Option<u64> {
        let terms = self.terms.get(f as usize)?;
        (!self.cpus.this_cpu.pauses.owes_dequeue()).then(|| terms.cost_ps())
    }

    /// Returns whether it is a plain callback's turn, which has reached `at`, without a tie.
    #[inline(always)]
    fn comes_first_at_once(&self, at: Instant) -> bool {
        self.cpus.this_cpu.callback.is_plain() && self.queue.is_before_all(at)
    }

    /// Charges the callback for the call with this number, and for what it has spent before.
    #[inline(always)]
    fn pays_at_once(&mut self, call: u32, price_ps: u64) {
        debug_assert!(self.exit.is_none(), "the calls of a scheduler that has ended are watched");
        let cpu = &mut *self.cpus.this_cpu;
        cpu.callback.call = call;
        cpu.callback.charged_ps += std::mem::take(&mut cpu.spent_ps) + price_ps;
    }
}

/// Returns whether a usual callback holds a `bpf_spin_lock`: no other CPU runs first.
#[inline(always)]
fn holds_spin(callback: &Callback) -> bool {
    callback.is_usual() && callback.spin.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::bpf::functions::helper;
    use keel_abi::bpf::Frequent;

    fn check(number: i32, (which, f): (Frequent, F)) {
        assert_eq!(Frequent::helper(number), Some(which));
        assert_eq!(helper(number).map(|id| id.0), Some(f as u32), "{which:?}");
    }

    #[test]
    fn frequent_helpers_have_the_numbers_of_the_kernels_table() {
        check(1, (Frequent::MapLookup, F::MapLookup));
        check(93, (Frequent::SpinLock, F::SpinLock));
        check(94, (Frequent::SpinUnlock, F::SpinUnlock));
    }
}
