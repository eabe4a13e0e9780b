/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's scheduling domains, as Linux 6.18 and 7.2 and the simulated kernel have them. Each CPU has its
 * own chain from `rq->sd` up by `->parent`: the CPUs of its core, of its cache, of its node, of the nodes
 * within each distance. A level that adds no CPU is left out; an offline CPU has none. Don't keep a pointer to
 * a domain: domains may be replaced as CPUs come and go. Its flags are SD_*, whose numbers these kernels share.
 */
#ifndef SCHED_DOMAINS_H
#define SCHED_DOMAINS_H

#include "keel.h"

extern const struct rq runqueues __ksym;

/* The CPU's runqueue: `cpu`, `curr`, `nr_running`, `sd`; null if there is no such CPU. */
static inline struct rq *runqueue_of(s32 cpu)
{
	return bpf_per_cpu_ptr(&runqueues, cpu);
}

/* The smallest domain of the CPU; null if it has none. */
static inline struct sched_domain *lowest_domain(s32 cpu)
{
	struct rq *rq = runqueue_of(cpu);

	return rq ? BPF_CORE_READ(rq, sd) : NULL;
}

/* The next larger one; null at the top. */
static inline struct sched_domain *larger_domain(struct sched_domain *sd)
{
	return BPF_CORE_READ(sd, parent);
}

/*
 * Its CPUs: this many bytes of the mask, 8 for each 64 CPUs of the machine. The mask follows
 * the structure directly; 7.2 has no member for it, older kernels have one at that place.
 */
static inline void domain_span(struct sched_domain *sd, void *mask, u32 bytes)
{
	bpf_probe_read_kernel(mask, bytes, (void *)sd + bpf_core_type_size(struct sched_domain));
}

#endif
