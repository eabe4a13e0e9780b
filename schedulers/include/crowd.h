/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many tasks wait at each CPU, side by side: to find the busiest of 512 CPUs, eight cache lines are
 * read instead of one per CPU. The decisions are the same, up to 255 tasks a CPU. Compiled in with -DCROWD.
 *
 * keel profile found what this is for: docs/explanation/o1-on-512-cpus.md has the figures.
 */
#ifndef KEEL_CROWD_H
#define KEEL_CROWD_H

/* Up to 255 per CPU. */
static u8 crowd[MAX_CPUS] LINE;

/* The numbers of waiting tasks of eight CPUs. */
static __always_inline u64 crowd_of(u32 eight)
{
	return ((u64 *)crowd)[eight & (MAX_CPUS / 8 - 1)];
}

/* Sets how many tasks wait at a CPU; its lock is held. */
static __always_inline void count_waiting(u32 queue, u32 nr_waiting)
{
	u8 *here = &crowd[queue & (MAX_CPUS - 1)];
	u8 nr = nr_waiting > 255 ? 255 : nr_waiting;

	if (*here != nr)
		*here = nr;
}

static __always_inline bool has_waiting(u32 number)
{
	return crowd[number & (MAX_CPUS - 1)];
}

/* The other CPU with most waiting tasks, the next one after `cpu` if several have as many; `cpu` itself if no task waits. */
static __always_inline u32 busiest(u32 cpu)
{
	u32 most = 0, found = cpu, eights = (nr_cpus + 7) / 8;
	s32 i;

	/* The eight that include `cpu` are read twice: those after it first, those before it last. */
	for_range(i, 0, eights + 1) {
		u32 eight = (cpu / 8 + i) % eights;
		u64 waiting = crowd_of(eight);
		u32 at;

		if (!waiting)
			continue;
#pragma unroll
		for (at = 0; at < 8; at++) {
			u32 nr = waiting >> 8 * at & 255, other = eight * 8 + at;

			if (nr <= most || other == cpu || (!i && other < cpu) || (i == eights && other > cpu))
				continue;
			most = nr;
			found = other;
		}
	}
	return found;
}

#endif
