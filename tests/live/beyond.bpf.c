// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it reads beyond the value of a map. Clang accepts it, and so does everything without a verifier.
 */
#include "keel.h"

LICENSE;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} words SEC(".maps");

CALLBACK(void, beyond_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 key = 0;
	u64 *word = bpf_map_lookup_elem(&words, &key);

	insert(p, SCX_DSQ_GLOBAL, word ? word[1] : SCX_SLICE_DFL, enq_flags);
}

SCHEDULER(beyond_ops,
	  .enqueue = (void *)beyond_enqueue,
	  .name = "beyond");
