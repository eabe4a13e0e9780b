// SPDX-License-Identifier: GPL-2.0-only
/* Sets CPUs' performance and logs the result. */
#include "keel.h"

LICENSE;

#define NOWHERE (-1)

/* From ops.running: this target, for this CPU or the task's own. */
const volatile u32 target = 1024;
const volatile s32 target_cpu = NOWHERE;
/* From ops.tick: this one, after this many ticks. */
const volatile u32 later_target = 1024;
const volatile u32 later_ticks = 0;
/* From ops.init: this one, for CPU 1. */
const volatile u32 early_target = 1024;

static u32 nr_ticks;

static __always_inline void log_perf(s32 cpu)
{
	bpf_printk("cap %d %d %llx", 0, cpu, (u64)scx_bpf_cpuperf_cap(cpu));
	bpf_printk("cur %d %d %llx", 0, cpu, (u64)scx_bpf_cpuperf_cur(cpu));
}

CALLBACK(void, frequency_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (target != 1024)
		scx_bpf_cpuperf_set(target_cpu == NOWHERE ? cpu : target_cpu, target);
	log_perf(cpu);
}

CALLBACK(void, frequency_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (later_ticks && ++nr_ticks >= later_ticks)
		scx_bpf_cpuperf_set(cpu, later_target);
	log_perf(cpu);
}

SLEEPABLE(s32, frequency_init)
{
	if (early_target != 1024)
		scx_bpf_cpuperf_set(1, early_target);
	return 0;
}

SCHEDULER(frequency_ops,
	  .running = (void *)frequency_running,
	  .tick = (void *)frequency_tick,
	  .init = (void *)frequency_init,
	  .name = "frequency");
