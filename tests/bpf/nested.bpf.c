// SPDX-License-Identifier: GPL-2.0-only
/* BPF_MAP_TYPE_ARRAY_OF_MAPS, with the entries in its definition. */
#include "case.h"

struct numbers {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} first SEC(".maps"), third SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, u32);
	__array(values, struct numbers);
} arrays SEC(".maps") = { .values = { [0] = &first, [2] = &third } };

struct line {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 2);
	__type(value, u64);
} waiting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct line);
} queues SEC(".maps") = { .values = { &waiting } };

static __always_inline u64 *number(u32 index, u32 key)
{
	void *inner = bpf_map_lookup_elem(&arrays, &index);

	return inner ? bpf_map_lookup_elem(inner, &key) : NULL;
}

STEPS(an_array_of_arrays, 1, 0, 1, 0, 0, 41, 42)
{
	u32 key = 1;
	u64 one = 41, two = 42, *value;

	bpf_map_update_elem(&first, &key, &one, BPF_ANY);
	bpf_map_update_elem(&third, &key, &two, BPF_ANY);
	value = number(HIDE(0), 1);
	got[0] = !!value;
	if (value)
		got[5] = *value;
	got[1] = !!number(HIDE(1), 1);
	value = number(HIDE(2), 1);
	got[2] = !!value;
	if (value)
		got[6] = *value;
	got[3] = !!number(HIDE(3), 1);
	got[4] = !!number(HIDE(0), 2);
}

STEPS(an_array_of_queues, 0, 0, 5, -ENOENT)
{
	u32 index = 0;
	u64 five = 5, value = 0;
	void *inner = bpf_map_lookup_elem(&queues, &index);

	if (!inner)
		return;
	got[0] = bpf_map_push_elem(inner, &five, BPF_ANY);
	got[1] = bpf_map_pop_elem(&waiting, &value);
	got[2] = value;
	got[3] = bpf_map_pop_elem(inner, &value);
}
