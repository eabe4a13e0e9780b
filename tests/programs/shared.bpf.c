// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a program of user space sets up and reads back, in one small scheduler: constants, global variables that both
 * sides have mapped, a hash, a ring buffer, and a program that it runs.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 7

const volatile u64 slice_ns = 1000000;
const volatile u32 expected_cpus;

u64 enqueued;
u64 sum_of_entries;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, u64);
} entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} told SEC(".maps");

struct question {
	u32 key;
	u32 unused;
	u64 answer;
};

SEC("syscall")
int look_up(struct question *question)
{
	u64 *value = bpf_map_lookup_elem(&entries, &question->key);

	if (!value)
		return -2;
	question->answer = *value * 2;
	sum_of_entries += *value;
	return 0;
}

CALLBACK(void, shared_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 *record;

	enqueued++;
	if (enqueued % 100 == 0) {
		record = bpf_ringbuf_reserve(&told, sizeof(*record), 0);
		if (record) {
			*record = enqueued;
			bpf_ringbuf_submit(record, 0);
		}
	}
	scx_bpf_dsq_insert(p, SHARED_DSQ, slice_ns, enq_flags);
}

CALLBACK(void, shared_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

/* The loader says that it may sleep, for not every libbpf knows the section struct_ops.s. */
CALLBACK(s32, shared_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

SEC(".struct_ops") struct sched_ext_ops shared_ops = {
	.enqueue = (void *)shared_enqueue,
	.dispatch = (void *)shared_dispatch,
	.init = (void *)shared_init,
	.name = "shared",
};
