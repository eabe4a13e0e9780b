// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two of three bpf_res_spin_lock, one after the other, in an order that depends on the CPU: half of the
 * CPUs take A and then B, the others B and then A, or each third its own pair around the cycle.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define EDEADLK 35
#define ETIMEDOUT 110

/* The number of locks in the cycle: 2 or 3. */
const volatile u32 nr_locks = 2;
/* The work between one lock and the next, in steps. */
const volatile u32 between = 2000;

static struct bpf_res_spin_lock a SEC(".data.a");
static struct bpf_res_spin_lock b SEC(".data.b");
static struct bpf_res_spin_lock c SEC(".data.c");

/* How many hold each lock, and the results of the attempts. */
u32 nr_holders[3];
u64 nr_both;
u64 nr_shared;
u64 nr_deadlocks;
u64 nr_timeouts;
u64 nr_others;
u64 worked;

struct exit_record exit_record;

static __always_inline void failed(int error)
{
	if (error == -EDEADLK)
		__sync_fetch_and_add(&nr_deadlocks, 1);
	else if (error == -ETIMEDOUT)
		__sync_fetch_and_add(&nr_timeouts, 1);
	else
		__sync_fetch_and_add(&nr_others, 1);
}

static __always_inline void enter(u32 lock)
{
	if (nr_holders[lock]++)
		nr_shared++;
}

static __always_inline void take(struct bpf_res_spin_lock *first, u32 m, struct bpf_res_spin_lock *second, u32 n)
{
	int step, error = bpf_res_spin_lock(first);

	if (error)
		return failed(error);
	enter(m);
	for_range(step, 0, between)
		*(volatile u64 *)&worked;
	error = bpf_res_spin_lock(second);
	if (error) {
		nr_holders[m]--;
		bpf_res_spin_unlock(first);
		return failed(error);
	}
	enter(n);
	__sync_fetch_and_add(&nr_both, 1);
	nr_holders[n]--;
	bpf_res_spin_unlock(second);
	nr_holders[m]--;
	bpf_res_spin_unlock(first);
}

CALLBACK(void, res_lock_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 place = bpf_get_smp_processor_id() % nr_locks;

	if (place == 2)
		take(&c, 2, &a, 0);
	else if (place == 0)
		take(&a, 0, &b, 1);
	else if (nr_locks == 2)
		take(&b, 1, &a, 0);
	else
		take(&b, 1, &c, 2);
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, res_lock_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, res_lock_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, res_lock_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(res_lock_ops,
	  .enqueue = (void *)res_lock_enqueue,
	  .dispatch = (void *)res_lock_dispatch,
	  .init = (void *)res_lock_init,
	  .exit = (void *)res_lock_exit,
	  .name = "res_lock");
