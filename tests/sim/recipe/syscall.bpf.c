// SPDX-License-Identifier: GPL-2.0-only
/*
 * What SEC("syscall") programs may call in sched_ext (scx_kfunc_context_filter()), and the results before and
 * while a scheduler is attached: a recipe runs the programs, a test reads the variables.
 */
#include "keel.h"

LICENSE;

#define OWN_DSQ 7

s32 created_before, queued_before, chosen_before;
s32 created, chosen = -1, queued = -1;
u32 runs, inits;
bool found, saw_task, saw_init;

/* ops.init() makes and destroys this many queues. */
const volatile u32 init_loops;
/* ops.exit_task() creates one, which a verifier rejects. */
const volatile bool exit_task_creates;
u32 forked;

static s32 choose(void)
{
	struct task_struct *p = bpf_task_from_pid(1);
	s32 cpu;

	if (!p)
		return -100;
	saw_task = true;
	bpf_rcu_read_lock();
	cpu = scx_bpf_select_cpu_dfl(p, 0, 0, &found);
	bpf_rcu_read_unlock();
	bpf_task_release(p);
	return cpu;
}

SEC("syscall") int before(u64 *args)
{
	created_before = scx_bpf_create_dsq(OWN_DSQ, -1);
	queued_before = scx_bpf_dsq_nr_queued(OWN_DSQ);
	chosen_before = choose();
	saw_init = inits != 0;
	/* No scheduler is attached, so there is none to end. */
	scheduler_error("too early");
	return args[0] - args[1] - 1;
}

SEC("syscall") int during(void *context)
{
	queued = scx_bpf_dsq_nr_queued(OWN_DSQ);
	if (runs++)
		return 0;
	created = scx_bpf_create_dsq(OWN_DSQ, -1);
	/* Claims a CPU, which is never woken: do this only once. */
	chosen = choose();
	return 0;
}

SEC("syscall") int ends(u64 *args)
{
	scheduler_error("code %d", args[0]);
	return 0;
}

/* A verifier rejects this: there is no task to insert, and no locked runqueue. */
SEC("syscall") int inserts(void *context)
{
	struct task_struct *p = bpf_task_from_pid(1);

	if (p) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000, 0);
		bpf_task_release(p);
	}
	return 0;
}

/* And this: only ops.dispatch() may. */
SEC("syscall") int moves(void *context)
{
	scx_bpf_dsq_move_to_local(OWN_DSQ);
	return 0;
}

SLEEPABLE(s32, syscall_init)
{
	for (u32 i = 0; i < init_loops && i < 100000; i++) {
		scx_bpf_create_dsq(1000 + i, -1);
		scx_bpf_destroy_dsq(1000 + i);
	}
	inits++;
	return 0;
}

SLEEPABLE(s32, syscall_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	if (!inits)
		scheduler_error("ops.init_task() while ops.init() goes on");
	forked += args->fork;
	return 0;
}

CALLBACK(void, syscall_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	if (exit_task_creates)
		scx_bpf_create_dsq(OWN_DSQ, -1);
}

SCHEDULER(syscall_ops, .init = (void *)syscall_init, .init_task = (void *)syscall_init_task,
	  .exit_task = (void *)syscall_exit_task, .name = "syscall");
