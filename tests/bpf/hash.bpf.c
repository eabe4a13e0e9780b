// SPDX-License-Identifier: GPL-2.0-only
/* BPF_MAP_TYPE_HASH and PERCPU_HASH, and their LRU kinds: flags, limits, the effect of deleting. */
#include "case.h"

#define HASH(name, kind, type_of_key, type_of_value, entries, flags)                               \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, flags);                                                          \
		__type(key, type_of_key);                                                          \
		__type(value, type_of_value);                                                      \
	} name SEC(".maps")

struct pair {
	u32 a;
	u16 b;
} __attribute__((packed));

HASH(flagged, HASH, u32, u64, 4, 0);
HASH(sparse, HASH, u32, u64, 4, BPF_F_NO_PREALLOC);
HASH(full, HASH, u32, u64, 2, 0);
HASH(pairs, HASH, struct pair, u8, 4, 0);
HASH(kept, HASH, u32, u64, 4, 0);
HASH(own, PERCPU_HASH, u32, u64, 4, 0);
HASH(own_full, PERCPU_HASH, u32, u64, 2, 0);
HASH(recent, LRU_HASH, u32, u64, 64, 0);
HASH(recent_own, LRU_PERCPU_HASH, u32, u64, 64, 0);
HASH(empty, HASH, u32, u64, 4, 0);

/* The element's value, or a value that is in no element. */
#define VALUE(map, key)                                                                            \
	({                                                                                         \
		u64 *___value = bpf_map_lookup_elem(map, &key);                                    \
		___value ? *___value : 404;                                                        \
	})

#define FLAGS_ON(map)                                                                              \
	u32 key = HIDE(11);                                                                        \
	u64 first = 5, second = 6;                                                                 \
                                                                                                   \
	got[0] = bpf_map_update_elem(map, &key, &first, BPF_EXIST);                                \
	got[1] = bpf_map_update_elem(map, &key, &first, BPF_NOEXIST);                              \
	got[2] = bpf_map_update_elem(map, &key, &second, BPF_NOEXIST);                             \
	got[3] = VALUE(map, key);                                                                  \
	got[4] = bpf_map_update_elem(map, &key, &second, BPF_EXIST);                               \
	got[5] = VALUE(map, key);                                                                  \
	got[6] = bpf_map_update_elem(map, &key, &first, BPF_ANY);                                  \
	got[7] = bpf_map_update_elem(map, &key, &first, 3);                                        \
	got[8] = bpf_map_delete_elem(map, &key);                                                   \
	got[9] = bpf_map_delete_elem(map, &key);                                                   \
	got[10] = VALUE(map, key);

STEPS(flags, -ENOENT, 0, -EEXIST, 5, 0, 6, 0, -EINVAL, 0, -ENOENT, 404)
{
	FLAGS_ON(&flagged)
}

STEPS(flags_without_preallocation, -ENOENT, 0, -EEXIST, 5, 0, 6, 0, -EINVAL, 0, -ENOENT, 404)
{
	FLAGS_ON(&sparse)
}

STEPS(flags_per_cpu, -ENOENT, 0, -EEXIST, 5, 0, 6, 0, -EINVAL, 0, -ENOENT, 404)
{
	FLAGS_ON(&own)
}

STEPS(flags_of_recent, -ENOENT, 0, -EEXIST, 5, 0, 6, 0, -EINVAL, 0, -ENOENT, 404)
{
	FLAGS_ON(&recent)
}

STEPS(flags_of_recent_per_cpu, -ENOENT, 0, -EEXIST, 5, 0, 6, 0, -EINVAL, 0, -ENOENT, 404)
{
	FLAGS_ON(&recent_own)
}

