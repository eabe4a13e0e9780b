// SPDX-License-Identifier: GPL-2.0-only
/* The global queue, with one wrong use of a bpf_spin_lock in ops.enqueue, which a verifier would refuse. */
#include "keel.h"

LICENSE;

enum fault {
	NOTHING_WRONG,
	UNLOCKS_TWICE,
	UNLOCKS_OTHER,
	LOCKS_TWICE,
	LOCKS_TWO,
	KEEPS_LOCK,
	BAD_MAP,
};

const volatile u32 fault = NOTHING_WRONG;

struct line_lock {
	struct bpf_spin_lock lock;
	u32 value;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct line_lock);
} locks SEC(".maps");

struct exit_record exit_record;

CALLBACK(void, locks_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 zero = 0, one = 1;
	struct line_lock *first = bpf_map_lookup_elem(&locks, &zero);
	struct line_lock *second = bpf_map_lookup_elem(&locks, &one);

	if (!first || !second)
		return;
	bpf_spin_lock(&first->lock);
	if (fault == LOCKS_TWICE)
		bpf_spin_lock(&first->lock);
	if (fault == LOCKS_TWO)
		bpf_spin_lock(&second->lock);
	if (fault == UNLOCKS_OTHER)
		bpf_spin_unlock(&second->lock);
	if (fault != KEEPS_LOCK)
		bpf_spin_unlock(&first->lock);
	if (fault == UNLOCKS_TWICE)
		bpf_spin_unlock(&first->lock);
	if (fault == BAD_MAP)
		bpf_map_lookup_elem((void *)first, &zero);
	if (fault != KEEPS_LOCK)
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, locks_exit, const struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(locks_ops,
	  .enqueue = (void *)locks_enqueue,
	  .exit = (void *)locks_exit,
	  .name = "locks");
