//! CPU masks as BPF reads them.

use crate::state::kernel::Kernel;
use crate::state::layout::cpumask;
use keel_abi::bpf::World;

/// Writes the words of a set into a `struct cpumask`.
pub(crate) fn write_mask<W: World>(world: &mut W, at: keel_abi::bpf::Ea, words: &[u64]) {
    for (i, word) in words.iter().enumerate() {
        world.put(at.offset(i as u64 * 8), &word.to_le_bytes());
    }
}

impl Kernel {
    /// How many words of a mask the machine's CPUs take.
    pub(crate) fn mask_word_count(&self) -> usize {
        self.cpus.len().div_ceil(64)
    }

    /// Bytes of a mask of the kernel's own.
    pub(crate) fn mask_bytes(&self) -> u64 {
        cpumask::SIZE.max(self.mask_word_count() as u64 * 8)
    }
}
