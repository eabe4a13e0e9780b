//! CPU masks as BPF reads them.

use keel_abi::bpf::World;

/// Writes the words of a set into a `struct cpumask`.
pub(crate) fn write_mask<W: World>(world: &mut W, at: keel_abi::bpf::Ea, words: &[u64]) {
    for (i, word) in words.iter().enumerate() {
        world.put(at.offset(i as u64 * 8), &word.to_le_bytes());
    }
}
