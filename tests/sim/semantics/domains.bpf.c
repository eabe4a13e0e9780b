// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracer, which reads the domains of one CPU when CPUs come and go and when a task blocks. It logs the cache's number,
 * the number of tasks on its runqueue, and its domains' CPUs from the smallest on, as lines about that CPU.
 */
#define WITH_HOTPLUG
#include "sched_domains.h"

#define SAY(op, cpu, value) bpf_printk(op " %d %d %llx", cpu, bpf_get_smp_processor_id(), (u64)(value))

extern const int sd_llc_id __ksym;
extern struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym __weak;

const volatile s32 watched = 0;

static __always_inline void say_domains(void)
{
	struct sched_domain *sd = lowest_domain(watched);
	int *llc = bpf_per_cpu_ptr(&sd_llc_id, watched);
	struct rq *rq = runqueue_of(watched);
	s32 level;
	u64 span;

	SAY("is_cpu_rq", watched, rq == scx_bpf_cpu_rq(watched));
	SAY("llc", watched, llc ? *llc : -2);
	SAY("nr_running", watched, rq ? rq->nr_running : -2);
	for_range(level, 0, 8) {
		if (!sd)
			break;
		domain_span(sd, &span, sizeof(span));
		SAY("span", watched, span);
		sd = larger_domain(sd);
	}
}

#define SAY_PLUGGED(cpu) say_domains()
#define SAY_GROUP(p) say_domains()
#define SAY_BIRTH(p, args)
#define MORE_CALLBACKS
#include "tracer.h"
