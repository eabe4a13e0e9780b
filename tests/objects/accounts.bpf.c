// SPDX-License-Identifier: GPL-2.0-only
/*
 * No fault: compares the kernel's accounts of tasks with this scheduler's own observations. After a number of
 * wakeups it exits, and reports whether they agree.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define ENOUGH 50

struct seen {
	u64 runnable_at;
	u64 ran_at;
	u64 run_delay;
	s32 selected_cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct seen);
} tasks SEC(".maps");

u64 selections, delays;
/* The sums of all waits, by the kernel's accounts and by this scheduler's clock. */
u64 counted_ns, waited_ns;
struct exit_record exit_record;

static struct seen *seen_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

CALLBACK(s32, accounts_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct seen *seen = seen_of(p);

	if (seen)
		seen->selected_cpu = prev_cpu;
	return prev_cpu;
}

CALLBACK(void, accounts_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct seen *seen = seen_of(p);

	if (seen && (enq_flags & bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED))) {
		if (p->scx.selected_cpu != seen->selected_cpu)
			scheduler_error("selected CPU %d, not %d", p->scx.selected_cpu, seen->selected_cpu);
		__sync_fetch_and_add(&selections, 1);
	}
	if (seen && !seen->runnable_at) {
		seen->runnable_at = bpf_ktime_get_ns();
		seen->run_delay = p->sched_info.run_delay;
	}
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, accounts_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

CALLBACK(void, accounts_running, struct task_struct *p)
{
	struct seen *seen = seen_of(p);

	if (seen)
		seen->ran_at = bpf_ktime_get_ns();
}

CALLBACK(void, accounts_stopping, struct task_struct *p, bool runnable)
{
	struct seen *seen = seen_of(p);

	if (!seen || !seen->runnable_at || !seen->ran_at)
		return;
	__sync_fetch_and_add(&waited_ns, seen->ran_at - seen->runnable_at);
	__sync_fetch_and_add(&counted_ns, p->sched_info.run_delay - seen->run_delay);
	seen->runnable_at = 0;
	seen->ran_at = 0;
	if (__sync_fetch_and_add(&delays, 1) < ENOUGH || selections < ENOUGH)
		return;
	/* The two read their clocks at different moments. */
	if (counted_ns > 2 * waited_ns || waited_ns > 2 * counted_ns)
		scheduler_error("waited %llu ns, not %llu", counted_ns, waited_ns);
	else
		scheduler_error("the accounts agree");
}

SLEEPABLE(s32, accounts_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, accounts_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(accounts_ops,
	  .select_cpu = (void *)accounts_select_cpu,
	  .enqueue = (void *)accounts_enqueue,
	  .dispatch = (void *)accounts_dispatch,
	  .running = (void *)accounts_running,
	  .stopping = (void *)accounts_stopping,
	  .init = (void *)accounts_init,
	  .exit = (void *)accounts_exit,
	  .name = "accounts");