#define FULL(map)                                                                                  \
	u32 one = HIDE(1), two = HIDE(2), three = HIDE(3);                                         \
	u64 value = 8;                                                                             \
                                                                                                   \
	got[0] = bpf_map_update_elem(map, &one, &value, BPF_ANY);                                  \
	got[1] = bpf_map_update_elem(map, &two, &value, BPF_ANY);                                  \
	got[2] = bpf_map_update_elem(map, &three, &value, BPF_ANY);                                \
	got[3] = bpf_map_update_elem(map, &three, &value, BPF_EXIST);                              \
	got[4] = bpf_map_update_elem(map, &one, &value, BPF_ANY);                                  \
	got[5] = bpf_map_delete_elem(map, &two);                                                   \
	got[6] = bpf_map_update_elem(map, &three, &value, BPF_ANY);                                \
	got[7] = VALUE(map, three);

STEPS(no_room, 0, 0, -E2BIG, -ENOENT, 0, 0, 0, 8)
{
	FULL(&full)
}

STEPS(no_room_per_cpu, 0, 0, -E2BIG, -ENOENT, 0, 0, 0, 8)
{
	FULL(&own_full)
}

/* Keys are compared byte by byte, whatever their size. */
STEPS(keys_of_odd_sizes, 0, 1, 0, 0)
{
	struct pair key = { HIDE(1), HIDE(2) }, other = { 1, 3 };
	u8 value = 1;

	got[0] = bpf_map_update_elem(&pairs, &key, &value, BPF_ANY);
	other.b--;
	got[1] = !!bpf_map_lookup_elem(&pairs, &other);
	other.a++;
	got[2] = !!bpf_map_lookup_elem(&pairs, &other);
	got[3] = bpf_map_delete_elem(&pairs, &key);
}

/* An update makes a new element. Code with the old one's address keeps the old value. */
STEPS(old_values_stay_a_while, 5, 6)
{
	u32 key = HIDE(21);
	u64 first = 5, second = 6, *old;

	bpf_map_update_elem(&kept, &key, &first, BPF_ANY);
	old = bpf_map_lookup_elem(&kept, &key);
	bpf_map_update_elem(&kept, &key, &second, BPF_ANY);
	got[0] = old ? *old : -1;
	got[1] = VALUE(&kept, key);
}

/* A value that was looked up is changed in place. */
STEPS(changes_in_place, 1, 16, 16)
{
	u32 key = HIDE(22);
	u64 number = 15, *value;

	bpf_map_update_elem(&kept, &key, &number, BPF_ANY);
	value = bpf_map_lookup_elem(&kept, &key);
	if (!value)
		return;
	got[0] = *value == number;
	__sync_fetch_and_add(value, 1);
	got[1] = *value;
	got[2] = VALUE(&kept, key);
}

/* In a new element, the other CPUs' values are 0. */
STEPS(per_cpu_of_another, 3, 0, 1)
{
	u32 key = HIDE(23), cpu = bpf_get_smp_processor_id();
	u64 number = 3, *value;

	bpf_map_update_elem(&own, &key, &number, BPF_ANY);
	got[0] = VALUE(&own, key);
	value = bpf_map_lookup_percpu_elem(&own, &key, cpu ? 0 : 1);
	got[1] = value ? *value : -1;
	key = HIDE(24);
	got[2] = !bpf_map_lookup_percpu_elem(&own, &key, 0);
}

/* A full LRU map evicts elements. The kernel chooses which, but never the newest. */
STEPS(recent_makes_room, 0, 0, 299)
{
	u64 number, refused = 0;
	s32 i;

	for_range(i, 0, 300) {
		u32 key = i;

		number = i;
		refused += !!bpf_map_update_elem(&recent, &key, &number, BPF_ANY);
	}
	u32 newest = 299, never = HIDE(1000);

	got[0] = refused;
	got[1] = !!bpf_map_lookup_elem(&recent, &never);
	got[2] = VALUE(&recent, newest);
}

CASE(nothing_is_there_at_first, 404)
{
	u32 key = HIDE(0);

	return VALUE(&empty, key);
}
