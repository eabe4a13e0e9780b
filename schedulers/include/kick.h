/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kicks from ops.enqueue(), which may run on a CPU that is about to be gone.
 *
 * scx_bpf_kick_cpu() queues an irq_work on the CPU that calls it. Before a CPU goes offline, the kernel turns its interrupt
 * controller off (native_cpu_disable()), and then wakes the task that waits for that. A kick made in that wakeup stays
 * queued, even when the CPU comes back, and no later irq_work runs there: SRCU, perf and ftrace wait for theirs forever.
 * Linux 7.2 does not guard against it. The file that includes this one defines which CPUs are offline: is_offline().
 */
#ifndef KEEL_KICK_H
#define KEEL_KICK_H

/* A CPU is or was offline: set by ops.cpu_offline(), so that until then a kick costs nothing extra. */
static bool cpus_leave;

/* Whether a CPU that is announced to go offline still takes interrupts. */
static __noinline bool takes_interrupts(u32 cpu)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	bool is_online = bpf_cpumask_test_cpu(cpu, online);

	scx_bpf_put_cpumask(online);
	return is_online;
}

/* Kicks `cpu`, unless that would have no effect: then the CPU sees the task at its next tick or switch. */
static __always_inline void kick(s32 cpu, u64 flags)
{
	u32 here;

	if (cpus_leave) {
		here = bpf_get_smp_processor_id();
		if (is_offline(here) && !takes_interrupts(here))
			return;
	}
	scx_bpf_kick_cpu(cpu, flags);
}

#endif
