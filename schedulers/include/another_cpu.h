/* SPDX-License-Identifier: GPL-2.0-only */
/* Where tasks go if their CPU goes offline. The file that includes this defines which CPUs are offline: is_offline(). */
#ifndef KEEL_ANOTHER_CPU_H
#define KEEL_ANOTHER_CPU_H

/* Returns the next CPU that is online, or `cpu` itself if there is none. */
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
