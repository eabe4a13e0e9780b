// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory accesses of published microbenchmarks, in a callback: each CPU that runs a task after
 * `begins_at_ns` makes `rounds` of them, once. The globals contain the total time over all CPUs.
 */
#include "keel.h"

LICENSE;

#define MAX_CPUS 256

enum access {
	/* An atomic increment of a counter that all CPUs share. */
	SHARED_COUNTER,
	/* An atomic increment of a counter of the CPU's own, in a line of its own. */
	OWN_COUNTER,
	/* The same, and a plain increment of the CPU's own word of a line that all CPUs share. */
	SHARED_LINE,
	/* A compare-and-swap that succeeds when the other CPU's last one did: ping-pong. */
	PING_PONG,
	/* A bpf_spin_lock that is taken and released. */
	SPIN_LOCK,
};

const volatile u32 access = SHARED_COUNTER;
const volatile u32 rounds = 1;
const volatile u64 begins_at_ns;

struct line {
	u64 word[8];
} __attribute__((aligned(64)));

/* Written while the CPUs measure. */
struct line counter;
struct line own[MAX_CPUS];
struct line shared;
#ifdef RESILIENT
struct bpf_res_spin_lock lock SEC(".data.lock") __attribute__((aligned(64)));
#else
struct bpf_spin_lock lock SEC(".data.lock") __attribute__((aligned(64)));
#endif

/* Written when a CPU has measured. */
struct line is_done[MAX_CPUS];
u64 spent_ns __attribute__((aligned(64)));
u64 nr_done;

struct exit_record exit_record;

/* Waits for its turn of the two CPUs, and passes it to the other one. */
static __always_inline void play(u64 me)
{
	s32 tries;

	for_range(tries, 0, 1000000)
		if (__sync_val_compare_and_swap(&counter.word[0], me, !me) == me)
			return;
}

static __always_inline void once(u32 cpu)
{
	switch (access) {
	case SHARED_COUNTER:
		__sync_fetch_and_add(&counter.word[0], 1);
		return;
	case SHARED_LINE:
		((volatile u64 *)shared.word)[cpu % 8]++;
		__sync_fetch_and_add(&own[cpu % MAX_CPUS].word[0], 1);
		return;
	case OWN_COUNTER:
		__sync_fetch_and_add(&own[cpu % MAX_CPUS].word[0], 1);
		return;
	case PING_PONG:
		play(cpu != 0);
		return;
	case SPIN_LOCK:
#ifdef RESILIENT
		if (!bpf_res_spin_lock(&lock))
			bpf_res_spin_unlock(&lock);
#else
		bpf_spin_lock(&lock);
		bpf_spin_unlock(&lock);
#endif
		return;
	}
}

CALLBACK(void, contended_running, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	u64 begin = bpf_ktime_get_ns();
	s32 round;

	if (begin < begins_at_ns || is_done[cpu % MAX_CPUS].word[0])
		return;
	is_done[cpu % MAX_CPUS].word[0] = 1;
	for_range(round, 0, rounds)
		once(cpu);
	__sync_fetch_and_add(&spent_ns, bpf_ktime_get_ns() - begin);
	__sync_fetch_and_add(&nr_done, 1);
}

CALLBACK(void, contended_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(contended_ops,
	  .running = (void *)contended_running,
	  .exit = (void *)contended_exit,
	  .name = "contended");
