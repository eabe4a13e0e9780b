// SPDX-License-Identifier: GPL-2.0-only
/* BPF_MAP_TYPE_QUEUE and STACK. */
#include "case.h"

#define QUEUE(name, kind)                                                                          \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, 2);                                                            \
		__type(value, u64);                                                                \
	} name SEC(".maps")

QUEUE(first_in, QUEUE);
QUEUE(last_in, STACK);
QUEUE(full_queue, QUEUE);
QUEUE(full_stack, STACK);
QUEUE(no_queue, QUEUE);

#define ORDER(map)                                                                                 \
	u64 one = 1, two = 2, value = 77;                                                          \
                                                                                                   \
	got[0] = bpf_map_pop_elem(map, &value);                                                    \
	got[1] = value;                                                                            \
	got[2] = bpf_map_push_elem(map, &one, BPF_ANY);                                            \
	got[3] = bpf_map_push_elem(map, &two, BPF_ANY);                                            \
	got[4] = bpf_map_peek_elem(map, &value);                                                   \
	got[5] = value;                                                                            \
	got[6] = bpf_map_pop_elem(map, &value);                                                    \
	got[7] = value;                                                                            \
	got[8] = bpf_map_pop_elem(map, &value);                                                    \
	got[9] = value;                                                                            \
	got[10] = bpf_map_peek_elem(map, &value);                                                  \
	got[11] = value;

STEPS(a_queue, -ENOENT, 0, 0, 0, 0, 1, 0, 1, 0, 2, -ENOENT, 0)
{
	ORDER(&first_in)
}

STEPS(a_stack, -ENOENT, 0, 0, 0, 0, 2, 0, 2, 0, 1, -ENOENT, 0)
{
	ORDER(&last_in)
}

/* BPF_EXIST: a full one drops its oldest. */
#define FULL(map)                                                                                  \
	u64 one = 1, two = 2, three = 3, value = 0;                                                \
                                                                                                   \
	bpf_map_push_elem(map, &one, BPF_ANY);                                                     \
	bpf_map_push_elem(map, &two, BPF_ANY);                                                     \
	got[0] = bpf_map_push_elem(map, &three, BPF_ANY);                                          \
	got[1] = bpf_map_push_elem(map, &three, BPF_EXIST);                                        \
	bpf_map_pop_elem(map, &value);                                                             \
	got[2] = value;                                                                            \
	bpf_map_pop_elem(map, &value);                                                             \
	got[3] = value;                                                                            \
	got[4] = bpf_map_pop_elem(map, &value);

STEPS(a_full_queue, -E2BIG, 0, 2, 3, -ENOENT)
{
	FULL(&full_queue)
}

STEPS(a_full_stack, -E2BIG, 0, 3, 2, -ENOENT)
{
	FULL(&full_stack)
}

STEPS(flags_that_are_refused, -EINVAL, -EINVAL)
{
	u64 one = 1;

	got[0] = bpf_map_push_elem(&no_queue, &one, BPF_NOEXIST);
	got[1] = bpf_map_push_elem(&no_queue, &one, HIDE(8));
}
