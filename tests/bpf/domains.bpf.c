// SPDX-License-Identifier: GPL-2.0-only
/*
 * Per-CPU kernel variables, and the scheduling domains that they lead to: what holds on every machine, because each has
 * its own levels.
 */
#include "case.h"
#include "sched_domains.h"

#define CPUS 8
#define ALL 0xff
#define LEVELS 8

extern const int sd_llc_id __ksym;
extern const int sd_llc_size __ksym;
extern const int sched_core_priority __ksym;

STEPS(runqueues_by_number, 8, 0, 1, 1)
{
	s32 cpu;

	for_range(cpu, 0, CPUS) {
		struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

		if (!rq)
			continue;
		got[0]++;
		got[1] += rq->cpu != cpu;
	}
	got[2] = !bpf_per_cpu_ptr(&runqueues, HIDE(CPUS));
	got[3] = !bpf_per_cpu_ptr(&runqueues, HIDE(-1));
}

/* This CPU runs the caller. */
STEPS(this_runqueue, 1, 1, 1)
{
	struct rq *rq;

	bpf_rcu_read_lock();
	rq = bpf_this_cpu_ptr(&runqueues);
	got[0] = rq->cpu == bpf_get_smp_processor_id();
	got[1] = BPF_CORE_READ(rq, curr) == (void *)bpf_get_current_task();
	got[2] = rq->nr_running > 0;
	bpf_rcu_read_unlock();
}

/* Fields by plain loads, as far as the verifier goes. */
STEPS(a_domain_by_loads, 1, 1)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, HIDE(0));
	struct sched_domain *sd;

	if (!rq)
		return;
	bpf_rcu_read_lock();
	sd = rq->sd;
	if (sd) {
		got[0] = sd->span_weight > 1;
		got[1] = sd->min_interval == sd->span_weight;
	}
	bpf_rcu_read_unlock();
}

/* One step up a CPU's chain: the domain, its CPUs, and those of the one below. */
struct step {
	struct sched_domain *sd, *below;
	u64 span, below_span;
};

static __always_inline bool climb(struct step *at, s32 cpu)
{
	at->below = at->sd;
	at->below_span = at->span;
	at->sd = at->below ? larger_domain(at->below) : lowest_domain(cpu);
	if (!at->sd)
		return false;
	domain_span(at->sd, &at->span, sizeof(at->span));
	at->span &= ALL;
	return true;
}

static __always_inline u32 count(u64 mask)
{
	u32 bits = 0;

	for (int i = 0; i < CPUS; i++)
		bits += mask >> i & 1;
	return bits;
}

/* Every chain contains the CPU itself, grows at each step, has links both ways, and ends with all CPUs. */
STEPS(chains, 8, 0, 0, 0, 0, 0)
{
	s32 cpu, level;

	for_range(cpu, 0, CPUS) {
		struct step at = {};

		for_range(level, 0, LEVELS) {
			struct sched_domain *sd, *below;

			if (!climb(&at, cpu))
				break;
			sd = at.sd;
			below = at.below;
			got[1] += !(at.span >> (cpu & 7) & 1);
			got[2] += (at.below_span & ~at.span) || at.below_span == at.span;
			got[3] += BPF_CORE_READ(sd, child) != below;
			got[4] += BPF_CORE_READ(sd, span_weight) != count(at.span);
			got[5] += below && BPF_CORE_READ(sd, level) <= BPF_CORE_READ(below, level);
		}
		got[0] += !at.sd && at.below_span == ALL;
	}
}

/* A domain's settings follow from its kind. */
STEPS(settings, 1, 0, 0, 0, 0)
{
	s32 cpu, level;

	for_range(cpu, 0, CPUS) {
		struct step at = {};

		for_range(level, 0, LEVELS) {
			struct sched_domain *sd;
			u32 flags, percent;

			if (!climb(&at, cpu))
				break;
			sd = at.sd;
			got[0] = 1;
			flags = BPF_CORE_READ(sd, flags);
			percent = BPF_CORE_READ(sd, imbalance_pct);
			got[1] += BPF_CORE_READ(sd, min_interval) != count(at.span);
			got[1] += BPF_CORE_READ(sd, max_interval) != 2 * count(at.span);
			got[2] += BPF_CORE_READ(sd, busy_factor) != 16;
			got[3] += percent != (flags & SD_SHARE_CPUCAPACITY ? 110 : 117);
			got[4] += !(flags & SD_BALANCE_NEWIDLE);
			got[4] += !(flags & SD_NUMA) != !!(flags & SD_PREFER_SIBLING);
			got[4] += !(flags & SD_NUMA) != !(flags & SD_SERIALIZE);
			got[4] += (flags & SD_SHARE_CPUCAPACITY) && !(flags & SD_SHARE_LLC);
		}
	}
}

/* A kind's name determines its flags. */
STEPS(names, 0, 1)
{
	s32 cpu, level;

	for_range(cpu, 0, CPUS) {
		struct step at = {};

		for_range(level, 0, LEVELS) {
			struct sched_domain *sd;
			char name[8] = {};
			u32 flags;

			if (!climb(&at, cpu))
				break;
			sd = at.sd;
			flags = BPF_CORE_READ(sd, flags);
			bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(sd, name));
			got[0] += !bpf_strncmp(name, 5, "NUMA") != !!(flags & SD_NUMA);
			got[0] += !bpf_strncmp(name, 4, "SMT") != !!(flags & SD_SHARE_CPUCAPACITY);
			got[1] |= name[0] >= 'A' && name[0] <= 'Z';
		}
	}
}

/* No driver here ranks cores. */
CASE(priorities_of_cores, CPUS)
{
	u64 same = 0;
	s32 cpu;

	for_range(cpu, 0, CPUS) {
		int *priority = bpf_per_cpu_ptr(&sched_core_priority, cpu);

		same += priority && *priority == 0;
	}
	return same;
}

/* CPUs that share a cache have the same id, and the cache's size is their number. */
STEPS(caches, 0, 0, 8)
{
	s32 cpu, level, other;

	for_range(cpu, 0, CPUS) {
		u64 cache = 1 << (cpu & 7);
		struct step at = {};
		int *size = bpf_per_cpu_ptr(&sd_llc_size, cpu), *id = bpf_per_cpu_ptr(&sd_llc_id, cpu);

		for_range(level, 0, LEVELS) {
			struct sched_domain *sd;

			if (!climb(&at, cpu))
				break;
			sd = at.sd;
			if (BPF_CORE_READ(sd, flags) & SD_SHARE_LLC)
				cache = at.span;
		}
		if (!size || !id)
			continue;
		got[0] += *size != count(cache);
		for_range(other, 0, CPUS) {
			int *others = bpf_per_cpu_ptr(&sd_llc_id, other);

			got[1] += !others || (*others == *id) != (cache >> (other & 7) & 1);
		}
		got[2] += *id >= 0 && *id < CPUS;
	}
}
