// SPDX-License-Identifier: GPL-2.0-only
/*
 * A scheduler that needs its user-space half, built like those of the scx repository: constants,
 * the machine's shape and a map's contents are left to the loader, and programs must run before and while
 * it is attached. It exits with its findings, unless `expected_*` match them.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1

/* Filled by loaders from the kernel's types. */
#undef SCX_SLICE_DFL
const volatile u64 __SCX_SLICE_DFL __weak;

const volatile u32 nr_cpus;
const volatile u32 node_of[64];
const volatile u32 expected_cpus;
const volatile u32 expected_weight;
const volatile bool wants_setup = true;

u64 nr_enqueued, nr_ticks, setup_arg;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} weights SEC(".maps");

/* What the scx headers define for the kernel's report. */
struct user_exit_info {
	int kind;
	s32 exit_cpu;
	s64 exit_code;
	char reason[128];
	char msg[1024];
};
struct user_exit_info uei SEC(".data.uei");
char uei_dump[4096] SEC(".data.uei_dump");

SEC("syscall") int setup(u64 *args)
{
	setup_arg = args[0];
	return args[0] == 0;
}

SEC("syscall") int tick(void *context)
{
	nr_ticks++;
	return 0;
}

/* A probe that no kernel has: loading it would fail. */
SEC("fentry/no_such_function") int BPF_PROG(probe)
{
	return 0;
}

CALLBACK(void, halved_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 last = 3;
	u64 *weight = bpf_map_lookup_elem(&weights, &last);

	__sync_fetch_and_add(&nr_enqueued, 1);
	if (nr_cpus != expected_cpus || !weight || *weight != expected_weight || (wants_setup && !setup_arg))
		scheduler_error("%d CPUs, the last of them on node %d, weight %lld, argument %lld", nr_cpus,
				node_of[(nr_cpus - 1) & 63], weight ? *weight : 0, setup_arg);
	insert(p, SHARED_DSQ, __SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, halved_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, halved_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, halved_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(uei.reason, sizeof(uei.reason), info->reason);
	bpf_probe_read_kernel_str(uei.msg, sizeof(uei.msg), info->msg);
	uei.exit_code = info->exit_code;
	uei.kind = info->kind;
}

SCHEDULER(halved_ops,
	  .enqueue = (void *)halved_enqueue,
	  .dispatch = (void *)halved_dispatch,
	  .init = (void *)halved_init,
	  .exit = (void *)halved_exit,
	  .name = "halved");
