// SPDX-License-Identifier: GPL-2.0-only
/* bpf_for_each_map_elem(). */
#include "case.h"

struct bpf_map;

#define MAP(name, kind, entries)                                                                   \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, entries);                                                      \
		__type(key, u32);                                                                  \
		__type(value, u64);                                                                \
	} name SEC(".maps")

MAP(array, ARRAY, 5);
MAP(hash, HASH, 8);
MAP(shrinking, HASH, 8);
MAP(empty, HASH, 8);
MAP(own, PERCPU_ARRAY, 3);

struct seen {
	u64 keys, values, stop_at;
};

static long see(struct bpf_map *map, u32 *key, u64 *value, struct seen *seen)
{
	seen->keys = seen->keys * 10 + *key;
	seen->values += *value;
	*value += 1;
	return *key == seen->stop_at;
}

/* By index, with values that the callback may change. It ends early if the callback returns 1. */
STEPS(an_array, 5, 1234, 0, 5, 1234, 5, 3, 12)
{
	struct seen seen = { .stop_at = 99 }, again = seen, part = { .stop_at = 2 };

	got[0] = bpf_for_each_map_elem(&array, see, &seen, 0);
	got[1] = seen.keys;
	got[2] = seen.values;
	got[3] = bpf_for_each_map_elem(&array, see, &again, 0);
	got[4] = again.keys;
	got[5] = again.values;
	got[6] = bpf_for_each_map_elem(&array, see, &part, 0);
	got[7] = part.keys;
}

static long add(struct bpf_map *map, u32 *key, u64 *value, struct seen *seen)
{
	seen->keys += *key;
	seen->values += *value;
	return 0;
}

/* In the kernel's own order. */
STEPS(a_hash, 3, 9, 90)
{
	struct seen seen = {};

	for (u32 i = 2; i < 5; i++) {
		u32 key = i;
		u64 value = i * 10;

		bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
	}
	got[0] = bpf_for_each_map_elem(&hash, add, &seen, 0);
	got[1] = seen.keys;
	got[2] = seen.values;
}

static long remove(struct bpf_map *map, u32 *key, u64 *value, struct seen *seen)
{
	u32 own = *key;

	seen->keys += bpf_map_delete_elem(&shrinking, &own) == 0;
	return 0;
}

/* Elements may be deleted meanwhile. */
STEPS(a_hash_that_shrinks, 4, 4, 0)
{
	struct seen seen = {};

	for (u32 i = 0; i < 4; i++) {
		u32 key = i;
		u64 value = i;

		bpf_map_update_elem(&shrinking, &key, &value, BPF_ANY);
	}
	got[0] = bpf_for_each_map_elem(&shrinking, remove, &seen, 0);
	got[1] = seen.keys;
	got[2] = bpf_for_each_map_elem(&shrinking, remove, &seen, 0);
}

STEPS(nothing, 0, -EINVAL)
{
	struct seen seen = {};

	got[0] = bpf_for_each_map_elem(&empty, add, &seen, 0);
	got[1] = bpf_for_each_map_elem(&empty, add, &seen, HIDE(1));
}

/* In a per-CPU map, this CPU's values. */
STEPS(a_per_cpu_array, 3, 3, 42)
{
	struct seen seen = {};
	u32 key = HIDE(1);
	u64 value = 42;

	bpf_map_update_elem(&own, &key, &value, BPF_ANY);
	got[0] = bpf_for_each_map_elem(&own, add, &seen, 0);
	got[1] = seen.keys;
	got[2] = seen.values;
}

MAP(own_hash, PERCPU_HASH, 8);

static long first(struct bpf_map *map, u32 *key, u64 *value, struct seen *seen)
{
	seen->keys += *key;
	seen->values += *value;
	return 1;
}

STEPS(a_per_cpu_hash, 2, 7, 70, 1)
{
	struct seen seen = {}, one = {};

	for (u32 i = 3; i < 5; i++) {
		u32 key = i;
		u64 value = i * 10;

		bpf_map_update_elem(&own_hash, &key, &value, BPF_ANY);
	}
	got[0] = bpf_for_each_map_elem(&own_hash, add, &seen, 0);
	got[1] = seen.keys;
	got[2] = seen.values;
	got[3] = bpf_for_each_map_elem(&own_hash, first, &one, 0);
}
