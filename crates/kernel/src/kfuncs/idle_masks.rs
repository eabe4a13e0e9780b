//! The idle masks as BPF reads them: one for the machine, or with `SCX_OPS_BUILTIN_IDLE_PER_NODE` one per node.

use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, World};

impl Kernel {
    /// `scx_bpf_get_idle_cpumask()` and `scx_bpf_get_idle_smtmask()`: the address of the machine's masks, which are
    /// created on first use.
    pub(super) fn idle_masks<W: World>(&mut self, w: &mut W, c: CpuId) -> (Ea, Ea) {
        if self.idle.per_node() {
            self.error(c, "SCX_OPS_BUILTIN_IDLE_PER_NODE enabled".into());
            return self.none_masks(w);
        }
        if !self.check_tracking(c) {
            return self.none_masks(w);
        }
        if self.scx.idle_masks.is_none() {
            self.scx.idle_masks = self.new_masks(w);
            self.idle.show();
            self.mirror_idle(w);
        }
        self.scx.idle_masks.unwrap_or_default()
    }

    /// `scx_bpf_get_idle_cpumask_node()` and `scx_bpf_get_idle_smtmask_node()`. They are empty if idle CPUs are not
    /// tracked.
    pub(super) fn node_idle_masks<W: World>(&mut self, w: &mut W, c: CpuId, node: u64) -> (Ea, Ea) {
        let Ok(Some(node)) = self.node_wanted(c, Some(node)) else { return self.none_masks(w) };
        if let Some(&(_, cpus, cores)) = self.scx.node_idle_masks.iter().find(|(n, ..)| *n == node) {
            return (cpus, cores);
        }
        let Some((cpus, cores)) = self.new_masks(w) else { return (Ea::NULL, Ea::NULL) };
        self.scx.node_idle_masks.push((node, cpus, cores));
        self.idle.show();
        self.mirror_idle(w);
        (cpus, cores)
    }

    fn new_masks<W: World>(&self, w: &mut W) -> Option<(Ea, Ea)> {
        w.alloc(self.mask_bytes()).zip(w.alloc(self.mask_bytes()))
    }

    /// `cpu_none_mask`.
    fn none_masks<W: World>(&mut self, w: &mut W) -> (Ea, Ea) {
        if self.scx.none_mask.is_null() {
            self.scx.none_mask = w.alloc(self.mask_bytes()).unwrap_or_default();
        }
        (self.scx.none_mask, self.scx.none_mask)
    }
}
