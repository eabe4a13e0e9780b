// SPDX-License-Identifier: GPL-2.0-only
/* bpf_spin_lock in values and in global data, and updates under the lock; RCU and preemption. */
#include "case.h"

struct guarded {
	struct bpf_spin_lock lock;
	u32 count;
	u64 total;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, struct guarded);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct guarded);
} array SEC(".maps"), plain SEC(".maps");

static struct bpf_spin_lock lock SEC(".data.lock");
static u64 under_lock SEC(".data.lock");

STEPS(of_a_value, 3, 30, 0)
{
	u32 key = HIDE(0);
	struct guarded *value = bpf_map_lookup_elem(&array, &key);

	if (!value)
		return;
	for (int i = 0; i < 3; i++) {
		bpf_spin_lock(&value->lock);
		value->count++;
		value->total += 10;
		bpf_spin_unlock(&value->lock);
	}
	got[0] = value->count;
	got[1] = value->total;
	got[2] = *(volatile u32 *)&value->count == 0;
}

CASE(of_global_data, 7)
{
	u64 seen;

	bpf_spin_lock(&lock);
	under_lock += 7;
	seen = under_lock;
	bpf_spin_unlock(&lock);
	return seen;
}

/* BPF_F_LOCK writes in place. Code that looked the value up earlier sees it. */
STEPS(updates_under_the_lock, 0, 0, 2, 200, -ENOENT)
{
	struct guarded first = { .count = 1, .total = 100 }, second = { .count = 2, .total = 200 }, *value;
	u32 key = HIDE(1), absent = HIDE(2);

	got[0] = bpf_map_update_elem(&hash, &key, &first, BPF_ANY);
	value = bpf_map_lookup_elem(&hash, &key);
	got[1] = bpf_map_update_elem(&hash, &key, &second, BPF_F_LOCK);
	if (!value)
		return;
	got[2] = value->count;
	got[3] = value->total;
	got[4] = bpf_map_update_elem(&hash, &absent, &first, BPF_F_LOCK | BPF_EXIST);
}

/* An update does not change the lock, so it can be taken afterwards. */
STEPS(updates_beside_the_lock, 0, 5, 6)
{
	struct guarded other = { .count = 5 }, *value;
	u32 key = HIDE(0);

	got[0] = bpf_map_update_elem(&plain, &key, &other, BPF_ANY);
	value = bpf_map_lookup_elem(&plain, &key);
	if (!value)
		return;
	got[1] = value->count;
	bpf_spin_lock(&value->lock);
	got[2] = ++value->count;
	bpf_spin_unlock(&value->lock);
}

CASE(sections, 5)
{
	u64 number = HIDE(2);

	bpf_rcu_read_lock();
	number += 1;
	bpf_rcu_read_unlock();
	bpf_preempt_disable();
	number += 2;
	bpf_preempt_enable();
	return number;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} unguarded SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} unguarded_hash SEC(".maps");

/* Values without a lock cannot be updated under it. */
STEPS(no_lock_there, -EINVAL, -EINVAL)
{
	u32 key = HIDE(0);
	u64 value = 1;

	got[0] = bpf_map_update_elem(&unguarded, &key, &value, BPF_F_LOCK);
	got[1] = bpf_map_update_elem(&unguarded_hash, &key, &value, BPF_F_LOCK);
}
