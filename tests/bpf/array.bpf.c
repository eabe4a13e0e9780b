// SPDX-License-Identifier: GPL-2.0-only
/* BPF_MAP_TYPE_ARRAY and PERCPU_ARRAY: elements always exist, and are zero at first. */
#include "case.h"

#define ARRAY(name, kind, type_of_value, entries)                                                  \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, entries);                                                      \
		__type(key, u32);                                                                  \
		__type(value, type_of_value);                                                      \
	} name SEC(".maps")

ARRAY(looked_up, ARRAY, u64, 3);
ARRAY(updated, ARRAY, u64, 3);
ARRAY(deleted, ARRAY, u64, 3);
ARRAY(small, ARRAY, u8, 3);
ARRAY(own, PERCPU_ARRAY, u64, 2);
ARRAY(others, PERCPU_ARRAY, u64, 2);

STEPS(lookups, 0, 1, 7, 0)
{
	u32 key = HIDE(1), beyond = HIDE(3);
	u64 *value = bpf_map_lookup_elem(&looked_up, &key);

	if (!value)
		return;
	got[0] = *value;
	*value = 7;
	got[1] = value == bpf_map_lookup_elem(&looked_up, &key);
	value = bpf_map_lookup_elem(&looked_up, &key);
	got[2] = value ? *value : -1;
	got[3] = !!bpf_map_lookup_elem(&looked_up, &beyond);
}

STEPS(updates, 0, 5, -EEXIST, 0, 6, -E2BIG, -EINVAL)
{
	u32 key = HIDE(2), beyond = HIDE(3);
	u64 first = 5, second = 6, *value;

	got[0] = bpf_map_update_elem(&updated, &key, &first, BPF_ANY);
	value = bpf_map_lookup_elem(&updated, &key);
	got[1] = value ? *value : -1;
	got[2] = bpf_map_update_elem(&updated, &key, &second, BPF_NOEXIST);
	got[3] = bpf_map_update_elem(&updated, &key, &second, BPF_EXIST);
	got[4] = value ? *value : -1;
	got[5] = bpf_map_update_elem(&updated, &beyond, &first, BPF_ANY);
	got[6] = bpf_map_update_elem(&updated, &key, &first, 3);
}

STEPS(deletes, -EINVAL, -EINVAL, 3)
{
	u32 key = HIDE(0), beyond = HIDE(3);
	u64 *value, number = 3;

	bpf_map_update_elem(&deleted, &key, &number, BPF_ANY);
	got[0] = bpf_map_delete_elem(&deleted, &key);
	got[1] = bpf_map_delete_elem(&deleted, &beyond);
	value = bpf_map_lookup_elem(&deleted, &key);
	got[2] = value ? *value : -1;
}

/* Elements are 8 bytes apart, however small they are. */
CASE(distance, 8)
{
	u32 first = HIDE(0), second = HIDE(1);
	u8 *a = bpf_map_lookup_elem(&small, &first), *b = bpf_map_lookup_elem(&small, &second);

	return a && b ? (u64)b - (u64)a : 0;
}

/* Each CPU has its own. The others' stay unchanged. */
STEPS(per_cpu, 0, 4, 0, 0)
{
	u32 key = HIDE(1), cpu = bpf_get_smp_processor_id();
	u64 *value, number = 4;

	got[0] = bpf_map_update_elem(&own, &key, &number, BPF_ANY);
	value = bpf_map_lookup_percpu_elem(&own, &key, cpu);
	got[1] = value ? *value : -1;
	value = bpf_map_lookup_percpu_elem(&own, &key, cpu ? 0 : 1);
	got[2] = value ? *value : -1;
	got[3] = !!bpf_map_lookup_percpu_elem(&own, &key, HIDE(100000));
}

STEPS(per_cpu_of_another, 9, 0, 1)
{
	u32 key = HIDE(0), beyond = HIDE(2), cpu = bpf_get_smp_processor_id(), other = cpu ? 0 : 1;
	u64 *theirs = bpf_map_lookup_percpu_elem(&others, &key, other);
	u64 *mine = bpf_map_lookup_elem(&others, &key);

	if (!theirs || !mine)
		return;
	*theirs = 9;
	got[0] = *theirs;
	got[1] = *mine;
	got[2] = !bpf_map_lookup_percpu_elem(&others, &beyond, other);
}
