//! `scx_bpf_events()`: counts of events that the scheduler may not know about.

use crate::kfuncs::Served;
use crate::state::kernel::Kernel;
use crate::state::scx::events::ScxEvent;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, World};

/// Instructions to add up one counter of one CPU.
const COUNTER_INSNS: u64 = 2;

impl Kernel {
    /// Fills as much of a `struct scx_event_stats` as the program has. The kernel adds up all CPUs' counters for it.
    pub(super) fn events<W: World>(&mut self, w: &mut W, c: CpuId, at: Ea, bytes: u64) -> Served {
        let counters = (ScxEvent::COUNT * self.cpus.len()) as u64;
        self.charge_ps(c, counters * COUNTER_INSNS * self.machine.costs.insn_ps);
        let words = self.scx_events().map(u64::to_le_bytes);
        let known = words.as_flattened();
        let len = usize::try_from(bytes).unwrap_or(known.len()).min(known.len());
        if let Some(to) = w.slice_mut(at, len as u64) {
            to.copy_from_slice(&known[..len]);
        }
        0.into()
    }

    /// The counters of the attached scheduler, or zeros if there is none.
    pub(crate) fn scx_events(&self) -> [u64; ScxEvent::COUNT] {
        if self.scx.is_gone() { [0; ScxEvent::COUNT] } else { self.scx.events.all() }
    }
}
