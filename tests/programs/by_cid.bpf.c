// SPDX-License-Identifier: GPL-2.0-only
/*
 * The smallest scheduler that refers to CPUs by cids, for a program that does not know about them. It numbers CPUs in
 * reverse.
 */
#include "keel.h"

LICENSE;

#define MAX_CPUS 64

/* A scheduler that uses cids must use an arena. Old versions of libbpf lack the 64-bit `map_extra`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1 << 10); /* BPF_F_MMAPABLE */
	__uint(max_entries, 64);
} arena SEC(".maps");

static s32 reversed[MAX_CPUS];

CALLBACK(void, by_cid_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, enq_flags);
}

CALLBACK(void, by_cid_dispatch, s32 cid, struct task_struct *prev)
{
	s32 cpu = bpf_get_smp_processor_id();

	if (scx_bpf_this_cid() != cid || scx_bpf_nr_cids() - 1 - cid != cpu)
		scheduler_error("CPU %d has cid %d", cpu, cid);
}

CALLBACK(s32, by_cid_init)
{
	u32 cpus = scx_bpf_nr_cids(), cpu;

	asm volatile("" ::"r"(&arena));
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		if (cpu < cpus)
			reversed[cpu] = cpus - 1 - cpu;
	scx_bpf_cid_override(reversed, cpus * sizeof(reversed[0]));
	return 0;
}

SEC(".struct_ops") struct sched_ext_ops_cid by_cid_ops = {
	.enqueue = (void *)by_cid_enqueue,
	.dispatch = (void *)by_cid_dispatch,
	.init = (void *)by_cid_init,
	.name = "by_cid",
};
