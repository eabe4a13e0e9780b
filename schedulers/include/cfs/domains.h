/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, seventh: scheduling domains, as the kernel builds them for each CPU: CPUs that share a core, a
 * cache, a node; then nodes by hops. If the kernel has no domains, there is a single one of all CPUs.
 * Offline CPUs are excluded until the kernel rebuilds its domains, which each CPU then reads again.
 */
#ifndef CFS_DOMAINS_H
#define CFS_DOMAINS_H

#include "masks.h"
#include "sched_domains.h"

/* The kernel rebuilds its own some time after a CPU has come online. */
#define SETTLED_NS (50 * MSEC_NS)

/* Whether the kernel has domains at all; which CPUs are online; when one last came or went, and how often. */
static bool has_domains;
static struct mask online LINE;
static u64 hotplugged_at;
static u32 hotplugs;
static u32 hotplugs_seen[MAX_CPUS];

/* Adds the span that was just read as a level of a CPU's domains, if it is larger than the previous one. */
static __always_inline bool keep_level(u32 cpu, u32 level)
{
	struct runqueue *rq = runqueue_at(cpu);
	u32 id = span_of(cpu, level), cpus = unknown_zero, c;
	s32 i;

	for_range(i, 0, CPU_WORDS) {
		u32 word = hidden(i) & (CPU_WORDS - 1);

		mask_at(id)->words[word] &= online.words[word];
	}
	for_each_cpu(i, c, id)
		cpus++;
	if (cpus <= rq->level_cpus[(level - 1) & (LEVELS - 1)])
		return false;
	rq->level_cpus[level & (LEVELS - 1)] = cpus;
	rq->nr_levels = level;
	return true;
}

/* Rereads the CPU's domains. */
__noinline int read_domains(u32 cpu)
{
	struct runqueue *rq = runqueue_at(cpu);
	struct sched_domain *sd = lowest_domain(cpu);
	u32 bytes = nr_words * 8;
	s32 i;

	clear_mask(span_of(cpu, 0));
	add_cpu(span_of(cpu, 0), cpu);
	rq->level_cpus[0] = 1;
	rq->nr_levels = rq->nr_node_levels = rq->cache_level = 0;
	if (bytes > sizeof(struct mask))
		bytes = sizeof(struct mask);
	if (!has_domains) {
		*mask_at(span_of(cpu, 1)) = online;
		if (keep_level(cpu, 1))
			rq->nr_node_levels = rq->cache_level = 1;
	}
	for_range(i, 0, LEVELS * 2) {
		u32 level = rq->nr_levels + 1, flags;

		if (!sd || level >= LEVELS)
			break;
		clear_mask(span_of(cpu, level));
		domain_span(sd, mask_at(span_of(cpu, level)), bytes);
		flags = BPF_CORE_READ(sd, flags);
		sd = larger_domain(sd);
		if (!keep_level(cpu, level))
			continue;
		if (!(flags & SD_NUMA))
			rq->nr_node_levels = level;
		if (flags & SD_SHARE_LLC)
			rq->cache_level = level;
	}
	return 0;
}

/* Whether this CPU's domains are older than the last change, or not read yet. */
static __always_inline bool has_old_domains(u32 cpu, u64 now)
{
	return hotplugs_seen[cpu & (MAX_CPUS - 1)] != hotplugs && now >= hotplugged_at + SETTLED_NS;
}

/* After hotplug: the kernel's domains have been rebuilt, so rebuild ours too. */
static __always_inline void refresh_domains(u32 cpu, u64 now)
{
	struct runqueue *rq = runqueue_at(cpu);

	if (!has_old_domains(cpu, now))
		return;
	hotplugs_seen[cpu & (MAX_CPUS - 1)] = hotplugs;
	read_domains(cpu);
	if (has_bug(BUG_MISSING_DOMAINS))
		rq->nr_levels = rq->nr_node_levels;
}

/* Handles a CPU that comes or goes. Until domains are rebuilt, they stay as they are. */
static __always_inline void hotplug(u32 cpu, bool comes)
{
	s32 i, l;

	if (comes)
		online.words[word_of(cpu)] |= 1ULL << (cpu % 64);
	else
		online.words[word_of(cpu)] &= ~(1ULL << (cpu % 64));
	hotplugged_at = scx_bpf_now();
	hotplugs++;
	runqueue_at(cpu)->offline = !comes;
	if (comes) {
		read_domains(cpu);
		return;
	}
	for_range(i, 0, nr_cpus)
		for_range(l, 1, LEVELS)
			remove_cpu(span_of(i, l), cpu);
}

static __always_inline void read_online(void)
{
	const struct cpumask *cpus = scx_bpf_get_online_cpumask();
	s32 i;

	bpf_probe_read_kernel(&online, sizeof(online), cpus);
	scx_bpf_put_cpumask(cpus);
	nr_words = (nr_cpus + 63) / 64;
	for_range(i, 0, MAX_CPUS) {
		u32 cpu = i;

		if (cpu >= nr_cpus || !(online.words[word_of(cpu)] >> (cpu % 64) & 1))
			runqueue_at(cpu)->offline = true;
	}
}

/* For init. */
static __always_inline void make_domains(void)
{
	s32 i;

	read_online();
	for_range(i, 0, nr_cpus)
		if (lowest_domain(i))
			has_domains = true;
	for_range(i, 0, nr_cpus)
		read_domains(i);
}

#endif
