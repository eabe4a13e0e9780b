/* SPDX-License-Identifier: GPL-2.0-only */
/* Where tasks go whose CPU leaves. Whoever includes this has said which CPUs are offline: is_offline(). */
#ifndef KEEL_ANOTHER_CPU_H
#define KEEL_ANOTHER_CPU_H

/* The next CPU that is there; `cpu` itself where there is none. */
static __always_inline u32 another_cpu(u32 cpu)
{
	s32 i;

	for_range(i, 1, nr_cpus) {
		u32 other = (cpu + i) % nr_cpus;

		if (!is_offline(other))
			return other;
	}
	return cpu;
}

#endif
