// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lock in BPF code, as in arena libraries: waiters spin on a compare-and-swap, in a loop
 * that `may_goto` limits. The holder makes a call inside, at which other CPUs may run.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define MAY_GOTO_OUT(out) asm volatile goto("may_goto %l[" #out "]" :::: out)

struct {
	u32 word;
	char pad[60];
} lock __attribute__((aligned(64)));
/* How many hold it. */
u32 nr_holders;

/* How often it was taken, taken after a wait, held by two, and given up by a waiter. */
u64 nr_taken;
u64 nr_waited;
u64 nr_shared;
u64 nr_gave_up;

struct exit_record exit_record;

static __always_inline bool take(void)
{
	bool waited = false;

	while (__sync_val_compare_and_swap(&lock.word, 0, 1)) {
		waited = true;
		while (*(volatile u32 *)&lock.word)
			MAY_GOTO_OUT(out);
		MAY_GOTO_OUT(out);
	}
	nr_waited += waited;
	return true;
out:
	return false;
}

CALLBACK(void, own_lock_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (!take()) {
		nr_gave_up++;
		goto insert;
	}
	nr_taken++;
	if (nr_holders++)
		nr_shared++;
	scx_bpf_dsq_nr_queued(SHARED_DSQ);
	nr_holders--;
	__sync_lock_test_and_set(&lock.word, 0);
insert:
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, own_lock_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, own_lock_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, own_lock_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(own_lock_ops,
	  .enqueue = (void *)own_lock_enqueue,
	  .dispatch = (void *)own_lock_dispatch,
	  .init = (void *)own_lock_init,
	  .exit = (void *)own_lock_exit,
	  .name = "own_lock");
