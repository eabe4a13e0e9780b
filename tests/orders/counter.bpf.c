// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: a data race. Every CPU counts what it enqueues and dispatches in one variable, with a plain load and a plain store.
 * With another `way`, the same is done correctly: keel explore --races must then find nothing.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define LETTER_DSQ 2
#define RACY 0
#define LOCKED 1
#define ATOMIC 2
#define PER_CPU 3
/* Each runqueue has a counter, which is used under its lock. */
#define RUNQUEUE 4
/* One variable is written once, before a task is put into a queue, and read by the CPU that gets this task. */
#define QUEUE 5
#define CPUS 64

const volatile u32 way = RACY;
/* Does the same without the part that orders the accesses. Then it races. */
const volatile bool broken = false;

struct locked {
	struct bpf_spin_lock lock;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__type(value, struct locked);
} locked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} own SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} of_all SEC(".maps");

static u64 count, counted_under_lock, of_runqueue[CPUS], taken, letter;

struct exit_record exit_record;

static __noinline void count_one(u32 cpu)
{
	struct locked *l;
	u32 zero = 0, lock = broken ? cpu : 0;
	u64 *mine;

	switch (way) {
	case RACY:
		count = count + 1;
		break;
	case LOCKED:
		l = bpf_map_lookup_elem(&locked, &lock);
		if (!l)
			break;
		bpf_spin_lock(&l->lock);
		counted_under_lock++;
		bpf_spin_unlock(&l->lock);
		break;
	case ATOMIC:
		if (broken && cpu)
			count = 0;
		__sync_fetch_and_add(&count, 1);
		break;
	case PER_CPU:
		if (broken)
			mine = bpf_map_lookup_elem(&of_all, &zero);
		else
			mine = bpf_map_lookup_elem(&own, &zero);
		if (mine)
			*mine += 1;
		break;
	case RUNQUEUE:
		of_runqueue[broken ? 0 : cpu % CPUS]++;
		break;
	}
}

CALLBACK(s32, counter_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

CALLBACK(void, counter_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu;

	count_one(scx_bpf_task_cpu(p));
	if (way == QUEUE && (broken || !__sync_fetch_and_or(&taken, 1))) {
		letter = 7;
		insert(p, LETTER_DSQ, SCX_SLICE_DFL, enq_flags);
	} else {
		insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
	}
	for_range(cpu, 0, 2)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

CALLBACK(void, counter_dispatch, s32 cpu, struct task_struct *prev)
{
	count_one(cpu);
	/* A CPU that did not get the task is ordered after nothing. */
	if (way == QUEUE && broken && letter != 7)
		return;
	if (scx_bpf_dsq_move_to_local(LETTER_DSQ)) {
		if (way == QUEUE && letter != 7)
			scheduler_error("the letter is empty");
		return;
	}
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, counter_init)
{
	s32 wrong = scx_bpf_create_dsq(SHARED_DSQ, -1);

	return wrong ? wrong : scx_bpf_create_dsq(LETTER_DSQ, -1);
}

CALLBACK(void, counter_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(counter_ops,
	  .select_cpu = (void *)counter_select_cpu,
	  .enqueue = (void *)counter_enqueue,
	  .dispatch = (void *)counter_dispatch,
	  .init = (void *)counter_init,
	  .exit = (void *)counter_exit,
	  .name = "counter");
