// SPDX-License-Identifier: GPL-2.0-only
/* struct bpf_cpumask: created, changed, compared, stored in a map. There are 8 CPUs. */
#include "case.h"

struct kept {
	struct bpf_cpumask __kptr *mask;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct kept);
} kept SEC(".maps");

/* struct bpf_cpumask begins with the struct cpumask that most of these take. */
#define M(mask) ((const struct cpumask *)(mask))

STEPS(bits, 0, 1, 0, 1, 1, 0, 1, 8, 3)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();

	if (!mask)
		return;
	got[0] = bpf_cpumask_test_cpu(HIDE(3), M(mask));
	bpf_cpumask_set_cpu(HIDE(3), mask);
	got[1] = bpf_cpumask_test_cpu(HIDE(3), M(mask));
	got[2] = bpf_cpumask_test_and_set_cpu(HIDE(4), mask);
	got[3] = bpf_cpumask_test_and_set_cpu(HIDE(4), mask);
	got[4] = bpf_cpumask_test_and_clear_cpu(HIDE(4), mask);
	got[5] = bpf_cpumask_test_and_clear_cpu(HIDE(4), mask);
	got[6] = bpf_cpumask_weight(M(mask));
	bpf_cpumask_clear_cpu(HIDE(3), mask);
	got[7] = bpf_cpumask_first(M(mask));
	bpf_cpumask_set_cpu(HIDE(3), mask);
	got[8] = bpf_cpumask_first(M(mask));
	bpf_cpumask_release(mask);
}

/* CPUs that the machine cannot have are never in a mask, whatever you set. */
STEPS(beyond_the_machine, 0, 0, 1)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();

	if (!mask)
		return;
	bpf_cpumask_set_cpu(HIDE(100000), mask);
	got[0] = bpf_cpumask_test_cpu(HIDE(100000), M(mask));
	got[1] = bpf_cpumask_weight(M(mask));
	got[2] = bpf_cpumask_empty(M(mask));
	bpf_cpumask_release(mask);
}

STEPS(all_and_none, 8, 1, 0, 8, 0, 1, 0)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();

	if (!mask)
		return;
	bpf_cpumask_setall(mask);
	got[0] = bpf_cpumask_weight(M(mask));
	got[1] = bpf_cpumask_full(M(mask));
	got[2] = bpf_cpumask_empty(M(mask));
	got[3] = bpf_cpumask_first_zero(M(mask));
	bpf_cpumask_clear(mask);
	got[4] = bpf_cpumask_weight(M(mask));
	got[5] = bpf_cpumask_empty(M(mask));
	got[6] = bpf_cpumask_first_zero(M(mask));
	bpf_cpumask_release(mask);
}

/* The three masks made from two sets, {1, 2} and {2, 5}, and their properties. */
STEPS(two_sets, 1, 2, 3, 2, 0, 1, 0, 1, 1, 8)
{
	struct bpf_cpumask *a = bpf_cpumask_create(), *b = bpf_cpumask_create(), *c = bpf_cpumask_create();

	if (!a || !b || !c)
		goto out;
	bpf_cpumask_set_cpu(1, a);
	bpf_cpumask_set_cpu(2, a);
	bpf_cpumask_set_cpu(2, b);
	bpf_cpumask_set_cpu(5, b);
	got[0] = bpf_cpumask_and(c, M(a), M(b));
	got[1] = bpf_cpumask_first(M(c));
	bpf_cpumask_or(c, M(a), M(b));
	got[2] = bpf_cpumask_weight(M(c));
	bpf_cpumask_xor(c, M(a), M(b));
	got[3] = bpf_cpumask_weight(M(c));
	got[4] = bpf_cpumask_equal(M(a), M(b));
	got[5] = bpf_cpumask_intersects(M(a), M(b));
	got[6] = bpf_cpumask_subset(M(a), M(b));
	bpf_cpumask_copy(c, M(a));
	got[7] = bpf_cpumask_equal(M(a), M(c));
	bpf_cpumask_clear(c);
	got[8] = !bpf_cpumask_and(c, M(c), M(a)) && bpf_cpumask_subset(M(c), M(b));
	got[9] = bpf_cpumask_any_and_distribute(M(c), M(a));
out:
	if (a)
		bpf_cpumask_release(a);
	if (b)
		bpf_cpumask_release(b);
	if (c)
		bpf_cpumask_release(c);
}

STEPS(any_of_them, 6, 6, 8)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();

	if (!mask)
		return;
	bpf_cpumask_set_cpu(6, mask);
	got[0] = bpf_cpumask_any_distribute(M(mask));
	got[1] = bpf_cpumask_any_and_distribute(M(mask), M(mask));
	bpf_cpumask_clear(mask);
	got[2] = bpf_cpumask_any_distribute(M(mask));
	bpf_cpumask_release(mask);
}

/* A reference is taken and released. The mask stays valid for the other references. */
STEPS(references, 1, 1)
{
	struct bpf_cpumask *mask = bpf_cpumask_create(), *again;

	if (!mask)
		return;
	again = bpf_cpumask_acquire(mask);
	bpf_cpumask_set_cpu(1, mask);
	bpf_cpumask_release(mask);
	got[0] = bpf_cpumask_test_cpu(1, M(again));
	got[1] = bpf_cpumask_first(M(again));
	bpf_cpumask_release(again);
}

/* bpf_kptr_xchg() puts a mask into a map and returns the previous one. */
STEPS(kept_in_a_map, 1, 1, 0, 1, 1)
{
	u32 key = HIDE(0);
	struct kept *value = bpf_map_lookup_elem(&kept, &key);
	struct bpf_cpumask *mask = bpf_cpumask_create(), *old, *seen;

	if (!mask)
		return;
	if (!value) {
		bpf_cpumask_release(mask);
		return;
	}
	bpf_cpumask_set_cpu(5, mask);
	old = bpf_kptr_xchg(&value->mask, mask);
	got[0] = !old;
	if (old)
		bpf_cpumask_release(old);
	bpf_rcu_read_lock();
	seen = value->mask;
	if (seen) {
		got[1] = bpf_cpumask_test_cpu(5, M(seen));
		got[2] = bpf_cpumask_test_cpu(4, M(seen));
	}
	bpf_rcu_read_unlock();
	old = bpf_kptr_xchg(&value->mask, NULL);
	if (old) {
		got[3] = bpf_cpumask_weight(M(old));
		bpf_cpumask_release(old);
	}
	got[4] = !value->mask;
}
