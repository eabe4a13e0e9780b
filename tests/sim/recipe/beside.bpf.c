// SPDX-License-Identifier: GPL-2.0-only
/*
 * A scheduler whose order is decided in user space, built like several of the ecosystem: waiting tasks are sent
 * through a ring buffer, runnable ones come back through a user ring buffer, and the deciding task is
 * started by the scheduler itself whenever there is something to decide. Without it, nothing is ever dispatched.
 */
#include "keel.h"

LICENSE;

const volatile s32 decider_pid;
/* The decider's rank for tasks, which it looks up. */
const volatile u32 nr_cpus;

u64 nr_sent, nr_returned, nr_kept, nr_words, last_word;
u32 nr_waiting;
static u32 needed;

struct waiting {
	s32 pid;
	u32 weight;
	u64 runtime;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} waiting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} decided SEC(".maps");

/* Messages that user space sends at any time. */
struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} words SEC(".maps");

/* How often each task was sent. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, s32);
	__type(value, u64);
} sent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 4);
	__type(value, u32);
} stacked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} each SEC(".maps");

CALLBACK(void, beside_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct waiting *record;
	u64 one = 1, *count;
	s32 pid = p->pid;

	if (pid == decider_pid)
		return;
	record = bpf_ringbuf_reserve(&waiting, sizeof(*record), 0);
	if (!record) {
		__sync_fetch_and_add(&nr_kept, 1);
		insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	record->pid = pid;
	record->weight = p->scx.weight;
	record->runtime = p->se.sum_exec_runtime;
	bpf_ringbuf_submit(record, 0);
	__sync_fetch_and_add(&nr_sent, 1);
	count = bpf_map_lookup_elem(&sent, &pid);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&sent, &pid, &one, BPF_ANY);
	__sync_fetch_and_or(&needed, 1);
}

static void dispatch_pid(s32 pid)
{
	struct task_struct *p = bpf_task_from_pid(pid);

	if (!p)
		return;
	insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, 0);
	bpf_task_release(p);
}

static long on_decided(struct bpf_dynptr *record, void *context)
{
	s32 pid;

	if (bpf_dynptr_read(&pid, sizeof(pid), record, 0, 0))
		return 0;
	__sync_fetch_and_add(&nr_returned, 1);
	dispatch_pid(pid);
	return !scx_bpf_dispatch_nr_slots();
}

static long on_word(struct bpf_dynptr *record, void *context)
{
	bpf_dynptr_read(&last_word, sizeof(last_word), record, 0, 0);
	__sync_fetch_and_add(&nr_words, 1);
	return 0;
}

CALLBACK(void, beside_dispatch, s32 cpu, struct task_struct *prev)
{
	if (__sync_fetch_and_and(&needed, 0))
		dispatch_pid(decider_pid);
	bpf_user_ringbuf_drain(&words, on_word, NULL, 0);
	bpf_user_ringbuf_drain(&decided, on_decided, NULL, 0);
}

CALLBACK(void, beside_update_idle, s32 cpu, bool idle)
{
	if (!idle || !nr_waiting)
		return;
	__sync_fetch_and_or(&needed, 1);
	scx_bpf_kick_cpu(cpu, 0);
}

SCHEDULER(beside_ops, .enqueue = (void *)beside_enqueue, .dispatch = (void *)beside_dispatch,
	  .update_idle = (void *)beside_update_idle, .flags = SCX_OPS_ENQ_LAST | SCX_OPS_KEEP_BUILTIN_IDLE,
	  .timeout_ms = 200, .name = "beside");
