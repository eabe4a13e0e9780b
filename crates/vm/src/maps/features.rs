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

const LRU: &str =
    "evicts exactly the least recently used element, and leaves its timer; the kernel's order is approximate";

/// Differences.
const APPROXIMATE: &[(&str, &str)] = &[
    ("LRU_HASH", LRU),
    ("LRU_PERCPU_HASH", LRU),
    ("PERF_EVENT_ARRAY", "no event is ever open"),
    (
        "RINGBUF",
        "in a run it is read by a companion or, for policy events, by keel; otherwise it fills up and then refuses records; no BPF_F_RB_OVERWRITE",
    ),
    ("USER_RINGBUF", "in a run only a companion or a scheduler's own program writes to it"),
    (
        "ARRAY_OF_MAPS",
        "contains what its definition, a recipe's inner_maps or a scheduler's own program puts there",
    ),
    ("ARENA", "user space accesses no pages; see below"),
];

/// Kinds that schedulers might ask for.
const ABSENT: &[(&str, &str)] =
    &[("HASH_OF_MAPS", ""), ("BLOOM_FILTER", ""), ("LPM_TRIE", ""), ("PROG_ARRAY", "")];

/// Kinds of maps, by their names in `enum bpf_map_type`, without `BPF_MAP_TYPE_`.
pub fn features() -> Vec<Feature> {
    let served = SERVED.iter().map(|&kind| NAMES[kind as usize]);
    Feature::list(FeatureKind::Map, served, APPROXIMATE, ABSENT)
}
