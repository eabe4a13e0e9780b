// SPDX-License-Identifier: GPL-2.0-only
/* bpf_timer: it fires once, later, and can be restarted or cancelled. */
#include "case.h"

#define CLOCK_MONOTONIC 1
#define SOON 1000000ULL
#define NEVER 1000000000000ULL

struct element {
	u64 number;
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, struct element);
} elements SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, struct element);
} hash SEC(".maps");

/* Each case has its own element. */
#define ELEMENT(index)                                                                             \
	u32 key = HIDE(index);                                                                     \
	struct element *e = bpf_map_lookup_elem(&elements, &key);                                  \
                                                                                                   \
	if (!e)                                                                                    \
		return;

static int idle(void *map, u32 *key, struct bpf_timer *timer)
{
	return 0;
}

STEPS(refusals, -EINVAL, -EINVAL, -EINVAL, 0, -EBUSY, -EINVAL, 0, -EINVAL, 0)
{
	ELEMENT(0)
	got[0] = bpf_timer_set_callback(&e->timer, idle);
	got[1] = bpf_timer_start(&e->timer, SOON, 0);
	got[2] = bpf_timer_cancel(&e->timer);
	got[3] = bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	got[4] = bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	got[5] = bpf_timer_start(&e->timer, SOON, 0);
	got[6] = bpf_timer_set_callback(&e->timer, idle);
	got[7] = bpf_timer_start(&e->timer, SOON, HIDE(1 << 6));
	got[8] = bpf_timer_cancel(&e->timer);
}

CASE(clocks, (u64)-EINVAL)
{
	u32 key = HIDE(1);
	struct element *e = bpf_map_lookup_elem(&elements, &key);

	return e ? bpf_timer_init(&e->timer, &elements, 5) : 0;
}

STEPS(cancelling, 0, 1, 0, 0, 1)
{
	ELEMENT(2)
	bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&e->timer, idle);
	got[0] = bpf_timer_start(&e->timer, NEVER, 0);
	got[1] = bpf_timer_cancel(&e->timer);
	got[2] = bpf_timer_cancel(&e->timer);
	/* A cancelled timer keeps its callback. */
	bpf_timer_set_callback(&e->timer, idle);
	got[3] = bpf_timer_start(&e->timer, NEVER, 0);
	got[4] = bpf_timer_cancel(&e->timer);
}

static u64 fired_at;

extern s64 got_fires[4];

static int fires_once(void *map, u32 *key, struct element *e)
{
	got_fires[1] += 1;
	got_fires[2] = *key;
	got_fires[3] = bpf_ktime_get_ns() >= fired_at;
	return 0;
}

/* The callback gets the map, the key and the value. */
STEPS(fires, 0, 1, 3, 1)
{
	ELEMENT(3)
	bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&e->timer, fires_once);
	fired_at = bpf_ktime_get_ns() + SOON;
	got[0] = bpf_timer_start(&e->timer, SOON, 0);
}

extern s64 got_fires_again[2];

static int starts_anew(void *map, u32 *key, struct element *e)
{
	got_fires_again[1] += 1;
	e->number += 1;
	if (e->number < 5)
		bpf_timer_start(&e->timer, SOON, 0);
	return 0;
}

/* A callback may start its own timer. */
STEPS(fires_again, 0, 5)
{
	ELEMENT(4)
	bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&e->timer, starts_anew);
	got[0] = bpf_timer_start(&e->timer, SOON, 0);
}

extern s64 got_at_a_moment[2];

static int at_moment(void *map, u32 *key, struct element *e)
{
	got_at_a_moment[1] += bpf_ktime_get_ns() >= e->number;
	return 0;
}

STEPS(at_a_moment, 0, 1)
{
	ELEMENT(5)
	bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&e->timer, at_moment);
	e->number = bpf_ktime_get_ns() + SOON;
	got[0] = bpf_timer_start(&e->timer, e->number, BPF_F_TIMER_ABS);
}

extern s64 got_pinned[3];

