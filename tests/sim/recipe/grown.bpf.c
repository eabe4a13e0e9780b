// SPDX-License-Identifier: GPL-2.0-only
/*
 * A scheduler whose user-space half grows an array with the machine and fills a map of maps. It exits with
 * its findings: the sum of the array, and the number of maps that accept an element.
 */
#include "keel.h"

LICENSE;

#define MOST 64

const volatile u32 nr_cpus = 1;
const volatile u32 partners[1] SEC(".rodata.partners");

struct queue {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 2);
	__type(value, u32);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MOST);
	__type(key, u32);
	__array(values, struct queue);
} queues SEC(".maps");

SLEEPABLE(s32, grown_init)
{
	u32 sum = 0, maps = 0;
	s32 i;

	for_range(i, 0, MOST) {
		u32 key = i;
		void *queue = bpf_map_lookup_elem(&queues, &key);

		if (queue && !bpf_map_push_elem(queue, &key, 0))
			maps++;
		if (i < nr_cpus)
			sum += *(const volatile u32 *)((void *)partners + 4 * i);
	}
	scheduler_exit(0, "sum %d, %d maps", sum, maps);
	return 0;
}

SCHEDULER(grown_ops, .init = (void *)grown_init, .name = "grown");
