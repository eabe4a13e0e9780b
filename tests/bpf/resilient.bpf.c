// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf_res_spin_lock: in values and in global data, nested, and if a CPU requests a lock that it holds. The
 * verifier detects that a program takes one lock twice, unless it has looked it up twice.
 */
#include "case.h"

#define ETIMEDOUT 110
/* More than the kernel's table of a CPU's locks can hold: RES_NR_HELD is 31. */
#define NR_TAKEN 33

struct guarded {
	struct bpf_res_spin_lock lock;
	u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_TAKEN);
	__type(key, u32);
	__type(value, struct guarded);
} array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct guarded);
} hash SEC(".maps");

static struct bpf_res_spin_lock first SEC(".data.first");
static struct bpf_res_spin_lock second SEC(".data.second");

STEPS(of_a_value, 3, 0)
{
	u32 key = HIDE(0);
	struct guarded *value = bpf_map_lookup_elem(&array, &key);

	if (!value)
		return;
	for (int i = 0; i < 3; i++) {
		if (bpf_res_spin_lock(&value->lock))
			return;
		value->count++;
		bpf_res_spin_unlock(&value->lock);
	}
	got[0] = value->count;
}

CASE(nested, 2)
{
	u64 taken = 0;

	if (bpf_res_spin_lock(&first))
		return taken;
	taken++;
	if (!bpf_res_spin_lock(&second)) {
		taken++;
		bpf_res_spin_unlock(&second);
	}
	bpf_res_spin_unlock(&first);
	return taken;
}

CASE(with_interrupts_off, 2)
{
	unsigned long outer, inner;
	u64 taken = 0;

	if (bpf_res_spin_lock_irqsave(&first, &outer))
		return taken;
	taken++;
	if (!bpf_res_spin_lock_irqsave(&second, &inner)) {
		taken++;
		bpf_res_spin_unlock_irqrestore(&second, &inner);
	}
	bpf_res_spin_unlock_irqrestore(&first, &outer);
	return taken;
}

/* It fails at once, and the lock can be taken again afterwards. */
STEPS(of_what_the_cpu_has, 0, -EDEADLK, 0)
{
	u32 key = HIDE(0);
	struct guarded *value = bpf_map_lookup_elem(&array, &key);
	struct guarded *again = bpf_map_lookup_elem(&array, &key);
	int failed;

	if (!value || !again)
		return;
	got[0] = bpf_res_spin_lock(&value->lock);
	if (got[0])
		return;
	failed = bpf_res_spin_lock(&again->lock);
	if (!failed)
		bpf_res_spin_unlock(&again->lock);
	bpf_res_spin_unlock(&value->lock);
	got[1] = failed;
	got[2] = bpf_res_spin_lock(&value->lock);
	if (!got[2])
		bpf_res_spin_unlock(&value->lock);
}

/* A lock that does not fit into the table is given up after a quarter of a second. */
STEPS(of_what_no_table_shows, -ETIMEDOUT, 1)
{
	struct bpf_res_spin_lock *locks[NR_TAKEN];
	struct guarded *value;
	u64 began;
	int i, failed;

	for (i = 0; i < NR_TAKEN; i++) {
		u32 key = i;

		value = bpf_map_lookup_elem(&array, &key);
		if (!value)
			return;
		locks[i] = &value->lock;
	}
	u32 last = NR_TAKEN - 1;

	value = bpf_map_lookup_elem(&array, &last);
	if (!value)
		return;
	began = bpf_ktime_get_ns();
	for (i = 0; i < NR_TAKEN; i++)
		if (bpf_res_spin_lock(locks[i]))
			goto out;
	failed = bpf_res_spin_lock(&value->lock);
	if (!failed)
		bpf_res_spin_unlock(&value->lock);
	got[0] = failed;
out:
	for (i--; i >= 0; i--)
		bpf_res_spin_unlock(locks[i]);
	got[1] = bpf_ktime_get_ns() - began >= 250 * 1000 * 1000;
}

/* An update cannot use such a lock. */
STEPS(no_updates_under_it, 0, -EINVAL)
{
	struct guarded value = { .count = 1 };
	u32 key = HIDE(0);

	got[0] = bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
	got[1] = bpf_map_update_elem(&hash, &key, &value, BPF_F_LOCK);
}