static int on_cpu(void *map, u32 *key, struct element *e)
{
	got_pinned[1] = 1;
	got_pinned[2] = bpf_get_smp_processor_id() == e->number;
	return 0;
}

STEPS(pinned, 0, 1, 1)
{
	ELEMENT(6)
	bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&e->timer, on_cpu);
	e->number = bpf_get_smp_processor_id();
	got[0] = bpf_timer_start(&e->timer, SOON, BPF_F_TIMER_CPU_PIN);
}

extern s64 got_in_a_hash[3];

static int in_hash(void *map, u32 *key, struct element *e)
{
	got_in_a_hash[1] = *key;
	got_in_a_hash[2] = e->number;
	return 0;
}

STEPS(in_a_hash, 0, 40, 41)
{
	u32 key = HIDE(40);
	struct element new = { .number = 41 }, *e;

	bpf_map_update_elem(&hash, &key, &new, BPF_ANY);
	e = bpf_map_lookup_elem(&hash, &key);
	if (!e)
		return;
	bpf_timer_init(&e->timer, &hash, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&e->timer, in_hash);
	got[0] = bpf_timer_start(&e->timer, SOON, 0);
}

extern s64 got_gone_with_elements[4];

static int wrongly(void *map, u32 *key, struct element *e)
{
	got_gone_with_elements[0] += 1;
	return 0;
}

static int afterwards(void *map, u32 *key, struct element *e)
{
	got_gone_with_elements[3] += 1;
	return 0;
}

/* Deleting or replacing elements also deletes their timers. The last one fires after these would. */
STEPS(gone_with_elements, 0, 0, 0, 1)
{
	struct element new = {}, *e;
	u32 i, key;

	for (i = 0; i < 3; i++) {
		key = HIDE(50 + i);
		bpf_map_update_elem(&hash, &key, &new, BPF_ANY);
		e = bpf_map_lookup_elem(&hash, &key);
		if (!e)
			return;
		bpf_timer_init(&e->timer, &hash, CLOCK_MONOTONIC);
		if (i < 2)
			bpf_timer_set_callback(&e->timer, wrongly);
		else
			bpf_timer_set_callback(&e->timer, afterwards);
		bpf_timer_start(&e->timer, i < 2 ? 3 * SOON : 9 * SOON, 0);
	}
	key = HIDE(50);
	got[1] = bpf_map_delete_elem(&hash, &key);
	key = HIDE(51);
	got[2] = bpf_map_update_elem(&hash, &key, &new, BPF_ANY);
}

/* A timer in an array is deleted with its value, and can be created again. */
STEPS(made_anew, 0, -EBUSY, 0, 0)
{
	struct element new = {};

	ELEMENT(7)
	got[0] = bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	got[1] = bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	got[2] = bpf_map_update_elem(&elements, &key, &new, BPF_ANY);
	got[3] = bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
}

extern s64 got_cancels_itself[4];

static int cancels(void *map, u32 *key, struct element *e)
{
	got_cancels_itself[1] = bpf_timer_cancel(&e->timer);
	got_cancels_itself[2] = bpf_timer_set_callback(&e->timer, idle);
	got_cancels_itself[3] = bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	return 0;
}

/* A callback cannot wait for its own end. */
STEPS(cancels_itself, 0, -EDEADLK, 0, -EBUSY)
{
	ELEMENT(8)
	bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&e->timer, cancels);
	got[0] = bpf_timer_start(&e->timer, SOON, 0);
}

extern s64 got_started_twice[3];

static int counts(void *map, u32 *key, struct element *e)
{
	got_started_twice[2] += 1;
	return 0;
}

/* If restarted, it fires once, at the later time. */
STEPS(started_twice, 0, 0, 1)
{
	ELEMENT(9)
	bpf_timer_init(&e->timer, &elements, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&e->timer, counts);
	got[0] = bpf_timer_start(&e->timer, SOON, 0);
	got[1] = bpf_timer_start(&e->timer, 2 * SOON, 0);
}
