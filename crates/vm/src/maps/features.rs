//! The kinds of maps, and their differences from Linux 7.2's.

use super::kinds::{self, NAMES};
use keel_abi::feature::{Feature, FeatureKind};

/// Supported kinds.
pub(super) const SERVED: &[u32] = &[
    kinds::ARRAY,
    kinds::PERCPU_ARRAY,
    kinds::HASH,
    kinds::PERCPU_HASH,
    kinds::LRU_HASH,
    kinds::LRU_PERCPU_HASH,
    kinds::QUEUE,
    kinds::STACK,
    kinds::TASK_STORAGE,
    kinds::CGRP_STORAGE,
    kinds::RINGBUF,
    kinds::USER_RINGBUF,
    kinds::ARRAY_OF_MAPS,
    kinds::PERF_EVENT_ARRAY,
    kinds::ARENA,
];

const LRU: &str = "evicts the truly least recently used element, where the kernel's order is approximate, and leaves its timer";

/// Differences.
const APPROXIMATE: &[(&str, &str)] = &[
    ("LRU_HASH", LRU),
    ("LRU_PERCPU_HASH", LRU),
    ("PERF_EVENT_ARRAY", "nobody opens an event"),
    (
        "RINGBUF",
        "in a run only a companion reads it, and keel what a scheduler tells by policy events: else it fills, and then refuses; no BPF_F_RB_OVERWRITE",
    ),
    ("USER_RINGBUF", "in a run only a companion or a scheduler's own program writes it"),
    (
        "ARRAY_OF_MAPS",
        "holds what its definition, a recipe's inner_maps or a scheduler's own program puts there",
    ),
    ("ARENA", "no user space touches its pages; see below"),
];

/// Kinds that schedulers might ask for.
const ABSENT: &[(&str, &str)] =
    &[("HASH_OF_MAPS", ""), ("BLOOM_FILTER", ""), ("LPM_TRIE", ""), ("PROG_ARRAY", "")];

/// Kinds of maps, by their names in `enum bpf_map_type`, without `BPF_MAP_TYPE_`.
pub fn features() -> Vec<Feature> {
    let served = SERVED.iter().map(|&kind| NAMES[kind as usize]);
    Feature::list(FeatureKind::Map, served, APPROXIMATE, ABSENT)
}
